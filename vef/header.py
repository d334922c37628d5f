"""The header line, in its two forms, and communicator lines."""

from __future__ import annotations

import re

from vef.problems import ProblemLog
from vef.records import Header

MAX_TASKS = 2**31 - 1
FORMS = (
    "'VEF3 <tasks> <p2p> <communicators> <global collectives> <local collectives> <flag 0/1> <clock>' "
    "or the same with TRUE/FALSE and no clock"
)
UNREADABLE = -1
COUNT_NAMES = ("tasks", "p2p records", "communicators", "global collectives", "local collectives")
_INTEGER = re.compile(rb"[+-]?[0-9]+\Z")


def quote(text: bytes, limit: int = 40) -> str:
    """Return bytes of the file as a short printable string in quotes."""
    shown = text[:limit].decode("ascii", "backslashreplace")
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown)
    return f"'{shown}{'…' if len(text) > limit else ''}'"


def integer(text: bytes) -> int | None:
    """Return the decimal integer that `text` is, None when it is none (or absurdly long)."""
    return int(text) if len(text) <= 400 and _INTEGER.match(text) else None


def parse_header(text: bytes, line: int, log: ProblemLog) -> Header | None:
    """Read the header line.

    Parameters
    ----------
    text : bytes
        The line, without its end.
    line : int
        Its number.
    log : ProblemLog
        Takes what is wrong or odd.

    Returns
    -------
    Header or None
        None when it does not even tell the number of tasks; after another problem, counts that could
        not be read are `UNREADABLE`.
    """
    fields = text.split()
    if not fields:
        log.error(line, "no-header", "an empty file", f"a header, {FORMS}")
        return None
    if fields[0] not in (b"VEF", b"VEF3"):
        log.error(line, "no-header", quote(text), f"a header, {FORMS}", "is it a VEF trace?")
        return None
    if len(fields) not in (7, 8):
        log.error(line, "header-fields", f"a header of {len(fields)} fields", f"7 or 8 fields, {FORMS}")

    counts = [_count(name, field, line, log) for name, field in zip(COUNT_NAMES, fields[1:6], strict=False)]
    counts += [UNREADABLE] * (5 - len(counts))
    if counts[0] == UNREADABLE:
        return None
    flag = fields[6].upper() if len(fields) > 6 else b"0"
    numeric = flag.isdigit()
    if flag not in ((b"0", b"1") if numeric else (b"TRUE", b"FALSE")):
        log.error(line, "header-flag", f"the flag {quote(fields[6])}", "0 or 1, or TRUE or FALSE")
    elif not numeric and flag != fields[6]:
        log.warn(line, "header-flag", f"the flag {quote(fields[6])}", "TRUE or FALSE in capitals")

    clock = 1000
    if len(fields) == 8:
        value = integer(fields[7])
        if value is None or not 0 < value < 2**63:
            expected = "a positive number of picoseconds per tick"
            log.error(line, "header-clock", f"a clock of {quote(fields[7])}", expected)
        else:
            clock = value
    elif numeric and len(fields) == 7:
        log.warn(line, "header-clock", "a numeric flag but no clock", "8 fields", "1000 ps a tick assumed")
    return Header(
        magic=fields[0].decode(),
        tasks=counts[0],
        p2p_records=counts[1],
        communicators=counts[2],
        global_collectives=counts[3],
        local_collectives=counts[4],
        only_send=flag in (b"1", b"TRUE"),
        clock_ps=clock,
        prospector=numeric or len(fields) == 8,
    )


def _count(name: str, field: bytes, line: int, log: ProblemLog) -> int:
    value = integer(field)
    least = 1 if name in ("tasks", "communicators") else 0
    if value is None:
        log.error(line, "header-number", f"{quote(field)} as number of {name}", "an integer")
        return UNREADABLE
    if not least <= value <= MAX_TASKS:
        log.error(line, "header-number", f"{value} {name}", f"{least} to {MAX_TASKS}")
        return UNREADABLE
    return value


def parse_communicator(text: bytes, line: int, tasks: int | None, log: ProblemLog) -> tuple[int | None, list[int]]:
    """Read a communicator line ``C<id> <task> …``.

    Parameters
    ----------
    text : bytes
        The line, without its end.
    line : int
        Its number.
    tasks : int or None
        Number of tasks, None when the header does not tell.
    log : ProblemLog
        Takes what is wrong.

    Returns
    -------
    identifier : int or None
        None when it cannot be read.
    members : list of int
        World ranks in communicator rank order; empty after a problem with one.
    """
    fields = text.split()
    identifier = integer(fields[0][1:])
    if identifier is None or not 0 <= identifier <= MAX_TASKS:
        log.error(line, "communicator-id", quote(fields[0]), f"C and a number from 0 to {MAX_TASKS}")
        return None, []
    if len(fields) == 1:
        log.error(line, "communicator-empty", f"communicator C{identifier} without a task", "at least one task")
        return identifier, []
    members: list[int] = []
    good = True
    for field in fields[1:]:
        task = integer(field)
        if task is None:
            log.error(line, "not-integer", f"{quote(field)} as member of C{identifier}", "an integer")
            good = False
        elif not 0 <= task < (MAX_TASKS if tasks is None else tasks):
            log.error(line, "rank-range", f"task {task} in C{identifier}", _range(tasks))
            good = False
        else:
            members.append(task)
    if good and len(set(members)) < len(members):
        twice = next(task for i, task in enumerate(members) if task in members[:i])
        log.error(line, "communicator-twice", f"task {twice} twice in C{identifier}", "each task once")
        good = False
    return identifier, members if good else []


def _range(tasks: int | None) -> str:
    return "a task" if tasks is None else f"a task from 0 to {tasks - 1}"

"""One record line that the compiled tokenizer did not take: read it tolerantly or say what is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from vef.header import MAX_TASKS, integer, quote
from vef.problems import Problem
from vef.records import COLLECTIVE, MESSAGE, PSEUDO, Op

P2P_FIELDS = ("id", "source", "destination", "size", "dependency kind", "time", "dependency id")
COLLECTIVE_FIELDS = (
    "id",
    "communicator",
    "operation",
    "task",
    "send size",
    "receive size",
    "dependency kind",
    "time",
    "dependency id",
)
INT64_MAX = 2**63 - 1


@dataclass(frozen=True)
class Line:
    """What could be read of one record line.

    Attributes
    ----------
    collective : bool
        A ``G`` line.
    id : int or None
        None when it cannot be read.
    values : tuple of int
        kind, id, task, peer (communicator number), op, send bytes, recv bytes, dep, time,
        dependency id; empty after a fatal problem.
    problems : tuple of Problem
        Fatal ones and warnings.
    """

    collective: bool
    id: int | None
    values: tuple[int, ...]
    problems: tuple[Problem, ...]


def parse_record(text: bytes, line: int, tasks: int | None) -> Line | None:
    """Read one record line with every tolerance there is.

    Parameters
    ----------
    text : bytes
        The line, without its end.
    line : int
        Its number.
    tasks : int or None
        Number of tasks, None when the header does not tell.

    Returns
    -------
    Line or None
        None when it is no record line of a kind that is known.
    """
    fields = text.split()
    collective = fields[0][:1] == b"G"
    if not collective and fields[0][:1] not in b"+-0123456789":
        return None
    names = COLLECTIVE_FIELDS if collective else P2P_FIELDS
    reader = _FieldReader(line, tasks)
    if text[:1] in b" \t":
        reader.warn("spaces", "spaces before the first field", "the first field at once")

    identifier = reader.number(fields[0][1:] if collective else fields[0], "id", 0, INT64_MAX)
    if len(fields) != len(names):
        what = "a collective record" if collective else "a point-to-point record"
        hint = "cut short?" if len(fields) < len(names) else ""
        reader.error("field-count", f"{len(fields)} fields", f"{len(names)} fields in {what}", hint)
        return Line(collective, identifier, (), tuple(reader.problems))

    if collective:
        communicator = fields[1][1:] if fields[1][:1] == b"C" else fields[1]
        peer = reader.number(communicator, "communicator", 0, MAX_TASKS)
        op = reader.number(fields[2], "operation", 0, 7)
        task = reader.task(fields[3], "task")
        send = reader.number(fields[4], "send size", 0, INT64_MAX)
        recv = reader.number(fields[5], "receive size", 0, INT64_MAX)
        if op == Op.ALLTOALL and recv is not None and recv > 1:
            reader.error(
                "alltoall-recv",
                f"receive size {recv} in an alltoall",
                "0 (send size is for each task) or 1 (send size is for all tasks together)",
            )
        kind = COLLECTIVE
    else:
        task = reader.task(fields[1], "source")
        peer = reader.task(fields[2], "destination")
        send, recv, op = reader.number(fields[3], "size", 0, INT64_MAX), 0, -1
        kind = MESSAGE
    dep = reader.number(fields[-3], "dependency kind", 0, 7)
    time = reader.number(fields[-2], "time", 0, INT64_MAX)
    dep_id = reader.dependency(fields[-1], dep)
    if not collective and task == peer and send == 0 and dep is not None and dep < 4:
        kind = PSEUDO
    raw = (kind, identifier, task, peer, op, send, recv, dep, time, dep_id)
    values = tuple(value for value in raw if value is not None)
    return Line(collective, identifier, values if len(values) == len(raw) else (), tuple(reader.problems))


class _FieldReader:
    """Reads the fields of one line and notes what is wrong with them."""

    def __init__(self, line: int, tasks: int | None) -> None:
        self.line = line
        self.tasks = tasks
        self.problems: list[Problem] = []

    def error(self, code: str, found: str, expected: str, hint: str = "") -> None:
        self.problems.append(Problem(self.line, code, found, expected, hint))

    def warn(self, code: str, found: str, expected: str, hint: str = "") -> None:
        self.problems.append(Problem(self.line, code, found, expected, hint, fatal=False))

    def number(self, field: bytes, name: str, least: int, most: int) -> int | None:
        value = integer(field)
        if value is None:
            self.error("not-integer", f"{quote(field)} as {name}", "an integer")
        elif value > INT64_MAX or value < -INT64_MAX:
            self.error("overflow", f"{name} {value}", "a number of at most 63 bits")
        elif not least <= value <= most:
            expected = f"{least} to {most}" if most < INT64_MAX else f"{least} or more"
            self.error("out-of-range", f"{name} {value}", expected)
        else:
            if field[:1] == b"+" or (len(field) > 1 and field[:1] == b"0"):
                self.warn("number-form", f"{quote(field)} as {name}", f"'{value}'", "read as decimal")
            return value
        return None

    def task(self, field: bytes, name: str) -> int | None:
        limit = MAX_TASKS if self.tasks is None else self.tasks
        value = integer(field)
        if value is not None and not 0 <= value < limit:
            self.error("rank-range", f"{name} {value}", f"a task from 0 to {limit - 1}")
            return None
        return self.number(field, name, 0, limit - 1)

    def dependency(self, field: bytes, dep: int | None) -> int | None:
        if dep is None:
            return None
        kind = dep & 3
        found = f"dependency id {quote(field)} with dependency kind {dep}"
        if kind == 0:
            if field != b"-1":
                self.warn("dep-id", found, "-1", "ignored")
            return 1
        if kind == 3:
            if field[:1] == b"G":
                return self.number(field[1:], "dependency id", 0, INT64_MAX)
            if field.isdigit():
                self.warn("dep-id", found, "G and a number", "taken so")
                return self.number(field, "dependency id", 0, INT64_MAX)
            self.error("dep-id", found, "G and a number")
            return None
        if field[:1] in (b"G", b"-"):
            self.error("dep-id", found, "a message id")
            return None
        return self.number(field, "dependency id", 0, INT64_MAX)

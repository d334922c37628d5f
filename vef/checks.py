"""Checks over whole columns: counts of the header, the sum of all times, oddities worth a warning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vef.header import UNREADABLE
from vef.problems import ProblemLog
from vef.records import COLLECTIVE, MESSAGE, Header


def check_count(found: int, promised: int, name: str, line: int, log: ProblemLog) -> None:
    """Report a count of the header that the body does not keep."""
    if found != promised and promised != UNREADABLE:
        hint = "cut short?" if found < promised else ""
        log.error(line, "header-count", f"{found} {name} in the file", f"{promised}, as the header says", hint)


def check_total_time(time: NDArray[np.int64], line_of: Callable[[int], int], log: ProblemLog) -> None:
    """Report times whose sum leaves 63 bits: no replay could count them."""
    if not len(time) or time.sum(dtype=np.float64) < 2**62:
        return
    total = (int((time >> 32).sum()) << 32) + int((time & 0xFFFFFFFF).sum())
    if total >= 2**63:
        row = int(time.argmax())
        found = f"times that add up to {total} ticks, {time[row]} of them here"
        log.error(line_of(row), "time-overflow", found, "less than 2**63 ticks in all")


def warn_oddities(
    header: Header, columns: dict[str, NDArray[Any]], line_of: Callable[[int], int], log: ProblemLog
) -> None:
    """Note what is unusual in a valid trace, once per kind of oddity."""
    kind, dep = columns["kind"], columns["dep"]
    marked = dep >= 4
    message = kind == MESSAGE
    plain = np.flatnonzero(message & ~marked)
    if header.prospector and len(plain):
        to_self = plain[columns["task"][plain] == columns["peer"][plain]]
        others = len(plain) - len(to_self)
        if len(to_self):
            found = f"{_counted(len(to_self), 'record')} with source = destination, a size and no +4"
            hint = "taken as messages to self"
            log.warn(line_of(int(to_self[0])), "self-message", found, "size 0 or +4", hint)
        if others and np.any(message & marked):
            first = plain[columns["task"][plain] != columns["peer"][plain]][0]
            found = f"{_counted(others, 'message')} without +4 in the dependency kind"
            hint = "taken as messages"
            log.warn(line_of(int(first)), "unmarked-message", found, "+4 as on the others", hint)
    odd = np.flatnonzero((kind == COLLECTIVE) & marked)
    if len(odd):
        found = f"{_counted(len(odd), 'collective record')} with +4 in the dependency kind"
        log.warn(line_of(int(odd[0])), "marked-collective", found, "0 to 3", "the +4 is ignored")
    p2p = len(kind) - int(np.count_nonzero(kind == COLLECTIVE))
    largest = int(columns["id"].max(where=kind != COLLECTIVE, initial=-1))
    if largest + 1 != p2p:
        log.warn(None, "id-gaps", f"message ids up to {largest} for {p2p} records", f"0 to {p2p - 1}")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

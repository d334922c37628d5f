"""Communicators as they are met in the file, and what must hold for them together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vef.problems import ProblemLog
from vef.records import Communicators


@dataclass
class CommunicatorTable:
    """Collects communicator lines.

    Attributes
    ----------
    ids : list of int
    members : list of list of int
        Empty for a communicator whose line has a problem.
    lines : list of int
        Line of each.
    """

    ids: list[int] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    unreadable: int = 0

    def add(self, identifier: int, members: list[int], line: int) -> None:
        """Add one communicator."""
        self.ids.append(identifier)
        self.members.append(members)
        self.lines.append(line)

    def check(self, tasks: int, log: ProblemLog) -> bool:
        """Report duplicate ids and a missing or incomplete C0; return True when all is well."""
        before = log.fatal
        first: dict[int, int] = {}
        for identifier, line in zip(self.ids, self.lines, strict=True):
            if identifier in first:
                where = f"C{identifier} again (first at line {first[identifier]})"
                log.error(line, "communicator-duplicate", where, "each communicator once")
            first.setdefault(identifier, line)
        if 0 not in first:
            listed = ", ".join(f"C{identifier}" for identifier in self.ids[:5]) or "no communicator"
            line = self.lines[0] if self.lines else 2
            log.error(line, "communicator-no-c0", f"{listed}, no C0", "C0, the communicator of all tasks")
        else:
            at = self.ids.index(0)
            held = len(self.members[at])
            if held and held != tasks:
                expected = f"all {tasks} tasks of the header"
                log.error(self.lines[at], "communicator-c0", f"{held} tasks in C0", expected)
        return log.fatal == before and not self.unreadable and all(self.members)

    def build(self) -> Communicators:
        """Return the communicators as columns."""
        sizes = [len(members) for members in self.members]
        ptr = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=ptr[1:])
        tasks = np.fromiter((task for members in self.members for task in members), np.int32, int(ptr[-1]))
        return Communicators(np.array(self.ids, np.int64), ptr, tasks)


def by_task(communicators: Communicators) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return members sorted by task within each communicator, and the rank of each."""
    sizes = np.diff(communicators.ptr)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((communicators.tasks, owner))
    rank = order - np.repeat(communicators.ptr[:-1], sizes)
    return communicators.tasks[order], rank.astype(np.int32)


def index_of(communicators: Communicators, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the index of the communicator with each number, -1 where there is none."""
    count = len(communicators)
    if np.array_equal(communicators.ids, np.arange(count)):
        return np.where((numbers >= 0) & (numbers < count), numbers, -1).astype(np.int32)
    order = np.argsort(communicators.ids, kind="stable")
    ids = communicators.ids[order]
    at = np.minimum(np.searchsorted(ids, numbers), count - 1)
    return np.where(ids[at] == numbers, order[at], -1).astype(np.int32)

"""Words for what the compiled passes found: which line, what is there, what should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vef import _codes
from vef.problems import ProblemLog
from vef.records import MESSAGE, Collectives, Communicators, Header, Op

LISTED = 8


@dataclass
class Damage:
    """Records that could not be read, so that what refers to them is not reported once more.

    Attributes
    ----------
    messages, collectives : set of int
        Ids.
    p2p, local : int
        Lines of each kind.
    unnamed : int
        Lines whose kind or id is unknown: what is missing elsewhere may be there.
    """

    messages: set[int] = field(default_factory=set)
    collectives: set[int] = field(default_factory=set)
    p2p: int = 0
    local: int = 0
    unnamed: int = 0

    def hides_message(self, name: int) -> bool:
        """True when message `name` may be defined by a line that could not be read."""
        return self.unnamed > 0 or name in self.messages

    def hides_collective(self, name: int) -> bool:
        """True when a record of collective `name` may be in a line that could not be read."""
        return self.unnamed > 0 or name in self.collectives


def listed(tasks: Iterable[int]) -> str:
    """Return "task 3" or "tasks 1, 2, 5 and 7 more"."""
    values = list(tasks)
    shown = ", ".join(str(task) for task in values[:LISTED])
    more = f" and {len(values) - LISTED} more" if len(values) > LISTED else ""
    return f"task{'s' if len(values) > 1 else ''} {shown}{more}"


@dataclass(frozen=True, eq=False)
class Explainer:
    """Describes problems between records of one file; `line_of` gives the line of a row."""

    header: Header
    columns: dict[str, NDArray[Any]]
    communicators: Communicators
    grouped: Collectives
    line_of: Callable[[int], int]
    damage: Damage
    log: ProblemLog

    def duplicate_messages(self, rows: NDArray[np.int32], found: int) -> None:
        """Report message ids that are defined twice."""
        if not found:
            return
        ids = self.columns["id"]
        wanted = set(ids[rows].tolist())
        first: dict[int, int] = {}
        for row in np.flatnonzero(np.isin(ids, list(wanted)) & (self.columns["op"] < 0)).tolist():
            first.setdefault(int(ids[row]), row)
        for row in self._described(rows.tolist(), found):
            name = int(ids[row])
            again = f"message id {name} again (first at line {self.line_of(first[name])})"
            self.log.error(self.line_of(row), "duplicate-id", again, "each id once")

    def collectives(self, indices: NDArray[np.int64], bad: NDArray[np.uint8]) -> None:
        """Report collectives whose records do not make one complete operation."""
        for index in self._described(indices.tolist(), len(indices)):
            self._collective(index, int(bad[index]))

    def _collective(self, index: int, bits: int) -> None:
        name = f"G{self.grouped.gid[index]}"
        rows = self.grouped.participations(index).tolist()
        ops = [int(self.columns["op"][row]) for row in rows]
        comms = [int(self.columns["peer"][row]) for row in rows]
        tasks = [int(self.columns["task"][row]) for row in rows]
        op, comm = Counter(ops).most_common(1)[0][0], Counter(comms).most_common(1)[0][0]
        for row, own_op, own_comm in zip(rows, ops, comms, strict=True):
            if own_op != op:
                other = self.line_of(rows[ops.index(op)])
                found = f"{name} as operation {own_op} ({Op(own_op).label})"
                expected = f"{op} ({Op(op).label}) as at line {other}"
                self.log.error(self.line_of(row), "collective-op", found, expected)
            if own_comm != comm and own_comm >= 0 and comm >= 0:
                other = self.line_of(rows[comms.index(comm)])
                found = f"{name} on communicator C{self.communicators.ids[own_comm]}"
                expected = f"C{self.communicators.ids[comm]} as at line {other}"
                self.log.error(self.line_of(row), "collective-communicator", found, expected)
        if comm < 0:
            return
        members = self.communicators.members(comm).tolist()
        self._membership(name, comm, members, rows, tasks)
        if bits & (_codes.NO_ROOT | _codes.TWO_ROOTS):
            self._root(name, Op(op), rows, tasks)

    def _membership(self, name: str, comm: int, members: list[int], rows: list[int], tasks: list[int]) -> None:
        held = set(members)
        label = f"C{self.communicators.ids[comm]}"
        first: dict[int, int] = {}
        for row, task in zip(rows, tasks, strict=True):
            line = self.line_of(row)
            if task not in held:
                found = f"task {task} in {name} of {label}"
                self.log.error(line, "collective-alien", found, f"a member of {label}: {listed(members)}")
            elif task in first:
                found = f"task {task} in {name} again (first at line {first[task]})"
                self.log.error(line, "collective-twice", found, "each task once")
            first.setdefault(task, line)
        missing = [task for task in members if task not in first]
        if missing and not self.damage.hides_collective(int(name[1:])):
            found = f"{name} without a record of {listed(missing)}"
            expected = f"a record of each of the {len(members)} tasks of {label}; else none gets out of {name}"
            self.log.error(self.line_of(rows[0]), "collective-missing", found, expected)

    def _root(self, name: str, op: Op, rows: list[int], tasks: list[int]) -> None:
        sends = op in (Op.BROADCAST, Op.SCATTER)
        marks = self.columns["send_bytes" if sends else "recv_bytes"]
        roots = [(self.line_of(row), task) for row, task in zip(rows, tasks, strict=True) if marks[row] > 0]
        rule = f"one task with a {'send' if sends else 'receive'} size, the root"
        if roots:
            who = " and ".join(f"task {task} (line {line})" for line, task in sorted(roots)[:LISTED])
            found = f"{len(roots)} roots of {op.label} {name}: {who}"
            self.log.error(max(roots)[0], "collective-roots", found, rule)
        else:
            found = f"{op.label} {name} without a root"
            self.log.error(min(map(self.line_of, rows)), "collective-root", found, rule)

    def dependencies(
        self,
        rows: NDArray[np.int32],
        codes: NDArray[np.int8],
        found: int,
        dep_ids: NDArray[np.int32],
        dep_row: NDArray[np.int32],
        messages: NDArray[np.int32],
    ) -> None:
        """Report dependencies on what does not exist or is none of the task's business.

        A message of 0 bytes to self looks like a pseudo-record in the documented form, which has no
        mark for it; one that a record depends on is taken as a message, in place.
        """
        code_of = dict(zip(rows.tolist(), codes[: len(rows)].tolist(), strict=True))
        kind, task = self.columns["kind"], self.columns["task"]
        for row in self._described(rows.tolist(), found):
            code = code_of[row]
            if code in (_codes.UNKNOWN_COLLECTIVE, _codes.NOT_MEMBER):
                self._collective_dependency(row, code)
                continue
            if code == _codes.UNKNOWN_MESSAGE:
                name = int(self.columns["dep_id"][row])
                if not self.damage.hides_message(name):
                    what = f"a dependency on message {name}"
                    self.log.error(self.line_of(row), "dep-unknown", what, "a message of this file")
                continue
            target = int(messages[dep_ids[row]])
            if code == _codes.IS_PSEUDO and not self.header.prospector and task[target] == task[row]:
                kind[target] = MESSAGE
                dep_row[row] = target
            else:
                self._message_dependency(row, code, target)

    def _collective_dependency(self, row: int, code: int) -> None:
        name, task = int(self.columns["dep_id"][row]), int(self.columns["task"][row])
        if self.damage.hides_collective(name):
            return
        if code == _codes.UNKNOWN_COLLECTIVE:
            found = f"a dependency on G{name}"
            self.log.error(self.line_of(row), "dep-unknown", found, "a collective of this file")
        else:
            found = f"task {task} depending on G{name}, in which it takes no part"
            self.log.error(self.line_of(row), "dep-not-member", found, f"a collective of task {task}")

    def _message_dependency(self, row: int, code: int, target: int) -> None:
        name, task = int(self.columns["dep_id"][row]), int(self.columns["task"][row])
        line, there = self.line_of(row), f"at line {self.line_of(target)}"
        if code == _codes.IS_PSEUDO:
            found = f"a dependency on record {name} ({there}), a pseudo-record: nothing is sent there"
            self.log.error(line, "dep-pseudo", found, "the id of a message")
        elif code == _codes.NOT_SENDER:
            other = int(self.columns["task"][target])
            found = f"task {task} depending on the send of message {name}, which task {other} sends ({there})"
            self.log.error(line, "dep-not-sender", found, "a message that the task itself sends")
        else:
            other = int(self.columns["peer"][target])
            found = f"task {task} depending on the receive of message {name}, which goes to task {other} ({there})"
            self.log.error(line, "dep-not-receiver", found, "a message to the task itself")

    def _described(self, items: list[int], found: int) -> Iterable[int]:
        for at, item in enumerate(items):
            if self.log.full:
                self.log.uncounted(found - at)
                return
            yield item
        self.log.uncounted(found - len(items))

"""Write down what the tasks of a program do, call by call, and get the trace VEF-Prospector would write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vef.build import build_trace
from vef.ideal import ideal_replay
from vef.records import Op, Trace

AFTER_SEND, AFTER_RECEIVE, AFTER_COLLECTIVE = 1, 2, 3


@dataclass(frozen=True)
class _Call:
    task: int
    peer: int
    op: int
    send_bytes: int
    recv_bytes: int
    dep: int
    time_ns: int
    depends_on: int  # message handle (a call index) or collective number
    collective: int  # -1 for point-to-point


class Program:
    """Records calls by the chain rule: each depends on what the task's previous call did.

    Parameters
    ----------
    tasks : int
    groups : mapping of int to sequence of int
        Further communicators by number from 1; communicator 0 holds all tasks.
    """

    def __init__(self, tasks: int, groups: Mapping[int, Sequence[int]] | None = None) -> None:
        self.communicators: dict[int, list[int]] = {0: list(range(tasks))}
        self.communicators.update({number: list(members) for number, members in (groups or {}).items()})
        self._calls: list[_Call] = []
        self._chain: list[tuple[int, int]] = [(0, -1)] * tasks
        self._collectives = 0

    def send(self, task: int, dest: int, size_bytes: int, compute_ns: int = 0) -> int:
        """Send a message after `compute_ns` of compute; return a handle for `receive`."""
        kind, on = self._chain[task]
        self._calls.append(_Call(task, dest, -1, size_bytes, 0, kind + 4, compute_ns, on, -1))
        handle = len(self._calls) - 1
        self._chain[task] = (AFTER_SEND, handle)
        return handle

    def receive(self, task: int, *messages: int, compute_ns: int = 0) -> None:
        """Wait for one or several messages after `compute_ns` of compute."""
        for turn, message in enumerate(messages):
            self._pseudo(task, 0 if turn else compute_ns)
            self._chain[task] = (AFTER_RECEIVE, message)

    def collective(
        self,
        op: Op,
        send_bytes: Sequence[int],
        recv_bytes: Sequence[int],
        compute_ns: Sequence[int],
        communicator: int = 0,
    ) -> None:
        """Enter a collective with all members; the sequences are by communicator rank."""
        number = self._collectives
        self._collectives += 1
        for rank, task in enumerate(self.communicators[communicator]):
            kind, on = self._chain[task]
            sizes = send_bytes[rank], recv_bytes[rank]
            self._calls.append(_Call(task, communicator, op, *sizes, kind, compute_ns[rank], on, number))
            self._chain[task] = (AFTER_COLLECTIVE, number)

    def finish(self, compute_ns: int = 0) -> None:
        """End the program: MPI_Finalize in every task."""
        for task in range(len(self._chain)):
            self._pseudo(task, compute_ns)

    def trace(self, path: str = "<program>") -> Trace:
        """Return the trace: records by their start on an ideal network, ids as VEF-Prospector gives them."""
        draft = self._build(list(range(len(self._calls))), path)
        order = np.argsort(ideal_replay(draft).start_ticks, kind="stable")
        return self._build(order.tolist(), path)

    def _pseudo(self, task: int, compute_ns: int) -> None:
        kind, on = self._chain[task]
        self._calls.append(_Call(task, task, -1, 0, 0, kind, compute_ns, on, -1))

    def _build(self, order: Sequence[int], path: str) -> Trace:
        received = self._received_by()
        names: dict[int, int] = {}
        groups: dict[int, int] = {}
        for at in order:
            call = self._calls[at]
            if call.collective >= 0:
                groups.setdefault(call.collective, len(groups))
            else:
                if at in received:
                    names.setdefault(received[at], len(names))
                names.setdefault(at, len(names))
        calls = [self._calls[at] for at in order]
        return build_trace(
            self.communicators,
            id=[names[at] if self._calls[at].collective < 0 else groups[self._calls[at].collective] for at in order],
            task=[call.task for call in calls],
            peer=[call.peer for call in calls],
            op=[call.op for call in calls],
            send_bytes=[call.send_bytes for call in calls],
            recv_bytes=[call.recv_bytes for call in calls],
            dep=[call.dep for call in calls],
            time=[call.time_ns for call in calls],
            dep_id=[_dependency(call, names, groups) for call in calls],
            path=path,
        )

    def _received_by(self) -> dict[int, int]:
        """Return the message that each pseudo-record receives: what the task's next call depends on."""
        previous: dict[int, int] = {}
        received = {}
        for at, call in enumerate(self._calls):
            before = previous.get(call.task)
            if before is not None and call.dep & 3 == AFTER_RECEIVE:
                received[before] = call.depends_on
            previous[call.task] = at
        return received


def _dependency(call: _Call, names: Mapping[int, int], groups: Mapping[int, int]) -> int:
    kind = call.dep & 3
    if kind == AFTER_COLLECTIVE:
        return groups[call.depends_on]
    return names[call.depends_on] if kind else -1

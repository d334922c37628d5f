"""Messages: how many, how large, from whom to whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vef.records import MESSAGE, Trace

SAFE_SUM = 2.0**62
LOW_BITS = 0xFFFFFFFF


@dataclass(frozen=True, eq=False)
class Sizes:
    """Messages by size.

    Attributes
    ----------
    most_bytes : list of int (classes,)
        Largest size of each class: 0, 1, 2, 4, 8 …; a class holds what is larger than the class before allows.
    eager_messages, rendezvous_messages, eager_bytes, rendezvous_bytes : list of int (classes,)
        Split by whether the size is at most the eager limit.
    to_self, never_received, received_again : int
        Messages whose destination is their source, that no receive names, that several receives name.
    """

    most_bytes: list[int]
    eager_messages: list[int]
    rendezvous_messages: list[int]
    eager_bytes: list[int]
    rendezvous_bytes: list[int]
    to_self: int
    never_received: int
    received_again: int


@dataclass(frozen=True, eq=False)
class Pairs:
    """The task-by-task matrix without its zeros, by source, then destination.

    Attributes
    ----------
    ptr : int64 (tasks + 1,)
        Task t sends in the pairs ``ptr[t]`` to ``ptr[t + 1] - 1``.
    source, destination : int32 (pairs,)
    messages : int64 (pairs,)
    size_bytes : int64 (pairs,)
        Python integers (dtype object) where 63 bits do not do.
    """

    ptr: NDArray[np.int64]
    source: NDArray[np.int32]
    destination: NDArray[np.int32]
    messages: NDArray[np.int64]
    size_bytes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.destination)


def exact_sums(sums: Callable[[NDArray[np.int64]], NDArray[np.int64]], values: NDArray[np.int64]) -> NDArray[Any]:
    """Return sums of values that are not negative, as Python integers where 63 bits might not do."""
    if float(values.sum(dtype=np.float64)) < SAFE_SUM:
        return sums(values)
    return (sums(values >> 32).astype(object) << 32) + sums(values & LOW_BITS).astype(object)


def add_up(group: NDArray[Any], values: NDArray[Any], groups: int) -> NDArray[Any]:
    """Return the sum of the values of each group, of the same type."""
    if values.dtype != object and float(values.sum(dtype=np.float64)) >= SAFE_SUM:
        values = values.astype(object)
    sums = np.zeros(groups, values.dtype)
    np.add.at(sums, group, values)
    return sums


def message_sizes(trace: Trace, eager_limit_bytes: int) -> Sizes:
    """Count the messages by powers of two of their size, eager (up to the limit) and rendezvous apart."""
    from vef.summary import _kernels

    counts, low, high = (np.zeros((2, 65), np.int64) for _ in range(3))
    limit = min(eager_limit_bytes, 2**63 - 1)
    to_self, never, again = _kernels.message_sizes(
        trace.kind, trace.task, trace.peer, trace.send_bytes, trace.dep, trace.dep_row, limit,
        counts, low, high, np.zeros(len(trace), np.uint8),
    )  # fmt: skip
    used = np.flatnonzero(counts.sum(axis=0))
    columns = range(int(used[0]), int(used[-1]) + 1) if len(used) else range(0)
    size_bytes = [[(int(high[line, i]) << 32) + int(low[line, i]) for i in columns] for line in (0, 1)]
    return Sizes(
        most_bytes=[1 << (i - 1) if i else 0 for i in columns],
        eager_messages=[int(counts[0, i]) for i in columns],
        rendezvous_messages=[int(counts[1, i]) for i in columns],
        eager_bytes=size_bytes[0],
        rendezvous_bytes=size_bytes[1],
        to_self=int(to_self),
        never_received=int(never),
        received_again=int(again),
    )


def message_pairs(trace: Trace) -> Pairs:
    """Add up the messages of each pair of tasks, in memory that grows with the number of pairs that talk."""
    from vef.summary import _kernels

    order = trace.kind, trace.peer
    program = trace.task_ptr, trace.task_rows
    destinations = np.empty(trace.tasks, np.int64)
    _kernels.count_destinations(*order, *program, destinations)
    ptr = np.concatenate((np.zeros(1, np.int64), np.cumsum(destinations)))
    pairs = int(ptr[-1])
    destination, messages = np.empty(pairs, np.int32), np.empty(pairs, np.int64)

    def sums(values: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.empty(pairs, np.int64)
        _kernels.fill_pairs(*order, values, *program, ptr, destination, messages, found)
        return found

    is_message = trace.kind == MESSAGE
    sent = trace.send_bytes if is_message.all() else np.where(is_message, trace.send_bytes, 0)
    size_bytes = exact_sums(sums, sent)
    source = np.repeat(np.arange(trace.tasks, dtype=np.int32), destinations)
    return Pairs(ptr, source, destination, messages, size_bytes)


def heat_map(pairs: Pairs, tasks: int, cells: int) -> tuple[int, list[list[int]]]:
    """Return the bytes between blocks of tasks.

    Parameters
    ----------
    pairs : Pairs
    tasks, cells : int
        Number of tasks, and the most blocks on a side.

    Returns
    -------
    block : int
        Tasks in a block.
    size_bytes : list of list of int
        From the block (row) to the block (column).
    """
    block = -(-tasks // cells)
    side = -(-tasks // block)
    sums = add_up(pairs.source // block * side + pairs.destination // block, pairs.size_bytes, side * side)
    return block, sums.reshape(side, side).tolist()

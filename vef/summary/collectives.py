"""Collectives by operation, communicator and size.

The size is what one member gives: the largest send size of the members, for a scatter the largest receive size, for
an alltoall what goes to each member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vef.ideal import ReplayState
from vef.records import Op, Trace
from vef.summary.traffic import SAFE_SUM, exact_sums


@dataclass(frozen=True)
class CollectiveGroup:
    """Operations that are alike.

    Attributes
    ----------
    op : Op
    communicator : int
        The number behind the ``C``.
    ranks : int
        Members of the communicator.
    size_bytes : int
        See the module.
    count : int
        Operations.
    sent_bytes : int
        What all members give to all of them together: their send sizes, times the members for an alltoall whose
        size is for each.
    waited_s : float
        Time that their members spend waiting for others on an ideal network, added up.
    first_line : int
        Line of the first record of the first.
    """

    op: Op
    communicator: int
    ranks: int
    size_bytes: int
    count: int
    sent_bytes: int
    waited_s: float
    first_line: int


def collective_groups(trace: Trace, state: ReplayState) -> list[CollectiveGroup]:
    """Group the collectives; those that give the most bytes first, then by operation, communicator and size."""
    from vef.summary import _kernels

    grouped = trace.collectives
    total = len(grouped)
    if not total:
        return []
    layout = grouped.op, grouped.root, grouped.ptr, grouped.rows
    size, waited = np.empty(total, np.int64), np.empty(total, np.float64)

    def sums(values: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.empty(total, np.int64)
        _kernels.collective_sizes(
            grouped.op, grouped.ptr, grouped.rows, trace.send_bytes, trace.recv_bytes, values, size, found
        )
        return found

    sent = exact_sums(sums, trace.send_bytes)
    factor = _copies(trace)
    if factor.max() > 1:
        if float((sent.astype(np.float64) * factor).sum()) >= SAFE_SUM:
            sent = sent.astype(object)
        sent = sent * factor
    _kernels.collective_waits(*layout, state.start, state.release, waited)

    order = np.lexsort((size, grouped.communicator, grouped.op))
    keys = np.stack((grouped.op[order], grouped.communicator[order], size[order]))
    first = np.flatnonzero(np.concatenate(([True], (np.diff(keys) != 0).any(axis=0))))
    ends = np.append(first[1:], total)
    tick_s = trace.header.clock_ps / 1e12
    groups = []
    for begin, end, given, ticks in zip(
        first.tolist(), ends.tolist(), np.add.reduceat(sent[order], first).tolist(),
        np.add.reduceat(waited[order], first).tolist(), strict=True,
    ):  # fmt: skip
        index, communicator = int(order[begin]), int(grouped.communicator[order[begin]])
        groups.append(
            CollectiveGroup(
                op=Op(int(grouped.op[index])),
                communicator=int(trace.communicators.ids[communicator]),
                ranks=trace.communicators.size(communicator),
                size_bytes=int(size[index]),
                count=end - begin,
                sent_bytes=given,
                waited_s=ticks * tick_s,
                first_line=trace.line(int(grouped.participations(index).min())),
            )
        )
    return sorted(groups, key=lambda group: -group.sent_bytes)


def _copies(trace: Trace) -> NDArray[Any]:
    """How many members get the send size of a collective: 1 but for an alltoall whose size is for each."""
    grouped = trace.collectives
    members = np.diff(grouped.ptr)
    for_each = (grouped.op == Op.ALLTOALL) & (trace.recv_bytes[grouped.rows[grouped.ptr[:-1]]] == 0)
    return np.where(for_each, members, 1)

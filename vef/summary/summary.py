"""Everything that a trace tells without a network, as one value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vef.ideal import ReplayState, play_through
from vef.records import Trace
from vef.summary.collectives import CollectiveGroup, collective_groups
from vef.summary.critical import CriticalPath, critical_path
from vef.summary.traffic import Pairs, Sizes, message_pairs, message_sizes


@dataclass(frozen=True, eq=False)
class Summary:
    """What a trace holds, and how it runs on an ideal network.

    Attributes
    ----------
    trace : Trace
    eager_limit_bytes : int
        Messages up to this size count as eager.
    sizes : Sizes
    pairs : Pairs
    collectives : list of CollectiveGroup
    path : CriticalPath
    compute_ticks : int64 (tasks,)
        Time in which each task goes on by itself: from where its previous record and its dependency are both there
        to the start of the record. What is left of its finish is waiting for others.
    finish_ticks : int64 (tasks,)
        When the last record of each task is done, 0 for a task without records.
    makespan_ticks : int
    """

    trace: Trace
    eager_limit_bytes: int
    sizes: Sizes
    pairs: Pairs
    collectives: list[CollectiveGroup]
    path: CriticalPath
    compute_ticks: NDArray[np.int64]
    finish_ticks: NDArray[np.int64]
    makespan_ticks: int


def summarise(trace: Trace, eager_limit_bytes: int) -> Summary:
    """Summarise a trace, in time linear in its records.

    Parameters
    ----------
    trace : Trace
    eager_limit_bytes : int
        Largest message that is sent eagerly.

    Raises
    ------
    InvalidTrace
        When the trace cannot be played to its end.
    """
    state = play_through(trace)
    return Summary(
        trace=trace,
        eager_limit_bytes=eager_limit_bytes,
        sizes=message_sizes(trace, eager_limit_bytes),
        pairs=message_pairs(trace),
        collectives=collective_groups(trace, state),
        path=critical_path(trace, state),
        compute_ticks=_own_times(trace, state),
        finish_ticks=state.leave,
        makespan_ticks=int(state.leave.max(initial=0)),
    )


def _own_times(trace: Trace, state: ReplayState) -> NDArray[np.int64]:
    from vef.summary import _kernels

    grouped, own = trace.collectives, np.zeros(trace.tasks, np.int64)
    _kernels.own_times(
        trace.kind, trace.task, trace.dep, trace.dep_row, trace.collective, state.start, grouped.op, grouped.root,
        grouped.ptr, grouped.rows, state.release, np.full(trace.tasks, -1, np.int32), own,
    )  # fmt: skip
    return own

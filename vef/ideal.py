"""Replay on an ideal network: no latency, infinite bandwidth, a send is done at its start.

What remains is the program itself: compute times, program order and dependencies. The makespan is
the least that any network can give, and the check that a trace can be played at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vef.problems import InvalidTrace
from vef.records import Trace

TICK_LIMIT = 2**63


@dataclass(frozen=True, eq=False)
class IdealReplay:
    """Times of a replay on an ideal network.

    Attributes
    ----------
    makespan_ticks : int
        Latest completion of a task's last record.
    makespan_s : float
        The same in seconds.
    finish_ticks : int64 (tasks,)
        Completion of each task's last record, 0 for a task without records.
    start_ticks : int64 (records,)
        Start of each record.
    compute_ticks : int64 (tasks,)
        Sum of the times of each task's records, scaled.
    """

    makespan_ticks: int
    makespan_s: float
    finish_ticks: NDArray[np.int64]
    start_ticks: NDArray[np.int64]
    compute_ticks: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReplayState:
    """How far a replay came; see `vef._replay.replay` for the fields."""

    played: int
    start: NDArray[np.int64]
    release: NDArray[np.int64]
    entered: NDArray[np.int32]
    position: NDArray[np.int64]
    blocked_on: NDArray[np.int32]
    leave: NDArray[np.int64]


def play(trace: Trace, compute_scale: float = 1.0) -> ReplayState:
    """Replay as far as possible, in time linear in the number of records."""
    from vef import _replay

    records, tasks, grouped = len(trace), trace.tasks, trace.collectives
    start, release = np.empty(records, np.int64), np.empty(len(grouped), np.int64)
    entered = np.empty(len(grouped), np.int32)
    position, leave = np.empty(tasks, np.int64), np.empty(tasks, np.int64)
    blocked_on = np.empty(tasks, np.int32)
    played = _replay.replay(
        trace.kind, trace.task, trace.peer, trace.dep, trace.time, trace.dep_row, trace.collective,
        trace.task_ptr, trace.task_rows, grouped.op, grouped.root, grouped.ptr, grouped.rows,
        float(compute_scale), start, release, entered, position, blocked_on, leave,
    )  # fmt: skip
    return ReplayState(played, start, release, entered, position, blocked_on, leave)


def play_through(trace: Trace, compute_scale: float = 1.0) -> ReplayState:
    """Replay to the end; raises as `ideal_replay` does."""
    total = float(trace.time.sum(dtype=np.float64))
    if not (compute_scale >= 0 and total * max(compute_scale, 1.0) < TICK_LIMIT):
        expected = "expected 0 or more, and times below 2**63 ticks in all"
        raise ValueError(f"compute_scale {compute_scale}: {expected}")
    state = play(trace, compute_scale)
    if state.played < len(trace):
        from vef.cycles import describe_stuck

        raise InvalidTrace(trace.path, describe_stuck(trace, state))
    return state


def ideal_replay(trace: Trace, compute_scale: float = 1.0) -> IdealReplay:
    """Replay a trace on an ideal network, exactly, in whole ticks.

    ``start = max(start(previous), done) + time`` after a pseudo-record, else
    ``max(start(previous), done + time)``; `done` is the start of the message depended on, or when
    the task's own part of the collective is done: Barrier, AllReduce, Allgather and AlltoAll when
    the last task has entered; Broadcast and Scatter when the root has; Reduce and Gather at the
    root when the last has, elsewhere at once.

    Parameters
    ----------
    trace : Trace
    compute_scale : float
        Factor on all times; each is rounded to a whole tick.

    Raises
    ------
    InvalidTrace
        When the replay cannot finish; the problems name who waits for what.
    ValueError
        When `compute_scale` is negative or takes the times beyond 63 bits.
    """
    state = play_through(trace, compute_scale)
    times = trace.time if compute_scale == 1.0 else np.rint(trace.time * compute_scale).astype(np.int64)
    before = np.concatenate(([0], np.cumsum(times[trace.task_rows])))
    makespan = int(state.leave.max(initial=0))
    return IdealReplay(
        makespan_ticks=makespan,
        makespan_s=makespan * trace.header.clock_ps / 1e12,
        finish_ticks=state.leave,
        start_ticks=state.start,
        compute_ticks=np.diff(before[trace.task_ptr]),
    )

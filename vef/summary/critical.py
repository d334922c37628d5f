"""The critical path: what the end of the program on an ideal network had to wait for, back to the start.

There a message takes no time and a collective only waits for others, so all of the path is compute; messages and
collectives are where it changes from one task to another. Where several records end at the same time, the path stays
in its task as long as it can; else it goes to the lowest rank of the collective.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vef.ideal import ReplayState
from vef.records import Trace

FIRST_ROOM = 1 << 16


@dataclass(frozen=True, eq=False)
class CriticalPath:
    """The path, cut into stretches that each lie in one task, in the order of time.

    Attributes
    ----------
    way : int8 (stretches,)
        How the path comes there: 0 the start of the program, 1 a message, 2 a collective.
    task : int32 (stretches,)
    first_row, last_row : int32 (stretches,)
        The first and last record; the last is the message or the participation that leads to the next stretch.
    begin_ticks, end_ticks : int64 (stretches,)
        Each begins when the one before ends; the first begins at 0, the last ends at the makespan.
    records : int64 (stretches,)
        Records on the path.
    """

    way: NDArray[np.int8]
    task: NDArray[np.int32]
    first_row: NDArray[np.int32]
    last_row: NDArray[np.int32]
    begin_ticks: NDArray[np.int64]
    end_ticks: NDArray[np.int64]
    records: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.way)


def critical_path(trace: Trace, state: ReplayState) -> CriticalPath:
    """Walk back from the record that ends last, in time linear in the records on the path."""
    from vef.summary import _kernels

    grouped = trace.collectives
    end_row = _end_row(trace, state)

    def walk(room: int) -> tuple[int, list[NDArray[np.int64]]]:
        arrays = [np.empty(room, np.int64) for _ in range(5)]
        if end_row < 0:
            return 0, arrays
        found = _kernels.walk_back(
            end_row, trace.kind, trace.task, trace.dep, trace.time, trace.dep_row, trace.collective, trace.task_ptr,
            trace.task_rows, state.start, grouped.op, grouped.root, grouped.ptr, grouped.rows, state.release,
            *arrays,
        )  # fmt: skip
        return int(found), arrays

    stretches, columns = walk(FIRST_ROOM)
    if stretches > FIRST_ROOM:
        stretches, columns = walk(stretches)
    way, first, last, begin, records = (column[:stretches][::-1] for column in columns)
    return CriticalPath(
        way=way.astype(np.int8),
        task=trace.task[last],
        first_row=first.astype(np.int32),
        last_row=last.astype(np.int32),
        begin_ticks=begin,
        end_ticks=state.start[last],
        records=records,
    )


def _end_row(trace: Trace, state: ReplayState) -> int:
    """Return the record that starts when all is done, of the lowest task; -1 without records.

    There is one: who lets the others leave a collective last starts its last record then, too.
    """
    busy = np.flatnonzero(np.diff(trace.task_ptr))
    if not len(busy):
        return -1
    rows = trace.task_rows[trace.task_ptr[busy + 1] - 1]
    return int(rows[state.start[rows].argmax()])

"""The trace in memory: frozen dataclasses over numpy columns, one entry per record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from vef.problems import Problem

MESSAGE, PSEUDO, COLLECTIVE = 0, 1, 2

MAX_RECORDS = 2**31 - 1  # rows are int32


class Op(IntEnum):
    """The collective operations of the format."""

    BROADCAST = 0
    REDUCE = 1
    ALLREDUCE = 2
    GATHER = 3
    SCATTER = 4
    ALLGATHER = 5
    BARRIER = 6
    ALLTOALL = 7

    @property
    def label(self) -> str:
        """Lower-case name, e.g. ``"allreduce"``."""
        return self.name.lower()


ROOTED_OPS = frozenset({Op.BROADCAST, Op.REDUCE, Op.GATHER, Op.SCATTER})


@dataclass(frozen=True)
class Header:
    """The first line of a trace.

    Attributes
    ----------
    magic : str
        ``"VEF"`` or ``"VEF3"``.
    tasks, p2p_records, communicators, global_collectives, local_collectives : int
        The counts; `p2p_records` includes pseudo-records, `local_collectives` are participations.
    only_send : bool
        The flag of the header.
    clock_ps : int
        Picoseconds per tick; 1000 where the header has no clock.
    prospector : bool
        True for the form with a numeric flag (and a clock), False for the documented ``TRUE``/``FALSE``.
    """

    magic: str
    tasks: int
    p2p_records: int
    communicators: int
    global_collectives: int
    local_collectives: int
    only_send: bool
    clock_ps: int = 1000
    prospector: bool = True


@dataclass(frozen=True, eq=False)
class Communicators:
    """All communicators, in file order.

    Attributes
    ----------
    ids : int64 (communicators,)
        The number behind the ``C`` of each.
    ptr : int64 (communicators + 1,)
        Communicator i holds ``tasks[ptr[i]:ptr[i + 1]]``.
    tasks : int32 (members of all communicators,)
        World ranks in communicator rank order.
    """

    ids: NDArray[np.int64]
    ptr: NDArray[np.int64]
    tasks: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)

    def members(self, index: int) -> NDArray[np.int32]:
        """Return the world ranks of communicator `index`, in communicator rank order."""
        return self.tasks[self.ptr[index] : self.ptr[index + 1]]

    def size(self, index: int) -> int:
        """Return the number of members of communicator `index`."""
        return int(self.ptr[index + 1] - self.ptr[index])


@dataclass(frozen=True, eq=False)
class Collectives:
    """The collective operations, in order of their first record in the file.

    Attributes
    ----------
    gid : int64 (collectives,)
        The number behind the ``G``.
    op : int8 (collectives,)
        An `Op`.
    communicator : int32 (collectives,)
        Index into `Communicators`.
    root : int32 (collectives,)
        Communicator rank of the root, -1 for an operation without one.
    ptr : int64 (collectives + 1,)
        Operation i has the participations ``rows[ptr[i]:ptr[i + 1]]``.
    rows : int32 (participations,)
        Record row of each participation, by communicator rank.
    """

    gid: NDArray[np.int64]
    op: NDArray[np.int8]
    communicator: NDArray[np.int32]
    root: NDArray[np.int32]
    ptr: NDArray[np.int64]
    rows: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.gid)

    def participations(self, index: int) -> NDArray[np.int32]:
        """Return the record rows of collective `index`, by communicator rank."""
        return self.rows[self.ptr[index] : self.ptr[index + 1]]


@dataclass(frozen=True, eq=False)
class LineMap:
    """From record rows to lines of the file.

    Attributes
    ----------
    before : int
        Number of lines before the first record.
    skips : int64
        Ascending; one entry per later line that is no record: the row of the record that follows it.
    """

    before: int
    skips: NDArray[np.int64]

    def line(self, row: int) -> int:
        """Return the 1-based line of record `row`."""
        return self.before + row + 1 + int(np.searchsorted(self.skips, row, side="right"))


@dataclass(frozen=True, eq=False)
class Trace:
    """A valid trace: every reference is resolved, every collective complete.

    The columns have one entry per record, in file order.

    Attributes
    ----------
    path : str
        The file as it was named, or a description.
    sha256 : str
        Of the text after decompression; empty for a trace that was built in memory.
    kind : uint8
        `MESSAGE`, `PSEUDO` or `COLLECTIVE`.
    id : int32 or int64
        Message id or the number behind the ``G``; a name only (int64 where one exceeds 31 bits).
    task : int32
        Source of a message, task of a pseudo-record, participant of a collective.
    peer : int32
        Destination of a message; index of the communicator of a collective.
    op : int8
        An `Op`, -1 for point-to-point records.
    send_bytes, recv_bytes : int64
        Size of a message and 0; the two sizes of a participation.
    dep : uint8
        As in the file, 0 to 7; the kind is ``dep & 3``.
    time : int64
        Ticks between the dependency and the start of the record.
    dep_row : int32
        Row of the message, or of this task's own participation, depended on; -1 for none.
    collective : int32
        Index into `collectives`, -1 for point-to-point records.
    task_ptr : int64 (tasks + 1,), task_rows : int32 (records,)
        ``task_rows[task_ptr[t]:task_ptr[t + 1]]`` are the rows of task t in program order.
    warnings : tuple of Problem
        What was odd but tolerated.
    """

    path: str
    sha256: str
    header: Header
    communicators: Communicators
    collectives: Collectives
    kind: NDArray[np.uint8]
    id: NDArray[np.int32] | NDArray[np.int64]
    task: NDArray[np.int32]
    peer: NDArray[np.int32]
    op: NDArray[np.int8]
    send_bytes: NDArray[np.int64]
    recv_bytes: NDArray[np.int64]
    dep: NDArray[np.uint8]
    time: NDArray[np.int64]
    dep_row: NDArray[np.int32]
    collective: NDArray[np.int32]
    task_ptr: NDArray[np.int64]
    task_rows: NDArray[np.int32]
    line_map: LineMap
    warnings: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return self.header.tasks

    def line(self, row: int) -> int:
        """Return the 1-based line of the file that record `row` comes from."""
        return self.line_map.line(row)

    def rows_of(self, task: int) -> NDArray[np.int32]:
        """Return the rows of one task in program order."""
        return self.task_rows[self.task_ptr[task] : self.task_ptr[task + 1]]

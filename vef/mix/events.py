"""A raw capture in memory: what every rank called, in columns; the same for every form of raw file.

A reader of raw files fills a `Capture`; `vef.mix.mix` makes a trace of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

ANY = -1  # a peer or tag that the receive leaves open
NULL = -2  # MPI_PROC_NULL as peer
CANCELLED = -3  # as resolved peer: the request was cancelled, no message passed
NONE = -1  # no request, no root, no communicator


class CaptureError(Exception):
    """A raw capture that cannot be mixed; the text says file, place, what was found and expected."""


class Call(IntEnum):
    """What a row is. Variants of MPI that cause the same traffic share a name.

    A collective with a request is non-blocking.
    """

    SEND = 1  # any blocking send: Send, Bsend, Ssend, Rsend, the sending half of Sendrecv
    RECV = 2  # Recv, the receiving half of Sendrecv
    ISEND = 3  # any send that a request stands for, also one started by Start of a persistent request
    IRECV = 4  # the same for receives
    WAIT = 5  # whatever completed requests: Wait, Waitall, Waitany, Waitsome, a successful Test…, Mrecv
    PROBE = 6  # Probe, or an Iprobe that found a message
    MPROBE = 7  # Mprobe, or an Improbe that found a message; its request is the message handle
    SETUP = 8  # creates or frees a communicator: no traffic, its time is not compute
    SKIPPED = 9  # a call that has no place in a trace; see RankCapture.unsupported

    BARRIER = 16
    BROADCAST = 17
    REDUCE = 18
    ALLREDUCE = 19
    GATHER = 20  # also Gatherv
    SCATTER = 21  # also Scatterv
    ALLGATHER = 22  # also Allgatherv
    ALLTOALL = 23
    ALLTOALLV = 24  # also Alltoallw
    REDUCE_SCATTER = 25  # also Reduce_scatter_block
    SCAN = 26
    EXSCAN = 27

    @property
    def label(self) -> str:
        """Lower-case name, e.g. ``"reduce_scatter"``."""
        return self.name.lower()


FIRST_COLLECTIVE = Call.BARRIER

CALL_DTYPES = {
    "call": np.uint8,
    "start_ns": np.int64,
    "end_ns": np.int64,
    "hidden_ns": np.int64,
    "peer": np.int32,
    "bytes": np.int64,
    "tag": np.int32,
    "comm": np.int32,
    "root": np.int32,
    "request": np.int64,
}
CALL_DEFAULTS = {"hidden_ns": 0, "peer": NULL, "bytes": 0, "tag": ANY, "comm": 0, "root": NONE, "request": NONE}

COMPLETION_DTYPES = {"row": np.int64, "request": np.int64, "peer": np.int32, "tag": np.int32}


@dataclass(frozen=True, eq=False)
class Calls:
    """The calls of one rank in program order, one row each; Init and Finalize are no rows.

    Attributes
    ----------
    call : uint8
        A `Call`.
    start_ns, end_ns : int64
        Of the call, on the clock of the rank, whatever its zero. Starts do not descend, an end is not before
        its start.
    hidden_ns : int64
        Time inside MPI between the end of the row before (or of Init) and this start, in calls that have no row,
        such as a Test without success. It is not compute time.
    peer : int32
        World rank of the other side, `NULL` for MPI_PROC_NULL. Of a blocking receive, a probe or an mprobe the
        source that was found; of an `IRECV` the one asked for, `ANY` where it was left open.
    bytes : int64
        SEND, ISEND: size of the message. RECV, IRECV, probes: not used. BROADCAST, REDUCE, ALLREDUCE, SCAN, EXSCAN:
        size of the buffer. GATHER, ALLGATHER: what this rank contributes. SCATTER: what this rank gets.
        ALLTOALL: what this rank sends to each one. ALLTOALLV: what this rank sends to all together, itself included.
        REDUCE_SCATTER: the whole of what this rank puts in. The same with MPI_IN_PLACE (then by the receive side),
        and 0 where a size has no meaning.
    tag : int32
        As `peer`: found by RECV and probes, asked for by IRECV (`ANY` where open).
    comm : int32
        Index into `RankCapture.communicators`.
    root : int32
        World rank of the root of a rooted collective, else `NONE`.
    request : int64
        The request that ISEND, IRECV, MPROBE or a non-blocking collective begins, else `NONE`. A number may be used
        again once completed.
    """

    call: NDArray[np.uint8]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    hidden_ns: NDArray[np.int64]
    peer: NDArray[np.int32]
    bytes: NDArray[np.int64]
    tag: NDArray[np.int32]
    comm: NDArray[np.int32]
    root: NDArray[np.int32]
    request: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.call)

    @classmethod
    def of(cls, **columns: ArrayLike) -> Calls:
        """Make columns of the right types; those of `CALL_DEFAULTS` may be left out."""
        rows = len(np.asarray(columns["call"]))
        arrays = {}
        for name, dtype in CALL_DTYPES.items():
            values = columns.get(name)
            arrays[name] = np.full(rows, CALL_DEFAULTS[name], dtype) if values is None else np.asarray(values, dtype)
        return cls(**arrays)


@dataclass(frozen=True, eq=False)
class Completions:
    """Which requests each `WAIT` row completed: one entry per request, `row` ascending.

    Attributes
    ----------
    row : int64
        Row of the WAIT.
    request : int64
        As in `Calls.request`.
    peer, tag : int32
        Of a receive: world rank and tag that its message had; `ANY` where the status was not seen (the ones asked
        for hold then). `peer` `CANCELLED`: no message passed. Of other requests not used.
    """

    row: NDArray[np.int64]
    request: NDArray[np.int64]
    peer: NDArray[np.int32]
    tag: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def of(cls, row: ArrayLike, request: ArrayLike, peer: ArrayLike, tag: ArrayLike) -> Completions:
        """Make columns of the right types."""
        given = {"row": row, "request": request, "peer": peer, "tag": tag}
        return cls(**{name: np.asarray(given[name], dtype) for name, dtype in COMPLETION_DTYPES.items()})


@dataclass(frozen=True, eq=False)
class RankCommunicator:
    """A communicator as one rank knows it.

    Attributes
    ----------
    members : int32
        World ranks in communicator rank order (of an intercommunicator: both groups, in an order that all agree on).
    key : tuple of int
        Communicators of two ranks are the same when members and keys are equal. With no better knowledge, how many
        earlier communicators of this rank had the same members.
    inter : bool
        True for an intercommunicator; its collectives are not mixed.
    """

    members: NDArray[np.int32]
    key: tuple[int, ...] = (0,)
    inter: bool = False

    @classmethod
    def of(cls, members: ArrayLike, key: tuple[int, ...] = (0,), inter: bool = False) -> RankCommunicator:
        """Make one from any sequence of members."""
        return cls(np.asarray(members, np.int32), key, inter)


@dataclass(frozen=True, eq=False)
class RankCapture:
    """What one rank did.

    Attributes
    ----------
    rank : int
        World rank.
    path : str
        File of its calls, for messages.
    node : str
        Name of its node.
    init_end_ns : int
        When it left Init, on the rank's clock: its time zero.
    finalize_start_ns : int or None
        When it entered Finalize; None when it never did.
    calls : Calls
    completions : Completions
    communicators : tuple of RankCommunicator
        The first is MPI_COMM_WORLD.
    finalize_hidden_ns : int
        As `Calls.hidden_ns`, before Finalize.
    unsupported : mapping of str to int
        How often each MPI function was called that has no place in a trace, e.g. ``{"MPI_Put": 3}``.
    damage : str
        What is wrong with the end of the file of a rank that ended early, else empty.
    """

    rank: int
    path: str
    node: str
    init_end_ns: int
    finalize_start_ns: int | None
    calls: Calls
    completions: Completions
    communicators: tuple[RankCommunicator, ...]
    finalize_hidden_ns: int = 0
    unsupported: Mapping[str, int] = field(default_factory=dict)
    damage: str = ""


@dataclass(frozen=True, eq=False)
class Capture:
    """All ranks of a program.

    Attributes
    ----------
    path : str
        The folder or folders, for messages.
    ranks : tuple of RankCapture
        Rank r is at place r; all are there.
    notes : tuple of str
        What the reader of the files had to assume.
    files : tuple of str
        All that were read.
    """

    path: str
    ranks: tuple[RankCapture, ...]
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

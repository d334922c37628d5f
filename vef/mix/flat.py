"""All ranks of a capture in one set of columns, with requests resolved; what the later steps work on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vef.mix.events import (
    ANY,
    CANCELLED,
    FIRST_COLLECTIVE,
    NONE,
    NULL,
    Call,
    Calls,
    Capture,
    CaptureError,
    Completions,
    RankCapture,
)

FINALIZE = 255  # as `call`: the row added for MPI_Finalize
SCAN_TAG = -(2**31)  # below every tag of MPI, so that the messages of scans meet each other only

POSTS = (Call.ISEND, Call.IRECV, Call.MPROBE)


@dataclass(frozen=True, eq=False)
class Flat:
    """Rows of all ranks, rank after rank, each in program order.

    Attributes
    ----------
    ptr : int64 (ranks + 1,)
        Rank r has the rows ``ptr[r]:ptr[r + 1]``.
    rank : int32
    call : uint8
        A `Call` or `FINALIZE`; `Call.SKIPPED` for what leaves no record.
    peer, tag : int32
        Of receives: those of the message received; peer `NULL` where there is none.
    comm : int32
        Index into `communicators`.
    root : int32
        World rank or `NONE`.
    bytes : int64
    blocking : bool
        False for a non-blocking collective.
    start_ns, before_ns : int64
        Start, and start of the row before; both since the rank's own time zero.
    work_ns : int64
        Compute time of the rank until the start of the row, in all.
    done_row, done_begin : int64
        For each request completed: row of the `WAIT`, and the row that had begun it; ascending by `done_row`.
    communicators : list of tuple of int
        World ranks by communicator rank; the first is that of all tasks.
    inter : list of bool
        Which of them are intercommunicators.
    counts : Counter of str
        What was left out or replaced.
    """

    ptr: NDArray[np.int64]
    rank: NDArray[np.int32]
    call: NDArray[np.uint8]
    peer: NDArray[np.int32]
    tag: NDArray[np.int32]
    comm: NDArray[np.int32]
    root: NDArray[np.int32]
    bytes: NDArray[np.int64]
    blocking: NDArray[np.bool_]
    start_ns: NDArray[np.int64]
    before_ns: NDArray[np.int64]
    work_ns: NDArray[np.int64]
    done_row: NDArray[np.int64]
    done_begin: NDArray[np.int64]
    communicators: list[tuple[int, ...]]
    inter: list[bool]
    counts: Counter[str]

    def __len__(self) -> int:
        return len(self.call)


@dataclass(frozen=True, eq=False)
class _Rank:
    columns: dict[str, NDArray]
    done_row: NDArray[np.int64]
    done_begin: NDArray[np.int64]


def flatten(capture: Capture) -> Flat:
    """Bring all ranks together.

    Raises
    ------
    CaptureError
        When the ranks do not fit together.
    """
    tasks = len(capture.ranks)
    communicators, inter, mapping = _communicators(capture)
    counts: Counter[str] = Counter()
    parts = [_rank(rank, mapping[rank.rank], tasks, counts) for rank in capture.ranks]
    sizes = [len(part.columns["call"]) for part in parts]
    ptr = np.zeros(tasks + 1, np.int64)
    np.cumsum(sizes, out=ptr[1:])
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    return Flat(
        ptr=ptr,
        rank=np.repeat(np.arange(tasks, dtype=np.int32), sizes),
        done_row=np.concatenate([part.done_row + ptr[at] for at, part in enumerate(parts)]),
        done_begin=np.concatenate([part.done_begin + ptr[at] for at, part in enumerate(parts)]),
        communicators=communicators,
        inter=inter,
        counts=counts,
        **columns,
    )


def _communicators(capture: Capture) -> tuple[list[tuple[int, ...]], list[bool], list[NDArray[np.int32]]]:
    """Return members and kind of each communicator, and by rank the index of each of its own."""
    tasks = len(capture.ranks)
    index: dict[tuple[bytes, tuple[int, ...]], int] = {}
    members: list[tuple[int, ...]] = []
    inter: list[bool] = []
    mapping = []
    for rank in capture.ranks:
        own = np.empty(len(rank.communicators), np.int32)
        for at, communicator in enumerate(rank.communicators):
            ranks = np.ascontiguousarray(communicator.members, np.int32)
            name = (ranks.tobytes(), communicator.key)
            if name not in index:
                index[name] = len(members)
                members.append(tuple(ranks.tolist()))
                inter.append(communicator.inter)
            own[at] = index[name]
        if not len(own) or own[0] != 0 or len(members[0]) != tasks:
            held = len(rank.communicators[0].members) if len(own) else 0
            raise CaptureError(
                f"{rank.path}: found {held} tasks in MPI_COMM_WORLD; expected the same {tasks} tasks for all ranks; "
                "are all files of one run there?"
            )
        mapping.append(own)
    return members, inter, mapping


def _rank(rank: RankCapture, comm: NDArray[np.int32], tasks: int, counts: Counter[str]) -> _Rank:
    calls, completions = _unfold_scans(rank, counts)
    rows = len(calls)
    call = calls.call.copy()
    inter = np.array([communicator.inter for communicator in rank.communicators], bool)
    alien = (call >= FIRST_COLLECTIVE) & inter[calls.comm]
    if alien.any():
        counts["collective of an intercommunicator"] += int(alien.sum())
        call[alien] = Call.SKIPPED
    peer, tag = calls.peer.copy(), calls.tag.copy()
    begin, kept = _begins(calls, completions)
    done_row, begin = completions.row[kept], begin[kept]
    cancelled = completions.peer[kept] == CANCELLED
    found_peer, found_tag = completions.peer[kept], completions.tag[kept]
    peer[begin] = np.where(peer[begin] == ANY, found_peer, peer[begin])
    tag[begin] = np.where(tag[begin] == ANY, found_tag, tag[begin])
    peer[begin[cancelled]] = NULL
    _check_peers(rank, peer, call, tasks)

    ends = np.maximum.accumulate(np.maximum(calls.end_ns, calls.start_ns)) if rows else calls.end_ns
    starts = np.maximum.accumulate(calls.start_ns) if rows else calls.start_ns
    free = np.concatenate(([rank.init_end_ns], np.maximum(ends, rank.init_end_ns)))
    finalize = rank.finalize_start_ns
    last = finalize is not None
    start = np.concatenate((starts, np.array([finalize], np.int64))) if last else starts
    hidden = np.concatenate((calls.hidden_ns, [rank.finalize_hidden_ns])) if last else calls.hidden_ns
    free = free if last else free[:-1]
    free, start = free.astype(np.int64), np.maximum(start.astype(np.int64), rank.init_end_ns)
    work = np.maximum(start - free - hidden, 0)
    # Posting a receive is work of the processor that no record stands for.
    posting = np.flatnonzero(call == Call.IRECV)
    posting = posting[posting + 1 < len(work)]
    work[posting + 1] += np.maximum(calls.end_ns[posting] - np.maximum(calls.start_ns[posting], free[posting]), 0)

    def extended(values: NDArray, value: int) -> NDArray:
        return np.concatenate((values, np.array([value], values.dtype))) if last else values

    columns = {
        "call": extended(call, FINALIZE),
        "peer": extended(peer, NULL),
        "tag": extended(tag, ANY),
        "comm": extended(comm[calls.comm], 0),
        "root": extended(calls.root, NONE),
        "bytes": extended(calls.bytes, 0),
        "blocking": extended(calls.request == NONE, 1),
        "start_ns": start - rank.init_end_ns,
        "before_ns": np.concatenate(([0], start[:-1] - rank.init_end_ns)) if len(start) else start,
        "work_ns": np.cumsum(work),
    }
    return _Rank(columns, done_row, begin)


def _begins(calls: Calls, completions: Completions) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each completion the row that began its request, and whether there is one not yet completed."""
    rows = len(calls)
    begins = np.flatnonzero((calls.request != NONE) & (np.isin(calls.call, POSTS) | (calls.call >= FIRST_COLLECTIVE)))
    if not len(completions) or not len(begins):
        return np.zeros(len(completions), np.int64), np.zeros(len(completions), bool)
    _, dense = np.unique(np.concatenate((calls.request[begins], completions.request)), return_inverse=True)
    dense = dense.astype(np.int64)
    keys = dense[: len(begins)] * (rows + 1) + begins
    order = np.argsort(keys)
    wanted = dense[len(begins) :] * (rows + 1) + completions.row
    at = np.searchsorted(keys[order], wanted) - 1
    begin = begins[order[np.maximum(at, 0)]]
    good = (at >= 0) & (calls.request[begin] == completions.request)
    first = np.zeros(len(completions), bool)
    chosen = np.flatnonzero(good)
    first[chosen[np.unique(begin[chosen], return_index=True)[1]]] = True
    return begin, first


def _check_peers(rank: RankCapture, peer: NDArray[np.int32], call: NDArray[np.uint8], tasks: int) -> None:
    wild = np.flatnonzero((peer >= tasks) & (call <= Call.MPROBE) & (call != Call.WAIT))
    if len(wild):
        raise CaptureError(
            f"{rank.path}: call {wild[0]}: found peer {peer[wild[0]]}; expected a rank below {tasks}, "
            "or a negative number for none"
        )


def _unfold_scans(rank: RankCapture, counts: Counter[str]) -> tuple[Calls, Completions]:
    """Replace Scan and Exscan by the messages that pass from each rank to the next."""
    calls, completions = rank.calls, rank.completions
    scans = np.flatnonzero((calls.call == Call.SCAN) | (calls.call == Call.EXSCAN))
    if not len(scans):
        return calls, completions
    for kind in (Call.SCAN, Call.EXSCAN):
        counts[kind.label] += int((calls.call == kind).sum())
    before, after = np.full(len(scans), NULL), np.full(len(scans), NULL)
    for number in np.unique(calls.comm[scans]).tolist():
        members = rank.communicators[number].members
        at = int(np.flatnonzero(members == rank.rank)[0])
        here = calls.comm[scans] == number
        if not rank.communicators[number].inter:
            before[here] = members[at - 1] if at else NULL
            after[here] = members[at + 1] if at + 1 < len(members) else NULL
    twice = np.ones(len(calls), np.int64)
    twice[scans] = 2
    new = np.cumsum(twice) - twice
    columns = {name: np.repeat(values, twice) for name, values in vars(calls).items()}
    receive, send = new[scans], new[scans] + 1
    blocking = calls.request[scans] == NONE
    columns["call"][receive] = np.where(blocking, Call.RECV, Call.IRECV)
    columns["call"][send] = np.where(blocking, Call.SEND, Call.ISEND)
    columns["peer"][receive], columns["peer"][send] = before, after
    columns["tag"][receive] = columns["tag"][send] = SCAN_TAG
    columns["hidden_ns"][send] = 0
    # The wait of a non-blocking scan is for what comes in; the first rank, for what goes out.
    columns["request"][send] = np.where(before == NULL, columns["request"][send], NONE)
    columns["request"][receive] = np.where(before == NULL, NONE, columns["request"][receive])
    moved = Completions(new[completions.row], completions.request, completions.peer, completions.tag)
    return Calls(**columns), moved

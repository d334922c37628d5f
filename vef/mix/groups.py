"""Which participations form one collective, and the two sizes that each record gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vef.mix.events import FIRST_COLLECTIVE, Call, Capture, CaptureError
from vef.mix.flat import FINALIZE, Flat
from vef.records import Op

OPS = {
    Call.BARRIER: Op.BARRIER,
    Call.BROADCAST: Op.BROADCAST,
    Call.REDUCE: Op.REDUCE,
    Call.ALLREDUCE: Op.ALLREDUCE,
    Call.GATHER: Op.GATHER,
    Call.SCATTER: Op.SCATTER,
    Call.ALLGATHER: Op.ALLGATHER,
    Call.ALLTOALL: Op.ALLTOALL,
    Call.ALLTOALLV: Op.ALLTOALL,
    # The same bytes from each to each as the pairwise algorithm sends, and all wait for all.
    Call.REDUCE_SCATTER: Op.ALLTOALL,
}
ROOTED = (Call.BROADCAST, Call.REDUCE, Call.GATHER, Call.SCATTER)


@dataclass(frozen=True, eq=False)
class Groups:
    """The complete collectives of a capture.

    Attributes
    ----------
    rows : int64 (participations,)
        Their rows, ascending.
    number : int32 (rows of the capture,)
        Which collective a row takes part in, -1 for none.
    op : int8 (participations,)
        An `Op`.
    send_bytes, recv_bytes : int64 (participations,)
        As the format wants them.
    incomplete : int
        Collectives left out because not all members are there.
    """

    rows: NDArray[np.int64]
    number: NDArray[np.int32]
    op: NDArray[np.int8]
    send_bytes: NDArray[np.int64]
    recv_bytes: NDArray[np.int64]
    incomplete: int


def group(flat: Flat, capture: Capture) -> Groups:
    """Bring the participations together: the nth collective of each member of a communicator is the same one.

    Raises
    ------
    CaptureError
        When members call different operations or name different roots.
    """
    rows = np.flatnonzero((flat.call >= FIRST_COLLECTIVE) & (flat.call != FINALIZE))
    number = np.full(len(flat), -1, np.int32)
    comm = flat.comm[rows]
    order = np.lexsort((flat.rank[rows], comm))  # stable: by communicator, rank, program order
    own_comm, own_rank = comm[order], flat.rank[rows[order]]
    turn = _turns((own_comm[1:] != own_comm[:-1]) | (own_rank[1:] != own_rank[:-1]), len(order))
    together = np.lexsort((turn, own_comm))
    joined = rows[order[together]]
    own_comm, turn = own_comm[together], turn[together]
    first = np.ones(len(joined), bool)
    first[1:] = (own_comm[1:] != own_comm[:-1]) | (turn[1:] != turn[:-1])
    index = np.cumsum(first) - 1
    begin = np.flatnonzero(first)
    _check_same(flat, capture, joined, joined[begin][index], turn)

    sizes = np.array([len(members) for members in flat.communicators])
    whole = np.diff(np.append(begin, len(joined))) == sizes[own_comm[begin]]
    kept = whole[index]
    number[joined[kept]] = (np.cumsum(whole) - 1)[index[kept]]
    rows = np.flatnonzero(number >= 0)
    ops = np.full(256, -1, np.int8)
    for call, op in OPS.items():
        ops[call] = op
    for name in (Call.REDUCE_SCATTER,):
        flat.counts[name.label] += int((flat.call[rows] == name).sum())
    send, recv = _sizes(flat, rows, number[rows], int(whole.sum()))
    return Groups(rows, number, ops[flat.call[rows]], send, recv, int((~whole).sum()))


def _turns(new: NDArray[np.bool_], total: int) -> NDArray[np.int64]:
    """Count from 0 within each run; `new` marks the places from 1 on where one begins."""
    at = np.arange(total)
    start = np.zeros(total, np.int64)
    start[1:] = np.where(new, at[1:], 0)
    return at - np.maximum.accumulate(start) if total else at


def _check_same(
    flat: Flat, capture: Capture, rows: NDArray[np.int64], firsts: NDArray[np.int64], turn: NDArray[np.int64]
) -> None:
    rooted = np.isin(flat.call[rows], ROOTED)
    differ = np.flatnonzero(
        (flat.call[rows] != flat.call[firsts])
        | (flat.blocking[rows] != flat.blocking[firsts])
        | (rooted & (flat.root[rows] != flat.root[firsts]))
    )
    if len(differ):
        at = int(differ[0])
        one, other = int(firsts[at]), int(rows[at])
        members = flat.communicators[int(flat.comm[one])]
        raise CaptureError(
            f"{capture.ranks[int(flat.rank[other])].path}: collective {int(turn[at])} on the communicator of "
            f"{len(members)} tasks ({', '.join(map(str, members[:4]))}{' …' if len(members) > 4 else ''}): found "
            f"{_describe(flat, other)} by rank {flat.rank[other]}; expected {_describe(flat, one)} as by rank "
            f"{flat.rank[one]}; were calls lost, or files of several runs mixed up?"
        )
    outside = np.flatnonzero(rooted & (flat.root[rows] < 0))
    if len(outside):
        row = int(rows[outside[0]])
        raise CaptureError(
            f"{capture.ranks[int(flat.rank[row])].path}: found {_describe(flat, row)}; expected a task as its root"
        )


def _describe(flat: Flat, row: int) -> str:
    call = Call(int(flat.call[row]))
    kind = "" if flat.blocking[row] else "non-blocking "
    root = f" with root {flat.root[row]}" if call in ROOTED else ""
    return f"{kind}{call.label}{root}"


def _sizes(
    flat: Flat, rows: NDArray[np.int64], number: NDArray[np.int32], groups: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    call, own = flat.call[rows], flat.bytes[rows]
    total = np.zeros(groups, np.int64)
    np.add.at(total, number, own)
    at_root = flat.root[rows] == flat.rank[rows]
    of_root = np.zeros(groups, np.int64)
    of_root[number[at_root]] = own[at_root]
    send, recv = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)

    def fill(kind: Call, root: tuple, others: tuple) -> None:
        for place, (to_send, to_recv) in ((at_root, root), (~at_root, others)):
            here = np.flatnonzero((call == kind) & place)
            send[here] = to_send[here] if isinstance(to_send, np.ndarray) else to_send
            recv[here] = to_recv[here] if isinstance(to_recv, np.ndarray) else to_recv

    whole, buffer = total[number], of_root[number]
    fill(Call.BROADCAST, (buffer, 0), (0, buffer))
    fill(Call.REDUCE, (0, buffer), (buffer, 0))
    fill(Call.ALLREDUCE, (own, own), (own, own))
    fill(Call.GATHER, (own, whole), (own, 0))
    fill(Call.SCATTER, (whole, own), (0, own))
    fill(Call.ALLGATHER, (own, whole), (own, whole))
    fill(Call.ALLTOALL, (own, 0), (own, 0))
    fill(Call.ALLTOALLV, (own, 1), (own, 1))
    fill(Call.REDUCE_SCATTER, (own, 1), (own, 1))
    return send, recv

"""Every collective, blocking, non-blocking and in place, against the sizes that the format gives for it."""

from __future__ import annotations

import pytest
from capture_shared import messages_by_pair

from vef import COLLECTIVE

RANKS = 4
COUNTS = [10, 20, 30, 40]
TOTAL = sum(COUNTS)
BROADCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, BARRIER, ALLTOALL = range(8)


def _expected(rank: int) -> list[tuple[int, int, int]]:
    """(op, sent, received) of each collective of the program on a rank; see the table of the format."""
    mine = COUNTS[rank]

    def reduce(size: int) -> tuple[int, int, int]:
        return (REDUCE, 0, size) if rank == 1 else (REDUCE, size, 0)

    def gather(size: int, total: int, root: int) -> tuple[int, int, int]:
        return (GATHER, size, total if rank == root else 0)

    def scatter(size: int, total: int, root: int) -> tuple[int, int, int]:
        return (SCATTER, total if rank == root else 0, size)

    return [
        (BARRIER, 0, 0),
        (BROADCAST, 101, 0) if rank == 1 else (BROADCAST, 0, 101),
        reduce(102), reduce(103),
        (ALLREDUCE, 104, 104), (ALLREDUCE, 105, 105),
        gather(106, 4 * 106, 0), gather(107, 4 * 107, 0), gather(mine, TOTAL, 2),
        scatter(108, 4 * 108, 0), scatter(109, 4 * 109, 0), scatter(mine, TOTAL, 2),
        (ALLGATHER, 110, 4 * 110), (ALLGATHER, 111, 4 * 111), (ALLGATHER, mine, TOTAL), (ALLGATHER, mine, TOTAL),
        (ALLTOALL, 112, 0), (ALLTOALL, 113, 0),
        (ALLTOALL, TOTAL, 1), (ALLTOALL, TOTAL, 1),
        (ALLTOALL, TOTAL, 1), (ALLTOALL, 4 * 114, 1),  # reduce_scatter
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["blocking", "nonblocking"])
def test_every_collective_has_the_sizes_of_the_format(mpi, form):
    outcome = mpi.capture(RANKS, "collectives.c", *(["i"] if form == "nonblocking" else []))
    trace = outcome.trace
    for rank in range(RANKS):
        rows = (trace.kind == COLLECTIVE) & (trace.task == rank)
        columns = (trace.op[rows], trace.send_bytes[rows], trace.recv_bytes[rows])
        found = list(zip(*(column.tolist() for column in columns), strict=True))
        assert found == _expected(rank)
    # Scan and Exscan have no op: a message from each rank to the next.
    assert messages_by_pair(trace) == {(rank, rank + 1): (2, 115 + 116) for rank in range(RANKS - 1)}
    assert "scan" in outcome.err
    assert "reduce_scatter" in outcome.err

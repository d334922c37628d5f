"""Rounds and numbers of messages of every algorithm: 4 KiB, root 0, no segmentation.

As of main, but alltoallv as of 4.1, which sends no messages to oneself.
"""

from __future__ import annotations

import pytest
from collectives_data import REDUCTIONS

from estimator.collectives import expand

RANKS = (4, 5, 8, 16, 32, 33)
TABLE = """
bcast 1 basic_linear 1/3 1/4 1/7 1/15 1/31 1/32
bcast 2 chain 1/3 1/4 2/7 4/15 8/31 8/32
bcast 3 pipeline 3/3 4/4 7/7 15/15 31/31 32/32
bcast 4 split_binary_tree 3/6 4/8 5/14 7/30 9/62 9/64
bcast 5 binary_tree 2/3 2/4 3/7 4/15 5/31 5/32
bcast 6 binomial 2/3 2/4 3/7 4/15 5/31 5/32
bcast 7 knomial 1/3 1/4 2/7 2/15 3/31 3/32
bcast 8 scatter_allgather 4/11 8/17 6/31 8/79 10/191 17/225
bcast 9 scatter_allgather_ring 5/15 7/24 10/63 19/255 36/1023 38/1088
reduce 1 linear 1/3 1/4 1/7 1/15 1/31 1/32
reduce 2 chain 1/3 1/4 2/7 4/15 8/31 8/32
reduce 3 pipeline 3/3 4/4 7/7 15/15 31/31 32/32
reduce 4 binary 2/3 2/4 3/7 4/15 5/31 5/32
reduce 5 binomial 2/3 2/4 3/7 4/15 5/31 5/32
reduce 6 in-order_binary 3/4 3/5 4/8 5/16 6/32 6/33
reduce 7 rabenseifner 4/11 6/14 6/31 8/79 10/191 12/194
reduce 8 knomial 1/3 1/4 2/7 2/15 3/31 3/32
allreduce 1 basic_linear 2/6 2/8 2/14 2/30 2/62 2/64
allreduce 2 nonoverlapping 4/6 4/8 6/14 8/30 8/62 8/64
allreduce 3 recursive_doubling 2/8 4/10 3/24 4/64 5/160 7/162
allreduce 4 ring 6/24 8/40 14/112 30/480 62/1984 64/2112
allreduce 5 segmented_ring 6/24 8/40 14/112 30/480 62/1984 64/2112
allreduce 6 rabenseifner 4/16 7/20 6/48 8/128 10/320 13/324
allreduce 7 allgather_reduce 2/8 3/15 3/24 4/64 16/512 32/1056
gather 1 basic_linear 1/3 1/4 1/7 1/15 1/31 1/32
gather 2 binomial 2/3 2/4 3/7 4/15 5/31 5/32
gather 3 linear_sync 7/9 9/12 15/21 31/45 63/93 65/96
scatter 1 basic_linear 3/3 4/4 7/7 15/15 31/31 32/32
scatter 2 binomial 2/3 3/4 3/7 4/15 5/31 6/32
scatter 3 linear_nb 1/3 1/4 1/7 1/15 1/31 1/32
allgather 1 linear 2/6 2/8 4/14 8/30 8/62 8/64
allgather 2 bruck 2/8 3/15 3/24 4/64 5/160 6/198
allgather 3 recursive_doubling 2/8 3/15 3/24 4/64 5/160 6/198
allgather 4 ring 3/12 4/20 7/56 15/240 31/992 32/1056
allgather 5 neighbor 2/8 4/20 4/32 8/128 16/512 32/1056
allgather 7 sparbit 2/12 3/20 3/56 4/240 5/992 6/1056
allgather 8 direct-messaging 1/12 1/20 1/56 1/240 1/992 1/1056
allgatherv 1 basic_default 2/6 2/8 2/14 5/30 4/62 4/64
allgatherv 2 bruck 2/8 3/15 3/24 4/64 5/160 6/198
allgatherv 3 ring 3/12 4/20 7/56 15/240 31/992 32/1056
allgatherv 4 neighbor 2/8 4/20 4/32 8/128 16/512 32/1056
allgatherv 6 sparbit 2/12 3/20 3/56 4/240 5/992 6/1056
barrier 1 linear 4/6 5/8 8/14 16/30 32/62 33/64
barrier 2 double_ring 8/8 10/10 16/16 32/32 64/64 66/66
barrier 3 recursive_doubling 2/8 4/10 3/24 4/64 5/160 7/162
barrier 4 bruck 2/8 3/15 3/24 4/64 5/160 6/198
barrier 6 tree 4/6 5/8 6/14 8/30 10/62 11/64
alltoall 1 linear 1/12 1/20 1/56 1/240 1/992 1/1056
alltoall 2 pairwise 3/12 4/20 7/56 15/240 31/992 32/1056
alltoall 3 modified_bruck 2/8 3/15 3/24 4/64 5/160 6/198
alltoall 4 linear_sync 1/12 1/20 1/56 1/240 1/992 1/1056
alltoallv 1 basic_linear 1/12 1/20 1/56 1/240 1/992 1/1056
alltoallv 2 pairwise 3/12 4/20 7/56 15/240 31/992 32/1056
reduce_scatter 1 non-overlapping 5/6 6/8 10/14 19/30 36/62 37/64
reduce_scatter 2 recursive_halving 2/8 4/10 3/24 4/64 5/160 7/162
reduce_scatter 3 ring 3/12 4/20 7/56 15/240 31/992 32/1056
reduce_scatter 4 butterfly 3/10 4/12 4/28 5/76 6/184 7/186
reduce_scatter_block 1 basic_linear 4/6 5/8 6/14 8/30 6/62 6/64
reduce_scatter_block 2 recursive_doubling 2/8 5/13 3/24 4/64 5/160 11/193
reduce_scatter_block 3 recursive_halving 2/8 4/10 3/24 4/64 5/160 7/162
reduce_scatter_block 4 butterfly 2/8 4/12 3/24 4/64 5/160 7/186
scan 1 linear 3/3 4/4 7/7 15/15 31/31 32/32
scan 2 recursive_doubling 2/8 3/10 3/24 4/64 5/160 6/162
exscan 1 linear 3/3 4/4 7/7 15/15 31/31 32/32
exscan 2 recursive_doubling 2/8 3/10 3/24 4/64 5/160 6/162
"""
"""Operation, id, name, then rounds/messages for each number of ranks."""

ROWS = [line.split() for line in TABLE.strip().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]}-{row[2]}" for row in ROWS])
def test_rounds_and_messages(row: list[str]) -> None:
    op, ident, name, *expected = row
    made = []
    for ranks in RANKS:
        schedule = expand(
            op,
            ident,
            ranks,
            sizes=4096,
            element_bytes=4 if op in REDUCTIONS else 1,
            radix=2 if (op, name) == ("allgather", "bruck") else None,
            version="4.1" if op == "alltoallv" else "main",
        )
        made.append(f"{schedule.rounds}/{schedule.messages}")
    assert made == expected

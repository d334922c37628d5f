"""Properties of any schedule: it runs to its end, every message is awaited, the information gets there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.collectives import ALGORITHMS, SEND, WAIT_RECV, WAIT_SEND, Schedule, expand

VERSIONS_OF = {(op, entry.name): entry.versions for op, entries in ALGORITHMS.items() for entry in entries}
EVERY = list(VERSIONS_OF)
PAIRS_ONLY = "two_proc"
ROOTED_OUT = ("bcast", "scatter", "scatterv")
ROOTED_IN = ("reduce", "gather", "gatherv")


def reached(schedule: Schedule) -> list[int]:
    """Whose knowledge each rank has in the end, as bits, if a message carries all that its sender has."""
    known = [1 << rank for rank in range(schedule.ranks)]
    carried: dict[int, int] = {}
    completed: set[tuple[int, int]] = set()
    programs = [iter(schedule.program(rank).tolist()) for rank in range(schedule.ranks)]
    waiting = [next(program, None) for program in programs]
    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(programs):
            while (code := waiting[rank]) is not None:
                message, kind = code >> 2, code & 3
                if kind == SEND:
                    assert schedule.src[message] == rank
                    carried[message] = known[rank]
                elif message not in carried:
                    break
                elif kind == WAIT_RECV:
                    assert schedule.dst[message] == rank
                    known[rank] |= carried[message]
                else:
                    assert kind == WAIT_SEND
                    assert schedule.src[message] == rank
                assert (message, kind) not in completed
                completed.add((message, kind))
                waiting[rank] = next(program, None)
                moved = True
    assert waiting == [None] * schedule.ranks
    assert len(completed) == 3 * schedule.messages
    return known


def expected(op: str, ranks: int, root: int) -> list[int]:
    """Least knowledge that the operation's meaning asks for."""
    everyone = (1 << ranks) - 1
    own = [1 << rank for rank in range(ranks)]
    if op in ROOTED_OUT:
        return [bit | 1 << root for bit in own]
    if op in ROOTED_IN:
        return [everyone if rank == root else bit for rank, bit in enumerate(own)]
    if op == "reduce_scatter":
        return own  # a rank without elements of its own needs nothing
    if op in ("scan", "exscan"):
        return [(bit << 1) - 1 for bit in own]
    return [everyone] * ranks


@pytest.mark.parametrize(("op", "name"), EVERY)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_information_is_complete(op: str, name: str, data: st.DataObject) -> None:
    ranks = 2 if name == PAIRS_ONLY else data.draw(st.integers(1, 40), "ranks")
    root = data.draw(st.integers(0, ranks - 1), "root") if op in ROOTED_OUT + ROOTED_IN else 0
    elements = data.draw(st.integers(1, 5000), "elements")
    element_bytes = data.draw(st.sampled_from([1, 4, 12]), "element size")
    segment = data.draw(st.sampled_from([0, 0, 64, 1000]), "segment")
    schedule = expand(
        op,
        name,
        ranks,
        sizes=elements * element_bytes,
        root=root,
        element_bytes=element_bytes,
        segment_bytes=segment if elements > 64 else 0,
        fanout=data.draw(st.sampled_from([None, 1, 2, 7]), "fanout"),
        radix=data.draw(st.sampled_from([None, 2, 3]), "radix"),
        version=data.draw(st.sampled_from(VERSIONS_OF[op, name]), "version"),
    )
    for known, least in zip(reached(schedule), expected(op, ranks, root), strict=True):
        assert known & least == least


@pytest.mark.parametrize(("op", "name"), EVERY)
@settings(max_examples=10, deadline=None)
@given(ranks=st.integers(1, 40), size=st.integers(1, 9999))
def test_columns_and_rounds(op: str, name: str, ranks: int, size: int) -> None:
    ranks = 2 if name == PAIRS_ONLY else ranks
    schedule = expand(op, name, ranks, sizes=size, version="main")
    assert [column.dtype.name for column in (schedule.src, schedule.dst, schedule.round)] == ["int32"] * 3
    assert [column.dtype.name for column in (schedule.size_bytes, schedule.op_ptr, schedule.ops)] == ["int64"] * 3
    assert schedule.op_ptr[-1] == schedule.ops.size == 3 * schedule.messages
    self_messages = schedule.src == schedule.dst
    assert not self_messages.any() or (op, name) == ("alltoallv", "pairwise")
    # The rounds, from the definition.
    own = np.zeros(ranks, int)
    position = schedule.op_ptr[:-1].copy()
    rounds: dict[int, int] = {}
    while (position < schedule.op_ptr[1:]).any():
        for rank in range(ranks):
            while position[rank] < schedule.op_ptr[rank + 1]:
                message, kind = divmod(int(schedule.ops[position[rank]]), 4)
                if kind == SEND:
                    rounds[message] = int(own[rank])
                elif message in rounds:
                    own[rank] = max(own[rank], rounds[message] + 1)
                else:
                    break
                position[rank] += 1
    assert [rounds[m] for m in range(schedule.messages)] == schedule.round.tolist()

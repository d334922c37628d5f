"""Collectives as traces record them."""

from __future__ import annotations

import numpy as np
import pytest

from estimator.collectives import (
    CallError,
    Expansion,
    ExpansionCache,
    UnknownAlgorithm,
    check_forced,
    expand_call,
    expand_trace_collective,
)


def same(one: Expansion, other: Expansion) -> bool:
    a, b = one.schedule, other.schedule
    columns = [(a.src, b.src), (a.dst, b.dst), (a.size_bytes, b.size_bytes), (a.ops, b.ops)]
    return all(np.array_equal(mine, theirs) for mine, theirs in columns)


def at_root(root_value: int, others: int, root: int, n: int) -> list[int]:
    return [root_value if rank == root else others for rank in range(n)]


@pytest.mark.parametrize(
    ("op", "send", "recv", "root", "mpi_op", "sizes", "element_bytes"),
    [
        ("broadcast", at_root(64, 0, 2, 5), at_root(0, 64, 2, 5), 2, "bcast", 64, 1),
        ("reduce", at_root(0, 64, 2, 5), at_root(64, 0, 2, 5), 2, "reduce", 64, 4),
        ("reduce", at_root(0, 66, 2, 5), at_root(66, 0, 2, 5), 2, "reduce", 66, 1),
        ("allreduce", [4096] * 5, [4096] * 5, -1, "allreduce", 4096, 4),
        ("gather", [64] * 5, at_root(320, 0, 1, 5), 1, "gather", 64, 1),
        ("gather", at_root(0, 64, 1, 5), at_root(320, 0, 1, 5), 1, "gather", 64, 1),
        ("gather", [1, 2, 0, 4, 5], at_root(12, 0, 1, 5), 1, "gatherv", [1, 8, 0, 4, 5], 1),
        ("scatter", at_root(320, 0, 1, 5), [64] * 5, 1, "scatter", 64, 1),
        ("scatter", at_root(15, 0, 1, 5), [1, 2, 3, 4, 5], 1, "scatterv", [1, 2, 3, 4, 5], 1),
        ("allgather", [64] * 5, [320] * 5, -1, "allgather", 64, 1),
        ("allgather", [1, 2, 3, 4, 5], [15] * 5, -1, "allgatherv", [1, 2, 3, 4, 5], 1),
        ("barrier", [0] * 5, [0] * 5, -1, "barrier", 0, 1),
        ("alltoall", [64] * 5, [0] * 5, -1, "alltoall", 64, 1),
        ("alltoall", [1, 2, 3, 4, 5], [0] * 5, -1, "alltoallv", [[k] * 5 for k in (1, 2, 3, 4, 5)], 1),
        ("alltoall", [64] * 5, [1] * 5, -1, "alltoallv", [64] * 5, 1),
        ("alltoall", [7, 2], [1, 0], -1, "alltoallv", [[4, 3], [2, 2]], 1),
    ],
)
def test_sizes_follow_the_format(
    op: str, send: list[int], recv: list[int], root: int, mpi_op: str, sizes: object, element_bytes: int
) -> None:
    made = expand_trace_collective(op, send, recv, root)
    meant = expand_call(mpi_op, "default", len(send), sizes=sizes, root=max(root, 0), element_bytes=element_bytes)
    assert made.op == mpi_op
    assert made.algorithm == meant.algorithm
    assert made.bytes == meant.bytes == made.schedule.payload_bytes
    assert same(made, meant)


def test_disagreement_is_said() -> None:
    made = expand_trace_collective("allreduce", [64, 64, 32], [64, 64, 32])
    assert "tasks disagree on the size, 32 to 64 B: took the largest" in made.reason
    assert same(made, expand_call("allreduce", "default", 3, sizes=64, element_bytes=4))


def test_forced_algorithms_by_either_name() -> None:
    for name in ("broadcast", "bcast"):
        made = expand_trace_collective("broadcast", [8, 0, 0], [0, 8, 8], 0, forced={name: "pipeline"})
        assert made.algorithm == "pipeline"
    made = expand_trace_collective("allreduce", [8] * 4, [8] * 4, forced={"bcast": "pipeline"})
    assert made.reason.startswith("Open MPI 4.1/5.0 fixed decision")


def test_forcing_an_operation_leaves_its_v_variant_alone() -> None:
    sizes = [1, 2, 3]
    made = expand_trace_collective("allgather", sizes, [6] * 3, forced={"allgather": "ring"})
    assert made.algorithm == "basic_default"
    assert "forced for allgather does not concern" in made.reason
    made = expand_trace_collective("allgather", sizes, [6] * 3, forced={"allgatherv": "ring"})
    assert made.algorithm == "ring"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(CallError, match="unknown trace collective 'bcast'"):
        expand_trace_collective("bcast", [8, 0], [0, 8], 0)
    with pytest.raises(UnknownAlgorithm, match="bcast has no algorithm 'fast'"):
        check_forced({"broadcast": "fast"})
    with pytest.raises(CallError, match="cannot force an algorithm for 'bcats'"):
        check_forced({"bcats": "ring"})
    with pytest.raises(CallError, match="root 2 is not a rank"):
        expand_trace_collective("broadcast", [8, 0], [0, 8], 2)
    with pytest.raises(CallError, match="send sizes of shape"):
        expand_trace_collective("broadcast", [8, 0], [0], 0)


def test_repeated_collectives_are_remembered() -> None:
    cache = ExpansionCache()
    first = expand_trace_collective("allreduce", [8] * 16, [8] * 16, cache=cache)
    assert expand_trace_collective("allreduce", [8] * 16, [8] * 16, cache=cache) is first
    others = [
        expand_trace_collective("allreduce", [16] * 16, [16] * 16, cache=cache),
        expand_trace_collective("allreduce", [8] * 16, [8] * 16, forced={"allreduce": "ring"}, cache=cache),
        expand_trace_collective("allreduce", [8] * 16, [8] * 16, version="4.1", cache=cache),
    ]
    assert len(cache) == 4
    assert all(other is not first for other in others)


def test_cache_drops_the_least_recently_used() -> None:
    def ask(size: int) -> Expansion:
        return expand_trace_collective("alltoall", [size] * 8, [0] * 8, cache=cache)

    cache = ExpansionCache(most_bytes=2 * ask_bytes())
    first, second = ask(1), ask(2)
    assert ask(1) is first
    ask(3)
    assert len(cache) == 2
    assert ask(1) is first
    assert ask(2) is not second


def ask_bytes() -> int:
    return expand_trace_collective("alltoall", [9] * 8, [0] * 8).schedule.nbytes

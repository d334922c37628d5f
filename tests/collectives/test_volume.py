"""Bytes: closed forms, and what each rank must receive whatever the blocks are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from estimator.collectives import ALGORITHMS, Schedule, expand

SIZE = 1 << 16
SPLITTING = ("scatter_allgather", "scatter_allgather_ring", "rabenseifner", "recursive_doubling")


def received(schedule: Schedule) -> NDArray[np.int64]:
    out = np.zeros(schedule.ranks, np.int64)
    np.add.at(out, schedule.dst, schedule.size_bytes)
    return out


@pytest.mark.parametrize("ranks", [2, 3, 8, 13, 16])
@pytest.mark.parametrize(
    ("op", "name"),
    [
        (op, entry.name)
        for op in ("bcast", "reduce", "scan", "exscan")
        for entry in ALGORITHMS[op]
        if entry.name not in SPLITTING
    ],
)
def test_trees_move_the_buffer_once_per_rank(op: str, name: str, ranks: int) -> None:
    total = expand(op, name, ranks, sizes=SIZE, version="main").payload_bytes
    # The in-order tree is rooted at the last rank, which passes the result on.
    assert total == (ranks if name == "in-order_binary" else ranks - 1) * SIZE


@pytest.mark.parametrize("power", [1, 2, 3, 4, 5])
def test_closed_forms_for_powers_of_two(power: int) -> None:
    n = 1 << power
    totals = {
        ("allreduce", "recursive_doubling"): n * power * SIZE,
        ("allreduce", "ring"): 2 * (n - 1) * SIZE,
        ("allreduce", "rabenseifner"): 2 * (n - 1) * SIZE,
        ("reduce", "rabenseifner"): (n - 1) * SIZE + power * SIZE // 2,
        ("bcast", "scatter_allgather_ring"): (n - 1) * SIZE + power * SIZE // 2,
        ("allgather", "bruck"): n * (n - 1) * SIZE,
        ("allgather", "recursive_doubling"): n * (n - 1) * SIZE,
        ("allgather", "neighbor"): n * (n - 1) * SIZE,
        ("alltoall", "linear"): n * (n - 1) * SIZE,
        ("alltoall", "modified_bruck"): n * power * n // 2 * SIZE,
        ("gather", "binomial"): power * n // 2 * SIZE,
        ("scatter", "binomial"): power * n // 2 * SIZE,
        ("reduce_scatter", "recursive_halving"): (n - 1) * SIZE,
        ("reduce_scatter", "ring"): (n - 1) * SIZE,
        ("reduce_scatter_block", "recursive_doubling"): sum(n * (n - (1 << k)) for k in range(power)) * SIZE,
    }
    for (op, name), total in totals.items():
        assert expand(op, name, n, sizes=SIZE).payload_bytes == total, (op, name)


@pytest.mark.parametrize("ranks", [3, 6, 7, 12, 33])
def test_ring_allreduce_volume_does_not_depend_on_divisibility(ranks: int) -> None:
    assert expand("allreduce", "ring", ranks, sizes=1001).payload_bytes == 2 * (ranks - 1) * 1001


blocks = st.lists(st.integers(0, 5000), min_size=2, max_size=24).filter(any)


@pytest.mark.parametrize("name", ["bruck", "ring", "neighbor", "sparbit"])
@settings(max_examples=40, deadline=None)
@given(sizes=blocks)
def test_allgatherv_brings_every_other_block_once(name: str, sizes: list[int]) -> None:
    schedule = expand("allgatherv", name, len(sizes), sizes=sizes)
    assert received(schedule).tolist() == [sum(sizes) - size for size in sizes]


@settings(max_examples=40, deadline=None)
@given(sizes=blocks, data=st.data())
def test_vector_gather_and_scatter(sizes: list[int], data: st.DataObject) -> None:
    ranks = len(sizes)
    root = data.draw(st.integers(0, ranks - 1))
    expected = [0 if rank == root else size for rank, size in enumerate(sizes)]
    gathered = expand("gatherv", "linear", ranks, sizes=sizes, root=root)
    assert (gathered.dst == root).all()
    assert np.bincount(gathered.src, gathered.size_bytes, minlength=ranks).tolist() == expected
    scattered = expand("scatterv", "linear", ranks, sizes=sizes, root=root)
    assert received(scattered).tolist() == expected
    assert (scattered.size_bytes > 0).all()


@pytest.mark.parametrize("name", ["basic_linear", "pairwise"])
@pytest.mark.parametrize("version", ["4.1", "5.0"])
@settings(max_examples=30, deadline=None)
@given(ranks=st.integers(2, 12), seed=st.integers(0, 1 << 16))
def test_alltoallv_moves_the_matrix(name: str, version: str, ranks: int, seed: int) -> None:
    matrix = np.random.default_rng(seed).integers(0, 3, (ranks, ranks)) * 100
    matrix[0, 1] = 100
    schedule = expand("alltoallv", name, ranks, sizes=matrix, version=version)
    moved = np.zeros_like(matrix)
    np.add.at(moved, (schedule.src, schedule.dst), schedule.size_bytes)
    away = ~np.eye(ranks, dtype=bool)
    assert (moved[away] == matrix[away]).all()
    with_self = name == "pairwise" and version == "5.0"
    assert (np.diag(moved) == (np.diag(matrix) if with_self else 0)).all()
    if version == "4.1":
        assert schedule.messages == ranks * (ranks - 1)
    else:
        assert (schedule.size_bytes > 0).all()


@pytest.mark.parametrize("name", ["ring", "recursive_halving", "butterfly", "non-overlapping"])
@settings(max_examples=40, deadline=None)
@given(sizes=blocks)
def test_reduce_scatter_brings_at_least_the_own_block(name: str, sizes: list[int]) -> None:
    schedule = expand("reduce_scatter", name, len(sizes), sizes=sizes)
    others = received(schedule)
    if name != "non-overlapping":
        assert (others >= sizes).all()
    else:
        assert (others[1:] >= sizes[1:]).all()
    if name == "ring":
        expected = [sum(sizes) - sizes[rank - 1] for rank in range(len(sizes))]
        assert others.tolist() == expected

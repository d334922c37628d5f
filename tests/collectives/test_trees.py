"""Trees: examples, and that every tree is one."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.collectives import trees


def served(edges: trees.Edges) -> dict[int, tuple[int, ...]]:
    out = defaultdict(list)
    for parent, child in zip(*(end.tolist() for end in edges), strict=True):
        out[parent].append(child)
    return {parent: tuple(children) for parent, children in out.items()}


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (trees.binomial_high(8), {0: (1, 2, 4), 1: (3, 5), 2: (6,), 3: (7,)}),
        (trees.binomial_low(8), {0: (1, 2, 4), 2: (3,), 4: (5, 6), 6: (7,)}),
        (trees.binary(8), {0: (1, 2), 1: (3, 5), 2: (4, 6), 3: (7,)}),
        (trees.knomial(8, 4), {0: (4, 1, 2, 3), 4: (5, 6, 7)}),
        (trees.chain(8, 3), {0: (1, 4, 6), 1: (2,), 2: (3,), 4: (5,), 6: (7,)}),
        (trees.in_order_binary(5), {4: (3, 1), 1: (0,), 3: (2,)}),
    ],
)
def test_examples(edges: trees.Edges, expected: dict[int, tuple[int, ...]]) -> None:
    assert served(edges) == expected


@given(
    ranks=st.integers(1, 200),
    kind=st.sampled_from(["binary", "binomial_high", "binomial_low", "knomial", "chain", "in_order_binary"]),
    degree=st.integers(2, 9),
)
def test_every_rank_hangs_on_one_parent(ranks: int, kind: str, degree: int) -> None:
    takes_degree = kind in ("knomial", "chain")
    parents, children = getattr(trees, kind)(ranks, *([degree] if takes_degree else []))
    root = ranks - 1 if kind == "in_order_binary" else 0
    assert sorted(children.tolist()) == [v for v in range(ranks) if v != root]
    assert parents.tolist() == sorted(parents.tolist())
    parent_of = dict(zip(children.tolist(), parents.tolist(), strict=True))
    for v in range(ranks):
        steps = 0
        while v != root:
            v = parent_of[v]
            steps += 1
        assert steps < ranks

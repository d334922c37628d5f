"""Trees over shifted ranks v = (rank - root) mod n, as edge lists in the order a parent serves its children.

Every function returns two int64 arrays (parents, children) of shape (n - 1,), sorted by parent; within one
parent the children stand in serving order. Trees are remembered, so the arrays are read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .splits import power_of_two_below

__all__ = ["Edges", "binary", "binomial_high", "binomial_low", "chain", "in_order_binary", "knomial"]

Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


@lru_cache(maxsize=32)
def binary(ranks: int) -> Edges:
    """Level-order tree of fan-out 2: level L holds v = 2^L - 1 ... 2^(L+1) - 2.

    The children of v on level L are v + 2^L and v + 2 * 2^L, so below the root odd v form the left half.
    """

    def children(v: int) -> Iterable[int]:
        width = power_of_two_below(v + 1)
        return (v + width, v + 2 * width)

    return _collect(ranks, children)


@lru_cache(maxsize=32)
def binomial_high(ranks: int) -> Edges:
    """Binomial tree in which the parent is v with its highest 1-bit cleared; children ascending."""

    def children(v: int) -> Iterable[int]:
        bit = 1 << v.bit_length()
        while v + bit < ranks:
            yield v + bit
            bit <<= 1

    return _collect(ranks, children)


@lru_cache(maxsize=32)
def binomial_low(ranks: int) -> Edges:
    """Binomial tree in which the parent is v with its lowest 1-bit cleared; children ascending.

    The subtree of v is the consecutive range v ... v + lowbit(v) - 1, cut at n.
    """

    def children(v: int) -> Iterable[int]:
        limit = v & -v if v else ranks
        bit = 1
        while bit < limit and v + bit < ranks:
            yield v + bit
            bit <<= 1

    return _collect(ranks, children)


@lru_cache(maxsize=32)
def knomial(ranks: int, radix: int) -> Edges:
    """k-nomial tree: the parent is v with its lowest non-zero base-k digit set to 0; far children first."""

    def children(v: int) -> Iterable[int]:
        power = 1
        while power < ranks and v % (power * radix) == 0:
            power *= radix
        while power > 1:
            power //= radix
            yield from (v + j * power for j in range(1, radix))

    return _collect(ranks, children)


@lru_cache(maxsize=32)
def chain(ranks: int, fanout: int) -> Edges:
    """`fanout` chains of consecutive v; lengths differ by at most one, longer ones first."""
    others = ranks - 1
    chains = max(1, min(fanout, others))
    lengths = others // chains + (np.arange(chains) < others % chains)
    heads = 1 + np.concatenate(([0], np.cumsum(lengths)[:-1]))
    children = np.arange(1, ranks)
    parents = children - 1
    parents[heads[:others] - 1] = 0
    order = np.argsort(parents, kind="stable")
    return _frozen(parents[order], children[order])


@lru_cache(maxsize=32)
def in_order_binary(ranks: int) -> Edges:
    """Binary tree over real ranks, rooted at n - 1, that keeps operands in rank order.

    A subtree over the ranks lo ... hi has root hi. Its first child is hi - 1, its second child the last of
    the first floor(size / 2) ranks, present if the subtree has more than two.
    """
    parents: list[int] = []
    children: list[int] = []
    stack = [(0, ranks - 1)]
    while stack:
        low, high = stack.pop()
        size = high - low + 1
        if size < 2:
            continue
        middle = low + size // 2 if size > 2 else low
        parents.append(high)
        children.append(high - 1)
        stack.append((middle, high - 1))
        if size > 2:
            parents.append(high)
            children.append(middle - 1)
            stack.append((low, middle - 1))
    order = np.argsort(np.array(parents, np.int64), kind="stable")
    return _frozen(np.array(parents, np.int64)[order], np.array(children, np.int64)[order])


def _collect(ranks: int, children_of: Callable[[int], Iterable[int]]) -> Edges:
    pairs = [(v, child) for v in range(ranks) for child in children_of(v) if child < ranks]
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return _frozen(table[:, 0].copy(), table[:, 1].copy())


def _frozen(parents: NDArray[np.int64], children: NDArray[np.int64]) -> Edges:
    parents.flags.writeable = False
    children.flags.writeable = False
    return parents, children

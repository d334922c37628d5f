"""Barrier: all messages are empty. Ids 1-6."""

from __future__ import annotations

import numpy as np

from .call import Call, CallError
from .registry import algorithm
from .schedule import BLOCKING, WAIT_RECV, Builder
from .splits import ceil_log2, power_of_two_below

__all__ = ["bruck", "double_ring", "linear", "recursive_doubling", "tree", "two_proc"]


@algorithm("barrier", 1, "linear")
def linear(b: Builder, call: Call) -> None:
    """All send to rank 0, which releases them one by one. n rounds."""
    others = np.arange(1, call.ranks)
    b.blocking(others, 0, 0)
    b.blocking(0, others, 0)


@algorithm("barrier", 2, "double_ring")
def double_ring(b: Builder, call: Call) -> None:
    """A token runs twice around the ring. 2n rounds."""
    n = call.ranks
    start = np.tile(np.arange(n), 2)
    ids = b.add(start, (start + 1) % n, 0).reshape(-1, 1)
    b.emit((BLOCKING, ids), (WAIT_RECV, ids))


@algorithm("barrier", 3, "recursive_doubling")
def recursive_doubling(b: Builder, call: Call) -> None:
    """Pairwise exchange with r ^ mask among the first p ranks; the others report to r - p and wait.

    log2 p rounds, 2 more with extra ranks.
    """
    power = power_of_two_below(call.ranks)
    rank = np.arange(power)
    extra = np.arange(power, call.ranks)
    b.blocking(extra, extra - power, 0)
    mask = 1
    while mask < power:
        b.exchange(rank, rank ^ mask, 0)
        mask *= 2
    b.blocking(extra - power, extra, 0)


@algorithm("barrier", 4, "bruck")
def bruck(b: Builder, call: Call) -> None:
    """Distances 1, 2, 4, ...: send to r + distance, receive from r - distance. ceil(log2 n) rounds."""
    rank = np.arange(call.ranks)
    distance = 1
    while distance < call.ranks:
        b.exchange(rank, (rank + distance) % call.ranks, 0)
        distance *= 2


@algorithm("barrier", 5, "two_proc")
def two_proc(b: Builder, call: Call) -> None:
    """One exchange between the only two ranks."""
    if call.ranks != 2:
        raise CallError(f"barrier two_proc needs 2 ranks, got {call.ranks}")
    b.exchange([0, 1], [1, 0], 0)


@algorithm("barrier", 6, "tree")
def tree(b: Builder, call: Call) -> None:
    """Binomial fan-in to rank 0 at distances 1, 2, 4, ..., then fan-out in reverse."""
    rank = np.arange(call.ranks)
    masks = [1 << k for k in range(ceil_log2(call.ranks))]
    for mask in masks:
        children = rank[rank % (2 * mask) == mask]
        b.blocking(children, children - mask, 0)
    for mask in reversed(masks):
        children = rank[rank % (2 * mask) == mask]
        b.blocking(children - mask, children, 0)

"""Scan and exscan. The fixed decision is always linear."""

from __future__ import annotations

import numpy as np

from .call import Call
from .registry import algorithm
from .schedule import BLOCKING, WAIT_RECV, Builder

__all__ = ["linear", "recursive_doubling"]


@algorithm("scan", 1, "linear")
@algorithm("exscan", 1, "linear")
def linear(b: Builder, call: Call) -> None:
    """Rank r waits for the prefix of r - 1, then sends its own to r + 1. n-1 rounds."""
    rank = np.arange(call.ranks - 1)
    ids = b.add(rank, rank + 1, call.size_bytes)
    b.emit((WAIT_RECV, ids), (BLOCKING, ids))


@algorithm("scan", 2, "recursive_doubling")
@algorithm("exscan", 2, "recursive_doubling")
def recursive_doubling(b: Builder, call: Call) -> None:
    """Exchange whole buffers with r ^ mask where it exists. ceil(log2 n) rounds."""
    rank = np.arange(call.ranks)
    mask = 1
    while mask < call.ranks:
        active = rank[(rank ^ mask) < call.ranks]
        b.exchange(active, active ^ mask, call.size_bytes)
        mask *= 2

"""Alltoall and alltoallv."""

from __future__ import annotations

import numpy as np

from .call import Call, CallError
from .registry import algorithm
from .schedule import SEND, WAIT_RECV, WAIT_SEND, Builder

__all__ = ["linear", "linear_v", "modified_bruck", "pairwise", "pairwise_v", "two_proc"]


@algorithm("alltoall", 1, "linear")
@algorithm("alltoall", 4, "linear_sync")
def linear(b: Builder, call: Call) -> None:
    """Every rank posts sends to r - 1, r - 2, ..., then waits for everything. 1 round.

    `linear_sync` limits the requests in flight, by default not at all, so it is the same.
    """
    n = call.ranks
    rank = np.arange(n)[:, None]
    ids = b.add(rank, (rank - np.arange(1, n)) % n, call.size_bytes)
    b.emit((SEND, ids.reshape(-1)))
    # Receives were posted first, from r + 1, r + 2, ...: column k of the sender r + k + 1.
    expected = ids[(rank + np.arange(1, n)) % n, np.arange(n - 1)]
    b.emit((WAIT_RECV, expected.reshape(-1)))
    b.emit((WAIT_SEND, ids.reshape(-1)))


@algorithm("alltoall", 2, "pairwise")
def pairwise(b: Builder, call: Call) -> None:
    """Step s = 1 ... n-1: send to r + s, receive from r - s. n-1 rounds."""
    n = call.ranks
    rank = np.arange(n)
    b.exchange(rank, (rank + np.arange(1, n)[:, None]) % n, call.size_bytes)


@algorithm("alltoall", 3, "modified_bruck")
def modified_bruck(b: Builder, call: Call) -> None:
    """Distances d = 1, 2, 4, ...: send all blocks whose index has bit d to r + d. ceil(log2 n) rounds."""
    n = call.ranks
    rank = np.arange(n)
    distance = 1
    while distance < n:
        blocks = int(np.count_nonzero(rank & distance))
        b.exchange(rank, (rank + distance) % n, blocks * call.size_bytes)
        distance *= 2


@algorithm("alltoall", 5, "two_proc")
def two_proc(b: Builder, call: Call) -> None:
    """One exchange between the only two ranks."""
    if call.ranks != 2:
        raise CallError(f"alltoall two_proc needs 2 ranks, got {call.ranks}")
    b.exchange([0, 1], [1, 0], call.size_bytes)


@algorithm("alltoallv", 1, "basic_linear")
def linear_v(b: Builder, call: Call) -> None:
    """Every rank posts its sends in rank order, then waits for everything. 1 round.

    4.1 sends empty parts as empty messages, later versions leave them out.
    """
    wanted = ~np.eye(call.ranks, dtype=bool)
    if call.version >= (5, 0):
        wanted &= call.blocks > 0
    src, dst = np.nonzero(wanted)
    ids = b.send(src, dst, call.blocks[src, dst])
    b.wait_recv(ids)
    b.wait_send(ids)


@algorithm("alltoallv", 2, "pairwise")
def pairwise_v(b: Builder, call: Call) -> None:
    """Step s: send to r + s, receive from r - s.

    4.1 starts with s = 1. Later versions start with s = 0, a real message to oneself, and leave empty
    parts out.
    """
    n = call.ranks
    later = call.version >= (5, 0)
    rank = np.arange(n)
    peer = (rank + np.arange(0 if later else 1, n)[:, None]) % n
    sizes = call.blocks[rank, peer]
    if not later or sizes.all():
        b.exchange(rank, peer, sizes)
        return
    for to, size in zip(peer, sizes, strict=True):
        keep = size > 0
        b.exchange(rank[keep], to[keep], size[keep])

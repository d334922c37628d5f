"""Allgather and allgatherv among equals: Bruck, recursive doubling, ring, neighbor, sparbit, direct."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .call import Call, CallError
from .registry import Fallback, algorithm
from .schedule import SEND, WAIT_RECV, WAIT_SEND, Builder
from .splits import ceil_log2, offsets

__all__ = ["bruck", "direct_messaging", "k_bruck", "neighbor", "recursive_doubling", "ring", "sparbit"]


@algorithm("allgatherv", 2, "bruck")
def bruck(b: Builder, call: Call) -> None:
    """Distances 1, 2, 4, ...: send all blocks held (at most what is missing) to r - distance."""
    _bruck(b, call, 2)


@algorithm("allgather", 2, "bruck")
def k_bruck(b: Builder, call: Call) -> None:
    """As allgatherv's; from 6.0 on with a radix k: k-1 concurrent pairs at distances j k^i.

    Forced default radix 4, fixed decision 2. ceil(log_k n) rounds.
    """
    radix = (4 if call.radix is None else call.radix) if call.version >= (6, 0) else 2
    _bruck(b, call, radix)


def _bruck(b: Builder, call: Call, radix: int) -> None:
    n = call.ranks
    rank = np.arange(n)
    distance = 1
    while distance < n:
        shifts = np.arange(distance, min(n, distance * radix), distance)
        held = [min(distance, n - shift) for shift in shifts.tolist()]
        sizes = np.stack([_cyclic_sum(call.blocks, rank, count) for count in held])
        ids = b.add(rank, (rank - shifts[:, None]) % n, sizes).reshape(1, -1)
        b.emit((SEND, ids), (WAIT_SEND, ids), (WAIT_RECV, ids))
        distance *= radix


def _no_power_of_two(call: Call) -> Fallback | None:
    if call.ranks & (call.ranks - 1):
        return Fallback("bruck", f"{call.ranks} ranks are no power of two", {"radix": 2})
    return None


@algorithm("allgather", 3, "recursive_doubling", otherwise=_no_power_of_two)
def recursive_doubling(b: Builder, call: Call) -> None:
    """Step i swaps 2^i blocks with r ^ 2^i. log2 n rounds, powers of two only."""
    rank = np.arange(call.ranks)
    mask = 1
    while mask < call.ranks:
        b.exchange(rank, rank ^ mask, mask * call.size_bytes)
        mask *= 2


@algorithm("allgather", 4, "ring")
@algorithm("allgatherv", 3, "ring")
def ring(b: Builder, call: Call) -> None:
    """Step i sends block r - i to r + 1. n-1 rounds."""
    n = call.ranks
    rank = np.arange(n)
    b.exchange(rank, (rank + 1) % n, call.blocks[(rank - np.arange(n - 1)[:, None]) % n])


def _odd(call: Call) -> Fallback | None:
    return Fallback("ring", f"{call.ranks} ranks are odd") if call.ranks % 2 else None


@algorithm("allgather", 5, "neighbor", otherwise=_odd)
@algorithm("allgatherv", 4, "neighbor", otherwise=_odd)
def neighbor(b: Builder, call: Call) -> None:
    """Swap one block with one neighbour, then two blocks at a time with either in turn. n/2 rounds."""
    n = call.ranks
    rank = np.arange(n)
    direction = np.where(rank % 2 == 0, 1, -1)
    b.exchange(rank, rank + direction, call.blocks)
    pairs = call.blocks + np.roll(call.blocks, -1)
    sent = rank - rank % 2
    received = np.stack([sent, sent])
    for step in range(1, n // 2):
        parity = step % 2
        towards = direction if parity == 0 else -direction
        # Even ranks fetch pairs from ever farther down on odd steps and up on even ones; odd ranks mirrored.
        received[parity] = (received[parity] + 2 * towards) % n
        b.exchange(rank, (rank + towards) % n, pairs[sent])
        sent = received[parity].copy()


def _two_ranks(call: Call) -> None:
    if call.ranks != 2:
        raise CallError(f"{call.op} two_proc needs 2 ranks, got {call.ranks}")


@algorithm("allgather", 6, "two_proc")
@algorithm("allgatherv", 5, "two_proc")
def two_proc(b: Builder, call: Call) -> None:
    """One exchange between the only two ranks."""
    _two_ranks(call)
    b.exchange([0, 1], [1, 0], call.blocks)


@algorithm("allgather", 7, "sparbit", since="5.0")
@algorithm("allgatherv", 6, "sparbit", since="5.0")
def sparbit(b: Builder, call: Call) -> None:
    """Halving distances; every block is a message of its own to r + distance. ceil(log2 n) rounds.

    After the step at distance d a rank holds ceil(n / d) blocks, those at multiples of d behind it.
    """
    n = call.ranks
    rank = np.arange(n)[:, None]
    distance = 1 << (ceil_log2(n) - 1)
    held = 1
    while distance:
        total = -(-n // distance)
        source = (rank - 2 * distance * np.arange(total - held)) % n
        ids = b.add(rank, (rank + distance) % n, call.blocks[source]).reshape(1, -1)
        b.emit((SEND, ids), (WAIT_SEND, ids), (WAIT_RECV, ids))
        held = total
        distance //= 2


@algorithm("allgather", 8, "direct-messaging", since="6.0")
def direct_messaging(b: Builder, call: Call) -> None:
    """Every rank posts its block to r + 1, r + 2, ..., then waits for everything. 1 round."""
    n = call.ranks
    rank = np.arange(n)[:, None]
    ids = b.add(rank, (rank + np.arange(1, n)) % n, call.blocks[:, None]).reshape(1, -1)
    b.emit((SEND, ids), (WAIT_SEND, ids), (WAIT_RECV, ids))


def _cyclic_sum(blocks: NDArray[np.int64], first: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Bytes of `count` <= n consecutive blocks from each first one, wrapping around."""
    starts = offsets(np.concatenate((blocks, blocks)))
    return starts[first + count] - starts[first]

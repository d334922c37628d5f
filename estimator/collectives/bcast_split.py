"""Broadcast that splits the buffer: split binary tree, scatter + allgather; ids 4, 8, 9."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import trees
from .call import Call
from .registry import Fallback, algorithm
from .repair import missing_partner_tree
from .schedule import BLOCKING, WAIT_RECV, Builder
from .splits import segment_elements, segment_sizes

__all__ = ["scatter_allgather", "scatter_allgather_ring", "split_binary_tree"]


def _unsplittable(call: Call) -> Fallback | None:
    count = call.elements
    if count < 2:
        return Fallback("pipeline", f"{count} elements cannot be split in two")
    if call.segment_bytes > (count // 2) * call.element_bytes:
        return Fallback("pipeline", f"a segment of {call.segment_bytes} B is larger than half the buffer")
    return None


@algorithm("bcast", 4, "split_binary_tree", otherwise=_unsplittable)
def split_binary_tree(b: Builder, call: Call) -> None:
    """Each half goes down one side of a binary tree; then ranks of the two sides swap halves in pairs.

    All sends are blocking. With an even number of ranks the last one has no partner and gets the second
    half from the root.
    """
    n = call.ranks
    counts = ((call.elements + 1) // 2, call.elements // 2)
    segments = [_half_segments(call, count) for count in counts]
    parents, children = trees.binary(n)
    side = (children + 1) % 2
    for step in range(segments[0].size):
        sizes = np.array([half[step] if step < half.size else -1 for half in segments])[side]
        active = sizes >= 0
        ids = b.add(call.shifted(parents[active]), call.shifted(children[active]), sizes[active])
        b.emit((WAIT_RECV, ids), (BLOCKING, ids))
    halves = np.array(counts) * call.element_bytes
    odd = np.arange(1, n - 1, 2)
    v = np.concatenate((odd, odd + 1))
    twin = np.concatenate((odd + 1, odd))
    last = np.array([n - 1] if n % 2 == 0 else [], np.int64)
    b.exchange(
        call.shifted(np.concatenate((last * 0, v))),
        call.shifted(np.concatenate((last, twin))),
        halves[np.concatenate((last * 0 + 1, (v + 1) % 2))],
    )


def _half_segments(call: Call, count: int) -> NDArray[np.int64]:
    per_segment = segment_elements(count, call.element_bytes, call.segment_bytes)
    return segment_sizes(count, per_segment) * call.element_bytes


def _fewer_than_ranks(call: Call) -> Fallback | None:
    if call.elements < call.ranks:
        return Fallback("basic_linear", f"{call.elements} elements < {call.ranks} ranks")
    return None


@algorithm("bcast", 8, "scatter_allgather", otherwise=_fewer_than_ranks)
def scatter_allgather(b: Builder, call: Call) -> None:
    """Binomial scatter, then recursive doubling: each step swaps all data of two aligned groups of ranks.

    Where the partner group is cut by n, ranks without a partner get its data from one of their own group.
    """
    n = call.ranks
    starts = _binomial_scatter(b, call)
    v = np.arange(n)
    mask = 1
    while mask < n:
        group = v // mask * mask
        held = starts[np.minimum(group + mask, n)] - starts[group]
        active = v[(v ^ mask) < n]
        b.exchange(call.shifted(active), call.shifted(active ^ mask), held[active])
        for sender, receiver in missing_partner_tree(n, mask):
            other = sender // mask * mask + mask
            size = starts[np.minimum(other + mask, n)] - starts[np.minimum(other, n)]
            b.blocking(call.shifted(sender), call.shifted(receiver), size)
        mask *= 2


@algorithm("bcast", 9, "scatter_allgather_ring", otherwise=_fewer_than_ranks)
def scatter_allgather_ring(b: Builder, call: Call) -> None:
    """Binomial scatter, then n-1 ring steps in which v sends block v - i to v + 1."""
    n = call.ranks
    blocks = np.diff(_binomial_scatter(b, call))
    v = np.arange(n)
    sizes = blocks[(v - np.arange(n - 1)[:, None]) % n]
    b.exchange(call.shifted(v), call.shifted(v + 1), sizes)


def _binomial_scatter(b: Builder, call: Call) -> NDArray[np.int64]:
    """Send blocks of ceil(c/n) elements down the low-bit tree, largest subtree first, blocking.

    Returns
    -------
    Byte offset of the block of each shifted rank, shape (n + 1,); the last blocks may be short or empty.
    """
    n = call.ranks
    block = -(-call.elements // n)
    starts = np.minimum(np.arange(n + 1) * block, call.elements) * call.element_bytes
    parents, children = (end[::-1] for end in trees.binomial_low(n))
    ends = np.minimum(children + (children & -children), n)
    sizes = starts[ends] - starts[children]
    # Parents precede their children in time, and a parent serves its largest subtree first.
    order = np.lexsort((-children, parents))
    order = order[sizes[order] > 0]
    ids = b.add(call.shifted(parents[order]), call.shifted(children[order]), sizes[order])
    b.wait_recv(ids)
    b.emit((BLOCKING, ids))
    return starts

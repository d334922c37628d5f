"""Allreduce: recursive doubling, ring and segmented ring; ids 3-5."""

from __future__ import annotations

import numpy as np

from .call import Call
from .fold import fold
from .registry import Fallback, algorithm
from .schedule import Builder
from .splits import early_late, segment_elements

__all__ = ["recursive_doubling", "ring", "segmented_ring"]


@algorithm("allreduce", 3, "recursive_doubling")
def recursive_doubling(b: Builder, call: Call) -> None:
    """Survivors swap whole buffers with index ^ mask. log2 p rounds, 2 more with extra ranks."""
    folds = fold(call.ranks, keep_odd=True)
    b.blocking(folds.folded, folds.partners, call.size_bytes)
    index = np.arange(folds.survivors.size)
    for mask in folds.masks:
        b.exchange(folds.survivors, folds.survivors[index ^ mask], call.size_bytes)
    b.blocking(folds.partners, folds.folded, call.size_bytes)


def _fewer_than_ranks(call: Call) -> Fallback | None:
    if call.elements < call.ranks:
        return Fallback("recursive_doubling", f"{call.elements} elements < {call.ranks} ranks")
    return None


@algorithm("allreduce", 4, "ring", otherwise=_fewer_than_ranks)
def ring(b: Builder, call: Call) -> None:
    """Reduce-scatter ring, then allgather ring. 2(n-1) rounds, each rank sends about 2S(n-1)/n bytes."""
    n = call.ranks
    blocks = early_late(call.elements, n) * call.element_bytes
    rank = np.arange(n)
    step = np.arange(n - 1)[:, None]
    b.exchange(rank, (rank + 1) % n, blocks[(rank - step) % n])
    b.exchange(rank, (rank + 1) % n, blocks[(rank + 1 - step) % n])


def _less_than_a_segment(call: Call) -> Fallback | None:
    segment = segment_elements(call.elements, call.element_bytes, call.segment_bytes)
    if call.elements < call.ranks * segment:
        return Fallback("ring", f"{call.elements} elements < {call.ranks} ranks times {segment} a segment")
    return None


@algorithm("allreduce", 5, "segmented_ring", otherwise=_less_than_a_segment)
def segmented_ring(b: Builder, call: Call) -> None:
    """P reduce-scatter rings, each over one piece of every block, then one allgather ring of whole blocks.

    (P + 1)(n - 1) rounds; P = number of segments in a block, to the nearest.
    """
    n = call.ranks
    per_phase = n * segment_elements(call.elements, call.element_bytes, call.segment_bytes)
    phases, rest = divmod(call.elements, per_phase)
    phases += rest >= n and rest > per_phase // 2
    blocks = early_late(call.elements, n)
    pieces = early_late(blocks, phases) * call.element_bytes
    rank = np.arange(n)
    step = np.arange(n - 1)[:, None]
    for phase in range(phases):
        b.exchange(rank, (rank + 1) % n, pieces[(rank - step) % n, phase])
    b.exchange(rank, (rank + 1) % n, blocks[(rank + 1 - step) % n] * call.element_bytes)

"""How Open MPI cuts a buffer: into blocks, segments and windows. Sizes count elements unless named bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["ceil_log2", "early_late", "offsets", "power_of_two_below", "segment_elements", "segment_sizes"]


def power_of_two_below(ranks: int) -> int:
    """Largest power of two that is at most `ranks` (>= 1)."""
    return 1 << (ranks.bit_length() - 1)


def ceil_log2(ranks: int) -> int:
    """Smallest k with 2^k >= ranks."""
    return (ranks - 1).bit_length()


def early_late(count: int | NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    """Split a count over parts: the first (count mod parts) get ceil(count/parts), the others floor.

    Returns
    -------
    int64, shape (parts,), or (*count.shape, parts) for an array of counts
    """
    counts = np.asarray(count, np.int64)[..., None]
    small, larger = np.divmod(counts, parts)
    return small + (np.arange(parts) < larger)


def offsets(blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Running sum with a leading zero: shape (k + 1,)."""
    out = np.zeros(blocks.size + 1, np.int64)
    np.cumsum(blocks, out=out[1:])
    return out


def segment_elements(count: int, element_bytes: int, segment_bytes: int) -> int:
    """Elements in one segment; the whole count when the segment rule says not to segment.

    Segmentation happens if element size <= segment size < buffer size. A segment that is no multiple of
    the element size is rounded to the nearest element.
    """
    if not element_bytes <= segment_bytes < count * element_bytes:
        return count
    elements, rest = divmod(segment_bytes, element_bytes)
    return elements + (rest > element_bytes // 2)


def segment_sizes(count: int, per_segment: int) -> NDArray[np.int64]:
    """Elements of each segment; the last one takes the rest."""
    if count == 0:
        return np.zeros(1, np.int64)
    number = -(-count // per_segment)
    sizes = np.full(number, per_segment, np.int64)
    sizes[-1] = count - per_segment * (number - 1)
    return sizes

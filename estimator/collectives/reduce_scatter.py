"""Reduce_scatter (ids 2-4) and reduce_scatter_block (ids 2-4) by exchange among equals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .call import Call
from .fold import Fold, fold
from .registry import algorithm
from .repair import missing_partner_tree
from .schedule import BLOCKING, Builder
from .splits import offsets, power_of_two_below

__all__ = ["block_butterfly", "block_recursive_doubling", "butterfly", "recursive_halving", "ring"]


@algorithm("reduce_scatter", 2, "recursive_halving")
@algorithm("reduce_scatter_block", 3, "recursive_halving")
def recursive_halving(b: Builder, call: Call) -> None:
    """Survivors halve their block range, far partner first; empty parts are not sent.

    log2 p rounds, 2 more with extra ranks.
    """
    folds, starts = _fold_whole(b, call)
    index = np.arange(folds.survivors.size)
    for mask in reversed(folds.masks):
        # The partner's half of the range that both hold.
        low = (index ^ mask) // mask * mask
        sizes = starts[low + mask] - starts[low]
        _exchange_some(b, folds.survivors, folds.survivors[index ^ mask], sizes)
    sizes = call.blocks[folds.folded]
    some = sizes > 0
    b.blocking(folds.partners[some], folds.folded[some], sizes[some])


@algorithm("reduce_scatter", 3, "ring")
def ring(b: Builder, call: Call) -> None:
    """Step j sends block r - 1 - j to r + 1. n-1 rounds."""
    n = call.ranks
    rank = np.arange(n)
    b.exchange(rank, (rank + 1) % n, call.blocks[(rank - 1 - np.arange(n - 1)[:, None]) % n])


@algorithm("reduce_scatter", 4, "butterfly")
def butterfly(b: Builder, call: Call) -> None:
    """Survivors halve their block range, near partner first; results end bit-reversed and are swapped.

    log2 p + 1 rounds, 2 more with extra ranks.
    """
    folds, starts = _fold_whole(b, call)
    _halve_near_first(b, folds, starts)
    index = np.arange(folds.survivors.size)
    mirror = _bit_reversed(index.size)
    paired = folds.folded.size
    for_folded = index[mirror < paired]
    targets = folds.folded[mirror[for_folded]]
    ids_folded = b.add(folds.survivors[for_folded], targets, call.blocks[targets])
    b.emit((BLOCKING, ids_folded))
    moved = index[mirror != index]
    owners = folds.survivors[mirror[moved]]
    b.exchange(folds.survivors[moved], owners, call.blocks[owners])
    b.wait_recv(ids_folded)


@algorithm("reduce_scatter_block", 4, "butterfly")
def block_butterfly(b: Builder, call: Call) -> None:
    """As the butterfly of reduce_scatter; a power of two of ranks permutes blocks locally, no last swap."""
    if call.ranks != power_of_two_below(call.ranks):
        butterfly(b, call)
        return
    folds, starts = _fold_whole(b, call)
    _halve_near_first(b, folds, starts)


@algorithm("reduce_scatter_block", 2, "recursive_doubling")
def block_recursive_doubling(b: Builder, call: Call) -> None:
    """Swap with r ^ mask everything outside one's own aligned group of `mask` ranks.

    Where the partner group is cut by n, ranks without a partner get its data from one of their own group.
    """
    n = call.ranks
    rank = np.arange(n)
    mask = 1
    while mask < n:
        active = rank[(rank ^ mask) < n]
        b.exchange(active, active ^ mask, _outside(call, active, mask))
        for sender, receiver in missing_partner_tree(n, mask):
            b.blocking(sender, receiver, _outside(call, sender // mask * mask + mask, mask))
        mask *= 2


def _outside(call: Call, rank: NDArray[np.int64], mask: int) -> NDArray[np.int64]:
    """Bytes of all blocks outside the aligned group of a rank."""
    start = rank // mask * mask
    return (call.ranks - (np.minimum(start + mask, call.ranks) - start)) * call.size_bytes


def _fold_whole(b: Builder, call: Call) -> tuple[Fold, NDArray[np.int64]]:
    """Even extra ranks send their whole vector to the odd survivor.

    Returns
    -------
    The fold, and the byte offset of each survivor index, shape (p + 1,); a survivor of a pair owns both
    blocks.
    """
    folds = fold(call.ranks, keep_odd=True)
    b.blocking(folds.folded, folds.partners, call.blocks.sum())
    owned = call.blocks[folds.survivors].copy()
    owned[: folds.folded.size] += call.blocks[folds.folded]
    return folds, offsets(owned)


def _halve_near_first(b: Builder, folds: Fold, starts: NDArray[np.int64]) -> None:
    index = np.arange(folds.survivors.size)
    low = np.zeros(index.size, np.int64)
    width = index.size
    for mask in folds.masks:
        width //= 2
        upper = (index & mask) != 0
        given = np.where(upper, low, low + width)
        sizes = starts[given + width] - starts[given]
        b.exchange(folds.survivors, folds.survivors[index ^ mask], sizes)
        low = np.where(upper, low + width, low)


def _exchange_some(b: Builder, src: NDArray[np.int64], dst: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
    some = sizes > 0
    b.exchange(src[some], dst[some], sizes[some])


def _bit_reversed(power: int) -> NDArray[np.int64]:
    """Each index below a power of two with its bits in reverse order."""
    out = np.zeros(1, np.int64)
    while out.size < power:
        out = np.concatenate((2 * out, 2 * out + 1))
    return out

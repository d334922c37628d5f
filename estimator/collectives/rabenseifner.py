"""Rabenseifner's reduce (id 7) and allreduce (id 6): recursive halving, then gather or recursive doubling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .call import Call
from .fold import Fold, fold
from .registry import Fallback, algorithm
from .schedule import Builder
from .splits import power_of_two_below

__all__ = ["allreduce", "reduce"]


def _reason(call: Call) -> str | None:
    power = power_of_two_below(call.ranks)
    if not call.commutative:
        return "the operation does not commute"
    if call.elements < power:
        return f"{call.elements} elements < {power} ranks, the power of two below {call.ranks}"
    return None


def _reduce_falls_back(call: Call) -> Fallback | None:
    reason = _reason(call)
    return Fallback("linear", reason) if reason else None


def _allreduce_falls_back(call: Call) -> Fallback | None:
    reason = _reason(call)
    if reason and (call.version < (6, 0) or not call.commutative):
        return Fallback("basic_linear", reason)
    return None


@algorithm("reduce", 7, "rabenseifner", otherwise=_reduce_falls_back)
def reduce(b: Builder, call: Call) -> None:
    """Halve windows among survivors, near partner first, then gather them towards the root in reverse.

    2 log2 p rounds, 2 more with extra ranks, 1 more if the root is a folded rank.
    """
    folds, windows = _reduce_scatter(b, call)
    ranks = folds.survivors.copy()
    if call.root in folds.folded:
        b.blocking(ranks[0], [call.root], windows[-1][0] * call.element_bytes)
        ranks[0] = call.root
        root = 0
    else:
        root = int(np.flatnonzero(ranks == call.root)[0])
    index = np.arange(ranks.size)
    for step, mask in reversed(list(enumerate(folds.masks))):
        # Ranks on the root's side of all farther masks are still in the game.
        active = index[index // (2 * mask) == root // (2 * mask)]
        senders = active[active // mask != root // mask]
        sizes = windows[step + 1][senders] * call.element_bytes
        b.blocking(ranks[senders], ranks[senders ^ mask], sizes)


@algorithm("allreduce", 6, "rabenseifner", otherwise=_allreduce_falls_back)
def allreduce(b: Builder, call: Call) -> None:
    """Halve windows among survivors, near partner first, then swap them back in reverse order.

    2 log2 p rounds, 3 more with extra ranks. With n = p each rank sends 2S(1 - 1/p) bytes.
    """
    folds, windows = _reduce_scatter(b, call)
    index = np.arange(folds.survivors.size)
    for step, mask in reversed(list(enumerate(folds.masks))):
        sizes = windows[step + 1] * call.element_bytes
        b.exchange(folds.survivors, folds.survivors[index ^ mask], sizes)
    b.blocking(folds.partners, folds.folded, call.size_bytes)


def _reduce_scatter(b: Builder, call: Call) -> tuple[Fold, list[NDArray[np.int64]]]:
    """Fold the extra ranks, then halve windows step by step.

    Returns
    -------
    The fold, and the window of each survivor index in elements: before the first step and after each one.
    """
    folds = fold(call.ranks, keep_odd=False)
    left = call.elements // 2 * call.element_bytes
    right = call.size_bytes - left
    even, odd = folds.partners, folds.folded
    pairs = np.concatenate((even, odd))
    sizes = np.repeat([right, left], even.size)
    b.exchange(pairs, np.concatenate((odd, even)), sizes)
    b.blocking(odd, even, right)
    index = np.arange(folds.survivors.size)
    windows = [np.full(index.size, call.elements, np.int64)]
    for mask in folds.masks:
        window = windows[-1]
        lower = (index & mask) == 0
        kept = np.where(lower, window // 2, window - window // 2)
        b.exchange(folds.survivors, folds.survivors[index ^ mask], (window - kept) * call.element_bytes)
        windows.append(kept)
    return folds, windows

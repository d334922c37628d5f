"""Folding a number of ranks that is no power of two onto a power of two of survivors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .splits import power_of_two_below

__all__ = ["Fold", "fold"]


@dataclass(frozen=True, eq=False)
class Fold:
    """Survivors of the fold. With x extra ranks, the first 2x ranks form pairs (2i, 2i+1).

    Attributes
    ----------
    survivors : int64, shape (p,), rank of each index; p is the largest power of two <= n
    folded : int64, shape (x,), the rank of each pair that drops out, in order of the pair
    partners : int64, shape (x,), the surviving rank of each pair: index i for pair i
    """

    survivors: NDArray[np.int64]
    folded: NDArray[np.int64]
    partners: NDArray[np.int64]

    @property
    def masks(self) -> list[int]:
        """1, 2, 4, ... p/2."""
        return [1 << k for k in range(int(self.survivors.size).bit_length() - 1)]


def fold(ranks: int, *, keep_odd: bool) -> Fold:
    """Fold ranks; the odd or the even rank of each pair survives as index i, later ranks as rank - x."""
    power = power_of_two_below(ranks)
    extra = ranks - power
    pairs = 2 * np.arange(extra)
    kept = pairs + int(keep_odd)
    survivors = np.concatenate((kept, np.arange(2 * extra, ranks)))
    return Fold(survivors, pairs + int(not keep_odd), kept)

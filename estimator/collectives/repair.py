"""Recursive doubling with a number of ranks that is no power of two: who passes data on to whom."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["missing_partner_tree"]


def missing_partner_tree(ranks: int, mask: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Sends that repair one recursive-doubling step, group of ranks by group.

    Ranks v of an aligned group of `mask` that have a partner v ^ mask below `ranks` forward what they
    got to those that have none, at distances mask/2, mask/4, ... 1.

    Yields
    ------
    (senders, receivers) of one distance, shifted ranks
    """
    v = np.arange(ranks)
    group = v // mask * mask
    served = ranks - group - mask
    # Only groups whose partner group exists and is cut by n need repair.
    repaired = ((group ^ mask) > group) & (served > 0) & (served < mask)
    if not repaired.any():
        return
    distance = mask // 2
    while distance:
        start = v // (2 * distance) * (2 * distance)
        receiver = v ^ distance
        sends = repaired & (receiver > v) & (v < start + served) & (receiver >= start + served)
        if sends.any():
            yield v[sends], receiver[sends]
        distance //= 2

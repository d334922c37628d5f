"""Traffic patterns by who talks to whom: incast, all-to-all, ring, point-to-point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

POINT_TO_POINT, RING, ALL_TO_ALL, INCAST = range(4)
NAMES = ("point-to-point", "ring", "all-to-all", "incast")

# "(Nearly) every pair": this share of all ordered pairs of the ranks that take part.
NEARLY_ALL = 0.8

# "A permutation of small shift": at most this share of the ranks apart.
SMALL_SHIFT = 1 / 8


def classify(
    group: NDArray[np.integer],
    src: NDArray[np.integer],
    dst: NDArray[np.integer],
    ranks: NDArray[np.integer],
    groups: int,
) -> NDArray[np.int8]:
    """Pattern of each group of messages.

    Parameters
    ----------
    group : int[m], group of each message, 0 … groups - 1
    src, dst : int[m], ranks
    ranks : int[groups], size of the numbering that `src` and `dst` come from
    groups : number of groups

    Returns
    -------
    int8[groups], index into `NAMES`: incast when at least three sources share one destination and most
    of the messages' destinations are that one; all-to-all when nearly every pair of at least three ranks
    talks; ring when the pairs are a permutation of small shift; point-to-point otherwise.
    """
    pattern = np.full(groups, POINT_TO_POINT, np.int8)
    apart = src != dst
    if not apart.any():
        return pattern
    span = int(ranks.max(initial=1))
    pairs = np.unique((group[apart].astype(np.int64) * span + src[apart]) * span + dst[apart])
    at, source, target = pairs // (span * span), pairs // span % span, pairs % span
    count = np.bincount(at, minlength=groups)
    out_degree = np.unique(at * span + source, return_counts=True)
    in_degree = np.unique(at * span + target, return_counts=True)
    sources = np.bincount(out_degree[0] // span, minlength=groups)
    targets = np.bincount(in_degree[0] // span, minlength=groups)
    members = np.bincount(
        np.unique(np.concatenate([at * span + source, at * span + target])) // span, minlength=groups
    )
    most_in = np.zeros(groups, np.int64)
    np.maximum.at(most_in, in_degree[0] // span, in_degree[1])
    shift = (target - source) % ranks[at]
    farthest = np.zeros(groups, np.int64)
    np.maximum.at(farthest, at, np.minimum(shift, ranks[at] - shift))
    permutation = (count == sources) & (count == targets) & (count >= 3)
    pattern[permutation & (farthest <= np.maximum(1, ranks * SMALL_SHIFT))] = RING
    pattern[(members >= 3) & (count >= NEARLY_ALL * members * (members - 1))] = ALL_TO_ALL
    pattern[(most_in >= 3) & (2 * most_in > count)] = INCAST
    return pattern

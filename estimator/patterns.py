"""Traffic patterns by who talks to whom: incast, all-to-all, ring, point-to-point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vef.compiled import kernel

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
    if not src.size:
        return np.full(groups, POINT_TO_POINT, np.int8)
    span = int(ranks.max(initial=1))
    # One type each, so that the kernels are compiled once.
    columns = [np.ascontiguousarray(column, np.int64) for column in (group, src, dst, ranks)]
    order = _ordered(_ordered(np.arange(src.size), columns[1], span), columns[0], groups)
    return _classify(order, *columns, groups, span)


@kernel
def _ordered(order: NDArray[np.int64], key: NDArray[np.int64], keys: int) -> NDArray[np.int64]:
    """Sort an order by a key from 0 to keys - 1, without changing what is equal (counting sort)."""
    place = np.zeros(keys + 1, np.int64)
    for index in order:
        place[key[index] + 1] += 1
    for at in range(keys):
        place[at + 1] += place[at]
    result = np.empty_like(order)
    for index in order:
        result[place[key[index]]] = index
        place[key[index]] += 1
    return result


@kernel
def _classify(
    order: NDArray[np.int64],
    group: NDArray[np.int64],
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    ranks: NDArray[np.int64],
    groups: int,
    span: int,
) -> NDArray[np.int8]:
    """The patterns; `order` sorts the messages by group, then by source."""
    pattern = np.full(groups, POINT_TO_POINT, np.int8)
    paired = np.full(span, -1, np.int64)  # by destination: the last (group, source) run that it was in
    joined = np.full(span, -1, np.int64)  # by rank: the last group that it was in
    came_in = np.full(span, -1, np.int64)  # by destination: the last group that it was a destination in
    into = np.zeros(span, np.int64)  # sources of a destination
    first = 0
    run = 0
    while first < order.size:
        own = group[order[first]]
        pairs = sources = targets = members = most_in = farthest = 0
        at = first
        while at < order.size and group[order[at]] == own:
            source = src[order[at]]
            run += 1
            any_apart = False
            while at < order.size and group[order[at]] == own and src[order[at]] == source:
                target = dst[order[at]]
                at += 1
                if target == source or paired[target] == run:
                    continue
                paired[target] = run
                any_apart = True
                pairs += 1
                if came_in[target] != own:
                    came_in[target] = own
                    into[target] = 0
                    targets += 1
                into[target] += 1
                most_in = max(most_in, into[target])
                if joined[target] != own:
                    joined[target] = own
                    members += 1
                shift = (target - source) % ranks[own]
                farthest = max(farthest, min(shift, ranks[own] - shift))
            if any_apart:
                sources += 1
                if joined[source] != own:
                    joined[source] = own
                    members += 1
        first = at
        if most_in >= 3 and 2 * most_in > pairs:
            pattern[own] = INCAST
        elif members >= 3 and pairs >= NEARLY_ALL * members * (members - 1):
            pattern[own] = ALL_TO_ALL
        elif pairs == sources and pairs == targets and pairs >= 3 and farthest <= max(1.0, ranks[own] * SMALL_SHIFT):
            pattern[own] = RING
    return pattern

"""Which collective of one result is which of the other: by id, and by sequence where ids have moved."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from estimator.compare.align import Pairs, align

Row = dict[str, Any]
Key = Callable[[Row], Hashable]


@dataclass(frozen=True)
class Matching:
    """Indices of rows that belong together, and of those without a counterpart.

    Attributes
    ----------
    pairs : (row of the base, row of the new result), in the order of the new one
    vanished, appeared : rows of the base, of the new result
    """

    pairs: Pairs
    vanished: list[int]
    appeared: list[int]


def same_call(row: Row) -> Hashable:
    """What two calls have in common that are the same one of the program."""
    return row.get("trace"), row["op"], row["communicator"], row["ranks"], row["root"], row["bytes"]


def similar_call(row: Row) -> Hashable:
    """The same where communicators are named otherwise or another root is taken."""
    return row.get("trace"), row["op"], row["ranks"], row["bytes"]


def match_collectives(base: list[Row], new: list[Row]) -> Matching:
    """Match rows of `collectives`.

    Calls that are the same come first, then similar ones, either by id or by sequence: by whichever finds more of
    them, then by whichever keeps them in their order in time, then by id. Of those left, rows of the same id and
    operation belong together where most ids have stayed and most of those left find a partner so; fewer are chance.
    """
    pairs: Pairs = []
    left, right = list(range(len(base))), list(range(len(new)))
    for key in (same_call, similar_call):
        pairs += _better(base, new, left, right, key)
        left, right = _rest(left, right, pairs)
    stayed = sum(base[i]["id"] == new[j]["id"] for i, j in pairs)
    alike = _by_id(base, new, left, right, lambda row: row["op"])
    if 2 * stayed >= len(pairs) and 2 * len(alike) >= max(len(left), len(right)):
        pairs += alike
        left, right = _rest(left, right, pairs)
    return Matching(sorted(pairs, key=lambda pair: pair[1]), left, right)


def match_steps(base: list[Row], new: list[Row]) -> Pairs:
    """Match point-to-point steps, which have no lasting id, by the sequence of their messages and bytes."""

    def key(row: Row) -> Hashable:
        return row.get("trace"), row["messages"], row["bytes"]

    return align([key(row) for row in base], [key(row) for row in new])


def _better(base: list[Row], new: list[Row], left: list[int], right: list[int], key: Key) -> Pairs:
    by_id = _by_id(base, new, left, right, key)
    found = align([key(base[i]) for i in left], [key(new[j]) for j in right])
    by_sequence = [(left[i], right[j]) for i, j in found]
    return max((by_id, by_sequence), key=lambda pairs: (len(pairs), -_disorder(base, new, pairs)))


def _by_id(base: list[Row], new: list[Row], left: list[int], right: list[int], key: Key) -> Pairs:
    known = {(base[i]["id"], key(base[i])): i for i in left}
    found = ((known.get((new[j]["id"], key(new[j]))), j) for j in right)
    return [(i, j) for i, j in found if i is not None]


def _disorder(base: list[Row], new: list[Row], pairs: Pairs) -> int:
    """How often a call that comes next in the base begins before its predecessor in the new result."""
    ordered = sorted(pairs, key=lambda pair: (base[pair[0]]["start_s"], pair[0]))
    starts = [new[j]["start_s"] for _, j in ordered]
    return sum(later < earlier for earlier, later in pairwise(starts))


def _rest(left: list[int], right: list[int], pairs: Pairs) -> tuple[list[int], list[int]]:
    used_left, used_right = {i for i, _ in pairs}, {j for _, j in pairs}
    return [i for i in left if i not in used_left], [j for j in right if j not in used_right]

"""Alignment of sequences against a textbook longest common subsequence."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.compare.align import align

words = st.lists(st.integers(0, 3), max_size=14)


def longest_common(left: list[int], right: list[int]) -> int:
    """Length of a longest common subsequence, by the recurrence of every textbook."""
    rows = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, ours in enumerate(left):
        for j, theirs in enumerate(right):
            rows[i + 1][j + 1] = rows[i][j] + 1 if ours == theirs else max(rows[i][j + 1], rows[i + 1][j])
    return rows[-1][-1]


@settings(deadline=None)
@given(words, words)
def test_a_longest_common_subsequence_is_found(left: list[int], right: list[int]) -> None:
    pairs = align(left, right)
    assert all(left[i] == right[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert len(pairs) == longest_common(left, right)


def test_an_entry_that_came_in_shifts_the_others() -> None:
    assert align("abcabc", "axbcabc") == [(0, 0), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    assert align("", "abc") == []


def test_sequences_that_differ_everywhere_still_find_every_partner() -> None:
    left = list(range(30_000))
    assert sorted(align(left, left[::-1])) == [(i, 29_999 - i) for i in left]


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_long_periodic_sequence_with_gaps_keeps_its_rest(random) -> None:
    left = [i % 7 for i in range(3000)]
    gone = set(random.sample(range(3000), 10))
    right = [value for i, value in enumerate(left) if i not in gone]
    pairs = align(left, right)
    assert len(pairs) == len(right)
    assert Counter(left[i] for i, _ in pairs) == Counter(right)

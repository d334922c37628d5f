"""Which entries of two sequences belong together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

Pairs = list[tuple[int, int]]

# Elementary steps that a search for the longest common subsequence may take per entry, and at least; beyond, the
# sequences differ so much that their order says little.
STEPS_PER_ENTRY = 10
FEWEST_STEPS = 200_000


def align(left: Sequence[Hashable], right: Sequence[Hashable]) -> Pairs:
    """Pairs (index in `left`, index in `right`) of equal entries.

    A longest common subsequence (Myers 1986, An O(ND) difference algorithm and its variations) where that takes time
    linear in the lengths; else the k-th occurrence of a value belongs to its k-th occurrence on the other side.
    """
    shortest = min(len(left), len(right))
    head = 0
    while head < shortest and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < shortest - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    pairs = [(index, index) for index in range(head)]
    pairs += _middle(left, right, range(head, len(left) - tail), range(head, len(right) - tail))
    return pairs + [(len(left) - index, len(right) - index) for index in range(tail, 0, -1)]


def _middle(left: Sequence[Hashable], right: Sequence[Hashable], at_left: range, at_right: range) -> Pairs:
    """Align parts of the sequences; what occurs on one side only is left out beforehand."""
    common = {left[i] for i in at_left} & {right[i] for i in at_right}
    here = [i for i in at_left if left[i] in common]
    there = [i for i in at_right if right[i] in common]
    if not common:
        return []
    codes = {value: code for code, value in enumerate(common)}
    ours, theirs = [codes[left[i]] for i in here], [codes[right[i]] for i in there]
    found = _longest_common(ours, theirs)
    if found is None:
        found = _by_occurrence(ours, theirs)
    return [(here[i], there[j]) for i, j in found]


def _longest_common(left: list[int], right: list[int]) -> Pairs | None:
    """Pairs of a longest common subsequence; None where the search takes too long.

    `rows[d][i]` is how far along `left` d edits lead on diagonal 2i - d, diagonals being numbered by the index in
    `left` less that in `right`.
    """
    n, m = len(left), len(right)
    steps = max(FEWEST_STEPS, STEPS_PER_ENTRY * (n + m))
    rows: list[list[int]] = []
    for edits in range(n + m + 1):
        row = []
        for i in range(edits + 1):
            x = begun = _reached(rows[-1], i) if rows else 0
            y = x - (2 * i - edits)
            while x < n and y < m and left[x] == right[y]:
                x, y = x + 1, y + 1
            steps -= x - begun + 1
            row.append(x)
            if x >= n and y >= m:
                rows.append(row)
                return _backtrack(rows, i)
        rows.append(row)
        if steps < 0:
            return None
    return None


def _reached(before: list[int], i: int) -> int:
    """Where one more edit leads: an entry of `left` skipped from the diagonal below, or one of `right` from above."""
    skipped_left = before[i - 1] + 1 if i > 0 else -1
    skipped_right = before[i] if i < len(before) else -1
    return max(skipped_left, skipped_right)


def _backtrack(rows: list[list[int]], i: int) -> Pairs:
    pairs: Pairs = []
    for edits in range(len(rows) - 1, -1, -1):
        begun = _reached(rows[edits - 1], i) if edits else 0
        diagonal = 2 * i - edits
        pairs.extend((x, x - diagonal) for x in range(rows[edits][i] - 1, begun - 1, -1))
        if edits and i > 0 and begun == rows[edits - 1][i - 1] + 1:
            i -= 1
    return pairs[::-1]


def _by_occurrence(left: list[int], right: list[int]) -> Pairs:
    waiting: dict[int, list[int]] = defaultdict(list)
    for index in range(len(right) - 1, -1, -1):
        waiting[right[index]].append(index)
    return [(index, waiting[code].pop()) for index, code in enumerate(left) if waiting[code]]

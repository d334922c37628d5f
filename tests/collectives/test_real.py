"""Messages per pair of ranks against what Open MPI 4.1.4 and 5.0.11 were seen to send."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from collectives_data import NEEDS_DATA, cases, expand_case, load

from estimator.collectives import Expansion, decide

FOLDERS = {"real": "5.0.11", "real-4.1.4": "4.1.4"}
GROUPS = [(folder, group) for folder in FOLDERS for group in sorted(cases(folder))]


def pair_matrix(made: Expansion) -> dict[tuple[int, int], tuple[int, int]]:
    schedule = made.schedule
    count: Counter[tuple[int, int]] = Counter()
    size: Counter[tuple[int, int]] = Counter()
    for src, dst, size_bytes in zip(
        schedule.src.tolist(), schedule.dst.tolist(), schedule.size_bytes.tolist(), strict=True
    ):
        count[src, dst] += 1
        size[src, dst] += size_bytes
    return {pair: (count[pair], size[pair]) for pair in count}


@NEEDS_DATA
@pytest.mark.parametrize(("folder", "group"), GROUPS, ids=["-".join(pair) for pair in GROUPS])
def test_pairs_equal_what_was_sent(folder: str, group: str) -> None:
    wrong = []
    for path in cases(folder)[group]:
        case = load(path)
        made = expand_case(case, FOLDERS[folder])
        theirs = {(p["src"], p["dst"]): (p["count"], p["bytes"]) for p in case["pairs"]}
        mine = pair_matrix(made)
        if mine != theirs:
            pairs = sorted(mine.keys() | theirs.keys())
            wrong.append((path.name, [(p, mine.get(p), theirs.get(p)) for p in pairs][:6]))
        assert made.bytes == np.sum([size for _, size in mine.values()], dtype=np.int64)
    assert not wrong


@NEEDS_DATA
def test_decisions_equal_the_selected_algorithms() -> None:
    checked = 0
    for folder, version in FOLDERS.items():
        for paths in cases(folder).values():
            for case in map(load, paths):
                if "selected_id" in case:
                    choice = decide(case["collective"], case["comm_size"], case["bytes"], version=version)
                    assert choice.id == case["selected_id"], case["collective"]
                    checked += 1
    assert checked

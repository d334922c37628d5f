"""Where the reference schedules and measured message matrices live, and how to expand one of their cases."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from estimator.collectives import Expansion, expand_call

SHARED = Path(os.environ.get("CONGEST_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
DATA = SHARED / "collectives"
NEEDS_DATA = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"reference data not found in {DATA}; set CONGEST_SHARED to its folder"
)
REDUCTIONS = ("reduce", "allreduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block")


@cache
def cases(folder: str) -> dict[str, list[Path]]:
    """Files of a folder grouped by "collective-algorithm"."""
    groups = defaultdict(list)
    for path in sorted((DATA / folder).glob("*.json")):
        match = re.match(r"(.+?)-\d+(-|$)", path.stem)
        assert match is not None, path
        groups[match[1]].append(path)
    return dict(groups)


def load(path: Path) -> dict[str, Any]:
    """One reference file."""
    return json.loads(path.read_text())


def expand_case(case: dict[str, Any], version: str) -> Expansion:
    """Expand the call that a reference file describes."""
    op = case["collective"]
    forced = case.get("tuned_id", case.get("forced_id", "default"))
    fanout = case.get("fanout", case.get("chain_fanout")) or None
    return expand_call(
        op,
        forced,
        case["comm_size"],
        sizes=case["bytes"],
        root=case["root"],
        element_bytes=case.get("element_bytes", 4 if op in REDUCTIONS else 1),
        segment_bytes=case.get("segment_bytes", 0),
        fanout=fanout,
        radix=case.get("radix"),
        version=version,
    )

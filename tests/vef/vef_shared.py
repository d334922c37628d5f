"""Where the reference traces are: beside the repository, or in the folder that CONGEST_SHARED names."""

import json
import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("CONGEST_SHARED", Path(__file__).parents[3] / "shared"))
TRACES = SHARED / "traces"
BASE = """VEF3 4 4 2 2 6 FALSE
C0 0 1 2 3
C1 0 1
0 0 1 1024 0 1000 -1
1 1 2 2048 2 500 0
2 2 3 4096 2 500 1
G0 0 6 0 0 0 1 100 0
G0 0 6 1 0 0 1 100 1
G0 0 6 2 0 0 1 100 2
G0 0 6 3 0 0 2 100 2
3 0 3 64 3 200 G0
G1 1 0 0 512 0 1 50 3
G1 1 0 1 0 512 3 50 G0
"""
# Task 3 enters the barrier at 1000 + 500 + 500 + 100 = 2100; task 0 sends 200 later, broadcasts 50 after that.
BASE_MAKESPAN = 2350


def entries(name: str, key: str) -> list:
    """Return the cases of a list beside the traces, or one that skips with the reason."""
    path = TRACES / name
    if not path.exists():
        reason = f"no reference traces at {TRACES}; set CONGEST_SHARED"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(entry, id=entry["file"]) for entry in json.loads(path.read_text())[key]]

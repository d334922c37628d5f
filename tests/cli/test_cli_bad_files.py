"""Malformed and odd traces: exit code and line as their list of expected verdicts says, never a traceback."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cli_shared import SHARED, congest, needs_shared

BAD = SHARED / "traces" / "bad"
CASES = json.loads((BAD / "expected.json").read_text())["cases"] if BAD.is_dir() else []
ACCEPT, REJECT = 0, 2


def allowed(case: dict[str, Any]) -> set[int]:
    """Exit codes that the verdict allows."""
    codes = {"accept": {ACCEPT}, "reject": {REJECT}, "stuck": {REJECT}, "choice": {ACCEPT, REJECT}}
    return (
        codes[case["verdict"]]
        | ({ACCEPT} if case.get("also") == "accept" else set())
        | ({REJECT} if case.get("also") in ("reject", "stuck") else set())
    )


@needs_shared
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
@pytest.mark.parametrize("command", ["validate", "estimate"])
def test_code_and_line(case: dict[str, Any], command: str) -> None:
    options = [] if command == "validate" else ["--topo", "single-switch:hosts=8", "--format", "json"]
    done = congest(command, BAD / case["file"], *options)
    assert done.code in allowed(case)
    if done.code == REJECT and "line" in case:
        assert f"{case['file']}:{case['line']}:" in done.out + done.err
    if done.code == REJECT and command == "estimate":
        assert done.out == ""
    if done.code == ACCEPT and command == "estimate" and "ideal_makespan_ns" in case:
        summary = json.loads(done.out)["summary"]
        assert summary["ideal_makespan_s"] * 1e9 == pytest.approx(case["ideal_makespan_ns"], abs=1e-3)

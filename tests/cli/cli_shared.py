"""Running the command, and where the data for checking lies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cli.main

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CONGEST_SHARED", ROOT.parent / "shared"))
SAMPLES = sorted((ROOT / "sample_traces").glob("*.vef"))

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"the data for checking is not at {SHARED}")


@dataclass(frozen=True)
class Outcome:
    """Exit code, result stream and message stream of a command."""

    code: int
    out: str
    err: str


def congest(*arguments: str | Path, stdin: bytes | None = None) -> Outcome:
    """Run the command in this process, errors turned into messages and codes as the entry point does."""
    result = CliRunner().invoke(cli.main.app, [str(argument) for argument in arguments], input=stdin)
    error = result.exception
    if error is None or isinstance(error, SystemExit):
        return Outcome(result.exit_code, result.stdout, result.stderr)
    if not cli.main.is_foreseen(error):
        raise error
    return Outcome(cli.main.UNUSABLE, result.stdout, f"{result.stderr}error: {error}\n")

"""The tutorial does what it says, as it is written."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from capture_shared import messages_by_pair

from vef import read_trace

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


@pytest.fixture
def place(tmp_path: Path, openmpi) -> Path:
    """A folder that looks like a clone, with `congest` and the tested MPI's `mpirun` on the PATH."""
    assert openmpi
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: pip install mpi4py")
    (tmp_path / "sample_traces").symlink_to(ROOT / "sample_traces")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "mpirun").symlink_to(openmpi.mpirun)
    command = f"#!{sys.executable}\nfrom cli.main import run\nrun()\n"
    (programs / "congest").write_text(command, encoding="utf-8")
    (programs / "congest").chmod(0o755)
    # A link would be a Python without the packages of this environment.
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    (programs / "python").chmod(0o755)
    return tmp_path


def test_every_command_of_the_tutorial(place: Path):
    path = ":".join((str(place / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
    modules = ":".join(part for part in (str(ROOT), os.environ.get("PYTHONPATH")) if part)
    environment = {**os.environ, "PATH": path, "PYTHONPATH": modules}
    printed, codes = [], []
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL):
        for line in block.splitlines():
            done = subprocess.run(line, shell=True, cwd=place, env=environment, capture_output=True, text=True)
            assert "Traceback" not in done.stderr
            printed.append(done.stdout)
            codes.append(done.returncode)
    # All succeed but the last, the regression.
    assert codes == [0, 0, 0, 0, 0, 0, 0, 1], printed
    assert "4 ranks, 20 steps" in printed[0]
    # What the page says of the trace: two neighbours, 20 steps, 258 doubles; an allreduce each fifth step.
    trace = read_trace(place / "halo.vef")
    pairs = messages_by_pair(trace)
    assert len(pairs) == 8
    assert set(pairs.values()) == {(20, 20 * 258 * 8)}
    assert sum(number for number, _ in pairs.values()) == 160
    assert len(trace.collectives) == 4

"""The MPIs that are installed here, one test each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from capture_programs import FAMILIES, SETTINGS, Mpi, make_mpi


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(params=list(FAMILIES))
def mpi(request: pytest.FixtureRequest, programs: Path, tmp_path: Path) -> Mpi:
    """Each MPI in turn."""
    return make_mpi(request.param, programs, tmp_path)


@pytest.fixture
def openmpi(programs: Path, tmp_path: Path) -> Mpi:
    """Open MPI."""
    return make_mpi("openmpi", programs, tmp_path)


@pytest.fixture
def mpich(programs: Path, tmp_path: Path) -> Mpi:
    """MPICH."""
    return make_mpi("mpich", programs, tmp_path)


@pytest.fixture
def any_mpi(programs: Path, tmp_path: Path) -> Mpi:
    """One MPI, whichever is there."""
    name = "openmpi" if shutil.which("mpirun.openmpi") or not shutil.which("mpirun.mpich") else "mpich"
    return make_mpi(name, programs, tmp_path)


@pytest.fixture
def printed(capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What programs have printed since."""
    return lambda: capfd.readouterr().out


@pytest.fixture
def fake_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put scripts of one line on an otherwise empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(**scripts: str) -> Path:
        for name, line in scripts.items():
            path = folder / name.replace("_", ".")
            path.write_text(f"#!/bin/sh\n{line}\n")
            os.chmod(path, 0o755)
        return folder

    return make

"""Programs compiled and captured with the MPIs that are installed here."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cli.main
from vef import Trace, read_trace
from vef.capture.mpi import MPICH, OPEN_MPI, compiler_family, find_compiler, find_launcher

PROGRAMS = Path(__file__).parent / "programs"
HOW_TO_INSTALL = "apt-get install openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran"
SETTINGS = {
    # As root, on few cores, in a container.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    # Both launchers end a program that hangs.
    "MPIEXEC_TIMEOUT": "120",
}
FAMILIES = {"openmpi": OPEN_MPI, "mpich": MPICH}


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended; the trace it wrote."""

    code: int
    out: str
    err: str
    path: Path

    @property
    def trace(self) -> Trace:
        """The trace, read as any other."""
        assert self.code in (0, 1), self.err
        return read_trace(self.path)


@dataclass(frozen=True)
class Mpi:
    """An MPI: its launcher and compiler, and where its programs are."""

    name: str
    mpirun: str
    mpicc: str
    programs: Path
    folder: Path

    def build(self, source: str, *options: str) -> Path:
        """Compile a program once."""
        target = self.programs / Path(source).stem
        if not target.exists():
            compiler = self.mpicc
            if source.endswith(".f90"):
                compiler = shutil.which(f"mpif90.{self.name}") or ""
                if not compiler or not shutil.which("gfortran"):
                    pytest.skip(f"no Fortran compiler of {self.name}: {HOW_TO_INSTALL}")
            subprocess.run(
                [compiler, "-O1", "-w", *options, str(PROGRAMS / source), "-o", str(target)], check=True, timeout=60
            )
        return target

    def capture(self, ranks: int, program: str | Path, *arguments: str, options: tuple[str, ...] = ()) -> Outcome:
        """Run `congest capture` of a program; what the program prints goes to the file `printed`."""
        if isinstance(program, str):
            program = self.build(program)
        path = self.folder / "captured.vef"
        command = [self.mpirun, "-n", str(ranks), *options, str(program), *arguments]
        return run_congest("capture", "-o", path, "--keep-raw", self.folder / "raw", "--", *command, path=path)


def run_congest(*arguments: str | Path, path: Path) -> Outcome:
    """Run the command, errors turned into messages and codes as the entry point does."""
    result = CliRunner().invoke(cli.main.app, [str(argument) for argument in arguments])
    error = result.exception
    if error is None or isinstance(error, SystemExit):
        return Outcome(result.exit_code, result.stdout, result.stderr, path)
    if not cli.main.is_foreseen(error):
        raise error
    return Outcome(cli.main.UNUSABLE, result.stdout, f"{result.stderr}error: {error}\n", path)


def find(name: str) -> tuple[str, str]:
    """Launcher and compiler of an MPI by its short name; skips the test when it is not installed."""
    family = FAMILIES[name]
    for launcher in (f"mpirun.{name}", "mpirun", "mpiexec"):
        if not shutil.which(launcher):
            continue
        found = find_launcher([launcher])
        if found.family != family:
            continue
        for compiler in (f"mpicc.{name}", "mpicc"):
            if shutil.which(compiler) and compiler_family(compiler) == family:
                return found.path, find_compiler(found, compiler)
    pytest.skip(f"{family} is not installed: {HOW_TO_INSTALL}")


def make_mpi(name: str, programs: Path, folder: Path) -> Mpi:
    mpirun, mpicc = find(name)
    place = programs / name
    place.mkdir(exist_ok=True)
    return Mpi(name, mpirun, mpicc, place, folder)

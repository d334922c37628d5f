"""Which MPI a command starts, and the compiler that belongs to it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vef.capture.errors import CaptureError

OPEN_MPI, MPICH, SLURM, OTHER = "Open MPI", "MPICH", "Slurm", "other"

_HOW_TO_INSTALL = (
    "install one: apt-get install libopenmpi-dev openmpi-bin (or libmpich-dev mpich), dnf install openmpi-devel, "
    "or load your cluster's MPI module; or name it with --mpicc"
)
_NAMES = ("mpirun", "mpiexec", "orterun", "prterun", "prun", "mpiexec.hydra", "srun")


@dataclass(frozen=True)
class Launcher:
    """What starts the ranks: the program's path, and whose it is (`OPEN_MPI`, `MPICH`, `SLURM`, `OTHER`)."""

    path: str
    family: str


def find_launcher(command: Sequence[str]) -> Launcher:
    """The launcher of a command line, by its first word.

    Raises
    ------
    CaptureError
        When there is no such command.
    """
    path = shutil.which(command[0])
    if path is None:
        found = Path(command[0])
        if found.exists():
            raise CaptureError(f"{command[0]}: is not executable; expected a program, such as mpirun")
        hint = f"; {_HOW_TO_INSTALL}" if found.name in _NAMES else "; check the name and PATH"
        raise CaptureError(f"{command[0]}: command not found{hint}")
    return Launcher(path, _family(path))


def _family(path: str) -> str:
    name = Path(path).name
    if not any(name == known or name.startswith(f"{known}.") for known in _NAMES):
        return OTHER
    version = _output([path, "--version"])
    if re.search(r"Open ?MPI|OpenRTE|PRRTE|prte", version, re.IGNORECASE):
        return OPEN_MPI
    if re.search(r"HYDRA|MPICH|Intel\(R\) MPI|MVAPICH", version, re.IGNORECASE):
        return MPICH
    if re.search(r"slurm", version, re.IGNORECASE):
        return SLURM
    return OTHER


def find_compiler(launcher: Launcher, wanted: str | None = None) -> str:
    """The MPI compiler that fits a launcher: the one wanted, or one beside the launcher, or one on the PATH.

    Raises
    ------
    CaptureError
        When there is none, or only ones of another MPI.
    """
    if wanted is not None:
        path = shutil.which(wanted)
        if path is None:
            raise CaptureError(f"--mpicc {wanted}: command not found; expected an MPI compiler such as mpicc")
        candidates = [path]
    else:
        candidates = _candidates(launcher)
    seen = []
    for path in candidates:
        family = compiler_family(path)
        if family == launcher.family or (launcher.family in (SLURM, OTHER) and family != OTHER):
            return path
        seen.append(f"{path} ({family if family != OTHER else 'does not compile against an MPI'})")
    if not seen:
        raise CaptureError(
            f"mpicc: command not found; congest compiles a small library against your MPI; {_HOW_TO_INSTALL}"
        )
    expected = launcher.family if launcher.family in (OPEN_MPI, MPICH) else "an MPI"
    raise CaptureError(
        f"no compiler for the MPI of {launcher.path}: found {', '.join(seen)}; expected one of {expected}; "
        "install its development files (libopenmpi-dev or libmpich-dev), or name its compiler with --mpicc"
    )


def _candidates(launcher: Launcher) -> list[str]:
    """Compilers in the order to try, without repetition."""
    names = ["mpicc"]
    if launcher.family in (OPEN_MPI, MPICH):
        names.append({OPEN_MPI: "mpicc.openmpi", MPICH: "mpicc.mpich"}[launcher.family])
    suffix = Path(launcher.path).suffix
    if suffix:
        names.insert(0, f"mpicc{suffix}")
    folders = []
    if launcher.family in (OPEN_MPI, MPICH):
        folders = [str(Path(launcher.path).parent), str(Path(launcher.path).resolve().parent)]
    found = [shutil.which(name, path=folder) for folder in folders for name in names]
    found += [shutil.which(name) for name in names]
    return list(dict.fromkeys(path for path in found if path))


def compiler_family(mpicc: str) -> str:
    """Whose MPI a compiler uses, by the macros of its `mpi.h`."""
    text = _output([mpicc, "-E", "-dM", "-x", "c", "-"], "#include <mpi.h>\n")
    if re.search(r"#define OPEN_MPI\b|#define OMPI_MAJOR_VERSION\b", text):
        return OPEN_MPI
    if re.search(r"#define (MPICH_VERSION|MPICH_NUMVERSION|I_MPI_VERSION|MVAPICH2_VERSION)\b", text):
        return MPICH
    return OTHER


def compiler_identity(mpicc: str) -> str:
    """What tells one MPI from another: the compiler's path, what it runs, and the version of its MPI."""
    shown = _output([mpicc, "-show"]) or _output([mpicc, "--showme"])
    macros = _output([mpicc, "-E", "-dM", "-x", "c", "-"], "#include <mpi.h>\n")
    versions = re.findall(r"#define (\w*VERSION\w*) (.*)", macros)
    named = [f"{name} {value}" for name, value in sorted(versions)]
    return "\n".join([os.path.realpath(mpicc), mpicc, shown, *named])


def _output(command: list[str], given: str = "") -> str:
    """Standard output and error of a command that may fail."""
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 and done.stdout else done.stdout + done.stderr

"""Run a program with the recording library in every rank."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vef.capture.build import library_for
from vef.capture.errors import CaptureError
from vef.capture.launch import recorded_command
from vef.capture.layout import SUFFIX
from vef.capture.mpi import Launcher, find_compiler, find_launcher


@dataclass(frozen=True)
class Recorder:
    """What a command is to be run with: its launcher, the MPI compiler, the library."""

    command: tuple[str, ...]
    launcher: Launcher
    mpicc: str
    library: Path


def prepare(command: Sequence[str], mpicc: str | None, say: Callable[[str], None]) -> Recorder:
    """Find the MPI of a command and make the recording library if it is not there yet.

    Raises
    ------
    CaptureError
        When the command or a fitting compiler is missing, or the library cannot be compiled.
    OSError
        When the cache cannot be written.
    """
    if not command:
        raise CaptureError("no command given; expected it after --, such as: congest capture -o x.vef -- mpirun ./x")
    launcher = find_launcher(command)
    compiler = find_compiler(launcher, mpicc)
    library = library_for(compiler, lambda: say(f"compiling the recording library once with {compiler} …"))
    if re.search(r"[\s:,]", str(library)):
        # The loader and srun split their lists at these.
        raise CaptureError(
            f"{library.parent}: found a space, colon or comma in the name of the cache, the loader takes none; "
            "set XDG_CACHE_HOME to another folder"
        )
    return Recorder(tuple(command), launcher, compiler, library)


def check_raw_folder(folder: Path) -> None:
    """Make the folder for raw files, which must not hold those of another run.

    Raises
    ------
    CaptureError
        When it holds raw files, or is a file.
    OSError
        When it cannot be made.
    """
    if folder.exists() and not folder.is_dir():
        raise CaptureError(f"{folder}: is a file; expected a folder for the raw files")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.glob(f"*.{SUFFIX}")):
        raise CaptureError(f"{folder}: already holds raw files; give another folder, or remove them first")


def run_recorded(recorder: Recorder, folder: Path) -> int:
    """Run the command; its ranks leave their files in the folder. Returns its exit code (128 + n for signal n).

    Raises
    ------
    CaptureError
        When no rank left a file.
    """
    command, variables = recorded_command(
        recorder.launcher, recorder.command, str(recorder.library), str(folder.resolve())
    )
    with subprocess.Popen(command, env={**os.environ, **variables}) as process, _signals_end(process):
        code = process.wait()
    code = 128 - code if code < 0 else code
    if not any(folder.glob(f"*.{SUFFIX}")):
        raise CaptureError(_nothing_recorded(recorder, code))
    return code


@contextlib.contextmanager
def _signals_end(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """An interrupt or a request to end is the command's; what it left until then is still used."""
    # A terminal sends an interrupt to the command as well, and a second one would end it before its ranks have.
    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: lambda *_: process.terminate()}
    try:
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    except ValueError:  # not in the main thread
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _nothing_recorded(recorder: Recorder, code: int) -> str:
    name = recorder.command[0]
    if code:
        return (
            f"{name}: ended with exit code {code}, and no rank came out of MPI_Init; see its own messages above; "
            f"does it run without congest, and is the program linked with the MPI of {recorder.mpicc}?"
        )
    return (
        f"{name}: ended well, but no rank recorded anything; expected a program that calls MPI_Init and is linked "
        f"dynamically with the MPI of {recorder.mpicc}; name the compiler of its MPI with --mpicc"
    )


def describe_exit(code: int) -> str:
    """An exit code in words: `exit code 3`, `exit code 137 (SIGKILL)`."""
    if code > 128:
        with contextlib.suppress(ValueError):
            return f"exit code {code} ({signal.Signals(code - 128).name})"
    return f"exit code {code}"

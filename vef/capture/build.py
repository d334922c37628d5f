"""The recording library, compiled against the user's MPI on first use and kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from vef.capture import layout
from vef.capture.errors import CaptureError
from vef.capture.mpi import compiler_identity
from vef.capture.prototypes import c_wrappers, counted_functions

SOURCES = Path(__file__).parent / "src"
FLAGS = ("-shared", "-fPIC", "-O2", "-std=gnu11", "-pthread", "-fvisibility=default", "-ftls-model=initial-exec")


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/congest`, by default `~/.cache/congest`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "congest"


def library_for(mpicc: str, before_compiling: Callable[[], None] = lambda: None) -> Path:
    """The library for the MPI of this compiler, compiled unless it is there.

    Raises
    ------
    CaptureError
        When the compiler fails; says with what.
    OSError
        When the cache cannot be written.
    """
    digest = hashlib.sha256(compiler_identity(mpicc).encode())
    for source in (*sorted(SOURCES.glob("*.[ch]")), Path(layout.__file__), Path(__file__).with_name("prototypes.py")):
        digest.update(source.read_bytes())
    folder = cache_folder() / "capture"
    target = folder / f"libcongest-{digest.hexdigest()[:16]}.so"
    if target.exists():
        return target
    before_compiling()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as name:
        built = _compile(mpicc, Path(name))
        os.replace(built, target)
    return target


def _compile(mpicc: str, folder: Path) -> Path:
    for source in SOURCES.glob("*.[ch]"):
        shutil.copy(source, folder)
    (folder / "probe.c").write_text("#include <mpi.h>\n", encoding="utf-8")
    functions = counted_functions(_run([mpicc, "-E", "-P", "probe.c"], folder))
    (folder / "generated.h").write_text(layout.c_definitions(list(functions)), encoding="utf-8")
    (folder / "counted.h").write_text(c_wrappers(functions, len(layout.EXTRA_COUNTED)), encoding="utf-8")
    _run([mpicc, *FLAGS, "capture.c", "-o", "capture.so", "-ldl"], folder)
    return folder / "capture.so"


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise CaptureError(f"{command[0]}: cannot be run ({error.strerror}); is it an MPI compiler?") from None
    if done.returncode:
        detail = "\n".join(f"  {line}" for line in done.stderr.strip().splitlines()[:8])
        raise CaptureError(
            f"{command[0]}: cannot compile the recording library (exit code {done.returncode}):\n{detail}\n"
            "install the development files of your MPI (libopenmpi-dev or libmpich-dev) and a C compiler (gcc), "
            "or name another compiler with --mpicc"
        )
    return done.stdout

"""Compiled kernels and where their machine code is kept between runs.

numba caches per function and looks only at that function's own file, so a change in a function it calls would go
unnoticed. The cache therefore lies in a folder named after the contents of all files with kernels, in the user's
cache directory, which also serves installations that are not writable.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import __version__ as numba_version
from numba import njit
from numba.core import config as numba_config

ROOTS = ("vef", "estimator")

# Versions whose machine code is kept.
KEPT_VERSIONS = 4

config: Any = numba_config


def cache_home() -> Path:
    """The folder for what can be made again: `$XDG_CACHE_HOME/congest`, by default `~/.cache/congest`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "congest"


def fingerprint() -> str:
    """Hash of the contents of all modules that hold kernels, and of what compiles them."""
    digest = hashlib.sha256(numba_version.encode())
    base = Path(__file__).resolve().parent.parent
    for root in ROOTS:
        for path in sorted((base / root).rglob("*.py")):
            content = path.read_bytes()
            if b"compiled import" in content or path.name in ("layout.py", "tables.py"):
                digest.update(str(path.relative_to(base)).encode())
                digest.update(content)
    return digest.hexdigest()[:16]


def kernel_cache() -> Path:
    """The folder for this version's machine code; others than the newest few are removed."""
    home = cache_home()
    folder = home / f"kernels-{fingerprint()}"
    if not folder.exists():
        folder.mkdir(parents=True)
        versions = sorted(home.glob("kernels-*"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in versions[KEPT_VERSIONS:]:
            shutil.rmtree(old, ignore_errors=True)
    return folder


def is_compiled() -> bool:
    """Whether an earlier run has left its machine code (else the first use compiles for some seconds)."""
    return any(Path(config.CACHE_DIR).rglob("*.nbc"))


if not os.environ.get("NUMBA_CACHE_DIR"):
    try:
        config.CACHE_DIR = str(kernel_cache())
    except OSError:
        # Nowhere to write: numba then compiles anew in each run.
        config.CACHE_DIR = ""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on first use, without the interpreter's lock, and keep the machine code."""
    return njit(cache=True, nogil=True, error_model="numpy")(function)


def kernel_part(function: Callable[..., Any]) -> Any:
    """A function that only kernels call: compiled into each of them, not for itself.

    Left alone, numba makes machine code of every function, with what it calls, and a wrapper for Python; for the
    functions of the replay loop that is half of the time that compiling takes.
    """
    made: Any = njit(nogil=True, error_model="numpy")(function)

    def without_machine_code(flags: Any) -> Any:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    def add_overload(result: Any) -> None:
        # Kernels look a function up by its entry point, which this one has not; its description does as well.
        made.targetctx.insert_user_function(result.fndesc, result.fndesc, [result.library])
        made.overloads[tuple(result.signature.args)] = result._replace(entry_point=result.fndesc)

    made._compiler._customize_flags = without_machine_code
    made.add_overload = add_overload
    return made

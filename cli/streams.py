"""Where output goes: results to stdout or a file written at once, everything else to stderr."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vef import Trace


def check_target(path: Path | None, inputs: Sequence[str] = ()) -> None:
    """Fail early where a result could not be written, or would replace what it is made from.

    Raises
    ------
    OSError
        When there is nowhere to write, the folder is missing or not writable, or the target is a folder or an input.
    """
    if path is None:
        if sys.stdout is None:
            raise OSError("standard output is closed; give -o FILE for the result")
        return
    for name in inputs:
        if path.exists() and Path(name).exists() and path.samefile(name):
            raise FileExistsError(f"{path}: is an input of this command; give another name for the result")
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; expected the name of a file to write")
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path}: the folder {folder} is not writable")


def write_result(text: str, path: Path | None) -> None:
    """Write a result to stdout, or to a file that is there whole or not at all."""
    if path is None:
        encoding = sys.stdout.encoding or "utf-8"
        # A terminal without ρ or → shows ? in their place; that is no reason to show nothing.
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
        return
    write_parts([text.encode("utf-8")], path)


def write_parts(parts: Iterable[bytes], path: Path) -> None:
    """Write a file piece by piece that is there whole or not at all."""
    if path.exists() and not path.is_file():
        # A device or a pipe is written to; only a regular file can be replaced.
        with path.open("wb") as device:
            device.writelines(parts)
        return
    with whole_file(path) as name, open(name, "wb") as file:
        file.writelines(parts)


def write_vef(trace: Trace, path: Path | None) -> None:
    """Write a trace to stdout, or to a file (compressed if its name ends so) that is there whole or not at all."""
    from vef import write_trace

    if path is None:
        write_trace(trace, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    elif path.exists() and not path.is_file():
        write_trace(trace, path)
    else:
        with whole_file(path) as name:
            write_trace(trace, name)


@contextmanager
def whole_file(path: Path) -> Iterator[str]:
    """Give the name of a file to write (with the same ending), which replaces `path` if nothing goes wrong."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=f".{path.name}")
    os.close(handle)
    try:
        yield name
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def note(text: str, quiet: bool = False) -> None:
    """Say something that is not the result."""
    if not quiet:
        print(text, file=sys.stderr)


def say_compiling(quiet: bool = False) -> None:
    """Tell why the first run after an installation takes longer, before anything is compiled."""
    from vef.compiled import is_compiled

    if not is_compiled():
        note("compiling once for this version; later runs start at once …", quiet)

"""`congest capture`: run an MPI program and write the trace of its calls."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.streams import check_target, note, say_compiling, write_vef

if TYPE_CHECKING:
    from vef.mix import Capture, Mixed


def capture_command(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="Such as mpirun -n 16 ./app args.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The trace; .gz or .zst at the end compresses it.")
    ],
    keep_raw: Annotated[
        Path | None, typer.Option("--keep-raw", metavar="DIR", help="Record into this folder and leave it there.")
    ] = None,
    mpicc: Annotated[
        str | None, typer.Option("--mpicc", help="The compiler of the program's MPI; found beside mpirun otherwise.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, warnings or summary.")] = False,
) -> None:
    """Run an MPI program and write the trace of its calls; exit code 1 if the program failed."""
    check_target(output)
    from cli.main import FINDINGS, OK
    from vef.capture import check_raw_folder, describe_exit, prepare, run_recorded
    from vef.mix import read_capture

    recorder = prepare(command, mpicc, lambda text: note(text, quiet))
    folder = keep_raw
    if folder is None:
        # Beside the result: all nodes of a cluster see that folder, but not each other's /tmp.
        folder = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}.raw-"))
    keep = keep_raw is not None
    try:
        check_raw_folder(folder)
        code = run_recorded(recorder, folder)
        note(f"{command[0]} ended with {describe_exit(code)}", quiet and code == 0)
        capture = read_capture([folder])
        # From here on the files are good: a run of hours is not lost because its trace could not be written.
        keep = True
        mixed = _mix(capture, quiet)
        write_vef(mixed.trace, output)
        keep = keep_raw is not None
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        elif keep_raw is None:
            note(f"the raw files are kept in {folder}; congest mix reads them")
    from cli.validate import describe_trace

    note(f"{output}: {describe_trace(mixed.trace, mixed.ideal_makespan_s)}", quiet)
    if code:
        note(f"warning: the program failed ({describe_exit(code)}); the trace holds what it did until then")
    raise typer.Exit(FINDINGS if code else OK)


def _mix(capture: Capture, quiet: bool) -> Mixed:
    from vef.mix import mix_capture

    say_compiling(quiet)
    mixed = mix_capture(capture)
    for warning in mixed.warnings:
        note(f"warning: {warning}", quiet)
    return mixed

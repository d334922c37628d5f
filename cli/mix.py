"""`congest mix`: from raw files of a capture to a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.streams import check_target, note, say_compiling, write_vef
from cli.validate import describe_trace


def mix_command(
    folders: Annotated[
        list[str], typer.Argument(metavar="DIR…", help="Folders of raw files of one run, such as one per node.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The trace; .gz or .zst at the end compresses it.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No warnings, no summary.")] = False,
) -> None:
    """Make a trace of the raw files that a capture or VEF-Prospector left."""
    check_target(output)
    from vef.mix import mix_capture, read_capture

    capture = read_capture(folders)
    check_target(output, capture.files)
    say_compiling(quiet)
    mixed = mix_capture(capture)
    for warning in mixed.warnings:
        note(f"warning: {warning}", quiet)
    write_vef(mixed.trace, output)
    note(f"{output or '<stdout>'}: {describe_trace(mixed.trace, mixed.ideal_makespan_s)}", quiet)

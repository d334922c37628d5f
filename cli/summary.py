"""`congest summary`: what a trace holds, and what it does on an ideal network."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.streams import check_target, note, say_compiling, write_parts, write_result

if TYPE_CHECKING:
    from vef.summary import Summary

FORMATS = ("table", "json", "csv", "markdown")
MATRIX_FORMATS = (".csv", ".npz")


def summary_command(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="VEF file; - is standard input.")],
    eager_limit: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Largest message sent eagerly, such as 64KiB; else that of the model."),
    ] = None,
    format_: Annotated[str, typer.Option("--format", help=", ".join(FORMATS) + ".")] = "table",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the result.")] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv|FILE.npz", help="Write messages and bytes of each pair of tasks."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Rows of each table.")] = 5,
    quiet: Annotated[bool, typer.Option("--quiet", help="No warnings.")] = False,
) -> None:
    """Messages, sizes, collectives, balance and critical path of a trace, without a network."""
    from cli.estimate import UsageError
    from estimator.formulas import ModelParameters
    from estimator.units import UnitError, parse_size
    from vef import read_trace
    from vef.summary import document, summarise

    if format_ not in FORMATS:
        raise UsageError(f"--format: found '{format_}'; expected one of {', '.join(FORMATS)}")
    if matrix is not None and matrix.suffix not in MATRIX_FORMATS:
        raise UsageError(f"--matrix: found '{matrix}'; expected a file name that ends in .csv or .npz")
    if matrix is not None and output is not None and matrix.absolute() == output.absolute():
        raise UsageError(f"--matrix and --output: found '{matrix}' for both; expected two files")
    limit = ModelParameters().eager_limit_bytes
    if eager_limit is not None:
        try:
            limit = 0 if eager_limit.strip() in ("0", "0B") else parse_size(eager_limit)
        except UnitError as error:
            raise UsageError(f"--eager-limit: {error}") from error
    check_target(output, [trace])
    if matrix is not None:
        check_target(matrix, [trace])
    say_compiling(quiet)
    read = read_trace(trace)
    for warning in read.warnings:
        note(f"warning: {warning.render(read.path)}", quiet)
    summary = summarise(read, limit)
    text = _rendered(document(summary), format_, output, top)
    if matrix is not None:
        write_parts(_matrix(summary, matrix), matrix)
    write_result(text, output)


def _matrix(summary: Summary, path: Path) -> Iterable[bytes]:
    from vef.summary import matrix_csv, matrix_npz

    if path.suffix == ".npz":
        return [matrix_npz(summary)]
    return (part.encode() for part in matrix_csv(summary))


def _rendered(document: dict[str, Any], format_: str, output: Path | None, top: int) -> str:
    from vef.documents import render_json
    from vef.summary import render_csv

    if format_ == "json":
        return render_json(document)
    if format_ == "csv":
        return render_csv(document)
    from cli.summary_view import markdown, show

    if format_ == "markdown":
        return markdown(document, top)
    from rich.console import Console

    to_terminal = output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = None if output is None and sys.stdout.isatty() else int(os.environ.get("COLUMNS") or 100)
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=to_terminal, no_color=not to_terminal, width=width)
    show(console, document, top)
    return "\n".join(_compact(buffer.getvalue().splitlines())).rstrip("\n") + "\n"


def _compact(lines: Iterable[str]) -> Iterator[str]:
    """Lines without blanks at their end, and no two empty ones in a row."""
    before = ""
    for line in lines:
        line = line.rstrip()
        if line or before:
            yield line
        before = line

"""`congest calibrate`: parameters of the model from measurements."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.estimate import UsageError
from cli.streams import check_target, note, say_compiling, write_result

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def calibrate_command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…", help="Output of OSU micro-benchmarks or nccl-tests, or CSV; told by content."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="YAML for `include:` in a topology file.")
    ] = None,
    topo: Annotated[
        str | None, typer.Option(metavar="TOPO", help="Network it was measured on, whose latencies are taken off.")
    ] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option("--between", metavar="A B", help="Hosts of the measured pair; the first two by default."),
    ] = None,
    hops: Annotated[int, typer.Option(help="Links between the pair where there is no --topo: 2, 4 or 6.")] = 2,
    ranks: Annotated[
        list[str] | None,
        typer.Option(metavar="[FILE=]N", help="Ranks of collectives, where the file does not tell; repeatable."),
    ] = None,
    ranks_per_node: Annotated[int, typer.Option(min=1, help="Ranks on each host of the network.")] = 1,
    openmpi: Annotated[
        str, typer.Option(help="Series whose algorithms the collectives used: 4.1, 5.0, main.")
    ] = "5.0",
    format_: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
    quiet: Annotated[bool, typer.Option("--quiet", help="No warnings.")] = False,
) -> None:
    """Fit overhead, bandwidth, eager limit and the empirical factor to measurements."""
    from estimator.calibrate import Setup, calibrate
    from estimator.calibrate.report import document as report

    if format_ not in ("table", "json"):
        raise UsageError(f"--format: found '{format_}'; expected table or json")
    if output is not None:
        check_target(output, [*files, *([topo] if topo else [])])
    say_compiling(quiet)
    setup = Setup(topo, between, hops, _ranks(ranks or []), ranks_per_node, openmpi)
    document = report(calibrate(files, setup))
    for warning in document["warnings"]:
        note(f"warning: {warning}", quiet)
    if output is not None:
        write_result(document["yaml"], output)
    if format_ == "json":
        write_result(json.dumps(document, ensure_ascii=False, indent=1) + "\n", None)
    else:
        write_result(_rendered(document), None)


def _ranks(texts: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        if not (number.isascii() and number.isdigit() and 0 < int(number) < 10**9):
            raise UsageError(f"--ranks: found '{text}'; expected a number, or FILE=NUMBER such as alltoall.txt=16")
        found[name] = int(number)
    return found


def _rendered(document: dict[str, Any]) -> str:
    from rich.console import Console

    to_terminal = sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    buffer = io.StringIO()
    width = None if to_terminal else int(os.environ.get("COLUMNS") or 100)
    console = Console(file=buffer, force_terminal=to_terminal, no_color=not to_terminal, width=width)
    _show(console, document)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def _show(console: Console, document: dict[str, Any]) -> None:
    """Parameters, residuals per size, what was assumed or left out."""
    from estimator.units import format_rate, format_size, format_time

    console.print(document["yaml"], highlight=False, markup=False, soft_wrap=True)
    for series in document["series"]:
        table = _table(f"{series['path']}: {series['test']}", ("size", "measured", "model", "error", "fitted"))
        for row in series["rows"]:
            is_rate = row["measured_rate"] is not None
            shown = [
                format_rate(row[f"{which}_rate"]) if is_rate else format_time(row[f"{which}_s"])
                for which in ("measured", "model")
            ]
            # What was not fitted is limited by something that the model does not have, such as the message rate.
            error, used = (f"{row['relative_error']:+.1%}", "yes") if row["used"] else ("", "no")
            table.add_row(format_size(row["size_bytes"]), *shown, error, used)
        console.print(table)
    for series in document["collectives"]:
        title = f"{series['path']}: {series['test']}, {series['ranks']} ranks"
        table = _table(title, ("size", "algorithm", "measured", "α-β", "empirical", "error", "segmented"))
        for row in series["rows"]:
            table.add_row(
                format_size(row["size_bytes"]),
                row["algorithm"],
                *(format_time(row[key]) for key in ("measured_s", "alpha_beta_s", "empirical_s")),
                f"{row['relative_error']:+.1%}",
                format_time(row["segmented_s"]),
            )
        console.print(table)
    for text in document["notes"]:
        console.print(f"- {text}", highlight=False, markup=False)


def _table(title: str, columns: tuple[str, ...]) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        title=escape(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False,
        header_style="",
    )  # fmt: skip
    for column in columns:
        table.add_column(column, justify="left" if column == "algorithm" else "right", no_wrap=True)
    return table

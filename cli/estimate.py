"""`congest estimate`: the main job."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.streams import check_target, note, say_compiling, write_result

if TYPE_CHECKING:
    from rich.console import Console

    from estimator.output.gates import Gate
    from vef import Trace

FORMATS = ("table", "json", "jsonl", "csv", "markdown", "github", "junit")


class UsageError(Exception):
    """An option that cannot be understood, and what would do."""


def estimate_command(
    traces: Annotated[list[str], typer.Argument(metavar="TRACE…", help="VEF files, one job each; - is stdin.")],
    topo: Annotated[
        str | None,
        typer.Option(
            metavar="TOPO", help="YAML file, shorthand such as fat-tree:k=8, or ideal; else a fat-tree that fits."
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(help="segmented, alpha-beta, static, fluid, mm1, md1, mg1, kingman or empirical."),
    ] = "segmented",
    placement: Annotated[
        str, typer.Option(help="block, round-robin, random:SEED, or a file with a host per task.")
    ] = "block",
    ranks_per_node: Annotated[int, typer.Option(min=1, help="Tasks on each host.")] = 1,
    routing: Annotated[str | None, typer.Option(help="Routing rule instead of the topology's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of hashed routing.")] = None,
    ecmp_seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Median and p95 over N ECMP hashes, from the seed on.")
    ] = 1,
    collective: Annotated[
        list[str] | None, typer.Option(metavar="OP=ALGORITHM", help="Force an algorithm; repeatable.")
    ] = None,
    openmpi: Annotated[str, typer.Option(help="Series whose algorithms and decisions hold: 4.1, 5.0, main.")] = "5.0",
    compute_scale: Annotated[float, typer.Option(min=0.0, help="Factor on compute times.")] = 1.0,
    background: Annotated[
        list[str] | None,
        typer.Option(metavar="PORTS=RHO|FILE.csv", help="Load of others, or their traffic matrix; repeatable."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A model parameter; repeatable.")
    ] = None,
    format_: Annotated[str, typer.Option("--format", help=", ".join(FORMATS) + ".")] = "table",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the result.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Rows of each table.")] = 10,
    steps: Annotated[bool, typer.Option("--steps", help="List every step.")] = False,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPR", help="Exit 1 if this holds, such as likely_wrong>0; repeatable."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 3 if part of the input is not covered.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No warnings, no progress.")] = False,
) -> None:
    """Latency of each collective on a network, and the steps to run G5 on."""
    from cli.main import FINDINGS, NOTHING
    from estimator.output.gates import parse_gates

    if format_ not in FORMATS:
        raise UsageError(f"--format: found '{format_}'; expected one of {', '.join(FORMATS)}")
    gates = parse_gates(fail_on or [])
    check_target(output, [*traces, *([topo] if topo else [])])
    document = estimated(
        traces,
        topo=topo,
        model=model,
        placement=placement,
        ranks_per_node=ranks_per_node,
        routing=routing,
        seed=seed,
        ecmp_seeds=ecmp_seeds,
        collective=collective,
        openmpi=openmpi,
        compute_scale=compute_scale,
        background=background,
        set_=set_,
        quiet=quiet,
    )
    write_result(_rendered(document, format_, output, top, steps, gates), output)
    failed = [gate for gate in gates if gate.fails(document)]
    for gate in failed:
        note(f"failed: {gate.describe(document)}")
    if failed:
        raise typer.Exit(FINDINGS)
    if strict and document["coverage"]["unsupported"]:
        note("error: part of the input is not covered (--strict)")
        raise typer.Exit(NOTHING)


def estimated(
    traces: list[str],
    *,
    topo: str | None,
    model: str,
    placement: str,
    ranks_per_node: int,
    routing: str | None,
    seed: int | None,
    ecmp_seeds: int,
    collective: list[str] | None,
    openmpi: str,
    compute_scale: float,
    background: list[str] | None,
    set_: list[str] | None,
    quiet: bool,
) -> dict[str, Any]:
    """The result document of an estimate; warnings go to stderr, and inputs without traffic end the command."""
    from cli.main import NOTHING
    from estimator.background import parse_background
    from estimator.estimate import MODELS, Options, estimate
    from estimator.hash_spread import estimate_over_hashes
    from estimator.placement import smallest_fat_tree
    from estimator.topology import load_topology
    from vef import read_trace

    if model not in MODELS:
        raise UsageError(f"--model: found '{model}'; expected one of {', '.join(MODELS)}")
    if traces.count("-") > 1:
        raise UsageError("standard input (-) can be one trace only; give files for the others")
    options = Options(
        model=model,
        placement=placement,
        ranks_per_node=ranks_per_node,
        routing=routing,
        seed=seed,
        collectives=_pairs(collective or [], "--collective", "OP=ALGORITHM, such as allreduce=ring"),
        openmpi=openmpi,
        compute_scale=compute_scale,
        parameters=_pairs(set_ or [], "--set", "NAME=VALUE, such as buffer_size_bytes=16MiB"),
        background=tuple(parse_background(text) for text in background or []),
    )
    fabric = load_topology(topo, routing=routing, seed=seed) if topo else None
    say_compiling(quiet)
    read = [read_trace(path) for path in traces]
    if not any(_has_traffic(trace) for trace in read):
        note(f"error: {', '.join(traces)}: no message and no collective, so there is nothing to estimate")
        raise typer.Exit(NOTHING)
    if fabric is None:
        assumed = smallest_fat_tree([trace.tasks for trace in read], ranks_per_node)
        note(f"warning: no --topo given, so {assumed} is assumed, a network without oversubscription", quiet)
        fabric = load_topology(assumed, routing=routing, seed=seed)
    with _Progress(quiet) as progress:
        if ecmp_seeds > 1:
            result = estimate_over_hashes(read, fabric, options, ecmp_seeds, progress=progress)
        else:
            result = estimate(read, fabric, options, progress=progress)
    document = _document(result)
    for warning in document["warnings"]:
        place = ":".join(str(part) for part in (warning["file"], warning["line"]) if part is not None)
        place += ": " if place else ""
        note(f"warning: {place}{warning['message']}", quiet)
    return document


def _document(result: Any) -> dict[str, Any]:
    from estimator.document import document

    return document(result)


def _pairs(texts: list[str], option: str, expected: str) -> dict[str, str]:
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name.strip() and sign and value.strip()):
            raise UsageError(f"{option}: found '{text}'; expected {expected}")
        found[name.strip()] = value.strip()
    return found


def _has_traffic(trace: Trace) -> bool:
    from vef import PSEUDO

    return bool((trace.kind != PSEUDO).any())


def _rendered(
    document: dict[str, Any], format_: str, output: Path | None, top: int, steps: bool, gates: list[Gate]
) -> str:
    if format_ != "table":
        from estimator.output import render

        return render(document, format_, steps=steps, top=top, gates=gates)
    from cli.table import show

    return as_text(lambda console: show(console, document, top=top, steps=steps), output)


def as_text(show: Callable[[Console], None], output: Path | None) -> str:
    """What is shown on a console as wide and as colourful as the output is."""
    from rich.console import Console

    to_terminal = output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    buffer = io.StringIO()
    width = None if output is None and sys.stdout.isatty() else int(os.environ.get("COLUMNS") or 100)
    console = Console(file=buffer, force_terminal=to_terminal, no_color=not to_terminal, width=width)
    show(console)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


class _Progress:
    """A bar on stderr for work of more than two seconds, on a terminal only."""

    AFTER_S = 2.0

    def __init__(self, quiet: bool) -> None:
        self.wanted = not quiet and sys.stderr.isatty()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Callable[[int, int], None]:
        from time import monotonic

        begun = monotonic()

        def update(done: int, total: int) -> None:
            if not self.wanted or monotonic() - begun < self.AFTER_S:
                return
            if self.bar is None:
                from rich.console import Console
                from rich.progress import Progress

                self.bar = Progress(console=Console(stderr=True), transient=True)
                self.task = self.bar.add_task("messages delivered", total=total)
                self.bar.start()
            self.bar.update(self.task, completed=done)

        return update

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

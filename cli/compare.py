"""`congest compare`: two results, or a trace against a stored one."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.estimate import UsageError, as_text, estimate_command, estimated
from cli.streams import check_target, note, write_result

FORMATS = ("table", "json", "markdown", "github", "junit")


def _compare(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(metavar="BASE NEW | TRACE…", help="Two results, or with --baseline the traces.")
    ],
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Stored result to hold the estimate of the traces against.")
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(metavar="EXPR", help="Limits on growth, such as 'latency>5%,abs>1us'; repeatable."),
    ] = None,
    require_same: Annotated[
        list[str] | None,
        typer.Option(metavar="LIST", help="Exit 2 where these differ: traces, topology, … or all; repeatable."),
    ] = None,
    format_: Annotated[str, typer.Option("--format", help=", ".join(FORMATS) + ".")] = "table",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the comparison.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Rows of each table.")] = 10,
    quiet: Annotated[bool, typer.Option("--quiet", help="No warnings, no progress.")] = False,
    **settings: Any,
) -> None:
    """What got slower or faster between two results; exit 1 where a limit on growth is exceeded."""
    from cli.main import FINDINGS, NOTHING
    from estimator import compare as library

    if format_ not in FORMATS:
        raise UsageError(f"--format: found '{format_}'; expected one of {', '.join(FORMATS)}")
    limits = library.parse_limits(fail_on or [])
    aspects = library.parse_aspects(require_same or [])
    topology = [settings["topo"]] if settings["topo"] else []
    check_target(output, [*files, *topology, *([baseline] if baseline else [])])
    if baseline is None:
        _check_two(context, files, settings)
        names = files
        base, new = (library.read_result(name) for name in files)
    else:
        if "-" in files and baseline == "-":
            raise UsageError("standard input (-) can be the baseline or a trace, not both")
        base = library.read_result(baseline)
        new = estimated(files, quiet=quiet, **settings)
        names = [baseline, f"estimate of {', '.join(files)}"]
    told = ["<stdin>" if name == "-" else name for name in names]
    comparison = library.compare(base, new, limits, base_path=told[0], new_path=told[1])
    library.require_same(comparison, aspects)
    for warning in comparison["warnings"]:
        note(f"warning: {warning['message']}", quiet)
    write_result(_rendered(comparison, format_, output, top), output)
    for row in comparison["limits"]:
        if row["exceeded"]:
            note(f"failed: {row['limit']}: {row['message']}")
    verdict = comparison["comparison"]["verdict"]
    if verdict == library.REGRESSION:
        raise typer.Exit(FINDINGS)
    if verdict == library.NOTHING:
        from estimator.output.comparison.words import headline

        note(f"error: {headline(comparison)}")
        raise typer.Exit(NOTHING)


def _check_two(context: typer.Context, files: list[str], settings: dict[str, Any]) -> None:
    """Without a baseline there are two results, and nothing to estimate."""
    given = [name for name in settings if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"]
    if given:
        raise UsageError(f"--{given[0].rstrip('_').replace('_', '-')} is for estimates: it needs --baseline FILE")
    if len(files) != 2:
        found = f"{len(files)} file{'' if len(files) == 1 else 's'}"
        raise UsageError(
            f"compare: found {found}; expected two results, BASE.json NEW.json, or --baseline BASE.json TRACE…"
        )
    if files == ["-", "-"]:
        raise UsageError("standard input (-) can be one of the results only; give a file for the other")


def _with_settings_of_estimate() -> inspect.Signature:
    """The options of this command, and those of `estimate` that say how to estimate."""
    own = inspect.signature(_compare, eval_str=True)
    theirs = inspect.signature(estimate_command, eval_str=True).parameters
    settings = [name for name in inspect.signature(estimated).parameters if name not in ("traces", "quiet")]
    kept = [entry for entry in own.parameters.values() if entry.kind is not inspect.Parameter.VAR_KEYWORD]
    return own.replace(parameters=[*kept, *(theirs[name] for name in settings)])


def compare_command(**given: Any) -> None:
    """What got slower or faster between two results; exit 1 where a limit on growth is exceeded."""
    _compare(**given)


compare_command.__signature__ = _with_settings_of_estimate()  # type: ignore[attr-defined]
compare_command.__annotations__ = {
    name: entry.annotation for name, entry in _with_settings_of_estimate().parameters.items()
}


def _rendered(comparison: dict[str, Any], format_: str, output: Path | None, top: int) -> str:
    if format_ != "table":
        from estimator.output.comparison import render

        return render(comparison, format_, top=top)
    from cli.comparison_table import show

    return as_text(lambda console: show(console, comparison, top=top), output)

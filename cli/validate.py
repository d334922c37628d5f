"""`congest validate`: is this trace good?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.streams import say_compiling

if TYPE_CHECKING:
    from vef import Problem, Trace


def validate_command(
    traces: Annotated[list[str], typer.Argument(metavar="TRACE…", help="VEF files; - is standard input.")],
    format: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
) -> None:
    """List every problem of a trace, each with its line; exit code 2 if it cannot be used."""
    from cli.main import OK, UNUSABLE

    if format not in ("table", "json"):
        raise typer.BadParameter(f"found '{format}'; expected table or json", param_hint="--format")
    say_compiling()
    results = [(path, *_check(path)) for path in traces]
    if format == "json":
        typer.echo(json.dumps({"traces": [_as_dict(*result) for result in results]}, indent=1))
    else:
        for result in results:
            _show(*result)
    bad = any(problem.fatal for _, _, problems in results for problem in problems)
    raise typer.Exit(UNUSABLE if bad else OK)


def _check(path: str) -> tuple[Trace | None, list[Problem]]:
    """Problems of a file, replay included."""
    from vef import check_trace, find_stuck

    trace, problems = check_trace(path)
    if trace is not None and not any(problem.fatal for problem in problems):
        problems = [*problems, *find_stuck(trace)]
    return trace, problems


def _as_dict(path: str, trace: Trace | None, problems: list[Problem]) -> dict[str, Any]:
    return {
        "path": path,
        "valid": trace is not None and not any(problem.fatal for problem in problems),
        "problems": [
            {
                "line": problem.line,
                "code": problem.code,
                "found": problem.found,
                "expected": problem.expected,
                "hint": problem.hint,
                "fatal": problem.fatal,
            }
            for problem in problems
        ],
    }


def _show(path: str, trace: Trace | None, problems: list[Problem]) -> None:
    fatal = [problem for problem in problems if problem.fatal]
    for problem in problems:
        prefix = "" if problem.fatal else "warning: "
        typer.echo(f"{prefix}{problem.render(path)}")
    if fatal or trace is None:
        typer.echo(f"{path}: {_count(len(fatal), 'problem')}, {_count(len(problems) - len(fatal), 'warning')}")
        return
    from vef import ideal_replay

    line = describe_trace(trace, ideal_replay(trace).makespan_s)
    typer.echo(f"{path}: ok: {line}; {_count(len(problems), 'warning')}")


def describe_trace(trace: Trace, ideal_makespan_s: float) -> str:
    """What a trace holds, in a line."""
    from estimator.units import format_time
    from vef import MESSAGE

    return (
        f"{_count(trace.tasks, 'task')}, {_count(len(trace), 'record')}, "
        f"{_count(int((trace.kind == MESSAGE).sum()), 'message')}, "
        f"{_count(len(trace.collectives), 'collective')}, {_count(len(trace.communicators), 'communicator')}; "
        f"{format_time(ideal_makespan_s)} on an ideal network"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

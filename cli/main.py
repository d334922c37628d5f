"""The `congest` command: subcommands, and how errors become messages and exit codes."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

OK, FINDINGS, UNUSABLE, NOTHING, INTERRUPTED = 0, 1, 2, 3, 130

app = typer.Typer(
    name="congest",
    help="What congestion does to the latency of MPI and collective traffic: a VEF trace on a network, in seconds.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"congest {version('congest')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Common options."""


def _register() -> None:
    from cli import calibrate, capture, compare, estimate, mix, schema, summary, topo, validate

    app.command("estimate")(estimate.estimate_command)
    app.command("summary")(summary.summary_command)
    app.command("compare")(compare.compare_command)
    app.command("validate")(validate.validate_command)
    # A dash of the program's own options needs no "--" before the command.
    app.command("capture", context_settings={"allow_interspersed_args": False})(capture.capture_command)
    app.command("mix")(mix.mix_command)
    app.command("topo")(topo.topo_command)
    app.command("calibrate")(calibrate.calibrate_command)
    app.command("schema")(schema.schema_command)


_register()


def is_foreseen(error: Exception) -> bool:
    """Whether an error is about what the user gave, so that its text is all there is to say."""
    if isinstance(error, OSError | UnicodeError):
        return True
    names = {kind.__name__ for kind in type(error).__mro__}
    known = {
        "InvalidTrace", "ConfigError", "ParameterError", "CallError", "UnknownAlgorithm", "EstimateError",
        "UnitError", "GateError", "CaptureError", "UsageError", "ScheduleError", "ResultError",
        "InputsDifferError",
    }  # fmt: skip
    return bool(names & known)


def run() -> None:
    """Entry point: run the command and exit with its code."""
    if sys.stderr is None:
        # Nobody listens there; that must not cost the result.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - open until the process ends
    try:
        app(standalone_mode=True)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has seen enough; a second error at exit would only disturb.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(OK)
    except Exception as error:
        if not is_foreseen(error):
            raise
        for line in str(error).splitlines() or [type(error).__name__]:
            print(f"error: {line}", file=sys.stderr)
        sys.exit(UNUSABLE)

"""`congest schema`: the JSON Schemas of results."""

from __future__ import annotations

from typing import Annotated

import typer

NAMES = ("estimate", "summary", "compare")


def schema_command(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help=", ".join(NAMES) + ".")] = "estimate",
) -> None:
    """Print the JSON Schema of a command's `--format json`."""
    from cli.estimate import UsageError
    from estimator.output.schema import schema_text
    from vef.summary.document import schema_text as summary_schema

    if name not in NAMES:
        raise UsageError(f"schema: found '{name}'; expected one of {', '.join(NAMES)}")
    typer.echo(summary_schema() if name == "summary" else schema_text(name))

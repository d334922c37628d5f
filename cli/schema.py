"""`congest schema`: the JSON Schema of the result."""

from __future__ import annotations

import typer


def schema_command() -> None:
    """Print the JSON Schema of `estimate --format json`."""
    from estimator.output.json_document import schema_text

    typer.echo(schema_text())

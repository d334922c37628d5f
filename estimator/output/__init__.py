"""Results in the formats that machines and reviewers read; one module each, chosen by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from estimator.output.gates import Gate

FORMATS = ("json", "jsonl", "csv", "markdown", "github", "junit")


def render(
    document: dict[str, Any], name: str, *, steps: bool = False, top: int = 10, gates: Sequence[Gate] = ()
) -> str:
    """Write a result document in one of `FORMATS`.

    Parameters
    ----------
    steps : rows are steps instead of collectives (csv), or steps are listed too (markdown)
    top : rows of tables for people
    gates : conditions of `--fail-on`, each told with its outcome (github, junit)
    """
    from estimator.output import csv_rows, github, jsonl, junit, markdown
    from vef.documents import render_json

    if name == "json":
        return render_json(document)
    if name == "jsonl":
        return jsonl.render(document)
    if name == "csv":
        return csv_rows.render(document, steps=steps)
    if name == "markdown":
        return markdown.render(document, top=top, steps=steps)
    if name == "github":
        return github.render(document, gates)
    return junit.render(document, gates)

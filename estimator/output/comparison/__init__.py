"""Comparisons in the formats that machines and reviewers read; one module each, chosen by name."""

from __future__ import annotations

from typing import Any

FORMATS = ("json", "markdown", "github", "junit")


def render(comparison: dict[str, Any], name: str, *, top: int = 10) -> str:
    """Write a comparison in one of `FORMATS`; `top` is the number of rows of tables for people."""
    from estimator.output.comparison import github, junit, markdown
    from vef.documents import render_json

    if name == "json":
        return render_json(comparison)
    if name == "markdown":
        return markdown.render(comparison, top=top)
    if name == "github":
        return github.render(comparison)
    return junit.render(comparison)

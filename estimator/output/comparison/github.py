"""Annotations of a comparison for GitHub Actions."""

from __future__ import annotations

from typing import Any

from estimator.compare import NOTHING, REGRESSION
from estimator.output.comparison.words import headline, limit_state, mark_lines, summary_lines
from estimator.output.github import MOST, escaped


def render(comparison: dict[str, Any]) -> str:
    """An error per exceeded limit, or one where nothing was compared; warnings; a notice with the verdict."""
    verdict = comparison["comparison"]["verdict"]
    text = " ".join([headline(comparison), *summary_lines(comparison)])
    lines = [f"::{'error' if verdict == NOTHING else 'notice'} title=congest compare::{escaped(text)}"]
    if verdict == REGRESSION:
        failed = [row for row in comparison["limits"] if limit_state(row) == "exceeded"]
        texts = [f"{row['limit']}: {row['message']}" for row in failed]
        lines += [f"::error title=congest compare --fail-on::{escaped(text)}" for text in texts[:MOST]]
    warnings = [(row["code"], row["message"]) for row in comparison["warnings"]]
    warnings += [("newly marked run G5", line) for line in mark_lines(comparison, MOST)]
    lines += [f"::warning title={code}::{escaped(message)}" for code, message in warnings[:MOST]]
    return "\n".join(lines) + "\n"

"""Markdown of a comparison, for a comment on a change."""

from __future__ import annotations

from typing import Any

from estimator.output.comparison.words import (
    changed_groups,
    growth,
    headline,
    limit_lines,
    lone_groups,
    mark_lines,
    marks,
    names_of,
    outcome,
    row_name,
    signed_time,
    summary_lines,
    total_cells,
)
from estimator.units import format_size, format_time


def render(comparison: dict[str, Any], *, top: int = 10) -> str:
    """Verdict, warnings, limits, totals, changed collectives, what appeared, vanished or is newly marked."""
    lines = ["## congest compare", "", f"**{headline(comparison)}**", ""]
    lines += [f"{_escaped(line)}  " for line in summary_lines(comparison)]
    if comparison["warnings"]:
        lines += ["", *(f"> ⚠ {_escaped(row['message'])}  " for row in comparison["warnings"])]
    lines += ["", *(f"- {_escaped(line)}" for line in limit_lines(comparison))]
    lines += ["", "| in total | base | new | change | |", "| --- | --: | --: | --: | --- |"]
    lines += [_row(total_cells(row)) for row in comparison["totals"]]
    groups = changed_groups(comparison)
    if groups:
        lines += ["", "| collective | × | bytes | base | new | change | | ρ | mark | |"]
        lines += ["| --- | --: | --: | --: | --: | --: | --: | --: | --- | --- |"]
    for group in groups[:top]:
        row = group.row
        cells = [
            row_name(row), str(group.count), format_size(row["bytes"]), format_time(row["base_latency_s"]),
            format_time(row["new_latency_s"]), signed_time(row["change_s"]), growth(row["relative"], row["change_s"]),
            f"{row['new_max_rho']:.2f}", marks(row), outcome(row),
        ]  # fmt: skip
        lines.append(_row(cells))
    if len(groups) > top:
        lines += ["", f"and {len(groups) - top} kinds more"]
    for name in ("appeared", "vanished"):
        if comparison[name]:
            lines += ["", f"{name.capitalize()}: {_escaped(names_of(lone_groups(comparison[name])))}"]
    if comparison["newly_marked"]:
        lines += ["", "Newly marked “run G5”:", "", *(f"- {_escaped(line)}" for line in mark_lines(comparison, top))]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")

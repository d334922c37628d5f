"""Markdown for a comment on a change."""

from __future__ import annotations

from typing import Any

from estimator.output.ranking import congestion_s, leading_collectives, leading_steps
from estimator.output.words import advice, assumptions, group_mark, limits, step_name, verdict
from estimator.units import format_size, format_time


def render(document: dict[str, Any], *, top: int = 10, steps: bool = False) -> str:
    """Verdict, leading collectives, marked steps with reasons, assumptions."""
    lines = ["## congest", "", *verdict(document), ""]
    groups = leading_collectives(document["collectives"], top)
    if groups:
        lines += [
            "| collective | × | ranks | bytes | algorithm | slowest | vs α-β | congestion | ρ | worst port | mark |",
            "| --- | --: | --: | --: | --- | --: | --: | --: | --: | --- | --- |",
        ]
    for group in groups:
        row = group.slowest
        factor = "–" if row["slowdown"] is None else f"{row['slowdown']:.2f}"
        cells = [
            f"{row['id']} {row['op']}", str(group.count), str(row["ranks"]), format_size(row["bytes"]),
            row["algorithm"], format_time(row["latency_s"]), factor, format_time(congestion_s(row)),
            f"{row['max_rho']:.2f}", row["worst_port"] or "–", group_mark(group),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    chosen = leading_steps(document["steps"], len(document["steps"]) if steps else top, marked_only=not steps)
    if chosen:
        lines += ["", "| step | pattern | messages | bytes | latency | ρ | why |"]
        lines += ["| --- | --- | --: | --: | --: | --: | --- |"]
    for step in chosen:
        cells = [
            step_name(step, document), step["pattern"], str(step["messages"]), format_size(step["bytes"]),
            format_time(step["latency_s"]), f"{step['rho']:.2f}", "; ".join(step["reasons"]),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "<details><summary>Assumed</summary>", "", *(f"- {line}" for line in assumptions(document))]
    lines += ["", "</details>", "", *limits(document), *advice(document)]
    return "\n".join(lines) + "\n"

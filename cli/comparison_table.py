"""A comparison for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.table import WIDE, lines_of, table_of
from estimator.output.comparison.words import (
    Group,
    changed_groups,
    growth,
    headline,
    limit_lines,
    lone_groups,
    mark_lines,
    marks,
    outcome,
    row_name,
    signed_time,
    summary_lines,
    total_cells,
)
from estimator.units import format_size, format_time

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"passed": "bold green", "regression": "bold red", "nothing compared": "bold red"}
ROW_STYLES = {"worse": "yellow", "better": "green", "same": "", None: ""}
EXCEEDED = "bold red"
MOST_MARKS = 5


def show(console: Console, comparison: dict[str, Any], *, top: int) -> None:
    """Verdict, limits, totals, changed collectives, what appeared, vanished or is newly marked, warnings."""
    style = STYLES[comparison["comparison"]["verdict"]]
    console.print(headline(comparison), highlight=False, markup=False, style=style)
    for line in summary_lines(comparison):
        console.print(line, highlight=False, markup=False)
    if comparison["warnings"]:
        lines_of(console, "Mind", [row["message"] for row in comparison["warnings"]])
    lines_of(console, "Limits on growth", limit_lines(comparison))
    _totals(console, comparison)
    _collectives(console, comparison, top)
    for name in ("appeared", "vanished"):
        _lone(console, f"Collectives that {name}", lone_groups(comparison[name]), top)
    if comparison["newly_marked"]:
        lines_of(console, "Newly marked “run G5”, and why", mark_lines(comparison, min(top, MOST_MARKS)))


def _totals(console: Console, comparison: dict[str, Any]) -> None:
    columns = [("", "left"), ("base", "right"), ("new", "right"), ("change", "right"), ("", "left")]
    table = table_of(console, "In total", columns)
    for row in comparison["totals"]:
        table.add_row(*total_cells(row), style=EXCEEDED if row["exceeded"] else ROW_STYLES[row["verdict"]])
    console.print(table, highlight=False)


def _collectives(console: Console, comparison: dict[str, Any], top: int) -> None:
    groups = changed_groups(comparison)
    if not groups:
        return
    wide = console.width >= WIDE
    columns = [("collective", "left"), ("n", "right"), *([("ranks", "right")] if wide else []), ("bytes", "right")]
    columns += [("algorithm", "left")] if wide else []
    columns += [("base", "right"), ("new", "right"), *([("", "right")] if wide else []), ("change", "right")]
    columns += [("ρ", "right")] if wide else []
    columns += [("mark", "left"), ("", "left")]
    tail = f", and {len(groups) - top} kinds more" if len(groups) > top else ""
    table = table_of(console, f"Collectives that changed (n alike in a row){tail}", columns)
    for group in groups[:top]:
        row = group.row
        name = row_name(row) if wide else f"{row['id']} {row['op']}"
        cells = [name, str(group.count), *([str(row["ranks"])] if wide else []), format_size(row["bytes"])]
        cells += [row["algorithm"]] if wide else []
        cells += [format_time(row["base_latency_s"]), format_time(row["new_latency_s"])]
        cells += [signed_time(row["change_s"])] if wide else []
        cells += [growth(row["relative"], row["change_s"]), *([f"{row['new_max_rho']:.2f}"] if wide else [])]
        style = EXCEEDED if row["exceeded"] else ROW_STYLES[row["verdict"]]
        table.add_row(*cells, marks(row), outcome(row), style=style)
    console.print(table, highlight=False)


def _lone(console: Console, title: str, groups: list[Group], top: int) -> None:
    if not groups:
        return
    columns = [("collective", "left"), ("n", "right"), ("ranks", "right"), ("bytes", "right"), ("latency", "right")]
    tail = f", and {len(groups) - top} kinds more" if len(groups) > top else ""
    table = table_of(console, title + tail, [*columns, ("mark", "left")])
    for group in groups[:top]:
        row = group.row
        cells = [f"{row['id']} {row['op']}", str(group.count), str(row["ranks"]), format_size(row["bytes"])]
        table.add_row(*cells, format_time(row["latency_s"]), "G5" if row["run_g5"] else "")
    console.print(table, highlight=False)

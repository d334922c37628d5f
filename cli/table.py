"""The result for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.output.ranking import congestion_s, leading_collectives, leading_steps, marked_groups, network_s
from estimator.output.words import advice, alike, assumptions, group_mark, limits, mark, of_job, step_name, verdict
from estimator.units import format_rate, format_size, format_time

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# From this width on, tables have all their columns.
WIDE = 110

STYLES = {None: "", "informational": "yellow", "likely wrong": "bold red"}

PARTS = {
    "overhead_s": "overhead",
    "latency_s": "wires, switches",
    "serialisation_s": "serialisation",
    "sharing_s": "sharing",
    "queueing_s": "queueing",
    "straggler_s": "straggler",
}


def show(console: Console, document: dict[str, Any], *, top: int, steps: bool) -> None:
    """Verdict, collectives, where time goes, marked steps, ports, assumptions, what next."""
    for line in verdict(document):
        console.print(line, highlight=False)
    _collectives(console, document, top)
    _breakdowns(console, document, min(top, 3))
    _reasons(console, document, min(top, 5))
    if steps:
        _steps(console, document, document["steps"], "All steps")
    else:
        leading = leading_steps(_point_to_point(document), min(top, 5), marked_only=False)
        _steps(console, document, leading, "Point-to-point steps, marked and most loaded first")
    _ports(console, document, min(top, 5))
    lines_of(console, "Assumed", assumptions(document))
    lines_of(console, "Limits and next steps", [*limits(document), *advice(document)])


def _point_to_point(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for step in document["steps"] if step["collective"] is None]


def table_of(console: Console, title: str, columns: list[tuple[str, str]]) -> Table:
    """An empty table under a title; columns are (head, left or right)."""
    from rich import box
    from rich.table import Table

    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name, justify in columns:
        # Where space is short it is taken from names of algorithms; a number that is cut is a wrong number.
        table.add_column(
            name,
            justify="right" if justify == "right" else "left",
            no_wrap=name != "algorithm",
            overflow="ellipsis",
        )
    console.print()
    return table


def _collectives(console: Console, document: dict[str, Any], top: int) -> None:
    groups = leading_collectives(document["collectives"], top)
    if not groups:
        return
    wide = console.width >= WIDE
    columns = [("collective", "left"), ("n", "right"), *([("ranks", "right")] if wide else []), ("bytes", "right")]
    columns += [("algorithm", "left"), ("latency", "right"), ("network", "right"), ("cong.", "right"), ("ρ", "right")]
    columns += [("worst port", "left")] if wide else []
    table = table_of(
        console,
        "Collectives by network time in all (n alike in a row, the slowest shown)",
        [*columns, ("mark", "left")],
    )
    for group in groups:
        row = group.slowest
        cells = [f"{row['id']} {row['op']}", str(group.count), *([str(row["ranks"])] if wide else [])]
        cells += [format_size(row["bytes"]), row["algorithm"], format_time(row["latency_s"])]
        cells += [format_time(network_s(row)), format_time(congestion_s(row)), f"{row['max_rho']:.2f}"]
        cells += [row["worst_port"] or "–"] if wide else []
        table.add_row(*cells, group_mark(group), style=STYLES[row["severity"]])
    console.print(table, highlight=False)


def _breakdowns(console: Console, document: dict[str, Any], top: int) -> None:
    groups = leading_collectives(document["collectives"], top)
    if not groups:
        return
    columns = [("", "left"), *((f"{group.slowest['id']} {group.slowest['op']}", "right") for group in groups)]
    table = table_of(console, "Where their time goes", columns)
    for key, name in PARTS.items():
        table.add_row(name, *(format_time(group.slowest["breakdown"][key]) for group in groups))
    table.add_row("in all", *(format_time(group.slowest["latency_s"]) for group in groups), style="bold")
    console.print(table, highlight=False)


def _reasons(console: Console, document: dict[str, Any], top: int) -> None:
    groups = marked_groups(document)
    if not groups:
        return
    console.print()
    tail = f" (and {len(groups) - top} kinds more)" if len(groups) > top else ""
    console.print(f"[bold]Run G5 on these steps, and why[/bold]{tail}", highlight=False)
    for group in groups[:top]:
        step = group.worst
        pattern = "" if step["pattern"] == "point-to-point" else f"{step['pattern']}, "
        kind = f"{pattern}{step['severity']}"
        text = f"{step_name(step, document)}{alike(group.count)}, {kind}: {'; '.join(step['reasons'])}."
        console.print(f"- {text}", highlight=False, style=STYLES[step["severity"]], markup=False)


def _steps(console: Console, document: dict[str, Any], steps: list[dict[str, Any]], title: str) -> None:
    if not steps:
        return
    columns = [("step", "left"), ("pattern", "left"), ("msgs", "right"), ("bytes", "right"), ("start", "right")]
    columns += [("latency", "right"), ("ρ", "right"), ("flows", "right"), ("mark", "left")]
    table = table_of(console, title, columns)
    for step in steps:
        name = f"{step['id']} {step['collective']}/{step['round']}"
        if step["collective"] is None:
            name = f"{step['id']}{of_job(step, document)}"
        cells = [
            name, step["pattern"], str(step["messages"]), format_size(step["bytes"]), format_time(step["start_s"]),
            format_time(step["latency_s"]), f"{step['rho']:.2f}", str(step["flows"]),
        ]  # fmt: skip
        table.add_row(*cells, mark(step["severity"]), style=STYLES[step["severity"]])
    console.print(table, highlight=False)


def _ports(console: Console, document: dict[str, Any], top: int) -> None:
    ports = document["ports"][:top]
    if not ports:
        return
    columns = [("port", "left"), ("capacity", "right"), ("carried", "right"), ("in use", "right"), ("max ρ", "right")]
    table = table_of(console, "Worst ports", [*columns, ("queue", "right"), ("G5 steps", "right")])
    for port in ports:
        table.add_row(
            port["name"], format_rate(port["capacity"]), format_size(port["bytes"]), f"{port['utilisation']:.1%}",
            f"{port['max_rho']:.2f}", format_size(port["peak_backlog_bytes"]), str(port["g5_steps"]),
        )  # fmt: skip
    console.print(table, highlight=False)


def lines_of(console: Console, title: str, lines: list[str]) -> None:
    """Lines under a title."""
    console.print()
    console.print(f"[bold]{title}[/bold]")
    for line in lines:
        console.print(f"- {line}", highlight=False, markup=False)

"""`congest topo`: what network a topology file or shorthand stands for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.streams import check_target

RATES = {"rate_min", "rate_max", "capacity", "injection", "bisection", "total_capacity"}
NAMES = {
    "injection": "injection (all hosts)",
    "bisection": "bisection (one way)",
    "bisection_ratio": "bisection ÷ half of the injection",
    "total_capacity": "total capacity (all ports)",
    "diameter_hops": "diameter (links)",
    "mean_hops": "mean distance (links)",
    "path_diversity": "shortest paths, first host to last",
}


def topo_command(
    topo: Annotated[str, typer.Argument(metavar="TOPO", help="YAML file or shorthand such as fat-tree:k=8.")],
    format_: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
    export: Annotated[Path | None, typer.Option(help="Write the graph: .graphml, .json, .csv or .yaml.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it: .svg, .png or .pdf.")] = None,
    routes: Annotated[
        tuple[str, str] | None,
        typer.Option("--routes", "--route", metavar="SRC DST", help="Show the route between two hosts."),
    ] = None,
    routing: Annotated[str | None, typer.Option(help="Routing rule instead of the topology's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of hashed routing.")] = None,
) -> None:
    """Hosts, switches, links per level, oversubscription, bisection, diameter; export and drawing."""
    from estimator.topology import load_topology
    from estimator.topology.describe import describe

    if format_ not in ("table", "json"):
        raise typer.BadParameter(f"found '{format_}'; expected table or json", param_hint="--format")
    for target in (export, plot):
        if target is not None:
            check_target(target, [topo])
    fabric = load_topology(topo, routing=routing, seed=seed)
    if export is not None:
        from estimator.topology.export import export as write

        write(fabric, export)
    if plot is not None:
        from estimator.topology.draw import draw

        draw(fabric, plot)
    found = describe(fabric).to_dict()
    if routes is not None:
        found["route"] = _route(fabric, *routes)
    if format_ == "json":
        typer.echo(json.dumps(_finite(found), ensure_ascii=False, indent=1))
    else:
        _show(found)


def _finite(found: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: what has no limit is null."""
    return {key: None if value == float("inf") else value for key, value in found.items()}


def _route(fabric: Any, source: str, target: str) -> list[str]:
    from estimator.topology import ConfigError, routes, routing_fabric

    ends = []
    for name in (source, target):
        index = fabric.node_index.get(name)
        if index is None or index >= fabric.host_count:
            expected = f"a host: {fabric.node_names[0]} to {fabric.node_names[fabric.host_count - 1]}"
            raise ConfigError(fabric.source or fabric.name, None, f"'{name}'", expected)
        ends.append(index)
    routed = routing_fabric(fabric)
    found = routes(routed, [ends[0]], [ends[1]])
    return [routed.port_name(int(port)) for port in found.of(0)]


def _show(found: dict[str, Any]) -> None:
    for key, value in found.items():
        name = NAMES.get(key, key.replace("_", " "))
        if key == "levels":
            typer.echo(f"{name}:" if value else f"{name}: none")
            for row in value:
                rate, latency = _span(row, "rate_min", "rate_max"), _span(row, "latency_min_s", "latency_max_s")
                capacity = _shown("capacity", row["capacity"])
                links = f"{row['links']:,} links of {rate}, {latency}"
                typer.echo(f"  {row['name']}: {links}; {capacity} each way in all")
        elif isinstance(value, dict):
            ratios = ", ".join(f"{at} {_shown(at, cell)} to 1" for at, cell in value.items())
            typer.echo(f"{name}: {ratios or 'none'}")
        elif isinstance(value, list | tuple):
            typer.echo(f"{name}: " + " ".join(str(cell) for cell in value))
        else:
            typer.echo(f"{name}: {_shown(key, value)}")


def _span(row: dict[str, Any], low: str, high: str) -> str:
    """A figure, or from where to where it goes."""
    ends = [_shown(low, row[low]), _shown(high, row[high])]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _shown(key: str, value: Any) -> str:
    """A figure with the unit that its name tells."""
    from estimator.units import format_rate, format_size, format_time

    if value is None:
        return "not known"
    if isinstance(value, float | int) and not isinstance(value, bool):
        if key.endswith("_s"):
            return format_time(float(value))
        if key.endswith("_bytes"):
            return format_size(float(value))
        if key in RATES:
            return format_rate(float(value))
        return f"{value:.4g}" if isinstance(value, float) else f"{value:,}"
    return str(value)

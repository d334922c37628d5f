"""Networks as GraphML, JSON, CSV edge list or YAML; GraphML, CSV and YAML can be read back."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import yaml

from estimator.topology.errors import ConfigError
from estimator.topology.fabric import Fabric
from estimator.units import format_rate, format_size, format_time, parse_rate, parse_size, parse_time

FORMATS = ("graphml", "json", "csv", "yaml")


def export(fabric: Fabric, path: str | Path) -> None:
    """Write a network; the ending of `path` is the format.

    Raises
    ------
    ConfigError
        For an ending that is none of `FORMATS`, or a file that cannot be written.
    """
    target = Path(path)
    form = {"yml": "yaml"}.get(target.suffix[1:], target.suffix[1:])
    if form not in FORMATS:
        raise ConfigError(str(path), None, f"the ending '{target.suffix}'", "one of ." + ", .".join(FORMATS))
    try:
        target.write_text(export_text(fabric, form), encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), None, error.strerror or str(error), "a file that can be written") from None


def export_text(fabric: Fabric, form: str) -> str:
    """Return a network in one of `FORMATS`."""
    writers = {"graphml": _graphml, "json": _json, "csv": _csv, "yaml": _yaml}
    return writers[form](fabric)


def _graphml(fabric: Fabric) -> str:
    import networkx as nx

    return "\n".join(nx.generate_graphml(fabric.graph())) + "\n"


def _link_rows(fabric: Fabric) -> list[tuple[str, str, float, float, str]]:
    names, levels = fabric.node_names, fabric.port_level
    return [
        (names[fabric.port_from[p]], names[fabric.port_to[p]],
         float(fabric.rate[p]), float(fabric.latency[p]), str(levels[p]))
        for p in range(0, fabric.port_count, 2)
    ]  # fmt: skip


def _json(fabric: Fabric) -> str:
    nodes = [
        {"name": name, "kind": "host" if i < fabric.host_count else "switch", "tier": int(fabric.tier[i])}
        for i, name in enumerate(fabric.node_names)
    ]
    links = [
        {"a": a, "b": b, "rate_bytes_per_s": rate, "latency_s": latency, "level": level}
        for a, b, rate, latency, level in _link_rows(fabric)
    ]
    data = {
        "kind": fabric.kind, "name": fabric.name, "hosts": fabric.host_count, "switches": fabric.switch_count,
        "routing": fabric.routing, "nodes": nodes, "links": links,
    }  # fmt: skip
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _csv(fabric: Fabric) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["a", "b", "rate_bytes_per_s", "latency_s", "level", "kind_a", "kind_b"])
    hosts = set(fabric.node_names[: fabric.host_count])
    for a, b, rate, latency, level in _link_rows(fabric):
        kinds = ["host" if end in hosts else "switch" for end in (a, b)]
        writer.writerow([a, b, repr(rate), repr(latency), level, *kinds])
    return text.getvalue()


def _rate(value: float) -> str:
    text = format_rate(value)
    return text if parse_rate(text) == value else f"{value!r}B/s"


def _time(value: float) -> str:
    text = format_time(value)
    return text if parse_time(text) == value else f"{value!r}s"


def _size(value: int) -> str:
    try:
        exact = parse_size(format_size(value)) == value
    except ValueError:
        exact = False
    return format_size(value) if exact else f"{value}B"


def _host(fabric: Fabric) -> dict[str, str]:
    found = {"overhead": _time(fabric.host_overhead_s)}
    if math.isfinite(fabric.host_copy_rate):
        found["copy"] = _rate(fabric.host_copy_rate)
    if fabric.host_rendezvous_s:
        found["rendezvous"] = _time(fabric.host_rendezvous_s)
    return found


def _yaml(fabric: Fabric) -> str:
    if fabric.kind == "ideal":
        return "kind: ideal\n" + (f"hosts: {fabric.host_count}\n" if fabric.host_count else "")
    data: dict[str, Any] = {
        "kind": "custom",
        "name": fabric.name,
        "host": _host(fabric),
        "intra_node": {"rate": _rate(fabric.intra_node_rate), "latency": _time(fabric.intra_node_latency_s)},
        "mtu": _size(fabric.mtu_bytes),
        "buffer": _size(fabric.buffer_bytes),
        "fabric": fabric.fabric,
        "switching": fabric.switching,
        "seed": fabric.seed,
        "hosts": list(fabric.node_names[: fabric.host_count]),
        "switches": list(fabric.node_names[fabric.host_count :]),
    }
    if fabric.parameters:
        data["parameters"] = dict(fabric.parameters)
    if fabric.routing in ("ecmp", "d-mod-k", "spray"):
        data["routing"] = fabric.routing
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    # Flow style, one link a line: a block per link would be six times as long.
    quoted = {name: json.dumps(name, ensure_ascii=False) for name in fabric.node_names}
    lines = [
        f"  - {{a: {quoted[a]}, b: {quoted[b]}, rate: {_rate(rate)}, latency: {_time(latency)}}}"
        for a, b, rate, latency, _ in _link_rows(fabric)
    ]
    text += "\n".join(["links:", *lines]) + "\n"
    if fabric.explicit_routes:
        text += "routes:\n"
        for (source, _), ports in sorted(fabric.explicit_routes.items()):
            path = [quoted[fabric.node_names[source]]]
            for port in ports:
                name = fabric.node_names[fabric.port_to[port]]
                position, total = (int(column[port]) for column in fabric.parallel_index)
                path.append(json.dumps(f"{name}#{position}", ensure_ascii=False) if total > 1 else quoted[name])
            text += f"  - [{', '.join(path)}]\n"
    return text

"""Networks given node by node and link by link, in the YAML or in a GraphML or edge-list file."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from estimator.topology.errors import ConfigError, nearest
from estimator.topology.fabric import Fabric, Links, assemble
from estimator.topology.names import expand_name
from estimator.topology.settings import Settings, check_size, read_settings
from estimator.topology.tree import Node
from estimator.topology.validate import Section
from estimator.units import UnitError, parse_rate, parse_time


@dataclass(frozen=True)
class Edge:
    """A link as written; rate in bytes/s and latency in s, or None for the default of its level."""

    a: str
    b: str
    rate: float | None
    latency: float | None
    count: int
    node: Node


def build_custom(section: Section, source: str) -> Fabric:
    """Build the network that the file lists."""
    s = read_settings(section, source)
    if section.given("file"):
        for key in ("links", "switches"):
            if section.given(key):
                raise section.error(key, "either 'file' or 'hosts', 'switches' and 'links'", f"remove '{key}'")
        hosts, switches, edges = _read_graph(section)
    else:
        if section["links"] is None:
            raise section.error("links", "'links' (with 'hosts' and 'switches'), or 'file'", "list the links")
        if not section.given("hosts"):
            raise section.error("hosts", "the names of the hosts, or how many", "add 'hosts: [h0, h1]'")
        hosts = _listed(section, "hosts")
        switches = _listed(section, "switches") if section.given("switches") else []
        edges = [edge for entry in section["links"] for edge in _expand_link(entry)]
    if not hosts:
        raise section.error("hosts", "at least one host")
    return _build(section, s, hosts, switches, edges)


def _listed(section: Section, key: str) -> list[str]:
    node = section.nodes[key]
    if isinstance(node.value, int) and not isinstance(node.value, bool) and node.value > 0:
        check_size(section, node.value)
        prefix = "h" if key == "hosts" else "s"
        return [f"{prefix}{i}" for i in range(node.value)]
    items = node.value if isinstance(node.value, list) else [node]
    names: dict[str, None] = {}
    for item in items:
        if isinstance(item.value, (dict, list, bool, type(None))):
            raise item.error(f"{key}: a list of names, or how many")
        for name in _expand(item, str(item.value)):
            if name in names:
                raise item.error("every name once", f"remove one '{name}'", found=f"'{name}' a second time")
            names[name] = None
    return list(names)


def _expand(node: Node, text: str) -> list[str]:
    try:
        return expand_name(text)
    except ValueError as error:
        raise node.error("a name, or a range of names such as h[0-7]", found=str(error)) from None


def _expand_link(entry: Section) -> list[Edge]:
    place = entry.node
    return [
        Edge(a, b, entry["rate"], entry["latency"], entry["count"], place)
        for a in _expand(entry.nodes["a"], entry["a"])
        for b in _expand(entry.nodes["b"], entry["b"])
    ]


def _build(section: Section, s: Settings, hosts: Sequence[str], switches: Sequence[str], edges: list[Edge]) -> Fabric:
    index: dict[str, int] = {}
    for name in (*hosts, *switches):
        if name in index:
            raise section.error("switches", "different names for hosts and switches", found=f"'{name}' in both lists")
        index[name] = len(index)
    check_size(section, sum(edge.count for edge in edges))
    rows: list[tuple[int, int, float, float]] = []
    for edge in edges:
        for end in (edge.a, edge.b):
            if end not in index:
                hint = f"{nearest(end, index)} List it under 'hosts' or 'switches'."
                raise edge.node.error("a host or switch that is listed", hint, found=f"a link to '{end}'")
        a, b = index[edge.a], index[edge.b]
        if a == b:
            raise edge.node.error("two different ends", found=f"a link from '{edge.a}' to itself")
        at_host = min(a, b) < len(hosts)
        rate = edge.rate or (s.nic_rate if at_host else s.rate)
        latency = edge.latency if edge.latency is not None else s.host_latency if at_host else s.switch_latency
        rows += [(a, b, rate, latency)] * edge.count
    # Parallel links side by side, in the order in which the pair was first written.
    first: dict[tuple[int, int], int] = {}
    rows.sort(key=lambda row: first.setdefault((min(row[:2]), max(row[:2])), len(first)))
    blocks = []
    for level, wanted in (("host-switch", True), ("switch-switch", False)):
        part = [row for row in rows if (min(row[:2]) < len(hosts)) is wanted]
        a_end, b_end, rate_of, latency_of = np.array(part, float).reshape(-1, 4).T
        blocks.append(Links(level, a_end.astype(np.int32), b_end.astype(np.int32), rate_of, latency_of))
    return assemble("custom", [*hosts, *switches], len(hosts), blocks, s.common)


def _read_graph(section: Section) -> tuple[list[str], list[str], list[Edge]]:
    node = section.nodes["file"]
    path = Path(section["file"])
    if not path.is_absolute() and not path.exists():
        path = Path(node.path).parent / path
    if not path.is_file():
        raise node.error("an existing .graphml or .csv file, relative to this one", f"looked for {path}")
    if path.suffix not in (".graphml", ".csv"):
        raise node.error("a file that ends in .graphml or .csv")
    kinds, edges = (_read_graphml if path.suffix == ".graphml" else _read_csv)(path)
    if section.given("hosts"):
        patterns = _listed(section, "hosts")
        kinds = {n: "host" if any(fnmatchcase(n, p) for p in patterns) else "switch" for n in kinds}
    elif not any(kinds.values()):
        neighbours: dict[str, set[str]] = {name: set() for name in kinds}
        for edge in edges:
            neighbours[edge.a].add(edge.b)
            neighbours[edge.b].add(edge.a)
        kinds = {name: "host" if len(neighbours[name]) == 1 else "switch" for name in kinds}
    names = sorted(kinds, key=_natural)
    hosts = [name for name in names if kinds[name] == "host"]
    if not hosts:
        raise node.error("hosts in the graph", "set kind=host on its nodes, or add 'hosts: [\"h*\"]' here")
    return hosts, [name for name in names if kinds[name] != "host"], edges


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key that puts h2 before h10."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name)]


def _edge(values: dict[str, str], node: Node) -> Edge:
    """Make an edge of the attributes of a file, in SI numbers or with units."""
    rate = latency = None
    try:
        if values.get("rate_bytes_per_s"):
            rate = float(values["rate_bytes_per_s"])
        elif values.get("rate"):
            rate = parse_rate(values["rate"])
        if values.get("latency_s"):
            latency = float(values["latency_s"])
        elif values.get("latency"):
            latency = parse_time(values["latency"])
        count = int(values.get("count") or 1)
    except UnitError as error:
        raise ConfigError(node.path, node.line, error.found, error.expected, error.hint) from None
    except ValueError as error:
        raise node.error("a number", found=str(error)) from None
    if not (rate is None or 0 < rate < float("inf")) or not (latency is None or 0 <= latency < 1e9) or count < 1:
        raise node.error("a positive rate, a latency that is not negative and a count of at least 1", found="a link")
    return Edge(values["a"], values["b"], rate, latency, count, node)


def _read_graphml(path: Path) -> tuple[dict[str, str], list[Edge]]:
    import networkx as nx

    place = Node(None, str(path), None)
    try:
        graph = nx.read_graphml(path, force_multigraph=True)
    except Exception as error:
        raise place.error("a GraphML file", found=f"{type(error).__name__}: {error}") from None
    if graph.is_directed():
        graph = graph.to_undirected()
    kinds = {str(name): str(data.get("kind", "")) for name, data in graph.nodes(data=True)}
    edges = []
    for a, b, data in graph.edges(data=True):
        values = {key: str(value) for key, value in data.items()} | {"a": str(a), "b": str(b)}
        edges.append(_edge(values, Node(None, f"{path} (edge {a} – {b})", None)))
    return kinds, edges


def _read_csv(path: Path) -> tuple[dict[str, str], list[Edge]]:
    known = {
        "a",
        "b",
        "rate",
        "latency",
        "count",
        "rate_bytes_per_s",
        "latency_s",
        "kind_a",
        "kind_b",
        "level",
    }
    kinds: dict[str, str] = {}
    edges: list[Edge] = []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        header = [cell.strip() for cell in next(reader, [])]
        place = Node(None, str(path), 1)
        for column in header:
            if column not in known:
                raise place.error("columns " + ", ".join(sorted(known)), nearest(column, known), f"column '{column}'")
        if not {"a", "b"} <= set(header):
            raise place.error("a header with the columns a and b", "first line: a,b,rate,latency", ",".join(header))
        for row in reader:
            place = Node(None, str(path), reader.line_num)
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise place.error(f"{len(header)} cells", "as many as the header has", found=f"{len(row)} cells")
            values = {column: cell.strip() for column, cell in zip(header, row, strict=True)}
            edges.append(_edge(values, place))
            for end in ("a", "b"):
                kinds[values[end]] = values.get(f"kind_{end}") or kinds.get(values[end], "")
    return kinds, edges

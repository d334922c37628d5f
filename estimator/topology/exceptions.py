"""Exceptions to the regular network: links that are down and routes that the user fixed."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from estimator.topology.errors import nearest
from estimator.topology.fabric import Fabric, out_index
from estimator.topology.tree import Node

_SEPARATOR = re.compile(r"\s*(?:→|↔|–|->|<->|--|-)\s*")


def apply_failures(fabric: Fabric, node: Node) -> Fabric:
    """Take failed links out.

    Parameters
    ----------
    node : Node
        List of ``[leaf0, spine1]`` or ``leaf0-spine1``; wildcards allowed; ``#2`` after the second name means
        the second of several parallel links, otherwise all of them are down.

    Raises
    ------
    ConfigError
        For an entry that matches no link.
    """
    if not isinstance(node.value, list):
        raise node.error(
            "a list of links such as [leaf0, spine1] or leaf0-spine1", found="failed_links: " + node.shown()
        )
    down = np.zeros(fabric.link_count, bool)
    names = fabric.node_names
    for entry in node.value:
        a, b, number = _ends(entry)
        ends = [{i for i, name in enumerate(names) if fnmatchcase(name, pattern)} for pattern in (a, b)]
        for pattern, matching in zip((a, b), ends, strict=True):
            if not matching:
                raise entry.error("the name of a node", nearest(pattern, names), found=f"'{pattern}'")
        match = _between(fabric, ends[0], ends[1], number)
        if not match.any():
            hint = f"'{a}' is linked to {_neighbours(fabric, ends[0])}"
            raise entry.error("a link of this network", hint, found=f"{a}-{b}" + (f"#{number}" if number else ""))
        down |= match
    return remove_links(fabric, down)


def _between(fabric: Fabric, a: set[int], b: set[int], number: int) -> NDArray[np.bool_]:
    in_a, in_b = (np.isin(np.arange(fabric.node_count), sorted(ends)) for ends in (a, b))
    forward = in_a[fabric.port_from] & in_b[fabric.port_to]
    if number:
        forward &= fabric.parallel_index[0] == number
    return np.asarray(forward[0::2] | forward[1::2])


def _neighbours(fabric: Fabric, nodes: set[int]) -> str:
    node = min(nodes)
    ports = fabric.out_ports[fabric.out_ptr[node] : fabric.out_ptr[node + 1]]
    names = list(dict.fromkeys(fabric.node_names[n] for n in fabric.port_to[ports]))
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "")


def _ends(entry: Node) -> tuple[str, str, int]:
    parts: list[str] = []
    if isinstance(entry.value, list):
        parts = [str(child.value) for child in entry.value]
    elif isinstance(entry.value, str):
        parts = _SEPARATOR.split(entry.value, maxsplit=1)
    if len(parts) != 2:
        raise entry.error("two ends: [leaf0, spine1] or leaf0-spine1")
    b, _, number = parts[1].partition("#")
    if number and not (number.isdecimal() and int(number) > 0):
        raise entry.error("a link number such as #2")
    return parts[0], b, int(number or 0)


def remove_links(fabric: Fabric, down: NDArray[np.bool_]) -> Fabric:
    """Return the network without the links in down, bool[L]; adaptive bundles stay those of the whole."""
    from estimator.topology.spray import bundles

    keep = np.flatnonzero(~np.repeat(down, 2))
    rank = np.empty(fabric.port_count, np.int32)
    rank[fabric.out_ports] = np.arange(fabric.port_count)
    port_from = fabric.port_from[keep]
    out_ptr, out_ports = out_index(fabric.node_count, port_from, rank[keep])
    return replace(
        fabric,
        port_from=port_from, port_to=fabric.port_to[keep], rate=fabric.rate[keep],
        packet_rate=fabric.packet_rate[keep], latency=fabric.latency[keep], level_of=fabric.level_of[keep],
        port_cost=fabric.port_cost[keep], out_ptr=out_ptr, out_ports=out_ports,
        bundle_of=bundles(fabric), structure={**fabric.structure, "failed": int(down.sum())},
    )  # fmt: skip


def read_explicit_routes(fabric: Fabric, node: Node) -> dict[tuple[int, int], tuple[int, ...]]:
    """Read node paths as ports.

    Parameters
    ----------
    node : Node
        List of paths: ``[h0, leaf0, spine1, leaf1, h9]`` or ``{path: […]}``, host to host; ``spine1#2`` means
        over the second parallel link to spine1, otherwise the first is taken.

    Raises
    ------
    ConfigError
        For an unknown node, two neighbours that are not linked, or a path that visits a node twice.
    """
    if not isinstance(node.value, list):
        raise node.error("a list of paths such as [h0, leaf0, spine1, leaf1, h9]", found="routes: " + node.shown())
    routes: dict[tuple[int, int], tuple[int, ...]] = {}
    for entry in node.value:
        path = entry
        if isinstance(entry.value, dict):
            if set(entry.value) - {"path", "src", "dst"} or "path" not in entry.value:
                raise entry.error("a path, or a mapping with 'path' (and, if you like, 'src' and 'dst')")
            path = entry.value["path"]
        if not isinstance(path.value, list) or len(path.value) < 2:
            raise path.error("a list of at least two node names", found="route: " + path.shown())
        pair, ports = _explicit(fabric, path)
        if isinstance(entry.value, dict):
            for key, end in zip(("src", "dst"), pair, strict=True):
                given = entry.value.get(key)
                if given is not None and str(given.value) != fabric.node_names[end]:
                    raise given.error(
                        f"'{fabric.node_names[end]}', the end of its path", found=f"{key}: {given.value}"
                    )
        if pair in routes:
            raise path.error(
                "one route per pair", found=f"a second route {path.value[0].value} → {path.value[-1].value}"
            )
        routes[pair] = ports
    return routes


def _explicit(fabric: Fabric, path: Node) -> tuple[tuple[int, int], tuple[int, ...]]:
    nodes: list[int] = []
    ports: list[int] = []
    for step in path.value:
        name, _, number = str(step.value).partition("#")
        index = fabric.node_index.get(name)
        if index is None:
            raise step.error("the name of a node", nearest(name, fabric.node_names), found=f"'{name}'")
        if index in nodes:
            raise step.error("a path without loops", found=f"'{name}' a second time")
        if nodes:
            out = fabric.out_ports[fabric.out_ptr[nodes[-1]] : fabric.out_ptr[nodes[-1] + 1]]
            links = out[fabric.port_to[out] == index]
            which = int(number) if number.isdecimal() else 1
            if not 1 <= which <= len(links):
                before = fabric.node_names[nodes[-1]]
                found = f"{before} → {step.value}"
                raise step.error(
                    "a link of this network",
                    f"'{before}' is linked to {_neighbours(fabric, {nodes[-1]})}",
                    found,
                )
            ports.append(int(links[which - 1]))
        nodes.append(index)
    if max(nodes[0], nodes[-1]) >= fabric.host_count:
        raise path.error("a path from a host to a host", found=f"{path.value[0].value} → {path.value[-1].value}")
    return (nodes[0], nodes[-1]), tuple(ports)

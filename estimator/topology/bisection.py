"""Capacity between two halves of the hosts."""

from __future__ import annotations

from math import prod

import numpy as np

from estimator.topology.fabric import Fabric

_MAX_FLOW_LINKS = 20_000


def bisection(fabric: Fabric) -> tuple[float | None, str]:
    """Find the bisection bandwidth.

    Returns
    -------
    bytes_per_s : float or None
        One direction. Never more than the smaller half of the hosts can inject. None where not computed.
    method : str
        - torus, mesh: the cut across the largest dimension (2·routers/d links, 1·routers/d without the wrap).
        - dragonfly: links between the first ⌊g/2⌋ groups and the rest.
        - others: largest flow from the first half of the hosts to the second, hosts not forwarding; fat trees
          on the network with merged capacity, which is the same for a regular tree; without the links inside
          GPU nodes.
    """
    hosts = fabric.host_count
    if hosts < 2:
        return 0.0, "one host"
    nic = (fabric.port_from < hosts) & (fabric.port_level != "nvlink")
    out_of = np.bincount(fabric.port_from[nic], fabric.rate[nic], hosts)
    half = hosts // 2
    injected = float(min(out_of[:half].sum(), out_of[half:].sum()))
    regular = "failed" not in fabric.structure and not fabric.bundled
    shape = fabric.structure
    if fabric.kind == "single-switch":
        return injected, "rates of half of the hosts"
    if fabric.kind in ("torus", "mesh") and regular:
        largest = max(shape["dims"])
        if largest == 1:
            return injected, "rates of half of the hosts"
        rate = float(fabric.rate[fabric.port_from >= hosts].max())
        wraps = 2 if shape["wrap"] and largest > 2 else 1
        return min(injected, wraps * prod(shape["dims"]) / largest * rate), "cut across the largest dimension"
    if fabric.kind == "dragonfly" and shape["groups"] > 1:
        return _between_groups(fabric), "links between two halves of the groups"
    return _largest_flow(fabric, half)


def _between_groups(fabric: Fabric) -> float:
    shape, hosts = fabric.structure, fabric.host_count
    left = shape["groups"] // 2 * shape["a"]
    first = (fabric.port_from >= hosts) & (fabric.port_from < hosts + left)
    second = fabric.port_to >= hosts + left
    nics = fabric.rate[(fabric.port_from < left * shape["p"])]
    return float(min(fabric.rate[first & second].sum(), nics.sum()))


def _largest_flow(fabric: Fabric, half: int) -> tuple[float | None, str]:
    import networkx as nx

    from estimator.topology.spray import spray_fabric

    method = "largest flow between two halves of the hosts"
    if fabric.kind in ("fat-tree", "rail-optimized"):
        fabric = spray_fabric(fabric)
    hosts = fabric.host_count
    scale_out = fabric.port_level != "nvlink"
    start, end, rate = (column[scale_out].tolist() for column in (fabric.port_from, fabric.port_to, fabric.rate))
    homes: dict[int, set[int]] = {}
    for a, b in zip(start, end, strict=True):
        if a < hosts:
            homes.setdefault(a, set()).add(b)
    # A host on one switch is part of that switch's supply or demand; others are nodes of their own.
    alone = {host for host, switches in homes.items() if len(switches) == 1 and min(switches) >= hosts}
    capacity: dict[tuple[object, object], float] = {}
    for a, b, r in zip(start, end, rate, strict=True):
        if (a < hosts and a >= half) or (b < half):
            continue
        tail: object = "source" if a in alone else a
        head: object = "sink" if b in alone else b
        capacity[tail, head] = capacity.get((tail, head), 0.0) + r
    graph: nx.DiGraph[object] = nx.DiGraph()
    graph.add_nodes_from(["source", "sink"])
    for (tail, head), r in capacity.items():
        graph.add_edge(tail, head, capacity=r)
    for host in homes:
        if host not in alone:
            graph.add_edge(*(("source", host) if host < half else (host, "sink")))
    if graph.number_of_edges() > _MAX_FLOW_LINKS:
        return None, f"not computed: more than {_MAX_FLOW_LINKS:,} links"
    return float(nx.maximum_flow_value(graph, "source", "sink")), method

"""The figures of a network: sizes, capacities, oversubscription, bisection, distances."""

from __future__ import annotations

import heapq
import re
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np

from estimator.topology.bisection import bisection
from estimator.topology.fabric import Fabric

_ALL_PAIRS_HOSTS = 1024
_SAMPLE = 200_000


@dataclass(frozen=True)
class LevelFigures:
    """Links of one level.

    Attributes
    ----------
    links : int
    rate_min, rate_max : float
        Bytes/s per link and direction.
    latency_min_s, latency_max_s : float
    capacity : float
        Sum over the links, one direction, bytes/s.
    """

    name: str
    links: int
    rate_min: float
    rate_max: float
    latency_min_s: float
    latency_max_s: float
    capacity: float


@dataclass(frozen=True)
class Description:
    """What `describe` finds.

    Attributes
    ----------
    hosts, switches, links : int
    levels : tuple of LevelFigures
    oversubscription : dict
        Capacity down ÷ capacity up, by level of switches; for a dragonfly host ÷ global capacity.
    injection : float
        Sum of the hosts' link rates, bytes/s.
    bisection, bisection_ratio : float or None
        Capacity from one half of the hosts to the other, one direction, bytes/s; and ÷ half of the injection:
        1 means full bisection. None where it was not computed.
    bisection_method : str
        How it was found.
    total_capacity : float
        Sum over all ports, both directions, bytes/s.
    diameter_hops : int or None
        Most links between two hosts; None if some pair is not joined.
    mean_hops : float or None
        Mean over pairs (all up to 1,024 hosts, else a fixed sample).
    path_diversity : int
        Shortest paths from the first host to the last.
    """

    kind: str
    name: str
    hosts: int
    switches: int
    links: int
    levels: tuple[LevelFigures, ...]
    oversubscription: dict[str, float]
    injection: float
    bisection: float | None
    bisection_ratio: float | None
    bisection_method: str
    total_capacity: float
    diameter_hops: int | None
    mean_hops: float | None
    path_diversity: int
    routing: str
    failed_links: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


def describe(fabric: Fabric) -> Description:
    """Compute the figures of a network."""
    if fabric.port_count == 0:
        return Description(
            fabric.kind, fabric.name, fabric.host_count, fabric.switch_count, 0, (), {}, float("inf"),
            float("inf"), 1.0, "no limit", float("inf"), 0, 0.0, 1, fabric.routing, 0,
        )  # fmt: skip
    injection = float(fabric.rate[_injects(fabric)].sum())
    half, method = bisection(fabric)
    diameter, mean = _distances(fabric)
    return Description(
        kind=fabric.kind, name=fabric.name, hosts=fabric.host_count, switches=fabric.switch_count,
        links=fabric.link_count, levels=tuple(_levels(fabric)), oversubscription=_oversubscription(fabric),
        injection=injection, bisection=half,
        bisection_ratio=None if half is None or not injection else half / (injection / 2),
        bisection_method=method, total_capacity=float(fabric.rate.sum()),
        diameter_hops=diameter, mean_hops=mean, path_diversity=_diversity(fabric),
        routing=fabric.routing, failed_links=fabric.structure.get("failed", 0),
    )  # fmt: skip


def _injects(fabric: Fabric) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Ports from a host into the network between hosts (not into a node's internal switch)."""
    return (fabric.port_from < fabric.host_count) & (fabric.port_level != "nvlink")


def _levels(fabric: Fabric) -> list[LevelFigures]:
    figures = []
    for i, name in enumerate(fabric.level_names):
        ports = np.flatnonzero(fabric.level_of == i)
        if not len(ports):
            continue
        rate, latency = fabric.rate[ports], fabric.latency[ports]
        figures.append(
            LevelFigures(
                name, len(ports) // 2, float(rate.min()), float(rate.max()),
                float(latency.min()), float(latency.max()), float(rate.sum() / 2),
            )
        )  # fmt: skip
    return figures


def _oversubscription(fabric: Fabric) -> dict[str, float]:
    hosts, tier = fabric.host_count, fabric.tier
    if fabric.kind == "dragonfly":
        capacity = {level.name: level.capacity for level in _levels(fabric)}
        # Each global link serves a group at either end.
        shared = 2 * capacity.get("global", 0.0)
        return {"host:global": capacity["host-router"] / shared} if shared else {}
    start, end = fabric.port_from, fabric.port_to
    named = fabric.kind != "custom"
    down: dict[tuple[int, str], float] = {}
    up: dict[tuple[int, str], float] = {}
    stems = [re.match(r"[^\d.]*", name).group() if named else "" for name in fabric.node_names]  # type: ignore[union-attr]
    for port in np.flatnonzero(start >= hosts):
        a, b = int(start[port]), int(end[port])
        key = (int(tier[a]), stems[a] if named else f"tier {tier[a]}")
        if tier[b] != tier[a]:
            side = down if tier[b] < tier[a] else up
            side[key] = side.get(key, 0.0) + float(fabric.rate[port])
    return {key[1]: down[key] / up[key] for key in sorted(up) if key in down}


def _distances(fabric: Fabric) -> tuple[int | None, float | None]:
    from estimator.topology import _kernels
    from estimator.topology.errors import ConfigError
    from estimator.topology.routing import routes

    hosts = fabric.host_count
    if hosts < 2:
        return 0, 0.0
    rule = "minimal" if fabric.kind == "dragonfly" else None
    if hosts <= _ALL_PAIRS_HOSTS:
        src, dst = np.divmod(np.arange(hosts * hosts), hosts)
        src, dst = src[src != dst], dst[src != dst]
    else:
        rng = np.random.default_rng(0)
        src = rng.integers(0, hosts, _SAMPLE)
        dst = (src + rng.integers(1, hosts, _SAMPLE)) % hosts
    try:
        hops = routes(fabric, src, dst, rule).hops
    except ConfigError:
        return None, None
    if hosts <= _ALL_PAIRS_HOSTS or fabric.kind in ("rail-optimized", "single-switch"):
        return int(hops.max()), float(hops.mean())
    shape = fabric.structure
    if fabric.kind in ("torus", "mesh") and "failed" not in shape:
        reach = sum(size // 2 if shape["wrap"] else size - 1 for size in shape["dims"])
        return reach + 2, float(hops.mean())
    t = fabric.tables
    leaves = np.unique(fabric.port_from[t.host_in_ports])
    leaves = leaves[leaves >= hosts].astype(np.int32)
    most = int(_kernels.extent(leaves, t.sw_in_ptr, t.sw_in_from, t.sw_in_cost, fabric.node_count))
    return (most + 2 if most >= 0 else None), float(hops.mean())


def _diversity(fabric: Fabric) -> int:
    """Count the cheapest paths from the first host to the last; hosts do not forward."""
    source, target = 0, fabric.host_count - 1
    if source == target:
        return 1
    inward: list[list[int]] = [[] for _ in range(fabric.node_count)]
    for port, end in enumerate(fabric.port_to.tolist()):
        inward[end].append(port)
    start, cost = fabric.port_from.tolist(), fabric.port_cost.tolist()
    distance, paths = {target: 0}, {target: 1}
    heap, done = [(0, target)], set()
    while heap:
        near, v = heapq.heappop(heap)
        if v in done:
            continue
        done.add(v)
        if v < fabric.host_count and v != target:
            continue
        for port in inward[v]:
            u, total = start[port], near + cost[port]
            if u not in distance or total < distance[u]:
                distance[u], paths[u] = total, paths[v]
                heapq.heappush(heap, (total, u))
            elif total == distance[u]:
                paths[u] += paths[v]
    relay = fabric.structure.get("relay", False)
    return paths.get(source, int(relay))


def torus_links(dims: tuple[int, ...], wrap: bool) -> int:
    """Links between the routers of a torus or mesh (a ring of two has one link)."""
    routers = prod(dims)
    return sum(routers // size * (size if wrap and size > 2 else size - 1) for size in dims)

"""Ideal adaptive routing: equal paths merged into one of their summed capacity."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.topology.fabric import I32, Fabric, out_index


def bundles(fabric: Fabric) -> I32:
    """Find the switches that adaptive routing uses as one; int32[N], the lowest member's number.

    Two switches above the leaves are equivalent when they are on the same tier and reach the same (merged)
    nodes of the tiers below: all spines of a leaf–spine network, the aggregation switches of one pod, all
    cores.
    """
    if fabric.bundle_of is not None:
        return fabric.bundle_of
    member_of = np.arange(fabric.node_count, dtype=np.int32)
    for tier in range(1, int(fabric.tier.max(initial=0)) + 1):
        first_with: dict[bytes, int] = {}
        for node in np.flatnonzero(fabric.tier == tier):
            ends = fabric.port_to[fabric.out_ports[fabric.out_ptr[node] : fabric.out_ptr[node + 1]]]
            below = np.unique(member_of[ends[fabric.tier[ends] < tier]])
            if len(below):
                member_of[node] = first_with.setdefault(below.tobytes(), int(node))
    return member_of


def spray_fabric(fabric: Fabric) -> Fabric:
    """Merge equivalent switches and parallel links, so that every route is unique.

    A bundle has the summed rate of its links, the packet rate of one of them (the slowest), and their mean
    latency. Failed links lower the bundle's rate. An explicit route becomes the bundles it passes.

    Returns
    -------
    Fabric
        `bundled`, with rule ``spray``; nodes and ports are renumbered (hosts keep their numbers).
    """
    if fabric.bundled or fabric.kind == "ideal":
        return fabric
    member_of = bundles(fabric)
    kept, node_of = np.unique(member_of, return_inverse=True)
    node_of = np.array(node_of, dtype=np.int32)
    start, end = node_of[fabric.port_from], node_of[fabric.port_to]
    link_key = np.minimum(start, end).astype(np.int64) * len(kept) + np.maximum(start, end)
    _, first, link = np.unique(link_key[0::2], return_index=True, return_inverse=True)
    # New links in the order of their first member, so that ports keep the order routing relies on.
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    lowest = np.sort(first)
    link = rank[link]
    forward = start[0::2] == start[2 * lowest][link]
    port_of = np.empty(fabric.port_count, np.int32)
    port_of[0::2] = 2 * link + ~forward
    port_of[1::2] = 2 * link + forward

    count = 2 * len(lowest)
    old = np.repeat(2 * lowest, 2) + np.tile([0, 1], len(lowest))
    rate = np.bincount(port_of, fabric.rate, count).astype(np.float64)
    packet_rate = np.full(count, np.inf)
    np.minimum.at(packet_rate, port_of, fabric.packet_rate)
    latency = np.bincount(port_of, fabric.latency, count) / np.maximum(np.bincount(port_of, minlength=count), 1)
    # A mean of equal numbers may be one ulp away from them.
    same = np.isclose(latency, fabric.latency[old], rtol=1e-12, atol=0)
    latency = np.where(same, fabric.latency[old], latency)
    port_from, port_to = start[old], end[old]
    old_rank = np.empty(fabric.port_count, np.int32)
    old_rank[fabric.out_ports] = np.arange(fabric.port_count)
    out_ptr, out_ports = out_index(len(kept), port_from, old_rank[old])
    explicit = fabric.explicit_routes
    if explicit:
        explicit = {pair: tuple(int(port_of[p]) for p in path) for pair, path in explicit.items()}
    return replace(
        fabric,
        node_names=_names(fabric, node_of, len(kept)),
        port_from=port_from, port_to=port_to, rate=rate, packet_rate=packet_rate, latency=latency,
        level_of=fabric.level_of[old], port_cost=fabric.port_cost[old], tier=fabric.tier[kept],
        out_ptr=out_ptr, out_ports=out_ports, routing="spray", bundled=True, bundle_of=None,
        explicit_routes=explicit,
    )  # fmt: skip


def _names(fabric: Fabric, node_of: NDArray[Any], count: int) -> tuple[str, ...]:
    """Name merged switches ``spine*`` (all of that name) or ``agg[0-3]``."""
    members: list[list[str]] = [[] for _ in range(count)]
    for node, name in enumerate(fabric.node_names):
        members[node_of[node]].append(name)
    stems: dict[str, int] = {}
    for name in fabric.node_names:
        stem = name.rstrip("0123456789")
        stems[stem] = stems.get(stem, 0) + 1
    return tuple(group[0] if len(group) == 1 else _merged_name(group, stems) for group in members)


def _merged_name(group: list[str], stems: dict[str, int]) -> str:
    stem = group[0].rstrip("0123456789")
    if any(name.rstrip("0123456789") != stem for name in group):
        return "+".join(group)
    if stems[stem] == len(group):
        return f"{stem}*"
    numbers = [re.sub(r".*?(\d*)$", r"\1", name) for name in group]
    if all(numbers) and [int(n) for n in numbers] == list(range(int(numbers[0]), int(numbers[0]) + len(numbers))):
        return f"{stem}[{numbers[0]}-{numbers[-1]}]"
    return f"{stem}[{','.join(numbers)}]"

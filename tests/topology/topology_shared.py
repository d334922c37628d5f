"""Small networks and helpers that the topology tests share."""

from __future__ import annotations

import numpy as np

from estimator.topology import Fabric, Routes, routes

# One of every kind and form, small enough to route every pair.
SMALL = (
    "single-switch:hosts=5",
    "fat-tree:k=4",
    "fat-tree:k=4,oversubscription=2",
    "leaf-spine:leaves=4,hosts=4,spines=2,links=2",
    "dragonfly:a=4,p=2,h=2",
    "dragonfly:a=3,p=1,h=2,groups=4",
    "torus:4x3x2",
    "mesh:4x3",
    "rail-optimized:nodes=3,gpus=4",
    "rail-optimized:nodes=4,gpus=2,spines=2,nodes_per_leaf=2",
)


def all_pairs(fabric: Fabric) -> tuple[np.ndarray, np.ndarray]:
    """Every ordered pair of different hosts."""
    src, dst = np.divmod(np.arange(fabric.host_count**2), fabric.host_count)
    return src[src != dst], dst[src != dst]


def nodes_of(fabric: Fabric, found: Routes, i: int) -> list[str]:
    """Names of the nodes on route i."""
    ports = found.of(i)
    return [fabric.node_names[n] for n in [fabric.port_from[ports[0]], *fabric.port_to[ports]]]


def path(fabric: Fabric, src: int, dst: int, rule: str | None = None, seed: int | None = None) -> list[str]:
    """Names of the nodes between two hosts."""
    return nodes_of(fabric, routes(fabric, [src], [dst], rule, seed), 0)


def load_of(fabric: Fabric, found: Routes) -> np.ndarray:
    """Routes over each port."""
    return np.bincount(found.ports, minlength=fabric.port_count)


def level(fabric: Fabric, name: str, up: bool) -> np.ndarray:
    """Ports of a level, upwards or downwards."""
    rises = fabric.tier[fabric.port_to] > fabric.tier[fabric.port_from]
    return np.flatnonzero((fabric.port_level == name) & (rises == up))

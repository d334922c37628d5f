"""Index columns that routing needs of a network, made once per `Fabric`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from estimator.topology.fabric import I32, I64, Fabric


@dataclass(frozen=True)
class Tables:
    """Compressed adjacency.

    Attributes
    ----------
    sw_out_ptr, sw_out_ports : int64[N+1], int32[…]
        Ports between switches by owner, in routing order.
    sw_in_ptr, sw_in_from, sw_in_cost : int64[N+1], int32[…], int32[…]
        The same ports by far end: owner and cost.
    host_in_ptr, host_in_ports : int64[N+1], int32[…]
        Ports that end at hosts, by host.
    group_of : int32[N]
        Destinations with the same number are reached through the same switches, so they share distances.
    targets_ptr, targets : int64[G+1], int32[…]
        Those switches, by group.
    """

    sw_out_ptr: I64
    sw_out_ports: I32
    sw_in_ptr: I64
    sw_in_from: I32
    sw_in_cost: I32
    host_in_ptr: I64
    host_in_ports: I32
    group_of: I32
    targets_ptr: I64
    targets: I32


def _pointers(owner: I32, node_count: int) -> I64:
    ptr = np.zeros(node_count + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=node_count), out=ptr[1:])
    return ptr


def build_tables(fabric: Fabric) -> Tables:
    """Index a network for routing."""
    n, hosts = fabric.node_count, fabric.host_count
    start, end = fabric.port_from, fabric.port_to
    ordered = fabric.out_ports
    between = ordered[(start[ordered] >= hosts) & (end[ordered] >= hosts)]
    inward = between[np.argsort(end[between], kind="stable")]
    to_host = ordered[end[ordered] < hosts]
    # By host, then by owner and routing order.
    to_host = to_host[np.argsort(end[to_host], kind="stable")]

    # A host on one switch shares that switch's group; one on several has a group of its own.
    pairs = np.unique(np.stack([end[to_host], start[to_host]]), axis=1)
    pairs = pairs[:, pairs[1] >= hosts]
    homes = np.bincount(pairs[0], minlength=n)
    group_of = np.arange(n, dtype=np.int32)
    single = homes[pairs[0]] == 1
    group_of[pairs[0][single]] = pairs[1][single]
    own = pairs[:, ~single]
    switches = np.arange(hosts, n)
    group = np.concatenate([own[0], switches])
    target = np.concatenate([own[1], switches])
    return Tables(
        sw_out_ptr=_pointers(start[between], n), sw_out_ports=between,
        sw_in_ptr=_pointers(end[inward], n), sw_in_from=start[inward], sw_in_cost=fabric.port_cost[inward],
        host_in_ptr=_pointers(end[to_host], n), host_in_ports=to_host,
        group_of=group_of, targets_ptr=_pointers(group, n),
        targets=target[np.argsort(group, kind="stable")].astype(np.int32),
    )  # fmt: skip

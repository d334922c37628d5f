"""Routes of many pairs at once: which output ports a message passes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimator.topology.errors import ConfigError
from estimator.topology.fabric import I32, I64, Fabric
from estimator.topology.rules import check_rule
from estimator.topology.spray import spray_fabric


@dataclass(frozen=True, eq=False)
class Routes:
    """Ports of n routes, one after the other.

    Attributes
    ----------
    ptr : int64[n+1]
        Route i passes ``ports[ptr[i]:ptr[i+1]]``, from the source's NIC to the port that leads to the
        destination.
    ports : int32[ptr[n]]
    """

    ptr: I64
    ports: I32

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def of(self, i: int) -> I32:
        """Ports of route i, in order."""
        return self.ports[self.ptr[i] : self.ptr[i + 1]]

    @property
    def hops(self) -> I64:
        """Links on each route; int64[n]."""
        return np.diff(self.ptr)


def routing_fabric(fabric: Fabric, rule: str | None = None) -> Fabric:
    """Return the network to route on under a rule: with bundles for ``spray``, else as it is."""
    name = check_rule(fabric.kind, rule or fabric.routing, fabric.source, None)
    fabric = replace(fabric, routing=name) if name != fabric.routing else fabric
    return spray_fabric(fabric) if name == "spray" else fabric


def routes(
    fabric: Fabric, src_host: ArrayLike, dst_host: ArrayLike, rule: str | None = None, seed: int | None = None
) -> Routes:
    """Route pairs of hosts.

    Shortest paths; among the next hops that are one nearer, the rule picks one:

    - ``d-mod-k``: the next digit of the destination's number, in the base of the choices at each level
      (a leaf–spine network: spine = destination mod spines).
    - ``ecmp``: a hash of (seed, source, destination, switch), also over parallel links.
    - ``spray``: no choice is left, because parallel capacity is merged (call `routing_fabric` first).
    - ``minimal``: at most one global link of a dragonfly; ties by hash.
    - ``valiant``: minimal to a hashed router of a third group, then minimal; a pair inside one group, or with
      no third group, goes minimally.
    - ``dor``: the lowest dimension first; half-way around a ring goes in the + direction.

    Explicit routes win over the rule. Hosts never forward, except the relay GPU of a rail-optimised network
    without spines.

    Parameters
    ----------
    src_host, dst_host : int[n]
        Host numbers; a pair with itself has an empty route.
    rule, seed : optional
        Instead of the network's own.

    Raises
    ------
    ConfigError
        For a rule that does not apply, or a pair with no path between.
    ValueError
        For a host number out of range, or ``spray`` on a network whose parallel capacity is not merged.
    """
    src = np.ascontiguousarray(src_host, np.int32)
    dst = np.ascontiguousarray(dst_host, np.int32)
    if src.shape != dst.shape or src.ndim != 1:
        raise ValueError(f"src_host {src.shape} and dst_host {dst.shape} must be columns of one length")
    name = check_rule(fabric.kind, rule or fabric.routing, fabric.source, None)
    if fabric.kind == "ideal" or len(src) == 0:
        return Routes(np.zeros(len(src) + 1, np.int64), np.empty(0, np.int32))
    low, high = min(src.min(), dst.min()), max(src.max(), dst.max())
    if low < 0 or high >= fabric.host_count:
        raise ValueError(f"host {high if low >= 0 else low} is not one of the {fabric.host_count} hosts")
    if name == "spray" and not fabric.bundled:
        raise ValueError("spray routes run on the network that routing_fabric returns")
    seed = fabric.seed if seed is None else seed

    keys, explicit_ptr, explicit_ports = fabric.explicit_index
    if not len(keys):
        return _by_rule(fabric, src, dst, name, seed)
    pair = src.astype(np.int64) * fabric.host_count + dst
    at = np.minimum(np.searchsorted(keys, pair), len(keys) - 1)
    fixed = keys[at] == pair
    ruled = _by_rule(fabric, src, np.where(fixed, src, dst), name, seed)
    lengths = np.where(fixed, np.diff(explicit_ptr)[at], 0)
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(ptr[-1]) - np.repeat(ptr[:-1], lengths)
    ports = explicit_ports[np.repeat(explicit_ptr[at], lengths) + within]
    return _joined(fabric, ruled, Routes(ptr, ports))


def _joined(fabric: Fabric, a: Routes, b: Routes) -> Routes:
    from estimator.topology import _kernels

    return Routes(*_kernels.join(a.ptr, a.ports, b.ptr, b.ports, fabric.port_from, fabric.port_to))


def _by_rule(fabric: Fabric, src: I32, dst: I32, rule: str, seed: int) -> Routes:
    via = _via(fabric, src, dst, rule, seed)
    if via is None:
        return _shortest(fabric, src, dst, rule, seed)
    stop = via >= 0
    first = _shortest(fabric, src, np.where(stop, via, dst), rule, seed)
    # A pair without a stop is at its destination already: its second leg is empty.
    second = _shortest(fabric, np.where(stop, via, dst), dst, rule, seed)
    return _joined(fabric, first, second)


def _via(fabric: Fabric, src: I32, dst: I32, rule: str, seed: int) -> I32 | None:
    """Node that each pair must pass; int32[n] with -1 for none, or None where no pair has one."""
    shape = fabric.structure
    if fabric.kind == "rail-optimized" and shape["relay"]:
        gpus = shape["gpus"]
        relay = src // gpus * gpus + dst % gpus
        needed = (src // gpus != dst // gpus) & (src % gpus != dst % gpus)
        return np.where(needed, relay, -1).astype(np.int32)
    if rule == "valiant" and fabric.kind == "dragonfly" and shape["groups"] > 2:
        return _third_group(fabric, src, dst, seed)
    return None


def _third_group(fabric: Fabric, src: I32, dst: I32, seed: int) -> I32:
    from estimator.topology import _kernels

    shape = fabric.structure
    a, per_group, groups = shape["a"], shape["a"] * shape["p"], shape["groups"]
    here, there = src // per_group, dst // per_group
    # Not the hash that breaks ties, or the two choices would be correlated.
    bits: NDArray[np.uint64] = _kernels.pair_hashes(np.uint64((seed + 0x5851F42D4C957F2D) % 2**64), src, dst)
    group = (bits % np.uint64(groups - 2)).astype(np.int32)
    group += group >= np.minimum(here, there)
    group += group >= np.maximum(here, there)
    router = ((bits >> np.uint64(32)) % np.uint64(a)).astype(np.int32)
    return np.where(here != there, fabric.host_count + group * a + router, -1).astype(np.int32)


def _shortest(fabric: Fabric, src: I32, dst: I32, rule: str, seed: int) -> Routes:
    from estimator.topology import _kernels

    code = {"d-mod-k": _kernels.D_MOD_K, "dor": _kernels.FIRST}.get(rule, _kernels.HASHED)
    t = fabric.tables
    group = t.group_of[dst]
    start = np.zeros(fabric.node_count + 1, np.int64)
    np.cumsum(np.bincount(group, minlength=fabric.node_count), out=start[1:])
    order = _kernels.fill_groups(group, start[:-1].copy())
    hops = np.zeros(len(src), np.int32)
    ports = np.empty(6 * len(src) + 2 * fabric.node_count, np.int32)
    done, used = 0, 0
    while done < len(src):
        done, used, lost = _kernels.walk(
            src, dst, order, start, t.targets_ptr, t.targets, fabric.host_count,
            fabric.port_to, fabric.port_from, fabric.port_cost, fabric.tier, fabric.out_ptr, fabric.out_ports,
            t.sw_out_ptr, t.sw_out_ports, t.sw_in_ptr, t.sw_in_from, t.sw_in_cost,
            t.host_in_ptr, t.host_in_ports, code, np.uint64(seed % 2**64), done, hops, ports, used,
        )  # fmt: skip
        if lost:
            a, b = fabric.node_names[src[order[done]]], fabric.node_names[dst[order[done]]]
            raise ConfigError(
                fabric.source or fabric.name, None, f"no path from {a} to {b}",
                "a network that joins every pair used", "check links and failed_links",
            )  # fmt: skip
        if done < len(src):
            ports = np.concatenate([ports, np.empty_like(ports)])
    return Routes(*_kernels.unsort(order, hops, ports[:used]))

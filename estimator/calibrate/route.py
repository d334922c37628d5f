"""What the network itself contributes to a measured latency, so that the rest can be told apart from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.calibrate.measurements import F64, I64
from estimator.topology import ConfigError, Fabric, routes, routing_fabric


@dataclass(frozen=True)
class Route:
    """The way of the measured messages.

    Attributes
    ----------
    text : str
        How it is told to people.
    latency_s : float
        Wires and switches.
    host_links : int
        Links whose rate is the fitted one: those at the two hosts.
    packet_s_per_byte : float
        Sum over the other links of the time per byte of a first packet.
    inner_rate : float
        Slowest of the other links, bytes/s; infinite if there is none.
    packet_bytes : int
        What a switch receives before it forwards: MTU, or 0 for cut-through.
    overhead_s, host_rate : float
        What the topology says itself, s and bytes/s; it holds where nothing is fitted.
    """

    text: str
    latency_s: float
    host_links: int = 2
    packet_s_per_byte: float = 0.0
    inner_rate: float = np.inf
    packet_bytes: int = 4096
    overhead_s: float = 500e-9
    host_rate: float = 50e9

    def paced_bytes(self, size_bytes: I64) -> F64:
        """Bytes that a lone message pays at the hosts' rate: its own, and its first packet at the other host link."""
        first = np.minimum(size_bytes, self.packet_bytes)
        return np.asarray(size_bytes + (self.host_links - 1) * first, np.float64)

    def fixed_s(self, size_bytes: I64) -> F64:
        """What the network adds whatever the hosts' rate, s: latencies, and the first packet at inner links."""
        first = np.minimum(size_bytes, self.packet_bytes)
        return np.asarray(self.latency_s + first * self.packet_s_per_byte, np.float64)


def route_on(fabric: Fabric, between: tuple[str, str] | None = None) -> Route:
    """The route between two hosts of a topology, by default its first two.

    Raises
    ------
    ConfigError
        For an unknown host, the same host twice, or a network without links.
    """
    where = fabric.source or fabric.name
    if not fabric.port_count or fabric.host_count < 2:
        raise ConfigError(where, None, f"a {fabric.kind} network", "one with links between two hosts or more")
    source, target = between or fabric.node_names[:2]
    ends = []
    for name in (source, target):
        index = fabric.node_index.get(name)
        if index is None or index >= fabric.host_count:
            last = fabric.node_names[fabric.host_count - 1]
            raise ConfigError(where, None, f"'{name}'", f"a host: {fabric.node_names[0]} to {last}")
        ends.append(index)
    if ends[0] == ends[1]:
        raise ConfigError(where, None, f"{source} twice", "two hosts, the measured ranks' own")
    routed = routing_fabric(fabric)
    ports = routes(routed, [ends[0]], [ends[1]]).of(0)
    at_host = (routed.port_from[ports] < fabric.host_count) | (routed.port_to[ports] < fabric.host_count)
    inner = ports[~at_host]
    return Route(
        text=f"{source} to {target} of {where}, {len(ports)} links",
        latency_s=float(routed.latency[ports].sum()),
        host_links=int(at_host.sum()),
        packet_s_per_byte=float((1.0 / routed.packet_rate[inner]).sum()),
        inner_rate=float(routed.rate[inner].min()) if inner.size else np.inf,
        packet_bytes=fabric.mtu_bytes if fabric.switching == "store-and-forward" else 0,
        overhead_s=fabric.host_overhead_s,
        host_rate=float(routed.rate[ports[at_host]].min()),
    )


def assumed_topology(hops: int, hosts: int) -> str:
    """Shorthand of a network with default latencies on which the ends of a route of 2, 4 or 6 links are found.

    Raises
    ------
    ConfigError
        For another number of hops.
    """
    if hops == 2:
        return f"single-switch:hosts={max(2, hosts)}"
    if hops == 4:
        leaves = max(2, hosts)
        return f"leaf-spine:leaves={leaves},hosts=1,spines={leaves}"
    if hops == 6:
        return "fat-tree:k=4"
    raise ConfigError("--hops", None, f"{hops}", "2 (one switch), 4 (leaf, spine, leaf) or 6", "or give --topo")

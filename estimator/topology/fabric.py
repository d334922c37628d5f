"""The network as flat columns: nodes, and one output port per link direction."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import networkx as nx

    from estimator.topology.tables import Tables

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Background:
    """Steady traffic of others, as the topology file states it.

    Attributes
    ----------
    ports : str
        Pattern of port names (``leaf*→spine*``) or the name of a level; empty for a traffic matrix.
    rho : float
        Load of each such port, 0 ≤ rho < 1.
    message_bytes : int or None
        What an arrival brings; None = one MTU.
    cv_sq : float or None
        Squared coefficient of variation of its inter-arrival times; None = the model's default.
    burst : int
        0 for random arrivals; n for n messages at once every period.
    peak : float
        Rate of a burst, in multiples of the port's; inf = all at once.
    matrix : str
        File of a traffic matrix between hosts, instead of ports and rho.
    """

    ports: str = ""
    rho: float = 0.0
    message_bytes: int | None = None
    cv_sq: float | None = None
    burst: int = 0
    peak: float = math.inf
    matrix: str = ""


@dataclass(frozen=True)
class Common:
    """What every kind of network has besides its graph.

    Attributes
    ----------
    host_overhead_s : float
        Software overhead per message.
    host_copy_rate : float
        Bytes/s at which eager messages are copied; infinite by default.
    host_rendezvous_s : float
        What a message above the eager limit costs more.
    parameters : mapping
        Model parameters by name, as text.
    intra_node_rate, intra_node_latency_s : float
        Messages between ranks on the same host, bytes/s and s.
    mtu_bytes, buffer_bytes : int
        Packet payload; buffer of a switch port.
    fabric, switching : str
        ``infiniband | roce | tcp``; ``store-and-forward | cut-through``.
    """

    name: str = ""
    host_overhead_s: float = 500e-9
    intra_node_rate: float = 100e9
    intra_node_latency_s: float = 300e-9
    mtu_bytes: int = 4096
    buffer_bytes: int = 4 << 20
    fabric: str = "infiniband"
    switching: str = "store-and-forward"
    routing: str = ""
    seed: int = 1
    background: tuple[Background, ...] = ()
    source: str = ""
    host_copy_rate: float = math.inf
    host_rendezvous_s: float = 0.0
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Fabric:
    """A network of H hosts and N-H switches, with P output ports (two per link).

    Attributes
    ----------
    kind, name : str
        Kind of topology (``fat-tree`` …; ``ideal`` has no ports) and a name for people.
    node_names : tuple of str, length N
        Hosts first: node i < H is host i.
    host_count : int
        H; 0 for an ideal network, which has as many hosts as it is asked for.
    port_from, port_to : int32[P]
        Node that owns the output port, and node at the far end. Ports 2l and 2l+1 are the two directions of
        link l; parallel links stay apart.
    rate, packet_rate : float64[P]
        Capacity, and the rate at which one packet leaves, bytes/s. They differ only for bundles.
    latency : float64[P]
        Propagation and traversal of the switch at the far end, s; paid once per link after serialisation.
    level_of : int8[P]
        Index into `level_names`.
    port_cost : int32[P]
        Length of the link to shortest-path routing.
    tier : int16[N]
        Hops to the nearest host: 0 for hosts, 1 for leaves, …
    out_ptr : int64[N+1]
    out_ports : int32[P]
        Ports by owner, in the fixed order that routing rules rely on.
    structure : mapping
        The numbers the kind was built from (``k``, ``dims``, ``groups`` …).
    explicit_routes : mapping or None
        Ports of the pairs (source host, destination host) whose route the user fixed.
    bundle_of : int32[N] or None
        Switches with the same number act as one under adaptive routing; None = derive it from the graph.
    bundled : bool
        Whether parallel capacity is already merged (`spray_fabric`).
    """

    kind: str
    name: str
    node_names: tuple[str, ...]
    host_count: int
    port_from: I32
    port_to: I32
    rate: F64
    packet_rate: F64
    latency: F64
    level_of: NDArray[np.int8]
    level_names: tuple[str, ...]
    port_cost: I32
    tier: NDArray[np.int16]
    out_ptr: I64
    out_ports: I32
    host_overhead_s: float
    intra_node_rate: float
    intra_node_latency_s: float
    mtu_bytes: int
    buffer_bytes: int
    fabric: str
    switching: str
    routing: str
    seed: int
    background: tuple[Background, ...] = ()
    source: str = ""
    structure: Mapping[str, Any] = field(default_factory=dict)
    explicit_routes: Mapping[tuple[int, int], tuple[int, ...]] | None = None
    bundle_of: I32 | None = None
    bundled: bool = False
    host_copy_rate: float = math.inf
    host_rendezvous_s: float = 0.0
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def node_count(self) -> int:
        """Hosts and switches."""
        return len(self.node_names)

    @property
    def port_count(self) -> int:
        """Output ports, two per link."""
        return len(self.port_from)

    @property
    def link_count(self) -> int:
        """Links (bundles count once)."""
        return len(self.port_from) // 2

    @property
    def switch_count(self) -> int:
        """Switches and routers."""
        return len(self.node_names) - self.host_count

    @cached_property
    def fingerprint(self) -> str:
        """Hash of nodes, links, rates, latencies and fixed routes, hexadecimal: alike for networks that are alike."""
        told = hashlib.sha256("\n".join(self.node_names).encode())
        for column, kind in (
            (self.port_from, "<i4"), (self.port_to, "<i4"), (self.rate, "<f8"), (self.packet_rate, "<f8"),
            (self.latency, "<f8"),
        ):  # fmt: skip
            told.update(column.astype(kind).tobytes())
        told.update(repr(sorted((self.explicit_routes or {}).items())).encode())
        return told.hexdigest()

    @cached_property
    def port_level(self) -> NDArray[np.str_]:
        """Label of each port's level, such as ``host-leaf``; str[P]."""
        return np.array(self.level_names or ("",))[self.level_of]

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Node number by name."""
        return {name: i for i, name in enumerate(self.node_names)}

    @cached_property
    def parallel_index(self) -> tuple[I32, I32]:
        """Position of each port among its parallel ports (from 1) and how many there are; int32[P] each."""
        key = self.port_from.astype(np.int64) * max(self.node_count, 1) + self.port_to
        order = np.argsort(key, kind="stable")
        _, start, count = np.unique(key[order], return_index=True, return_counts=True)
        position, total = np.empty(len(key), np.int32), np.empty(len(key), np.int32)
        total[order] = np.repeat(count, count)
        position[order] = np.arange(len(key)) - np.repeat(start, count) + 1
        return position, total

    def port_name(self, port: int) -> str:
        """Return ``leaf0→spine1``, with ``#2`` for the second of several parallel links."""
        position, total = self.parallel_index
        name = f"{self.node_names[self.port_from[port]]}→{self.node_names[self.port_to[port]]}"
        return f"{name}#{position[port]}" if total[port] > 1 else name

    def port_names(self) -> list[str]:
        """Names of all ports, in order."""
        return [self.port_name(port) for port in range(self.port_count)]

    @cached_property
    def explicit_index(self) -> tuple[I64, I64, I32]:
        """Explicit routes as columns: sorted key src·H+dst, ptr, ports."""
        pairs = sorted((self.explicit_routes or {}).items())
        keys = np.array([s * self.host_count + d for (s, d), _ in pairs], np.int64)
        ptr = np.zeros(len(pairs) + 1, np.int64)
        np.cumsum([len(path) for _, path in pairs], out=ptr[1:])
        ports = np.array([p for _, path in pairs for p in path], np.int32)
        return keys, ptr, ports

    @cached_property
    def tables(self) -> Tables:
        """Index columns for routing, made when first needed."""
        from estimator.topology.tables import build_tables

        return build_tables(self)

    def graph(self) -> nx.MultiGraph:
        """Build the undirected multigraph: nodes with ``kind`` and ``tier``, edges with rate and latency."""
        import networkx as nx

        graph: nx.MultiGraph[str] = nx.MultiGraph(name=self.name)
        for node, name in enumerate(self.node_names):
            kind = "host" if node < self.host_count else "switch"
            graph.add_node(name, kind=kind, tier=int(self.tier[node]))
        names, levels = self.node_names, self.port_level
        for port in range(0, self.port_count, 2):
            graph.add_edge(
                names[self.port_from[port]],
                names[self.port_to[port]],
                rate_bytes_per_s=float(self.rate[port]),
                latency_s=float(self.latency[port]),
                level=str(levels[port]),
            )
        return graph


@dataclass(frozen=True)
class Links:
    """A block of links of one level while a network is built: ends int[L]; rate, latency float[L]."""

    level: str
    a: NDArray[np.integer[Any]]
    b: NDArray[np.integer[Any]]
    rate: float | F64
    latency: float | F64
    cost: int = 1


def _tiers(node_count: int, host_count: int, port_from: I32, port_to: I32) -> NDArray[np.int16]:
    tier = np.full(node_count, -1, np.int16)
    tier[:host_count] = 0
    reached, level = True, 0
    while reached:
        ends = port_to[(tier[port_from] == level) & (tier[port_to] < 0)]
        level += 1
        tier[ends] = level
        reached = len(ends) > 0
    tier[tier < 0] = 1
    return tier


def out_index(node_count: int, port_from: I32, order: I32 | None = None) -> tuple[I64, I32]:
    """Group ports by owner: ptr int64[N+1] and ports int32[P], by `order` and then by number."""
    ports = np.argsort(port_from, kind="stable") if order is None else np.lexsort((order, port_from))
    ptr = np.zeros(node_count + 1, np.int64)
    np.cumsum(np.bincount(port_from, minlength=node_count), out=ptr[1:])
    return ptr, ports.astype(np.int32)


def assemble(
    kind: str,
    names: Sequence[str],
    host_count: int,
    blocks: Sequence[Links],
    common: Common,
    *,
    structure: Mapping[str, Any] | None = None,
    order: I32 | None = None,
) -> Fabric:
    """Make a `Fabric` of blocks of links.

    Parameters
    ----------
    names : sequence of str
        Node names, hosts first.
    blocks : sequence of Links
        In port order; parallel links adjacent.
    order : int32[P], optional
        Rank of each port at its owner where the order of links is not the one routing needs.
    """
    blocks = [block for block in blocks if len(block.a)]
    level_names = tuple(dict.fromkeys(block.level for block in blocks))

    def column(pick: Any, dtype: Any) -> NDArray[Any]:
        parts = [np.repeat(np.broadcast_to(np.asarray(pick(b), dtype), len(b.a)), 2) for b in blocks]
        return np.concatenate(parts) if parts else np.empty(0, dtype)

    port_from = column(lambda b: b.a, np.int32)
    port_to = column(lambda b: b.b, np.int32)
    port_from[1::2], port_to[1::2] = port_to[1::2], port_from[1::2].copy()
    rate = column(lambda b: b.rate, np.float64)
    out_ptr, out_ports = out_index(len(names), port_from, order)
    return Fabric(
        kind=kind, name=common.name or kind, node_names=tuple(names), host_count=host_count,
        port_from=port_from, port_to=port_to, rate=rate, packet_rate=rate.copy(),
        latency=column(lambda b: b.latency, np.float64),
        level_of=column(lambda b: level_names.index(b.level), np.int8), level_names=level_names,
        port_cost=column(lambda b: b.cost, np.int32),
        tier=_tiers(len(names), host_count, port_from, port_to),
        out_ptr=out_ptr, out_ports=out_ports,
        host_overhead_s=common.host_overhead_s, intra_node_rate=common.intra_node_rate,
        intra_node_latency_s=common.intra_node_latency_s, mtu_bytes=common.mtu_bytes,
        buffer_bytes=common.buffer_bytes, fabric=common.fabric, switching=common.switching,
        routing=common.routing, seed=common.seed, background=common.background, source=common.source,
        structure=dict(structure or {}), host_copy_rate=common.host_copy_rate,
        host_rendezvous_s=common.host_rendezvous_s, parameters=common.parameters,
    )  # fmt: skip

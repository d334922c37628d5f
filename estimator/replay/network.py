"""The part of a fabric that a workload uses: its ports and the routes between its pairs of hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from estimator.replay.layout import PATH_TYPE, PORT_TYPE


class Network(NamedTuple):
    """Ports (one per link direction) and the routes in use."""

    ports: np.ndarray  # PORT_TYPE[ports]
    paths: np.ndarray  # PATH_TYPE[paths]
    path_ports: np.ndarray  # i4[...]


def network_of(
    rate: np.ndarray,
    packet_rate: np.ndarray,
    latency: np.ndarray,
    path_ptr: np.ndarray,
    path_ports: np.ndarray,
) -> Network:
    """Ports at rest, and routes with the sums that a lone message's latency needs.

    Parameters
    ----------
    rate, packet_rate : float64[ports], bytes/s
    latency : float64[ports], s
    path_ptr : int64[paths + 1]
    path_ports : int32[path_ptr[-1]], every path has at least one port
    """
    ports = np.zeros(len(rate), PORT_TYPE)
    ports["rate"], ports["packet_rate"], ports["latency"] = rate, packet_rate, latency
    for column in ("first", "nic_first", "nic_last", "ep_source", "cell_first", "cell_last", "random_ingress"):
        ports[column] = -1
    ports["credit"] = np.inf
    hops = np.ascontiguousarray(path_ports, np.int32)
    paths = np.zeros(len(path_ptr) - 1, PATH_TYPE)
    if len(paths):
        starts = np.asarray(path_ptr[:-1])
        paths["begin"] = starts
        paths["hops"] = np.diff(path_ptr)
        paths["latency"] = np.add.reduceat(ports["latency"][hops], starts)
        paths["rate"] = np.minimum.reduceat(ports["rate"][hops], starts)
        paths["packet_s_per_byte"] = np.add.reduceat(1.0 / ports["packet_rate"][hops], starts)
    return Network(ports, paths, hops)


def with_more_routes(net: Network, routes: Sequence[np.ndarray]) -> Network:
    """The same ports, and further routes behind those there are; each an int32[hops] of ports."""
    lengths = [*net.paths["hops"].tolist(), *(len(route) for route in routes)]
    ports = np.concatenate([net.path_ports, *routes]) if routes else net.path_ports
    rate, packet_rate, latency = (net.ports[name] for name in ("rate", "packet_rate", "latency"))
    longer = network_of(rate, packet_rate, latency, np.cumsum([0, *lengths], dtype=np.int64), ports)
    return Network(net.ports, longer.paths, longer.path_ports)

"""One switch with every host on it, and the ideal network without any."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from estimator.topology.fabric import Fabric, Links, assemble
from estimator.topology.settings import check_size, read_settings
from estimator.topology.validate import Section


def build_single_switch(section: Section, source: str) -> Fabric:
    """Build H hosts on one switch."""
    s = read_settings(section, source)
    hosts = section["hosts"]
    check_size(section, hosts)
    names = [f"h{i}" for i in range(hosts)] + ["switch0"]
    block = Links("host-switch", np.arange(hosts), np.full(hosts, hosts), s.nic_rate, s.host_latency)
    return assemble("single-switch", names, hosts, [block], s.common, structure={"hosts": hosts})


def build_ideal(section: Section, source: str) -> Fabric:
    """Build the network without latency or limit of bandwidth: no ports; `host_count` 0 means unlimited."""
    s = read_settings(section, source)
    hosts = section["hosts"] or 0
    check_size(section, hosts)
    unlimited = float("inf")
    common = replace(
        s.common, host_overhead_s=0.0, host_copy_rate=unlimited, host_rendezvous_s=0.0,
        intra_node_rate=unlimited, intra_node_latency_s=0.0,
    )  # fmt: skip
    return assemble("ideal", [f"h{i}" for i in range(hosts)], hosts, [], common)

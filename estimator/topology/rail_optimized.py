"""Rail-optimised GPU clusters: NIC r of every node on rail r, a fast switch inside each node."""

from __future__ import annotations

import numpy as np

from estimator.topology.fabric import Fabric, Links, assemble
from estimator.topology.settings import check_size, read_settings
from estimator.topology.validate import Section


def build_rail_optimized(section: Section, source: str) -> Fabric:
    """Build `nodes` of `gpus_per_node` GPUs; each GPU is a host (number node·gpus + rail) with its own NIC.

    Traffic inside a node takes its internal switch. Between nodes, a rail's leaf joins the GPUs of that rail;
    traffic between rails crosses a spine or, with no spines, goes through the internal switch of the sending
    node to the GPU on the destination's rail.
    """
    s = read_settings(section, source)
    nodes, gpus, spines, parallel = (section[key] for key in ("nodes", "gpus_per_node", "spines", "links_per_spine"))
    per_leaf = min(section["nodes_per_leaf"] or nodes, nodes)
    leaves_per_rail = -(-nodes // per_leaf)
    if leaves_per_rail > 1 and spines == 0:
        raise section.error(
            "nodes_per_leaf", "spines that join the leaves of a rail",
            f"{nodes} nodes need {leaves_per_rail} leaves per rail: add 'spines', or raise nodes_per_leaf",
        )  # fmt: skip
    hosts, leaves = nodes * gpus, leaves_per_rail * gpus
    check_size(section, 2 * hosts + leaves * spines * parallel)
    host = np.arange(hosts)
    node, rail = np.divmod(host, gpus)
    first_leaf, first_spine = hosts, hosts + leaves
    first_inner = first_spine + spines
    leaf = first_leaf + rail * leaves_per_rail + node // per_leaf
    names = [f"h{i}" for i in range(hosts)]
    suffixes = [""] if leaves_per_rail == 1 else [f".{i}" for i in range(leaves_per_rail)]
    names += [f"rail{r}{suffix}" for r in range(gpus) for suffix in suffixes]
    names += [f"spine{i}" for i in range(spines)]
    names += [f"nvswitch{i}" for i in range(nodes)]
    blocks = [Links("host-rail", host, leaf, s.nic_rate, s.host_latency)]
    if gpus > 1:
        blocks.append(Links("nvlink", host, first_inner + node, section["nvlink"], section["nvlink_latency"]))
    else:
        names = names[:first_inner]
    leaf_end, uplink = np.divmod(np.arange(leaves * spines * parallel), max(spines * parallel, 1))
    spine_end = first_spine + uplink // parallel
    rate = section["uplink_rate"] or s.rate
    blocks.append(Links("rail-spine", first_leaf + leaf_end, spine_end, rate, s.switch_latency))
    structure = {"nodes": nodes, "gpus": gpus, "leaves_per_rail": leaves_per_rail, "spines": spines,
                 "relay": spines == 0 and gpus > 1}  # fmt: skip
    return assemble("rail-optimized", names, hosts, blocks, s.common, structure=structure)

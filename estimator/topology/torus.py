"""Tori and meshes of any number of dimensions."""

from __future__ import annotations

from math import prod

import numpy as np

from estimator.topology.fabric import Fabric, Links, assemble
from estimator.topology.settings import check_size, read_settings
from estimator.topology.validate import Section


def build_torus(section: Section, source: str) -> Fabric:
    """Build a torus, or a mesh (the same without the links that close the rings).

    A ring of two routers has one link, not two. Routers are numbered with the first dimension fastest.
    """
    s = read_settings(section, source)
    kind = section["kind"]
    dims, per_router = section["dims"], section["hosts_per_router"]
    routers = prod(dims)
    hosts = routers * per_router
    check_size(section, hosts + routers * len(dims))
    index = np.arange(routers)
    strides = [prod(dims[:d]) for d in range(len(dims))]
    coordinates = [index // stride % size for stride, size in zip(strides, dims, strict=True)]
    tags = zip(*(c.tolist() for c in coordinates), strict=True)
    names = [f"h{i}" for i in range(hosts)] + ["r" + ".".join(map(str, tag)) for tag in tags]

    blocks = [
        Links(
            "host-router",
            np.arange(hosts),
            hosts + np.arange(hosts) // per_router,
            s.nic_rate,
            s.host_latency,
        )
    ]
    # A router's ports in the order of dimension-order routing: +0, -0, +1, -1, …
    order = [np.full(2 * hosts, -1)]
    for d, (size, stride) in enumerate(zip(dims, strides, strict=True)):
        if size == 1:
            continue
        last = coordinates[d] == size - 1
        keep = ~last if kind == "mesh" or size == 2 else np.ones(routers, bool)
        near = index[keep]
        far = np.where(last, index - (size - 1) * stride, index + stride)[keep]
        blocks.append(Links(f"dim{d}", hosts + near, hosts + far, s.rate, s.switch_latency))
        order.append(np.tile([2 * d, 2 * d + 1], len(near)))
    structure = {"dims": dims, "hosts_per_router": per_router, "wrap": kind == "torus"}
    return assemble(
        kind,
        names,
        hosts,
        blocks,
        s.common,
        structure=structure,
        order=np.concatenate(order).astype(np.int32),
    )

"""Dragonflies: groups of fully connected routers, joined by evenly spread global links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from estimator.topology.fabric import Fabric, Links, assemble
from estimator.topology.settings import check_size, read_settings
from estimator.topology.validate import Section

# A minimal route takes one global link (local, global, local), never two: 3 + 3 > 1 + 3 + 1.
GLOBAL_COST = 3


def build_dragonfly(section: Section, source: str) -> Fabric:
    """Build a dragonfly(a, p, h) of `groups` groups (Kim et al., ISCA 2008)."""
    s = read_settings(section, source)
    a, p, h = section["a"], section["p"], section["h"]
    groups = section["groups"] or a * h + 1
    if groups > a * h + 1:
        raise section.error(
            "groups",
            f"at most a·h+1 = {a * h + 1} groups, so that every two are joined",
            "fewer groups, or larger h",
        )
    routers = groups * a
    hosts = routers * p
    check_size(section, hosts + groups * a * (a - 1) // 2 + routers * h)
    names = [f"h{i}" for i in range(hosts)] + [f"g{g}r{r}" for g in range(groups) for r in range(a)]

    pair_a, pair_b = np.triu_indices(a, 1)
    base = hosts + np.arange(groups)[:, None] * a
    global_a, global_b = _global_links(groups, a, h)

    def latency(key: str) -> float:
        return s.switch_latency if section[key] is None else float(section[key])

    blocks = [
        Links("host-router", np.arange(hosts), hosts + np.arange(hosts) // p, s.nic_rate, s.host_latency),
        Links("local", (base + pair_a).ravel(), (base + pair_b).ravel(),
              section["local_rate"] or s.rate, latency("local_latency")),
        Links("global", hosts + global_a, hosts + global_b,
              section["global_rate"] or s.rate, latency("global_latency"), GLOBAL_COST),
    ]  # fmt: skip
    structure = {"a": a, "p": p, "h": h, "groups": groups}
    return assemble("dragonfly", names, hosts, blocks, s.common, structure=structure)


def _global_links(groups: int, a: int, h: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Routers (numbered over all groups) at the ends of each global link.

    Global port j of a group (on router j // h) leads to the group at distance (j mod (groups-1)) + 1, so
    every two groups get equally many links; the ports left over go to distances that are symmetric around
    the ring, because the two ends see distances d and groups - d.
    """
    if groups == 1:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    ring = groups - 1
    rounds, left = divmod(a * h, ring)
    offsets = [list(range(1, groups)) for _ in range(rounds)]
    if left:
        middle = [groups // 2] if left % 2 and groups % 2 == 0 else []
        sides = list(range(1, 1 + left // 2))
        offsets.append(sorted(sides + middle + [groups - d for d in sides]))
    a_end: list[NDArray[np.int64]] = []
    b_end: list[NDArray[np.int64]] = []
    first_port = 0
    group = np.arange(groups)
    for turn in offsets:
        port = {d: first_port + i for i, d in enumerate(turn)}
        for d in turn:
            near, far = group, (group + d) % groups
            # Each link is seen from both ends; keep it at the lower-numbered group.
            keep = near < far
            a_end.append(near[keep] * a + port[d] // h)
            b_end.append(far[keep] * a + port[groups - d] // h)
        first_port += len(turn)
    from_router, to_router = np.concatenate(a_end), np.concatenate(b_end)
    order = np.lexsort((to_router, from_router))
    return from_router[order], to_router[order]

"""Fat trees: k-ary three-level, leaf–spine, and extended generalised fat trees given level by level."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from estimator.topology.fabric import Fabric, Links, assemble
from estimator.topology.settings import Settings, check_size, read_settings
from estimator.topology.validate import Section

_LEVEL_NAMES = {1: ("switch",), 2: ("leaf", "spine"), 3: ("edge", "agg", "core")}


@dataclass(frozen=True)
class Level:
    """A level of switches: children per switch, and its uplinks (0 parents at the top)."""

    down: int
    parents: int = 0
    parallel: int = 1
    rate: float = 0.0
    latency: float = 0.0


def build_fat_tree(section: Section, source: str) -> Fabric:
    """Build a fat tree from ``k``, from ``leaves`` or from ``levels``."""
    s = read_settings(section, source)
    form = section.require_one(("k", "leaves", "levels"), "the form of the tree")
    own = {
        "k": {"k", "hosts_per_edge", "oversubscription", "uplink_rate"},
        "leaves": {
            "leaves",
            "hosts_per_leaf",
            "spines",
            "links_per_spine",
            "oversubscription",
            "uplink_rate",
        },
        "levels": {"levels"},
    }
    for key in sorted(set().union(*own.values()) - own[form]):
        if section.given(key):
            raise section.error(key, f"only {', '.join(sorted(own[form]))} with '{form}'", f"remove '{key}'")
    levels = {"k": _k_ary, "leaves": _leaf_spine, "levels": _explicit}[form](section, s)
    return _build(section, s, levels, form)


def _k_ary(section: Section, s: Settings) -> list[Level]:
    k = section["k"]
    if k % 2:
        raise section.error("k", "an even number of ports per switch", f"k={k - 1} or k={k + 1}")
    half, rate = k // 2, section["uplink_rate"] or s.rate
    hosts = section["hosts_per_edge"] or half
    if section.given("oversubscription"):
        section.require_one(("oversubscription", "hosts_per_edge"), "how many hosts an edge switch has")
        exact = section["oversubscription"] * half * rate / s.nic_rate
        hosts = _whole(section, "oversubscription", exact, "hosts per edge switch")
    return [
        Level(hosts, half, 1, rate, s.switch_latency),
        Level(half, half, 1, rate, s.switch_latency),
        Level(k),
    ]


def _leaf_spine(section: Section, s: Settings) -> list[Level]:
    hosts, parallel, rate = (
        section["hosts_per_leaf"],
        section["links_per_spine"],
        section["uplink_rate"] or s.rate,
    )
    if hosts is None:
        raise section.error("hosts_per_leaf", "the key 'hosts_per_leaf'", "add 'hosts_per_leaf: 16'")
    spines = section["spines"]
    if section.require_one(("spines", "oversubscription"), "the capacity above the leaves") == "oversubscription":
        if section["oversubscription"] == 0:
            raise section.error("oversubscription", "a ratio above 0, such as 2")
        exact = hosts * s.nic_rate / (section["oversubscription"] * rate * parallel)
        spines = _whole(section, "oversubscription", exact, "spines")
    return [Level(hosts, spines, parallel, rate, s.switch_latency), Level(section["leaves"])]


def _explicit(section: Section, s: Settings) -> list[Level]:
    levels: list[Level] = []
    entries = section["levels"]
    down_rate, down_links = s.nic_rate, 1
    for number, entry in enumerate(entries, 1):
        top = number == len(entries)
        rate, latency = entry["rate"] or s.rate, entry["latency"]
        latency = s.switch_latency if latency is None else latency
        if top:
            for key in ("oversubscription", "rate", "latency"):
                if entry.given(key):
                    raise entry.error(key, "no uplinks at the top level", f"remove '{key}'")
            if entry["up"]:
                raise entry.error("up", "0 at the top level", "add a level above it, or remove 'up'")
            levels.append(Level(entry["down"]))
            break
        form = entry.require_one(("up", "oversubscription"), f"the uplinks of level {number}")
        if form == "up":
            up = entry["up"]
        else:
            if entry["oversubscription"] == 0:
                raise entry.error("oversubscription", "a ratio above 0, such as 2")
            exact = entry["down"] * down_links * down_rate / (entry["oversubscription"] * rate)
            up = _whole(entry, "oversubscription", exact, "uplinks")
        if up == 0 or up % entry["parallel"]:
            raise entry.error(
                form, f"a positive multiple of parallel={entry['parallel']} uplinks", found=f"{up} uplinks"
            )
        levels.append(Level(entry["down"], up // entry["parallel"], entry["parallel"], rate, latency))
        down_rate, down_links = rate, entry["parallel"]
    return levels


def _whole(section: Section, key: str, exact: float, what: str) -> int:
    number = round(exact)
    if number < 1 or abs(exact - number) > 1e-6 * max(1.0, exact):
        raise section.error(key, f"a ratio that gives a whole number of {what}", f"this one gives {exact:.4g} {what}")
    return number


def _build(section: Section, s: Settings, levels: list[Level], form: str) -> Fabric:
    """Lay out the tree: switch (t, y) of level i is in subtree t and is its y-th switch.

    A level-i switch y has the parents y·w + c, c < w, in the subtree t // m of level i+1 (Öhring et al.,
    On generalized fat trees, 1995), so hosts of one leaf, leaves of one pod, … have consecutive numbers.
    """
    down = [level.down for level in levels]
    hosts = prod(down)
    trees = [prod(down[i + 1 :]) for i in range(len(levels))]
    width = [prod(level.parents for level in levels[:i]) for i in range(len(levels))]
    counts = [t * w for t, w in zip(trees, width, strict=True)]
    link_counts = [n * lv.parents * lv.parallel for n, lv in zip(counts, levels, strict=True)]
    check_size(section, hosts + sum(link_counts))

    labels = _LEVEL_NAMES.get(len(levels)) or tuple(f"l{i + 1}_" for i in range(len(levels)))
    names = [f"h{i}" for i in range(hosts)]
    first = []
    for label, count in zip(labels, counts, strict=True):
        first.append(len(names))
        names += [f"{label}{i}" for i in range(count)]
    short = [label.rstrip("_") for label in labels]
    leaf_of_host = first[0] + np.arange(hosts) // down[0]
    blocks = [Links(f"host-{short[0]}", np.arange(hosts), leaf_of_host, s.nic_rate, s.host_latency)]
    for i, level in enumerate(levels[:-1]):
        switch, parent = np.divmod(np.arange(counts[i] * level.parents), level.parents)
        tree, y = np.divmod(switch, width[i])
        upper = tree // down[i + 1] * width[i + 1] + y * level.parents + parent
        a = np.repeat(first[i] + switch, level.parallel)
        b = np.repeat(first[i + 1] + upper, level.parallel)
        blocks.append(Links(f"{short[i]}-{short[i + 1]}", a, b, level.rate, level.latency))
    structure = {"form": form, "down": tuple(down), "up": tuple(level.parents for level in levels[:-1]),
                 "parallel": tuple(level.parallel for level in levels[:-1])}  # fmt: skip
    if form == "k":
        structure["k"] = section["k"]
    return assemble("fat-tree", names, hosts, blocks, s.common, structure=structure)

"""Write the pages that are made from the code: `python docs/build.py` (a test checks that they are up to date)."""

from __future__ import annotations

from pathlib import Path

from estimator.collectives import ALGORITHMS
from estimator.topology.rules import RULES_OF_KIND
from estimator.topology.schema import schema_rows

HERE = Path(__file__).parent

TOPOLOGIES = """# Topology files

Every rate, time and size carries its unit (`400Gb/s`, `50GB/s`, `300ns`, `4MiB`); a bare number is refused, and so is
a key that does not exist. `configs/` has one commented file of each kind.

On the command line a shorthand does for most: `single-switch:hosts=64`, `fat-tree:k=8`,
`leaf-spine:leaves=4,hosts=8,spines=4`, `dragonfly:a=4,p=2,h=2`, `torus:8x8x4`, `mesh:4x4`,
`rail-optimized:nodes=16,gpus=8`, and `ideal`, the network without latency or limit of bandwidth.

Routes are worked out for the pairs of hosts that talk. `d-mod-k` takes the digits of the destination's number,
`ecmp` hashes source and destination with a seed, `spray` uses all shortest paths alike (ideal adaptive routing),
`minimal` and `valiant` are those of dragonflies, `dor` goes dimension by dimension.
"""

COLLECTIVES = """# Collectives

A trace says which collective was called; what goes over the network depends on the algorithm. `congest` takes the
one that Open MPI 4.1 and 5.0 choose by themselves for the number of ranks and the size (`--openmpi 4.1|5.0|main`),
and the result names it and the rule. `--collective allreduce=ring` forces another, by name or number (`bcast` and
`broadcast` are the same). Where that cannot run, such as a ring with fewer elements than ranks, another does as in
Open MPI: the result counts such calls under *Assumed*, and `algorithm_reason` in the JSON says why.

A reduction is taken to have elements of 4 bytes where its size is a multiple of 4, else of 1 byte. Where the members'
sizes differ, gather, scatter and allgather are their v-variants; an AlltoAll that gives totals is an alltoallv.
Calls without bytes send nothing. A message up to `eager_limit_bytes` is sent at once; a larger one keeps its sender
until it has arrived.

| collective | number | algorithm | Open MPI |
| --- | --- | --- | --- |
"""


def topologies() -> str:
    """The page of topology files."""
    parts = [TOPOLOGIES, "\n## Keys of every kind\n", keys(None)]
    for kind, rules in RULES_OF_KIND.items():
        if kind != "ideal":
            parts.append(f"\n## {kind}\n\nRouting: {', '.join(f'`{rule}`' for rule in rules)}.\n")
            parts.append(keys(kind))
    return "".join(parts)


def keys(kind: str | None) -> str:
    """Table of the keys of a kind, or of those that all have."""
    rows = []
    for key, value_type, default, source, meaning in schema_rows(kind):
        note = f" ({source})" if source else ""
        rows.append(f"| `{key}` | {value_type.replace(' | ', ', ')} | {default} | {meaning}{note} |\n")
    return "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n" + "".join(rows)


def collectives() -> str:
    """The page of collective algorithms."""
    rows = [
        f"| {op} | {algorithm.id} | {algorithm.name} | {', '.join(algorithm.versions)} |\n"
        for op, algorithms in ALGORITHMS.items()
        for algorithm in algorithms
    ]
    return COLLECTIVES + "".join(rows)


PAGES = {"topologies.md": topologies, "collectives.md": collectives}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")

"""The spread over ECMP hashes: the same workload with many seeds, and the exact law of collisions on leaf uplinks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from estimator.estimate import Estimate, EstimateError, Options, estimate
from estimator.formulas.collisions import busiest_path_cdf
from estimator.topology import Fabric, routes
from estimator.topology.rules import check_rule
from estimator.workload import Collective
from vef import Trace

# Routing rules that draw by a hash of the seed.
HASHED = ("ecmp", "valiant")


@dataclass(frozen=True)
class Collisions:
    """Flows of one round of a collective that meet on the uplinks of the leaves, under a random hash.

    Attributes
    ----------
    round : int, the round with the most flows per uplink
    flows, uplinks : int, of its busiest leaf
    here : int, flows on the busiest uplink with the seed at hand
    mean : float, on average over all hashes (F12)
    p95 : int, what 95 in 100 hashes do not exceed (F12)
    """

    round: int
    flows: int
    uplinks: int
    here: int
    mean: float
    p95: int


@dataclass(frozen=True, eq=False)
class HashSpread:
    """Results by seed.

    Attributes
    ----------
    seeds : int64[seeds]
    makespan_s : float64[seeds]
    latency_s : float64[seeds, collectives]
    collisions : one entry per kind of collective call; None where the law does not apply
    """

    seeds: NDArray[np.int64]
    makespan_s: NDArray[np.float64]
    latency_s: NDArray[np.float64]
    collisions: tuple[Collisions | None, ...]


def estimate_over_hashes(
    traces: Sequence[Trace],
    fabric: Fabric,
    options: Options,
    count: int,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Estimate with `count` seeds, from the one of the options on, all cores at work; the first is the one reported.

    Raises
    ------
    EstimateError
        Where routing does not hash, besides all that `estimator.estimate.estimate` raises.
    """
    rule = check_rule(fabric.kind, options.routing or fabric.routing, fabric.source, None)
    if rule not in HASHED:
        raise EstimateError(
            f"--ecmp-seeds: found routing {rule}, which does not hash; expected {' or '.join(HASHED)}; "
            "add --routing ecmp"
        )
    first_seed = fabric.seed if options.seed is None else options.seed
    first = estimate(traces, fabric, replace(options, seed=first_seed), progress=progress)

    def with_seed(seed: int) -> tuple[float, NDArray[np.float64]]:
        return _outcome(estimate(traces, fabric, replace(options, seed=seed)))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        others = list(pool.map(with_seed, range(first_seed + 1, first_seed + count)))
    outcomes = [_outcome(first), *others]
    spread = HashSpread(
        seeds=first_seed + np.arange(count),
        makespan_s=np.array([makespan for makespan, _ in outcomes]),
        latency_s=np.array([latency for _, latency in outcomes]),
        collisions=tuple(
            collisions(call, first.fabric, first.workload.host_of, rule, first_seed) for call in first.workload.calls
        ),
    )
    return replace(first, hashes=spread)


def _outcome(result: Estimate) -> tuple[float, NDArray[np.float64]]:
    instances = result.replay.instances
    return result.makespan_s, instances["finish"] - instances["start"]


def collisions(
    call: Collective, fabric: Fabric, host_of: NDArray[np.int32], rule: str, seed: int
) -> Collisions | None:
    """Law of the busiest leaf uplink over all hashes, for the round that loads the uplinks most.

    Every leaf hashes by itself, so the chance that no uplink of any leaf has more than c flows is the product of
    the leaves' own (F12). A flow is a pair of hosts; those of a round count as equal.

    Returns
    -------
    None where there is no choice (one switch, one uplink), no hash of its own at the leaf (not a fat-tree), or no
    round in which two flows leave the same leaf.
    """
    if fabric.kind != "fat-tree" or rule != "ecmp":
        return None
    schedule = call.expansion.schedule
    host = host_of[call.tasks].astype(np.int64)
    nic = fabric.out_ports[fabric.out_ptr[: fabric.host_count]]
    leaf = fabric.port_to[nic].astype(np.int64)
    src, dst = host[schedule.src], host[schedule.dst]
    up = leaf[src] != leaf[dst]
    if not up.any():
        return None
    flow = np.unique(np.stack([schedule.round[up], leaf[src[up]], src[up], dst[up]], axis=1), axis=0)
    place, counts = np.unique(flow[:, :2], axis=0, return_counts=True)
    choices = np.array([_uplinks(fabric, int(switch)) for switch in place[:, 1]])
    busiest = int(np.argmax(counts / choices))
    if counts[busiest] < 2 or choices[busiest] < 2:
        return None
    round_ = int(place[busiest, 0])
    law = np.ones(1)
    for flows, paths in zip(counts[place[:, 0] == round_], choices[place[:, 0] == round_], strict=True):
        own = busiest_path_cdf(int(flows), int(paths))
        length = max(law.size, own.size)
        law = np.pad(law, (0, length - law.size), constant_values=1.0) * np.pad(
            own, (0, length - own.size), constant_values=1.0
        )
    pairs = flow[flow[:, 0] == round_]
    found = routes(fabric, pairs[:, 2], pairs[:, 3], rule, seed)
    return Collisions(
        round=round_,
        flows=int(counts[busiest]),
        uplinks=int(choices[busiest]),
        here=int(np.bincount(found.ports[found.ptr[:-1] + 1]).max()),
        mean=float((1.0 - law).sum()),
        p95=int(np.searchsorted(law, 0.95)),
    )


def _uplinks(fabric: Fabric, switch: int) -> int:
    """Output ports of a leaf that lead away from the hosts."""
    out = fabric.out_ports[fabric.out_ptr[switch] : fabric.out_ptr[switch + 1]]
    return int((fabric.tier[fabric.port_to[out]] > fabric.tier[switch]).sum())

"""Hash collisions: how many of k equal flows a random hash puts on the busiest of m paths (F12).

P(max ≤ c) = k!/m^k · [z^k](Σ_{j≤c} z^j/j!)^m.

Validity: every flow is hashed independently and evenly; a real hash with few entropy bits collides more.
Source: occupancy by exponential generating functions (Flajolet and Sedgewick). Checked:
test_formulas_collisions (all m^k placements enumerated, golden means).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_CERTAIN = 1e-15


def busiest_path_cdf(flows: int, paths: int) -> NDArray[np.float64]:
    """P(busiest path carries at most c flows) for c = 0, 1, …, up to where it is 1 in double precision."""
    cdf: list[float] = []
    while not cdf or cdf[-1] < 1 - _CERTAIN:
        c = len(cdf)
        cdf.append(_at_most(flows, paths, c) if c < flows else 1.0)
    return np.asarray(cdf)


def _at_most(flows: int, paths: int, most: int) -> float:
    # Poisson counts given their sum are the occupancy law, and keep all terms within double precision.
    mean = flows / paths
    one_path = np.array([math.exp(j * math.log(mean) - mean - math.lgamma(j + 1)) for j in range(most + 1)])
    total, power, exponent = np.ones(1), one_path, paths
    while exponent:
        if exponent & 1:
            total = np.convolve(total, power)[: flows + 1]
        exponent >>= 1
        if exponent:
            power = np.convolve(power, power)[: flows + 1]
    if total.size <= flows:
        return 0.0
    all_paths = math.exp(flows * math.log(flows) - flows - math.lgamma(flows + 1))
    return min(float(total[flows]) / all_paths, 1.0)


def busiest_path_mean(flows: int, paths: int) -> float:
    """Mean number of flows on the busiest path, so the mean slowdown of the last of equal flows."""
    return math.fsum(1.0 - busiest_path_cdf(flows, paths))


def busiest_path_quantile(flows: int, paths: int, probability: float) -> int:
    """Smallest c with P(busiest path carries at most c flows) ≥ probability, for a band over hash seeds."""
    if not 0 < probability < 1:
        raise ValueError(f"a quantile needs 0 < probability < 1; found {probability:g}")
    return int(np.searchsorted(busiest_path_cdf(flows, paths), probability, side="left"))


def no_collision_probability(flows: int, paths: int) -> float:
    """Probability that no two flows share a path: m!/((m−k)!·m^k), zero for more flows than paths."""
    return math.prod((paths - i) / paths for i in range(flows)) if flows <= paths else 0.0

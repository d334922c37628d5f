"""Waits behind random background traffic: mean, spread and quantile (F2, F3, F10)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from estimator.formulas import gamma
from estimator.formulas.values import Result, Values, as_array, as_given

# Above this load a wait is taken as at it; a port that background alone saturates queues in the replay anyway.
MOST_LOAD = 0.99


class Wait(NamedTuple):
    """Wait of an arrival, and what comes in beside it.

    Attributes
    ----------
    mean_s, variance_s2 : float
    bound_s : float
        What it cannot exceed, inf for no limit.
    share : float
        Service that background asks for while a long arrival comes in, s per s.
    spread_s : float
        Variance of that, s² per s.
    """

    mean_s: float
    variance_s2: float
    bound_s: float
    share: float
    spread_s: float


NO_WAIT = Wait(0.0, 0.0, 0.0, 0.0, 0.0)


def observed_wait(
    rho: float, unit_s: float, cv_sq: float = 1.0, burst: int = 0, peak: float = np.inf, own_rho: float = 0.0
) -> Wait:
    """Wait of a random arrival at a port whose background has load rho.

    Random arrivals, mean: (ρ (1 + (c²−1) p) + ρ_own) τ / (2 (1 − ρ − ρ_own)). With p = 1 this is M^[X]/D/1 as an
    arrival from outside sees it (Pollaczek–Khinchine with batches; c² = 1 is M/D/1). Bursts that arrive at `peak` = h
    times the port's rate, not at one instant, count p = (h−1)/(h−ρ): the mean content of a fluid queue with one
    exponential on/off source, E[V] = ρ T_on (h−1)(h−ρ)/(h(1−ρ)), and c² = 1 + 2 h T_on/τ (1−ρ/h)² of its arrivals.
    Second moment (Takács): E[W²] = 2 E[W]² (1 + κ (1−ρ)/ρ), κ = ⅔ E[S³] E[S] / E[S²]² of what arrives at once: ⅔ for
    single packets, (6m²−6m+1)/(2m−1)² of that for geometric batches of mean m = (c²+1)/2.

    Periodic bursts of n units: the work there is spread evenly over 0 … nτ for a share ρ of the time, so the mean is
    ρ n τ / 2, the second moment ρ (nτ)² / 3 and the bound nτ (exact for ρ < 1).

    What comes in during a time t is ρ t of service on average, with variance ρ τ c² t (the index of dispersion of a
    renewal process is its c²; Cox and Lewis 1966), none to speak of for periodic bursts.

    Parameters
    ----------
    rho : load of the background, below 1
    unit_s : time that the port serves one unit, τ
    cv_sq : squared coefficient of variation of the times between arrivals
    burst : 0 for random arrivals; n for n units at once every period
    peak : rate while it is on, in multiples of the port's; inf for batches at one instant
    own_rho : load of the observer's own traffic, where that is random too
    """
    if rho <= 0.0 and own_rho <= 0.0:
        return NO_WAIT
    if burst:
        longest = burst * unit_s
        return Wait(rho * longest / 2.0, rho * longest**2 / 3.0 - (rho * longest / 2.0) ** 2, longest, rho, 0.0)
    total = min(rho + own_rho, MOST_LOAD)
    spread = 1.0 if np.isinf(peak) else (peak - 1.0) / (peak - rho)
    mean = (rho * (1.0 + (cv_sq - 1.0) * spread) + own_rho) * unit_s / (2.0 * (1.0 - total))
    batch = max((cv_sq + 1.0) / 2.0, 1.0)
    shape = 2.0 / 3.0 * (6.0 * batch**2 - 6.0 * batch + 1.0) / (2.0 * batch - 1.0) ** 2
    return Wait(mean, mean**2 * (1.0 + 2.0 * shape * (1.0 - total) / total), np.inf, rho, rho * unit_s * cv_sq)


def quantile(mean_s: Values, variance_s2: Values, bound_s: Values, share: float) -> Result:
    """Value that a sum of independent waits exceeds with probability 1 − share, s.

    The gamma distribution with the mean and the variance of the sum, cut off at the bound: exact for exponential
    waits, within 15 % for the waits of an M/D/1 queue (tightest at high load).

    Validity: independent waits; no less than the mean, since the chance of no wait at all is part of a gamma's peak
    at zero. Checked: test_formulas_random_wait (simulated queues).
    """
    mean, variance = as_array(mean_s), as_array(variance_s2)
    random = (mean > 0.0) & (variance > 0.0)
    shape = np.where(random, mean**2 / np.where(random, variance, 1.0), 1.0)
    scale = np.where(random, variance / np.where(random, mean, 1.0), 0.0)
    value = np.maximum(gamma.quantile(shape, share) * scale, mean)
    return as_given(np.minimum(np.where(random, value, mean), np.maximum(bound_s, mean)))

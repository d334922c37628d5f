"""Waits behind sources that are not random: synchronised (F4), or periodic with random phases (F5)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from estimator.formulas.values import Result, Values, as_array, as_given

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_BLOCK = 16  # unit intervals that are integrated at a time
_NEGLIGIBLE = 1e-12


def synchronised_mean_wait(sources: Values, service_s: Values) -> Result:
    """Mean wait when n equal messages reach an empty port at once, s: (n−1)τ/2, at any load.

    Validity: exact as long as nτ is no longer than the period. Source (F4): arithmetic; checked by
    test_formulas_periodic (queue replayed message by message).
    """
    return as_given((as_array(sources) - 1) * service_s / 2)


def synchronised_last_finish(sources: Values, service_s: Values) -> Result:
    """Time from the common start until the last of n equal messages is through, s: nτ (F4)."""
    return as_given(as_array(sources) * service_s)


def periodic_wait_tail(wait_in_services: Values, sources: int, rho: float) -> Result:
    """Probability that a packet of one of n periodic sources waits longer than x services (nD/D/1).

    P(V>x) = Σ_{x<k≤N} C(N,k) ((k−x)/D)^k (1−(k−x)/D)^{N−k} (D−N+x)/(D−k+x), N = n−1, D = n/ρ.

    Parameters
    ----------
    wait_in_services : float or array
        x ≥ 0, in units of the service time.
    sources : int
        n ≥ 1.
    rho : float
        Load of all sources, 0 < ρ ≤ 1.

    Raises
    ------
    ValueError
        For a load outside 0…1: periodic sources above the capacity have no steady state.

    Notes
    -----
    Validity: one common period, phases independent and uniform. Source (F5): Eckberg 1979; Roberts and
    Virtamo 1991. Checked: test_formulas_periodic (simulated phases).
    """
    if not 0 < rho <= 1:
        raise ValueError(f"the load of periodic sources must lie in 0 < rho <= 1; found {rho:g}")
    others, period = sources - 1, sources / rho
    x = as_array(wait_in_services)[..., None]
    k = np.arange(1, others + 1, dtype=np.float64)
    ahead = k - x
    share = np.where(ahead > 0, ahead / period, 0.5)
    log_terms = _log_binomials(others) + k * np.log(share) + (others - k) * np.log1p(-share)
    terms = np.exp(log_terms) * (period - others + x) / (period - k + x)
    return as_given(np.where(ahead > 0, terms, 0.0).sum(axis=-1))


def _log_binomials(n: int) -> NDArray[np.float64]:
    log_factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    return (log_factorials[n] - log_factorials - log_factorials[::-1])[1:]


def periodic_mean_wait(sources: int, rho: float, service_s: float) -> float:
    """Mean wait of n periodic sources with random phases, s: τ ∫ P(V>x) dx of `periodic_wait_tail`.

    Arguments, validity and source as there. Checked: test_formulas_periodic (golden values, simulation).
    """
    total = 0.0
    # The tail is a polynomial quotient between two integers, and only there: integrate piece by piece.
    for first in range(0, sources - 1, _BLOCK):
        starts = np.arange(first, min(first + _BLOCK, sources - 1), dtype=np.float64)
        tail = periodic_wait_tail(starts[:, None] + (_NODES + 1) / 2, sources, rho)
        part = math.fsum((tail * _WEIGHTS / 2).ravel())
        total += part
        if part < _NEGLIGIBLE * total:
            break
    return total * service_s

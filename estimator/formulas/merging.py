"""What merging does to waits: variability through a network of queues, trees, and the law of one port."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from estimator.formulas.queueing import batch_first_wait, md1_wait
from estimator.formulas.values import Result, Values, as_array, as_given


def departure_cv_sq(rho: Values, arrival_cv_sq: Values, service_cv_sq: Values = 0.0) -> Result:
    """c_d² of the departures of a queue: ρ²c_s² + (1−ρ²)c_a².

    Validity: renewal approximation; exact for Poisson arrivals, 15–24 % high at c_a² = 4. Departures of one
    queue are correlated, which a single c² does not show. Source (F8): Whitt 1983 (QNA).
    Checked: test_formulas_merging (golden values; simulated M/D/1 departures).
    """
    busy = as_array(rho) ** 2
    return as_given(busy * service_cv_sq + (1 - busy) * arrival_cv_sq)


def split_cv_sq(probability: Values, cv_sq: Values) -> Result:
    """c² of a stream of which each arrival is kept with probability p: pc² + 1 − p.

    Validity: exact for renewal streams and independent choices (not for round-robin). Source (F8): Whitt
    1983. Checked: test_formulas_merging (simulated thinning).
    """
    kept = as_array(probability)
    return as_given(kept * cv_sq + 1 - kept)


def merged_cv_sq(rates: Sequence[float] | Values, cv_sqs: Sequence[float] | Values, rho: float) -> float:
    """c² of several streams merged in front of a queue of load ρ.

    1 − w + wΣ(λ_i/λ)c_i², with w = 1/(1+4(1−ρ)²(v−1)) and v = 1/Σ(λ_i/λ)².

    Validity: a fitted approximation, for independent streams. Source (F8): Whitt 1983; Albin 1984.
    Checked: test_formulas_merging (limits only: one stream, Poisson streams, many streams at low load).
    """
    shares = as_array(rates) / as_array(rates).sum()
    spread = 1 / (shares**2).sum()
    weight = 1 / (1 + 4 * (1 - rho) ** 2 * (spread - 1))
    return float(1 - weight + weight * (shares * as_array(cv_sqs)).sum())


def _excess(total: Result, parts: NDArray[np.float64], shares: NDArray[np.float64]) -> Result:
    # A rounding error must not turn the zero of a single ingress into a negative wait.
    return max(float(total - (shares * parts).sum()), 0.0) if shares.size else float(total)


def tree_hop_wait(ingress_rhos: Sequence[float] | Values, service_s: float) -> float:
    """Mean wait that one hop of a merging tree adds, s: W(ρ) − Σ(ρ_i/ρ)W(ρ_i), W of M/D/1, ρ = Σρ_i.

    Parameters
    ----------
    ingress_rhos : sequence of float
        Load ρ_i that each ingress link brings to this output port, as a share of the port's capacity; a
        link that comes from a host with Poisson packets brings them without a wait and must be listed as
        many small ones, or not at all (then the whole W(ρ) counts).
    service_s : float
        Time of one packet τ, s, equal at every hop.

    Returns
    -------
    float
        Zero for a single ingress; summed over all hops of a tree, M/D/1 at its root.

    Notes
    -----
    Validity: single packets of one size, equal links, Poisson sources at the leaves. Adding a whole M/D/1
    at each hop instead is 54 % high at ρ = 0.5. Source (F9): Morrison 1978; Modiano, Wieselthier and
    Ephremides 1996. Checked: test_formulas_merging (packet simulation of a binary tree).
    """
    loads = as_array(ingress_rhos)
    rho = float(loads.sum())
    if not 0 < rho < 1:
        return 0.0 if rho <= 0 else float("inf")
    return _excess(md1_wait(rho, service_s), as_array(md1_wait(loads, service_s)), loads / rho)


def tree_wait(root_rho: Values, service_s: Values) -> Result:
    """Mean wait of a packet over all hops of a merging tree, s: M/D/1 at the root (F9, see `tree_hop_wait`)."""
    return md1_wait(root_rho, service_s)


def port_wait(
    packets: Values, ingress_rhos: Sequence[float] | Values, service_s: float, batch_ratio: float
) -> Result:
    """Mean wait of a message of x packets at a port where line-rate trains of packets merge.

    W(x) = [B(ρ) − Σ(ρ_i/ρ)B(ρ_i)] · [ρ + (1−ρ)(2x−1)/a], with B(r) = r·a·τ/(2(1−r)) and ρ = Σρ_i.

    Parameters
    ----------
    packets : float or array
        x ≥ 1.
    ingress_rhos : sequence of float
        Load that each ingress link brings to the port.
    service_s : float
        Time of one packet τ, s.
    batch_ratio : float
        a = E[X²]/E[X] of the message sizes X in packets.

    Returns
    -------
    float or array
        Mean wait, s; zero for a single ingress, infinite from ρ = 1 on.

    Notes
    -----
    Validity: trains at line rate over several ingress links, Poisson message starts, steady state. One
    packet ±0.8 %, one size −2…+8 %, unequal loads −2…+13 %, mixed sizes −25…+15 %.
    Source (F10): a fit to simulations, not validated on hardware. Checked: test_formulas_merging (limits:
    single packets of one size are F9, one ingress is zero); the fit itself was not simulated again.
    """
    loads = as_array(ingress_rhos)
    rho, sizes = float(loads.sum()), as_array(packets)
    if not 0 < rho < 1:
        return as_given(np.full(sizes.shape, 0.0 if rho <= 0 else np.inf))
    parts = as_array(batch_first_wait(loads, service_s, batch_ratio))
    added = _excess(batch_first_wait(rho, service_s, batch_ratio), parts, loads / rho)
    return as_given(added * (rho + (1 - rho) * (2 * sizes - 1) / batch_ratio))


def slotted_merge_wait(ingress_rhos: Sequence[float] | Values, service_s: float) -> float:
    """Mean wait where slotted inputs merge into one output, s: τ(ρ²−Σρ_i²)/(2ρ(1−ρ)), ρ = Σρ_i.

    Validity: time in slots of one packet; each input brings a packet in a slot with probability ρ_i,
    independent of all else. Exact. For n equal inputs the wait is (n−1)/n of M/D/1's.
    Source (F15): Karol, Hluchyj and Morgan 1987. Checked: test_formulas_merging (golden, simulation).
    """
    loads = as_array(ingress_rhos)
    rho = float(loads.sum())
    if not 0 < rho < 1:
        return 0.0 if rho <= 0 else float("inf")
    return max(float(rho**2 - (loads**2).sum()), 0.0) / (2 * rho * (1 - rho)) * service_s

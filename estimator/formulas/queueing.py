"""Mean waits at one port that random arrivals share: steady state, finite steps, slowest of several ranks.

Queueing formulas are no lower bound on a wait: sources that are periodic or synchronised wait less than
they say, see `estimator.formulas.periodic`.
"""

from __future__ import annotations

import numpy as np

from estimator.formulas.values import Result, Values, as_array, as_given

_EULER_GAMMA = 0.5772156649015329


def kingman_wait(rho: Values, service_s: Values, arrival_cv_sq: Values, service_cv_sq: Values = 0.0) -> Result:
    """Mean wait of a G/G/1 queue, approximately.

    W ≈ ρ/(1−ρ) · (c_a²+c_s²)/2 · τ · g, with g = exp(−2(1−ρ)(1−c_a²)² / (3ρ(c_a²+c_s²))) for c_a² < 1
    and g = 1 otherwise. Infinite from ρ = 1 on.

    Parameters
    ----------
    rho : float or array
        Offered load.
    service_s : float or array
        Mean service time τ of one queueing unit, s.
    arrival_cv_sq, service_cv_sq : float or array
        c_a² and c_s².

    Returns
    -------
    float or array
        Mean wait in queue, s.

    Notes
    -----
    Validity: renewal arrivals, ρ ≥ 0.7. Exact for Poisson arrivals at any ρ, where it is M/G/1. With constant
    service and c_a² = 4 it depends on more than c_a² how far off it is: for on/off sources at four times
    the link rate −59, −38, −20 and −5 % at ρ = 0.3, 0.5, 0.7 and 0.9, for geometric batches −64, −43, −24
    and −8 %, but for hyperexponential gaps with balanced means +97, +51, +17 and 0 %.
    Source (F3): Kingman 1961; factor: Krämer and Langenbach-Belz 1976.
    Checked: test_formulas_queueing (exact cases; replayed queues for c_a² = 4 and 0.25).
    """
    load, arrival, total = as_array(rho), as_array(arrival_cv_sq), as_array(arrival_cv_sq) + service_cv_sq
    idle = np.maximum(1 - load, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        damping = np.exp(-2 * idle * (1 - arrival) ** 2 / (3 * load * total))
        wait = load / idle * total / 2 * np.where(arrival < 1, damping, 1.0)
    wait = np.where(load <= 0, 0.0, np.where(load < 1, np.where(total > 0, wait, 0.0), np.inf))
    return as_given(wait * service_s)


def kingman_upper_bound(rho: Values, service_s: Values, arrival_cv_sq: Values, service_cv_sq: Values = 0.0) -> Result:
    """Upper bound on the mean wait of a G/G/1 queue, s: τ(c_a²/ρ + ρc_s²) / (2(1−ρ)).

    Validity: renewal arrivals, 0 < ρ < 1. Source (F3): Kingman 1962 (the bound is λ(σ_a²+σ_s²)/(2(1−ρ))).
    Checked: test_formulas_queueing (never below simulated waits).
    """
    load = as_array(rho)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = (as_array(arrival_cv_sq) / load + load * service_cv_sq) / (2 * (1 - load))
    return as_given(np.where(load < 1, bound, np.inf) * service_s)


def mg1_wait(rho: Values, service_s: Values, service_cv_sq: Values) -> Result:
    """Mean wait of an M/G/1 queue, s: λE[S²]/(2(1−ρ)) = ρτ(1+c_s²)/(2(1−ρ)).

    Validity: Poisson arrivals, steady state; infinite from ρ = 1 on. Source (F1): Pollaczek–Khinchine.
    Checked: test_formulas_queueing (replayed queue with constant, uniform and exponential service).
    """
    return kingman_wait(rho, service_s, 1.0, service_cv_sq)


def md1_wait(rho: Values, service_s: Values) -> Result:
    """Mean wait of an M/D/1 queue, s: ρτ/(2(1−ρ)), which is `mg1_wait` with c_s² = 0 (F1)."""
    return mg1_wait(rho, service_s, 0.0)


def mm1_wait(rho: Values, service_s: Values) -> Result:
    """Mean wait of an M/M/1 queue, s: ρτ/(1−ρ), which is `mg1_wait` with c_s² = 1 (F1)."""
    return mg1_wait(rho, service_s, 1.0)


def batch_wait(rho: Values, service_s: Values, batch_ratio: Values) -> Result:
    """Mean wait of any packet of a batch, M^[X]/D/1, s: τ(a−1+ρ)/(2(1−ρ)).

    Parameters
    ----------
    rho : float or array
        Offered load.
    service_s : float or array
        Time of one packet τ, s.
    batch_ratio : float or array
        a = E[X²]/E[X] of the batch size X in packets; for batches of one size, that size.

    Notes
    -----
    Validity: the packets of a batch arrive at once (line-rate trains wait less, see
    `estimator.formulas.merging.port_wait`), batch starts are Poisson, steady state.
    Source (F2): M^[X]/G/1, in queueing textbooks. Checked: test_formulas_queueing (simulation).
    """
    load = as_array(rho)
    with np.errstate(divide="ignore"):
        wait = (as_array(batch_ratio) - 1 + load) / (2 * np.maximum(1 - load, 0))
    return as_given(wait * service_s)


def batch_first_wait(rho: Values, service_s: Values, batch_ratio: Values) -> Result:
    """Mean wait of the first packet of a batch, M^[X]/D/1, s: ρaτ/(2(1−ρ)).

    Arguments, validity and source as `batch_wait`. Checked: test_formulas_queueing (simulation).
    """
    return as_given(as_array(md1_wait(rho, service_s)) * batch_ratio)


def finite_step_wait(
    steady_wait_s: Values, rho: Values, service_s: Values, step_s: Values, variability: Values = 1.0
) -> Result:
    """Mean wait at the end of a step that finds the port empty.

    V(t) ≈ (V_∞^−2 + π/(2ρvτt))^−½. From ρ = 1 on, where V_∞ is infinite, the larger of this and the fluid
    growth (ρ−1)t: the fluid term alone would fall to zero at ρ = 1, below the wait just under it.

    Parameters
    ----------
    steady_wait_s : float or array
        V_∞, s; what it is from ρ = 1 on is not looked at.
    rho : float or array
        Offered load during the step.
    service_s, step_s : float or array
        Time of one queueing unit τ and length of the step t, s.
    variability : float or array
        v = c_a² + c_s²; 1 for M/D/1.

    Notes
    -----
    Validity: M/D/1 within about −4…+19 %; up to a third low just above ρ = 1. Other v follow from the
    same diffusion argument (a reflected Brownian motion of variance ρvτ a second) and were not checked.
    Source (F6): interpolation between both limits. Checked: test_formulas_queueing (simulation).
    """
    load, steady = as_array(rho), as_array(steady_wait_s)
    with np.errstate(divide="ignore"):
        grown = np.pi / (2 * load * variability * service_s * step_s)
        settled = np.where(load < 1, steady**-2.0, 0.0)
        fluctuation = (settled + grown) ** -0.5
    return as_given(np.maximum(fluctuation, (load - 1) * step_s))


def slowest_wait(ranks: Values, rho: Values, service_s: Values) -> Result:
    """Mean of the longest of n independent M/D/1 waits.

    E[max] ≈ (ln(nA) + 0.577)/θ · τ with ρ(e^θ−1) = θ and A = (1−ρ)/(ρe^θ−1); never below the mean wait.

    Parameters
    ----------
    ranks : float or array
        n, ranks that the step waits for.
    rho : float or array
        Offered load, 0 < ρ < 1.
    service_s : float or array
        Time of one packet τ, s.

    Notes
    -----
    Validity: n ≥ 8 or so (exponential tail of the wait, Gumbel limit of its maximum), independent ranks.
    Source (F7): Cramér–Lundberg asymptotics of the M/D/1 wait, extreme-value theory.
    Checked: test_formulas_queueing (simulated maxima).
    """
    load = as_array(rho)
    decay = -2 * np.log(load)
    # Newton from above on a convex function never leaves the positive root's side.
    for _ in range(60):
        growth = load * np.exp(decay)
        decay = decay - (growth - load - decay) / (growth - 1)
    tail = (1 - load) / (load * np.exp(decay) - 1)
    longest = (np.log(ranks * tail) + _EULER_GAMMA) / decay * service_s
    return as_given(np.maximum(longest, md1_wait(load, service_s)))

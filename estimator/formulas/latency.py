"""Latency of one message under load: without contention, with static sharing, and by the segmented model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimator.formulas.parameters import ModelParameters
from estimator.formulas.queueing import kingman_wait, mg1_wait
from estimator.formulas.saturation import saturated_time
from estimator.formulas.sharing import stretch
from estimator.formulas.values import Result, Values, as_array, as_given

_LARGEST_JUMP = 0.1  # of the latency, at the border of a regime
_PHASE_IN_RHO = 0.2  # width in load over which a larger jump is spread


@dataclass(frozen=True)
class PortLoad:
    """What one step brings to one output port on a message's path.

    Attributes
    ----------
    flows : float or array
        F, flows that share the port at one time, the message's own included.
    flows_at_full_rate : float or array
        C in F/C, link rate / flow rate.
    rho : float or array
        Offered load Σ flow rates / capacity of all traffic in flight, background included; may exceed 1.
    service_s : float or array
        Time of one queueing unit τ at this port, s.
    burst_bytes : float or array
        All bytes that merge here in the step, the message's own included.
    capacity : float or array
        Bytes/s of the port; at least the β of every message that crosses it.
    """

    flows: Values
    flows_at_full_rate: Values
    rho: Values
    service_s: Values
    burst_bytes: Values
    capacity: Values

    def others_work_s(self, size_bytes: Values) -> Result:
        """Time that the port needs for the messages of the others, s."""
        return np.maximum(as_array(self.burst_bytes) - size_bytes, 0.0) / self.capacity


def alpha_beta(size_bytes: Values, alpha_s: Values, beta: Values) -> Result:
    """α + M/β, s: the baseline without contention (Hockney 1994)."""
    return as_given(alpha_s + as_array(size_bytes) / beta)


def static(size_bytes: Values, alpha_s: Values, beta: Values, flows: Values, flows_at_full_rate: Values) -> Result:
    """α + M/β_eff with β_eff = β/max(1, F/C), s.

    Validity: exact for equal sizes and one bottleneck, otherwise 2.4 times too long on average.
    Source: LoGPC (Moritz and Frank 1998). Checked: test_formulas_latency.
    """
    return as_given(alpha_s + _shared_s(size_bytes, beta, flows, flows_at_full_rate))


def _shared_s(size_bytes: Values, beta: Values, flows: Values, flows_at_full_rate: Values) -> Result:
    return as_array(size_bytes) / beta * stretch(flows, flows_at_full_rate)


def worst_shared_s(size_bytes: Values, beta: Values, ports: Sequence[PortLoad]) -> Result:
    """M/β_eff, s, with the β_eff of the port where most flows share."""
    shared = as_array(size_bytes) / beta
    for port in ports:
        shared = np.maximum(shared, _shared_s(size_bytes, beta, port.flows, port.flows_at_full_rate))
    return shared


def with_waits(
    size_bytes: Values,
    alpha_s: Values,
    beta: Values,
    ports: Sequence[PortLoad],
    waits_s: Sequence[Result],
    params: ModelParameters,
) -> Result:
    """Add bounded waits to the shared transfer.

    What the others bring delays the message once: as its share of the rate, or as a queue in front of it.
    Sharing and waiting together stay within the others' work, so an incast ends at n·M/C and not at twice
    that.
    """
    factor = _path_factor(ports, params)
    alone, shared = as_array(size_bytes) / beta, worst_shared_s(size_bytes, beta, ports)
    wait, work = as_array(0.0), as_array(0.0)
    for port, port_wait_s in zip(ports, waits_s, strict=True):
        port_work = port.others_work_s(size_bytes)
        wait, work = wait + factor * np.minimum(port_wait_s, port_work), work + factor * port_work
    return alpha_s + np.maximum(shared, np.minimum(shared + wait, alone + work))


def _path_factor(ports: Sequence[PortLoad], params: ModelParameters) -> float:
    return params.multihop_safety_factor if len(ports) > 1 else 1.0


def _phased_in(before: Result, after: Result, rho: Values, border: float, allowance_s: Result) -> Result:
    """`after` from a border on, unless it jumps by more than the allowance: then it is spread over a range."""
    share = np.clip((as_array(rho) - border) / _PHASE_IN_RHO, 0.0, 1.0)
    return np.minimum(after, before + allowance_s + share * (after - before))


def segmented_wait(
    rho: Values, service_s: Values, limit_s: Values, base_s: Values, params: ModelParameters
) -> Result:
    """Mean wait at one port by the segmented model, s.

    Zero below `low_load_threshold_rho`; M/G/1 with c_s² (M/D/1 by default) up to
    `congestion_threshold_rho`; above it Kingman with c_a², but never below the wait at the threshold.

    Parameters
    ----------
    rho, service_s : float or array
        Offered load and time of one queueing unit τ, s.
    limit_s : float or array
        Work that the burst brings, s: the wait stays within it.
    base_s : float or array
        Latency without the wait, s. A border at which the wait would lift it by more than 10 % is crossed
        gradually, over a range of 0.2 in ρ; for messages of some 16 packets and more nothing changes.
    params : ModelParameters
        Thresholds, `arrival_cv_sq`, `service_cv_sq`.

    Notes
    -----
    Validity and sources: `mg1_wait`, `kingman_wait`. Checked: test_formulas_latency (values in each regime,
    continuity and monotony for random parameters).
    """
    low, congested = params.low_load_threshold_rho, params.congestion_threshold_rho

    def poisson_from_low(at_rho: Result) -> Result:
        wait = np.minimum(mg1_wait(at_rho, service_s, params.service_cv_sq), limit_s)
        phased = _phased_in(as_array(0.0), wait, at_rho, low, _LARGEST_JUMP * as_array(base_s))
        return np.where(at_rho < low, 0.0, phased)

    load = as_array(rho)
    poisson = poisson_from_low(load)
    held = poisson_from_low(np.minimum(load, congested))
    bursty = np.minimum(kingman_wait(load, service_s, params.arrival_cv_sq, params.service_cv_sq), limit_s)
    target = np.maximum(bursty, held)
    # Where both thresholds coincide the first border has used up the jump.
    allowance_s = _LARGEST_JUMP * (base_s + held) if congested > low else as_array(0.0)
    phased = _phased_in(np.minimum(poisson, target), target, load, congested, allowance_s)
    return as_given(as_array(np.where(load <= congested, poisson, phased)))


def segmented_on_path(
    size_bytes: Values, alpha_s: Values, beta: Values, ports: Sequence[PortLoad], params: ModelParameters
) -> Result:
    """Latency of a message by the segmented model over all merging ports of its path, s.

    ============ ============================ ======================================================
    regime       when                         latency
    ============ ============================ ======================================================
    low          ρ < low threshold            α + M/β_eff
    transition   up to saturation threshold   α + M/β_eff + W_q
    congested    from there on                max(α + M/β_eff + W_q, M/β_eff_saturated)
    ============ ============================ ======================================================

    β_eff comes from the port with the largest F/C; W_q sums `segmented_wait` over the ports, times
    `multihop_safety_factor` where there are several; M/β_eff_saturated is `saturated_time`.

    Parameters
    ----------
    size_bytes, alpha_s, beta : float or array
        M, α (s) and β (bytes/s).
    ports : sequence of PortLoad
        The ports where traffic of several inputs merges; none for a message that meets nobody.
    params : ModelParameters
        Thresholds, variabilities, buffer, fabric.

    Returns
    -------
    float or array
        Never below α + M/β, and exactly that for a lone message at any ρ of its own.

    Notes
    -----
    Waits are bounded: sharing and queueing together never exceed the work of the other messages. So from
    ρ = 1 on a message waits at most for everything that merges with it, and an incast of n equal messages
    takes n·M/C. Continuous at the borders or up to 10 % higher above them, given that β·C is no more than
    the port's capacity.
    Differs from the published outline of this model where that does not hold: its low regime without
    sharing, M/D/1 for synchronised traffic, a wait that diverges at ρ → 1, and a buffer of 4 MB that lasts
    80 µs under eight senders (`buffer_fill_time` gives 11.4 µs).
    Validity: an estimate of means per message; deterministic steps are better served by max-min sharing.
    Checked: test_formulas_latency.
    """
    # Several ports may cross a border together, so they share what the latency may jump by.
    base_s = (alpha_s + worst_shared_s(size_bytes, beta, ports)) / max(1.0, len(ports) * _path_factor(ports, params))
    waits = [
        segmented_wait(port.rho, port.service_s, port.others_work_s(size_bytes), base_s, params) for port in ports
    ]
    latency = with_waits(size_bytes, alpha_s, beta, ports, waits, params)
    for port in ports:
        saturated = saturated_time(
            params.fabric, size_bytes, port.capacity, port.flows,
            params.buffer_size_bytes, port.burst_bytes, port.rho,
        )  # fmt: skip
        congested = as_array(port.rho) >= params.saturation_threshold_rho
        latency = np.where(congested, np.maximum(latency, saturated), latency)
    return as_given(as_array(latency))


def segmented(
    size_bytes: Values,
    alpha_s: Values,
    beta: Values,
    flows: Values,
    flows_at_full_rate: Values,
    rho: Values,
    service_s: Values,
    params: ModelParameters,
    burst_bytes: Values,
    capacity: Values,
) -> Result:
    """Latency of a message by the segmented model with one merging port, s; see `segmented_on_path`."""
    port = PortLoad(flows, flows_at_full_rate, rho, service_s, burst_bytes, capacity)
    return segmented_on_path(size_bytes, alpha_s, beta, [port], params)

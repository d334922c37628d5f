"""The `empirical` model: α + M/β times a factor fitted from measurements or packet-level runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimator.formulas.latency import PortLoad, alpha_beta, worst_shared_s
from estimator.formulas.sharing import stretch
from estimator.formulas.values import Result, Values, as_array, as_given


@dataclass(frozen=True)
class CorrectionFactor:
    """Fitted factor f(F, ρ) = max(1, F/C)^a · (1 + ρ(F−1)/F)^b of the `empirical` model.

    ρ(F−1)/F is the load of the other flows. The defaults divide the bandwidth by the number of flows.

    Attributes
    ----------
    flow_exponent, load_exponent : float
        a and b, zero or more.
    """

    flow_exponent: float = 1.0
    load_exponent: float = 0.0

    def at(self, flows: Values, flows_at_full_rate: Values, rho: Values) -> Result:
        """Return the factor; 1 for a flow that has the port to itself."""
        shared = as_array(stretch(flows, flows_at_full_rate)) ** self.flow_exponent
        return as_given(shared * (1 + _others_rho(flows, rho)) ** self.load_exponent)


def _others_rho(flows: ArrayLike, rho: ArrayLike) -> NDArray[np.float64]:
    return as_array(rho) * (1 - 1 / np.maximum(as_array(flows), 1.0))


def fit_correction_factor(
    flows: ArrayLike, flows_at_full_rate: ArrayLike, rho: ArrayLike, slowdown: ArrayLike
) -> CorrectionFactor:
    """Fit the exponents to measured slowdowns T/(α + M/β), by least squares of their logarithms.

    Validity: the range of the measurements; topology, routing and sizes are in the exponents, so another
    network needs another fit. Negative exponents are cut to zero (then the other is fitted alone).
    Checked: test_formulas_models (exponents are found again).
    """
    shared = stretch(as_array(flows), as_array(flows_at_full_rate))
    features = np.stack([np.log(shared), np.log1p(_others_rho(flows, rho))], axis=-1)
    target = np.log(as_array(slowdown))
    exponents = np.linalg.lstsq(features, target, rcond=None)[0]
    for negative, other in ((0, 1), (1, 0)):
        if exponents[negative] < 0:
            alone = features[:, other]
            exponents[negative] = 0.0
            exponents[other] = max(alone @ target / max(alone @ alone, 1e-300), 0.0)
    return CorrectionFactor(float(exponents[0]), float(exponents[1]))


def empirical(
    size_bytes: Values,
    alpha_s: Values,
    beta: Values,
    ports: Sequence[PortLoad],
    factor: CorrectionFactor = CorrectionFactor(),
) -> Result:
    """(α + M/β) · f(F, ρ) with the largest factor of the path, s, and never below the `static` model.

    Validity: what the factor was fitted on, see `fit_correction_factor`; a factor cannot follow queues that
    grow faster than a power of the load. Checked: test_formulas_models.
    """
    latency = as_array(alpha_s + worst_shared_s(size_bytes, beta, ports))
    for port in ports:
        scale = factor.at(port.flows, port.flows_at_full_rate, port.rho)
        latency = np.maximum(latency, alpha_beta(size_bytes, alpha_s, beta) * scale)
    return as_given(latency)

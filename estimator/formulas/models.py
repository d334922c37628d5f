"""Every latency model by its name, with one signature.

All take the message (size, α, β) and the ports on its path where traffic merges, and share three
properties: a lone message takes exactly α + M/β, no wait exceeds the work that the other messages of the
step bring to the port (so nothing diverges at ρ → 1), and nothing falls when size, flows or load grow.
`fluid` is not among them, it needs all flows at once: `estimator.formulas.sharing.fluid_finish_times`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from estimator.formulas.empirical import CorrectionFactor, empirical
from estimator.formulas.latency import PortLoad, alpha_beta, segmented_on_path, with_waits, worst_shared_s
from estimator.formulas.parameters import ModelParameters
from estimator.formulas.queueing import kingman_wait, md1_wait, mg1_wait, mm1_wait
from estimator.formulas.values import Result, Values, as_array, as_given

Wait = Callable[[PortLoad, ModelParameters], Result]
LatencyModel = Callable[[Values, Values, Values, Sequence[PortLoad], ModelParameters], Result]


def _queue_model(name: str, wait: Wait) -> LatencyModel:
    def model(
        size_bytes: Values, alpha_s: Values, beta: Values, ports: Sequence[PortLoad], params: ModelParameters
    ) -> Result:
        waits = [wait(port, params) for port in ports]
        return as_given(as_array(with_waits(size_bytes, alpha_s, beta, ports, waits, params)))

    model.__name__ = model.__qualname__ = name
    model.__doc__ = f"α + M/β_eff + W_q of {name} at every ρ, s; the wait bounded by the work of the burst."
    return model


mm1 = _queue_model("mm1", lambda port, _: mm1_wait(port.rho, port.service_s))
md1 = _queue_model("md1", lambda port, _: md1_wait(port.rho, port.service_s))
mg1 = _queue_model("mg1", lambda port, params: mg1_wait(port.rho, port.service_s, params.service_cv_sq))
kingman = _queue_model(
    "kingman",
    lambda port, params: kingman_wait(port.rho, port.service_s, params.arrival_cv_sq, params.service_cv_sq),
)


def _alpha_beta_model(
    size_bytes: Values, alpha_s: Values, beta: Values, _ports: Sequence[PortLoad], _params: ModelParameters
) -> Result:
    return alpha_beta(size_bytes, alpha_s, beta)


def _static_model(
    size_bytes: Values, alpha_s: Values, beta: Values, ports: Sequence[PortLoad], _params: ModelParameters
) -> Result:
    return as_given(as_array(alpha_s + worst_shared_s(size_bytes, beta, ports)))


def _empirical_model(
    size_bytes: Values, alpha_s: Values, beta: Values, ports: Sequence[PortLoad], params: ModelParameters
) -> Result:
    factor = CorrectionFactor(params.empirical_flow_exponent, params.empirical_load_exponent)
    return empirical(size_bytes, alpha_s, beta, ports, factor)


MODELS: Mapping[str, LatencyModel] = {
    "alpha-beta": _alpha_beta_model,
    "static": _static_model,
    "mm1": mm1,
    "md1": md1,
    "mg1": mg1,
    "kingman": kingman,
    "empirical": _empirical_model,
    "segmented": segmented_on_path,
}
MODEL_NAMES: tuple[str, ...] = ("alpha-beta", "static", "fluid", *list(MODELS)[2:])
DEFAULT_MODEL = "segmented"

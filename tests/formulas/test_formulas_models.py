"""Every model by its name: what they have in common, and how they rank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.formulas import (
    DEFAULT_MODEL,
    MODEL_NAMES,
    MODELS,
    CorrectionFactor,
    ModelParameters,
    PortLoad,
    fit_correction_factor,
)
from estimator.formulas.empirical import empirical

ALPHA, BETA, TAU = 1e-6, 50e9, 4096 / 50e9
DEFAULT = ModelParameters()
SPARING = {"alpha-beta"}  # the baseline that knows no others

loads = st.floats(0, 3)
flow_counts = st.integers(1, 64)


def port(flows: float, rho: float, burst: float) -> PortLoad:
    return PortLoad(flows, 1, rho, TAU, burst, BETA)


def test_names() -> None:
    assert set(MODEL_NAMES) == {
        "alpha-beta", "static", "fluid", "mm1", "md1", "mg1", "kingman", "empirical", "segmented",
    }  # fmt: skip
    assert set(MODEL_NAMES) - set(MODELS) == {"fluid"}
    assert DEFAULT_MODEL == "segmented"


@pytest.mark.parametrize("name", MODELS)
@given(size=st.floats(0, 1e10), rho=st.floats(0, 1))
def test_lone_message_takes_alpha_beta_exactly(name: str, size: float, rho: float) -> None:
    for ports in ([], [port(1, rho, size)], [port(1, rho, size)] * 3):
        assert MODELS[name](size, ALPHA, BETA, ports, DEFAULT) == ALPHA + size / BETA


@pytest.mark.parametrize("name", MODELS)
@given(size=st.floats(1, 1e9), flows=flow_counts, rho=loads, others=st.floats(0, 1e10), growth=st.floats(1, 8))
def test_never_falls_and_never_below_alpha_beta(
    name: str, size: float, flows: int, rho: float, others: float, growth: float
) -> None:
    def time(size: float, flows: float, rho: float, others: float) -> float:
        return float(MODELS[name](size, ALPHA, BETA, [port(flows, rho, size + others)], DEFAULT))

    before = time(size, flows, rho, others)
    assert before >= ALPHA + size / BETA
    assert np.isfinite(before)
    for later in (
        time(size * growth, flows, rho, others),
        time(size, flows * growth, rho, others),
        time(size, flows, rho * growth, others),
        time(size, flows, rho, others * growth),
    ):
        assert before <= later * (1 + 1e-9)


@pytest.mark.parametrize("name", sorted(set(MODELS) - SPARING))
@given(size=st.floats(1, 1e9), sources=flow_counts)
def test_incast_never_before_its_bytes_are_through(name: str, size: float, sources: int) -> None:
    ports = [port(sources, sources, sources * size)]
    assert MODELS[name](size, ALPHA, BETA, ports, DEFAULT) >= sources * size / BETA * (1 - 1e-12)


@pytest.mark.parametrize(
    ("name", "wait_in_services"), [("static", 0), ("md1", 1.5), ("mg1", 2.25), ("mm1", 3), ("kingman", 6.75)]
)
def test_waits_at_three_quarters(name: str, wait_in_services: float) -> None:
    params = replace(DEFAULT, service_cv_sq=0.5)
    time = MODELS[name](1e6, ALPHA, BETA, [port(2, 0.75, 1e9)], params)
    assert time == pytest.approx(ALPHA + 2e6 / BETA + wait_in_services * TAU)


def test_empirical_divides_by_the_flows_until_it_is_fitted() -> None:
    ports = [port(8, 0.9, 8e6)]
    assert MODELS["empirical"](1e6, ALPHA, BETA, ports, DEFAULT) == pytest.approx(8 * (ALPHA + 1e6 / BETA))
    fitted = DEFAULT.replaced(empirical_flow_exponent="0.5", empirical_load_exponent="4")
    fitted_time = 8**0.5 * (1 + 0.9 * 7 / 8) ** 4 * (ALPHA + 1e-3 / 50)
    assert MODELS["empirical"](1e6, ALPHA, BETA, ports, fitted) == pytest.approx(fitted_time)
    weak = empirical(1e6, ALPHA, BETA, ports, CorrectionFactor(0.1, 0.0))
    assert weak == pytest.approx(ALPHA + 8e6 / BETA)
    strong = empirical(1e6, ALPHA, BETA, ports, CorrectionFactor(1.0, 2.0))
    assert strong == pytest.approx(8 * (ALPHA + 1e6 / BETA) * (1 + 0.9 * 7 / 8) ** 2)


@pytest.mark.parametrize(("flow_exponent", "load_exponent"), [(0.8, 1.7), (1.2, 0.0), (0.0, 2.0)])
def test_fit_finds_the_exponents_again(flow_exponent: float, load_exponent: float) -> None:
    rng = np.random.default_rng(1)
    flows, rho = rng.integers(1, 64, 500).astype(float), rng.uniform(0, 2, 500)
    slowdown = np.maximum(1, flows / 2) ** flow_exponent * (1 + rho * (flows - 1) / flows) ** load_exponent
    noise = np.exp(rng.normal(0, 0.02, 500))
    fitted = fit_correction_factor(flows, np.full(500, 2.0), rho, slowdown * noise)
    assert fitted.flow_exponent == pytest.approx(flow_exponent, abs=0.01)
    assert fitted.load_exponent == pytest.approx(load_exponent, abs=0.03)


def test_fit_never_goes_negative() -> None:
    flows, rho = np.array([2.0, 4.0, 8.0, 16.0]), np.array([0.1, 0.9, 0.2, 0.8])
    faster_with_load = flows * (1 + rho) ** -1.0
    fitted = fit_correction_factor(flows, np.ones(4), rho, faster_with_load)
    assert fitted.load_exponent == 0
    assert 0.5 < fitted.flow_exponent < 1

"""The segmented model: its values in each regime, and what must hold whatever the parameters are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.formulas import ModelParameters, PortLoad, segmented, segmented_on_path
from estimator.formulas.latency import alpha_beta, static

ALPHA, BETA, TAU = 1e-6, 50e9, 4096 / 50e9
DEFAULT = ModelParameters()


def latency(size: float, rho: float, params: ModelParameters = DEFAULT, **changes: Any) -> Any:
    """A message of a 400G host on a 400G port with plenty of other traffic."""
    port: dict[str, Any] = {"flows": 1, "flows_at_full_rate": 1, "burst_bytes": 1e9, "capacity": BETA, **changes}
    return segmented(size, ALPHA, BETA, rho=rho, service_s=TAU, params=params, **port)


def test_low_regime_is_static() -> None:
    assert latency(1e6, 0.29, flows=3) == static(1e6, ALPHA, BETA, 3, 1) == pytest.approx(ALPHA + 3e6 / BETA)
    assert latency(1e6, 0.29, flows=3, flows_at_full_rate=4) == pytest.approx(ALPHA + 1e6 / BETA)


@pytest.mark.parametrize(("rho", "wait_in_services"), [(0.3, 3 / 14), (0.4, 1 / 3), (0.5, 0.5)])
def test_transition_adds_md1(rho: float, wait_in_services: float) -> None:
    assert latency(1e6, rho) == pytest.approx(ALPHA + 1e6 / BETA + wait_in_services * TAU, rel=1e-12)


@pytest.mark.parametrize(("rho", "wait_in_services"), [(0.6, 3.0), (0.7, 14 / 3), (0.9, 18.0)])
def test_kingman_counts_above_the_congestion_threshold(rho: float, wait_in_services: float) -> None:
    assert latency(1e6, rho) == pytest.approx(ALPHA + 1e6 / BETA + wait_in_services * TAU, rel=1e-12)
    poisson = replace(DEFAULT, arrival_cv_sq=1.0)
    assert latency(1e6, rho, poisson) == pytest.approx(ALPHA + 1e6 / BETA + rho / (2 - 2 * rho) * TAU, rel=1e-12)


def test_smooth_arrivals_keep_the_wait_at_the_threshold() -> None:
    smooth = replace(DEFAULT, arrival_cv_sq=0.0)
    assert latency(1e6, 0.9, smooth) == pytest.approx(ALPHA + 1e6 / BETA + 0.5 * TAU)


def test_service_variation_counts_as_pollaczek_khinchine_says() -> None:
    assert latency(1e6, 0.5, replace(DEFAULT, service_cv_sq=1.0)) == pytest.approx(ALPHA + 1e6 / BETA + TAU)


def test_wait_is_bounded_by_the_burst() -> None:
    alone = ALPHA + 1e6 / BETA
    for rho in (0.9999999, 1.0, 5.0):
        assert latency(1e6, rho, burst_bytes=3e6) == pytest.approx(alone + 2e6 / BETA)


@pytest.mark.parametrize("fabric", ["infiniband", "roce", "tcp"])
@pytest.mark.parametrize("sources", [2, 8, 64])
def test_incast(fabric: str, sources: int) -> None:
    params = DEFAULT.replaced(fabric=fabric)
    time = latency(1e6, sources, params, flows=sources, burst_bytes=sources * 1e6)
    # Eight senders of 1 MB queue 7 MB in 4 MiB of buffer, two queue 1 MB.
    late = 0.2 - ALPHA if fabric == "tcp" and sources >= 8 else 0.0
    assert time == pytest.approx(ALPHA + sources * 1e6 / BETA + late)


def test_several_ports_add_their_waits_times_the_safety_factor() -> None:
    ports = [PortLoad(1, 1, rho, TAU, 1e9, BETA) for rho in (0.2, 0.4, 0.5)]
    alone = ALPHA + 1e6 / BETA
    assert segmented_on_path(1e6, ALPHA, BETA, ports, DEFAULT) == pytest.approx(alone + (1 / 3 + 1 / 2) * TAU)
    careful = replace(DEFAULT, multihop_safety_factor=2.0)
    assert segmented_on_path(1e6, ALPHA, BETA, ports, careful) == pytest.approx(alone + (2 / 3 + 1) * TAU)
    assert segmented_on_path(1e6, ALPHA, BETA, ports[2:], careful) == pytest.approx(alone + TAU / 2)
    assert segmented_on_path(1e6, ALPHA, BETA, [], careful) == alone


def test_arrays_are_what_floats_are() -> None:
    sizes, loads = np.array([1e3, 1e6]), np.array([[0.1], [0.4], [0.6], [0.95], [4.0]])
    table = latency(sizes, loads, flows=2, burst_bytes=5e6)  # type: ignore[arg-type]
    assert table.shape == (5, 2)
    for row, rho in enumerate(loads[:, 0]):
        for column, size in enumerate(sizes):
            assert table[row, column] == latency(size, rho, flows=2, burst_bytes=5e6)


@st.composite
def parameters(draw: st.DrawFn) -> ModelParameters:
    low, congested, saturated = sorted(draw(st.tuples(*[st.floats(0.0, 1.0)] * 3)))
    return ModelParameters(
        low, congested, saturated,
        arrival_cv_sq=draw(st.floats(0, 100)),
        service_cv_sq=draw(st.floats(0, 4)),
        buffer_size_bytes=draw(st.floats(1e3, 1e8)),
        multihop_safety_factor=draw(st.floats(0, 3)),
        fabric=draw(st.sampled_from(("infiniband", "roce", "tcp"))),
    )  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """A message and one port, consistent: the port is at least as fast as the flows that it carries whole."""
    beta = draw(st.floats(1e8, 1e11))
    at_full_rate = draw(st.sampled_from((1, 1.5, 4)))
    size = draw(st.floats(0, 1e9))
    return {
        "size_bytes": size,
        "alpha_s": draw(st.sampled_from((0.0, 1e-7, 1e-5))),
        "beta": beta,
        "flows": draw(st.integers(1, 64)),
        "flows_at_full_rate": at_full_rate,
        "rho": draw(st.floats(0, 4)),
        "service_s": draw(st.sampled_from((64, 4096, 1 << 20))) / (beta * at_full_rate),
        "params": draw(parameters()),
        "burst_bytes": size + draw(st.floats(0, 1e10)),
        "capacity": beta * at_full_rate,
    }


# What a continuous wait may grow by within 2e-9 of load, at most: enough for c_a² = 100 at ρ = 0.999.
SLOPE_SERVICES = 1e-3


def rounding(value: float) -> float:
    return value * (1 + 1e-9) + 1e-18


@given(cases(), st.floats(1, 10))
def test_never_falls_when_anything_grows(case: dict[str, Any], growth: float) -> None:
    before = segmented(**case)
    others = case["burst_bytes"] - case["size_bytes"]
    size = case["size_bytes"] * growth
    grown = {
        "size": {**case, "size_bytes": size, "burst_bytes": size + others},
        "size within the burst": {**case, "size_bytes": min(size, case["burst_bytes"])},
        "flows": {**case, "flows": case["flows"] * growth},
        "load": {**case, "rho": case["rho"] * growth},
        "background": {**case, "rho": case["rho"] + growth, "burst_bytes": case["burst_bytes"] * growth},
    }
    for what, later in grown.items():
        assert before <= rounding(segmented(**later)), what


@given(cases())
def test_never_below_alpha_beta(case: dict[str, Any]) -> None:
    floor = alpha_beta(case["size_bytes"], case["alpha_s"], case["beta"])
    time = segmented(**case)
    assert np.isfinite(time)
    assert time >= floor


@settings(max_examples=300)
@given(cases(), st.sampled_from(("low_load", "congestion", "saturation")))
def test_continuous_at_the_borders(case: dict[str, Any], border: str) -> None:
    rho = getattr(case["params"], f"{border}_threshold_rho")
    if not 1e-6 < rho < 0.999:  # at full load the queue itself grows without limit within 1e-9 of load
        return
    below, at = (segmented(**{**case, "rho": load}) for load in (rho - 1e-9, rho))
    above = segmented(**{**case, "rho": rho + 1e-9})
    assert below <= rounding(at)
    assert at <= rounding(above)
    assert above <= below * 1.1 * (1 + 1e-4) + SLOPE_SERVICES * case["service_s"]


@settings(max_examples=200)
@given(cases(), st.lists(st.sampled_from((0.3, 0.5, 0.7)), min_size=1, max_size=4))
def test_continuous_with_several_ports_at_borders(case: dict[str, Any], loads: list[float]) -> None:
    keys = ("flows", "flows_at_full_rate", "rho", "service_s", "burst_bytes", "capacity")
    message = (case["size_bytes"], case["alpha_s"], case["beta"])
    params = replace(DEFAULT, multihop_safety_factor=case["params"].multihop_safety_factor)
    times = []
    for shift in (-1e-9, 1e-9):
        ports = [PortLoad(**{key: case[key] for key in keys} | {"rho": load + shift}) for load in loads]
        times.append(segmented_on_path(*message, ports, params))
    assert times[0] <= rounding(times[1])
    slope = SLOPE_SERVICES * case["service_s"] * len(loads)
    assert times[1] <= times[0] * 1.1 * (1 + 1e-6) + slope


@given(cases())
def test_lone_message_takes_alpha_beta_exactly(case: dict[str, Any]) -> None:
    alone = {**case, "flows": 1, "burst_bytes": case["size_bytes"], "rho": min(case["rho"], 1.0)}
    assert segmented(**alone) == alpha_beta(case["size_bytes"], case["alpha_s"], case["beta"])


@given(cases())
def test_incast_never_before_its_bytes_are_through(case: dict[str, Any]) -> None:
    sources = case["flows"]
    incast = {**case, "rho": sources / case["flows_at_full_rate"], "burst_bytes": sources * case["size_bytes"]}
    assert segmented(**incast) >= sources * case["size_bytes"] / case["capacity"] * (1 - 1e-12)


@given(cases(), st.sampled_from((0.5, 2.0, 1024.0)))
def test_sizes_and_rates_scaled_alike_leave_times(case: dict[str, Any], factor: float) -> None:
    params = case["params"]
    scaled = {
        **case,
        **{key: case[key] * factor for key in ("size_bytes", "beta", "burst_bytes", "capacity")},
        "params": replace(params, buffer_size_bytes=params.buffer_size_bytes * factor),
    }
    assert segmented(**scaled) == pytest.approx(segmented(**case), rel=1e-12)


@pytest.mark.parametrize("size", [2.0**31 + 1, 2.0**53, 2.0**62])
def test_huge_sizes_are_linear(size: float) -> None:
    assert latency(size, 0.1) - ALPHA == pytest.approx(size / BETA)

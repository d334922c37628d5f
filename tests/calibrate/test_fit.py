"""Parameters are found again in measurements made from them, and what the measurements do not tell is refused."""

from __future__ import annotations

import numpy as np
import pytest
from calibrate_shared import MTU, ROUTE, SIZES, WIRES_S, Truth, series
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from estimator.calibrate.fit import fit_point_to_point
from estimator.calibrate.measurements import MeasurementError
from estimator.calibrate.route import Route


def latency(truth: Truth, sizes: np.ndarray = SIZES, noise: float = 0.0, seed: int = 0):
    scatter = 1 + noise * np.random.default_rng(seed).standard_normal(len(sizes))
    return series("latency", sizes, truth.latency_s(sizes) * scatter)


@st.composite
def machines(draw: st.DrawFn) -> Truth:
    """From InfiniBand to TCP, with a rendezvous that costs something more than the largest copy."""
    limit = 1 << draw(st.integers(10, 17))
    overhead_s = draw(st.floats(1e-7, 2e-5))
    rate = draw(st.floats(1e9, 5e10))
    copy = draw(st.floats(0.2, 3.0)) / rate
    more_s = draw(st.floats(0.3, 2.0)) * (overhead_s + WIRES_S)
    return Truth(overhead_s, rate, copy, limit * copy + more_s, limit)


@settings(max_examples=40, deadline=None)
@given(truth=machines())
def test_exact_measurements_give_the_parameters_back(truth: Truth) -> None:
    found = fit_point_to_point([latency(truth)], ROUTE)
    start = truth.overhead_s + WIRES_S
    assert found.eager_limit is not None
    assert found.eager_limit.value == truth.eager_limit
    assert not found.warnings
    # Copies of less than some parts in a thousand of the latency are not worth a parameter.
    has_copy = truth.eager_limit * truth.copy_s_per_byte > 0.05 * start
    exact = 1e-5 if has_copy else 5e-3
    assert found.alpha_s.value == pytest.approx(start, rel=exact)
    assert found.overhead_s.value == pytest.approx(truth.overhead_s, abs=exact * start)
    assert found.rate.value == pytest.approx(truth.rate, rel=exact)
    if has_copy:
        assert found.copy_s_per_byte.value == pytest.approx(truth.copy_s_per_byte, rel=1e-3)
        assert found.rendezvous_s.value == pytest.approx(truth.rendezvous_s, rel=1e-4)
        assert np.abs(found.residuals[0].error).max() < 1e-6
    assert np.abs(found.residuals[0].error).max() < 0.05


@settings(max_examples=40, deadline=None)
@given(truth=machines(), seed=st.integers(0, 10_000))
def test_two_percent_of_noise_cost_a_few_percent(truth: Truth, seed: int) -> None:
    found = fit_point_to_point([latency(truth, noise=0.02, seed=seed)], ROUTE)
    start = truth.overhead_s + WIRES_S
    assert found.alpha_s.value == pytest.approx(start, rel=0.05)
    assert found.rate.value == pytest.approx(truth.rate, rel=0.12)
    assert found.eager_limit is not None
    assert found.eager_limit.low / 2 <= truth.eager_limit < 2 * found.eager_limit.high
    # Errors are told in proportion: six standard errors hold the truth, with room for the outliers' weights.
    assert abs(found.rate.value - truth.rate) < 6 * found.rate.error + 0.01 * truth.rate


def test_an_outlier_does_not_bend_the_fit() -> None:
    truth = Truth()
    times = truth.latency_s(SIZES) * (1 + 0.005 * np.random.default_rng(1).standard_normal(SIZES.size))
    times[20] *= 4
    times[3] *= 2
    found = fit_point_to_point([series("latency", SIZES, times)], ROUTE)
    assert found.rate.value == pytest.approx(truth.rate, rel=0.02)
    assert found.overhead_s.value == pytest.approx(truth.overhead_s, rel=0.05)
    assert found.eager_limit.value == truth.eager_limit


def test_one_protocol_is_not_split() -> None:
    """α + M/β and no more: no eager limit is made up from noise."""
    for seed in range(5):
        truth = Truth(copy_s_per_byte=0.0, rendezvous_s=0.0)
        found = fit_point_to_point([latency(truth, noise=0.02, seed=seed)], ROUTE)
        assert found.eager_limit is None
        assert found.rendezvous_s is None
        assert any("no step" in note for note in found.notes)


def test_the_limit_is_known_to_the_next_size_measured() -> None:
    sizes = np.array([1, 64, 1024, 4096, 65536, 1 << 20, 4 << 20])
    found = fit_point_to_point([latency(Truth(eager_limit=10_000), sizes)], ROUTE)
    assert (found.eager_limit.low, found.eager_limit.high) == (4096, 65536)


def test_bandwidths_give_the_rate_that_bytes_allow() -> None:
    """M / (gap + M/β): messages that cost time of their own do not lower β."""
    rate, gap_s = 12e9, 200e-9
    found = fit_point_to_point([series("bandwidth", SIZES, SIZES / rate + gap_s)], ROUTE)
    assert found.rate.value == pytest.approx(rate, rel=1e-6)
    assert found.overhead_s is None
    assert any("osu_latency" in note for note in found.notes)


def test_pairs_and_both_directions_count_only_where_nothing_better_is_there() -> None:
    good, bad = series("bandwidth", SIZES, SIZES / 12e9), series("bibandwidth", SIZES, SIZES / 10e9)
    assert fit_point_to_point([bad, good], ROUTE).rate.value == pytest.approx(12e9)
    alone = fit_point_to_point([bad], ROUTE)
    assert alone.rate.value == pytest.approx(10e9)
    assert any("half of the bidirectional" in note for note in alone.notes)
    pairs = series("multi-latency", SIZES, 2 * Truth().latency_s(SIZES))
    with_single = fit_point_to_point([pairs, latency(Truth())], ROUTE)
    assert with_single.overhead_s.value == pytest.approx(Truth().overhead_s)
    assert not with_single.residuals[0].used.any()


@given(size=st.integers(0, 3))
def test_too_few_sizes_are_refused(size: int) -> None:
    assume(size)
    with pytest.raises(MeasurementError, match=rf"made\.txt:1: found {size} size.*at least 4"):
        fit_point_to_point([latency(Truth(), SIZES[:size])], ROUTE)


def test_what_is_not_told_is_not_fitted() -> None:
    small = fit_point_to_point([latency(Truth(), SIZES[:6])], ROUTE)
    assert small.rate is None
    assert small.overhead_s.value == pytest.approx(Truth().overhead_s, rel=1e-3)
    assert any("rate not fitted: at 32 bytes" in note for note in small.notes)
    large = fit_point_to_point([latency(Truth(), SIZES[19:])], ROUTE)
    assert large.overhead_s is None
    assert large.rate.value == pytest.approx(Truth().rate, rel=1e-3)


def test_a_start_up_below_that_of_the_wires_is_refused() -> None:
    with pytest.raises(MeasurementError, match="1050 ns; expected more than the 2000 ns of wires"):
        fit_point_to_point([latency(Truth())], Route("a long way", 2e-6))


def test_latencies_that_fall_are_told() -> None:
    times = Truth().latency_s(SIZES)
    times[10] = 0.8 * times[9]
    found = fit_point_to_point([series("latency", SIZES, times)], ROUTE)
    assert any(text.startswith("made.txt:13: 1024 bytes take") for text in found.warnings)
    again = np.concatenate([SIZES, SIZES[:1]])
    found = fit_point_to_point([latency(Truth(), again)], ROUTE)
    assert any("size 1 is there more than once" in text for text in found.warnings)


def test_a_rate_above_that_of_inner_links_is_told() -> None:
    slow = Route("two leaves", WIRES_S, packet_s_per_byte=1 / 6e9, inner_rate=6e9)
    found = fit_point_to_point([series("bandwidth", SIZES, SIZES / 12e9)], slow)
    assert any("96 Gb/s is more than the 48 Gb/s" in text for text in found.warnings)
    # What a run gives is held back by those links.
    assert found.residuals[0].error == pytest.approx(np.full(SIZES.size, -0.5))


def test_order_and_repetition_of_files_change_nothing() -> None:
    one, two = latency(Truth(), noise=0.01, seed=1), series("bandwidth", SIZES, SIZES / 12e9 + 1e-7)
    first, second = fit_point_to_point([one, two], ROUTE), fit_point_to_point([two, one], ROUTE)
    assert first.rate.value == pytest.approx(second.rate.value, rel=1e-9)
    assert first.overhead_s.value == pytest.approx(second.overhead_s.value, rel=1e-9)


def test_cut_through_pays_its_first_packet_once() -> None:
    truth = Truth(copy_s_per_byte=0.0, rendezvous_s=0.0)
    times = truth.overhead_s + WIRES_S + SIZES / truth.rate
    found = fit_point_to_point([series("latency", SIZES, times)], Route("cut", WIRES_S, packet_bytes=0))
    assert found.overhead_s.value == pytest.approx(truth.overhead_s, rel=1e-6)
    stored = fit_point_to_point([series("latency", SIZES, times + np.minimum(SIZES, MTU) / truth.rate)], ROUTE)
    assert stored.overhead_s.value == pytest.approx(truth.overhead_s, rel=1e-6)


POINTS = st.lists(st.tuples(st.integers(0, 1 << 40), st.floats(1e-9, 1e5)), min_size=1, max_size=12)


@settings(max_examples=100, deadline=None)
@given(latencies=POINTS, bandwidths=POINTS)
def test_any_measurements_are_fitted_to_finite_values_or_refused(
    latencies: list[tuple[int, float]], bandwidths: list[tuple[int, float]]
) -> None:
    made = [series("latency", *np.array(latencies).T)]
    if rows := [row for row in bandwidths if row[0] > 0]:
        made.append(series("bandwidth", *np.array(rows).T))
    try:
        found = fit_point_to_point(made, ROUTE)
    except MeasurementError:
        return
    for fitted in (found.overhead_s, found.rate, found.copy_s_per_byte, found.rendezvous_s):
        assert fitted is None or (0 <= fitted.value < np.inf and 0 <= fitted.error < np.inf)
    assert found.rate is None or found.rate.value > 0
    for one in found.residuals:
        assert np.isfinite(one.error).all()

"""F1, F2, F3, F6, F7: golden values, and queues replayed arrival by arrival. Times in services, τ = 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from formulas_data import Array, fifo_waits, poisson_arrivals

from estimator.formulas.queueing import (
    batch_first_wait,
    batch_wait,
    finite_step_wait,
    kingman_upper_bound,
    kingman_wait,
    md1_wait,
    mg1_wait,
    mm1_wait,
    slowest_wait,
)


@pytest.mark.parametrize(("rho", "wait"), [(0, 0), (0.3, 0.2143), (0.5, 0.5), (0.7, 1.1667), (0.9, 4.5)])
def test_md1_golden(rho: float, wait: float) -> None:
    assert md1_wait(rho, 1.0) == pytest.approx(wait, abs=5e-5)
    assert mm1_wait(rho, 1.0) == pytest.approx(2 * md1_wait(rho, 1.0))
    assert kingman_wait(rho, 1.0, 1.0, 0.0) == md1_wait(rho, 1.0)


def test_batch_golden() -> None:
    assert batch_wait(0.7, 1.0, 16) == pytest.approx(26.167, abs=5e-4)
    assert batch_first_wait(0.7, 1.0, 16) == pytest.approx(18.667, abs=5e-4)


def test_slowest_golden() -> None:
    assert slowest_wait(64, 0.7, 1.0) == pytest.approx(6.68, abs=5e-3)
    assert slowest_wait(512, 0.7, 1.0) == pytest.approx(9.76, abs=5e-3)


def test_arrays_and_full_load() -> None:
    waits = md1_wait(np.array([0.0, 0.5, 1.0, 7.0]), 2.0)
    assert waits.tolist() == [0.0, 1.0, np.inf, np.inf]
    assert kingman_wait(np.array([0.5, 1.0]), 1.0, 0.0, 0.0).tolist() == [0.0, np.inf]
    assert isinstance(md1_wait(0.5, 1.0), float)
    assert batch_wait(1.0, 1.0, 4) == np.inf


@pytest.mark.parametrize("rho", [0.3, 0.7])
@pytest.mark.parametrize(("shape", "cv_sq"), [("constant", 0.0), ("uniform", 1 / 3), ("exponential", 1.0)])
def test_pollaczek_khinchine(rho: float, shape: str, cv_sq: float) -> None:
    rng = np.random.default_rng(1)
    size = (20, 50_000)
    service = {"constant": np.ones(size), "uniform": rng.uniform(0, 2, size), "exponential": rng.exponential(1, size)}
    waits = fifo_waits(poisson_arrivals(rng, rho, size), service[shape])
    assert waits.mean() == pytest.approx(mg1_wait(rho, 1.0, cv_sq), rel=0.03)


@pytest.mark.parametrize("rho", [0.4, 0.7])
def test_batches(rho: float) -> None:
    rng = np.random.default_rng(2)
    sizes = rng.choice([1, 7], 150_000)
    ratio = 25 / 4  # E[X²]/E[X] of 1 or 7, equally likely
    starts = np.repeat(poisson_arrivals(rng, rho / 4, sizes.shape), sizes)
    waits = fifo_waits(starts, 1.0)
    first = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    assert waits.mean() == pytest.approx(batch_wait(rho, 1.0, ratio), rel=0.03)
    assert waits[first].mean() == pytest.approx(batch_first_wait(rho, 1.0, ratio), rel=0.03)


def hyperexponential_gaps(rng: np.random.Generator, rho: float, size: tuple[int, ...]) -> Array:
    """Gaps with c_a² = 4: exponential with two means that bring equal time."""
    often = (1 + np.sqrt(3 / 5)) / 2
    frequent = rng.random(size) < often
    return rng.exponential(1, size) / (2 * rho * np.where(frequent, often, 1 - often))


def on_off_gaps(rng: np.random.Generator, rho: float, size: tuple[int, ...]) -> Array:
    """Gaps with c_a² = 4: Poisson at four times the link rate, interrupted by exponential silences."""
    peak, on_share = 4.0, rho / 4
    switching = 2 * peak * (1 - on_share) / (4 - 1)
    to_off, to_on = (1 - on_share) * switching, on_share * switching
    silences = rng.geometric(peak / (peak + to_off), size) - 1
    silent = np.where(silences > 0, rng.gamma(np.maximum(silences, 1), 1 / to_on), 0.0)
    return rng.gamma(silences + 1, 1 / (peak + to_off)) + silent


@pytest.mark.parametrize(
    ("gaps_of", "rho", "error"),
    [
        (hyperexponential_gaps, 0.3, (0.85, 1.1)),
        (hyperexponential_gaps, 0.5, (0.4, 0.65)),
        (hyperexponential_gaps, 0.9, (-0.07, 0.07)),
        (on_off_gaps, 0.3, (-0.65, -0.5)),
        (on_off_gaps, 0.5, (-0.45, -0.3)),
        (on_off_gaps, 0.9, (-0.1, 0.03)),
    ],
)
def test_kingman_for_bursty_arrivals(gaps_of: Callable[..., Array], rho: float, error: tuple[float, float]) -> None:
    """Two renewal processes of one c_a² wait very differently, until the load is heavy."""
    gaps = gaps_of(np.random.default_rng(3), rho, (20, 100_000))
    assert gaps.mean() == pytest.approx(1 / rho, rel=0.01)
    assert gaps.var() / gaps.mean() ** 2 == pytest.approx(4, rel=0.02)
    simulated = fifo_waits(np.cumsum(gaps, axis=-1), 1.0).mean()
    assert error[0] < kingman_wait(rho, 1.0, 4.0) / simulated - 1 < error[1]
    assert simulated <= kingman_upper_bound(rho, 1.0, 4.0)


def test_kingman_for_geometric_batches() -> None:
    """Batches of 2.5 packets have c_a² = 4 and E[X²]/E[X] = 4, and an exact wait to compare with (F2)."""
    loads = np.array([0.3, 0.5, 0.7, 0.9])
    assert kingman_wait(loads, 1.0, 4.0) / batch_wait(loads, 1.0, 4.0) == pytest.approx(4 * loads / (3 + loads))


@pytest.mark.parametrize("rho", [0.7, 0.9])
def test_smooth_arrivals_need_the_factor(rho: float) -> None:
    rng = np.random.default_rng(4)
    gaps = rng.gamma(4, 1 / (4 * rho), (20, 50_000))  # c_a² = 1/4
    simulated = fifo_waits(np.cumsum(gaps, axis=-1), 1.0).mean()
    plain = rho / (1 - rho) * 0.25 / 2
    assert abs(kingman_wait(rho, 1.0, 0.25) - simulated) < abs(plain - simulated) / 2
    assert simulated < kingman_upper_bound(rho, 1.0, 0.25)


@pytest.mark.parametrize("rho", [0.5, 0.9, 1.0, 1.1, 1.5])
@pytest.mark.parametrize("step", [50.0, 400.0])
def test_finite_step(rho: float, step: float) -> None:
    rng = np.random.default_rng(5)
    count = int(rho * step + 8 * np.sqrt(rho * step) + 20)
    arrivals = poisson_arrivals(rng, rho, (4000, count))
    left = np.zeros(arrivals.shape[0])
    for row, times in enumerate(arrivals):
        own = times[times < step]
        left[row] = max(own[-1] + fifo_waits(own, 1.0)[-1] + 1 - step, 0.0) if own.size else 0.0
    estimate = finite_step_wait(md1_wait(rho, 1.0), rho, 1.0, step)
    assert estimate == pytest.approx(left.mean(), rel=0.35 if 1 < rho < 1.2 else 0.22)


def test_finite_step_limits() -> None:
    assert finite_step_wait(md1_wait(0.7, 1.0), 0.7, 1.0, 1e12) == pytest.approx(md1_wait(0.7, 1.0), rel=1e-5)
    assert finite_step_wait(np.inf, 3.0, 1.0, 1e6) == pytest.approx(2e6)
    loads = np.linspace(0.05, 2.0, 500)
    assert (np.diff(finite_step_wait(md1_wait(loads, 1.0), loads, 1.0, 300.0)) >= 0).all()


@pytest.mark.parametrize("ranks", [8, 64, 512])
def test_slowest_of_independent_ranks(ranks: int) -> None:
    rng = np.random.default_rng(6)
    # Waits 40 arrivals apart in one queue still resemble each other: shuffled, groups are independent.
    waits = fifo_waits(poisson_arrivals(rng, 0.7, (64, 40_000)), 1.0)[:, 400::40].ravel()
    rng.shuffle(waits)
    groups = waits[: waits.size // ranks * ranks].reshape(-1, ranks)
    assert slowest_wait(ranks, 0.7, 1.0) == pytest.approx(groups.max(axis=1).mean(), rel=0.05)


def test_slowest_of_one_is_at_least_the_mean() -> None:
    loads = np.array([0.01, 0.3, 0.9, 0.999])
    assert (slowest_wait(1, loads, 1.0) >= md1_wait(loads, 1.0)).all()
    assert np.isfinite(slowest_wait(1000, loads, 1.0)).all()

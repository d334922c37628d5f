"""Random waits against simulated queues: mean, spread, quantile and bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from estimator.formulas import gamma
from estimator.formulas.random_wait import NO_WAIT, observed_wait, quantile

ARRIVALS = 400_000


def work_seen(times: np.ndarray, work: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Unfinished work at random moments of a single server queue, by its sample path."""
    before = np.zeros(len(times))
    # Work just before arrival i: cumulated work less time, above its running minimum.
    level = np.concatenate([[0.0], np.cumsum(work)[:-1]]) - times
    before = level - np.minimum.accumulate(np.minimum(level, -times[0]))
    looks = np.sort(rng.uniform(times[len(times) // 100], times[-1], ARRIVALS))
    last = np.searchsorted(times, looks, side="right") - 1
    return np.maximum(before[last] + work[last] - (looks - times[last]), 0.0)


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("batch", [1, 2.5])
def test_random_arrivals(rho: float, batch: float) -> None:
    rng = np.random.default_rng(7)
    sizes = rng.geometric(1.0 / batch, ARRIVALS).astype(float)
    seen = work_seen(np.cumsum(rng.exponential(batch / rho, ARRIVALS)), sizes, rng)
    wait = observed_wait(rho, 1.0, cv_sq=2 * batch - 1)
    assert wait.mean_s == pytest.approx(seen.mean(), rel=0.06)
    assert wait.variance_s2 == pytest.approx(seen.var(), rel=0.15)
    assert quantile(*wait[:3], 0.99) == pytest.approx(np.quantile(seen, 0.99), rel=0.15)


@pytest.mark.parametrize(("rho", "burst"), [(0.3, 8), (0.8, 32)])
def test_periodic_bursts(rho: float, burst: int) -> None:
    rng = np.random.default_rng(7)
    times = (1 + np.arange(10_000)) * burst / rho
    seen = work_seen(times, np.full(times.size, float(burst)), rng)
    wait = observed_wait(rho, 1.0, burst=burst)
    assert wait.mean_s == pytest.approx(seen.mean(), rel=0.02)
    assert wait.variance_s2 == pytest.approx(seen.var(), rel=0.02)
    assert wait.bound_s == pytest.approx(seen.max(), rel=0.01)
    assert quantile(*wait[:3], 0.99) <= wait.bound_s


def test_quantile_of_exponential_waits_is_exact() -> None:
    assert quantile(2.0, 4.0, np.inf, 0.99) == pytest.approx(2.0 * np.log(100.0))
    # The sum of two is an Erlang distribution: P(W > x) = (1 + x) e^-x.
    x = quantile(2.0, 2.0, np.inf, 0.95)
    assert (1 + x) * np.exp(-x) == pytest.approx(0.05)


def test_nothing_random_waits_no_longer() -> None:
    assert observed_wait(0.0, 1.0) == NO_WAIT
    np.testing.assert_array_equal(quantile([0.0, 3.0], [0.0, 0.0], [0.0, np.inf], 0.99), [0.0, 3.0])
    assert quantile(3.0, 100.0, 4.0, 0.99) == 4.0


def test_gamma_quantiles() -> None:
    # Half a χ² of one degree of freedom: P(½, x) = erf(√x); of two: 1 − e^−x; of ten, by its table: 23.209.
    shape = np.array([0.5, 1.0, 5.0])
    found = gamma.quantile(shape, 0.99)
    assert math.erf(math.sqrt(found[0])) == pytest.approx(0.99, abs=1e-12)
    assert found[1] == pytest.approx(math.log(100.0), rel=1e-12)
    assert 2 * found[2] == pytest.approx(23.209, abs=5e-4)


@pytest.mark.parametrize("shape", [1e-3, 0.02, 0.3, 2.0, 40.0, 2000.0])
def test_gamma_quantile_is_the_inverse(shape: float) -> None:
    shapes = np.array([shape])
    for share in (0.5, 0.9, 0.99, 0.999):
        x = gamma.quantile(shapes, share)
        if x[0] > 1e-3:  # halving is exact to 1e-15 or so, not relatively
            assert gamma.incomplete(shapes, x)[0] == pytest.approx(share, rel=1e-9)


def test_gamma_by_drawing() -> None:
    drawn = np.random.default_rng(3).gamma(0.4, size=400_000)
    assert gamma.quantile(np.array([0.4]), 0.95)[0] == pytest.approx(np.quantile(drawn, 0.95), rel=0.01)

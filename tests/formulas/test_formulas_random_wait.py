"""Random waits against simulated queues: mean, spread, quantile and bound."""

from __future__ import annotations

import numpy as np
import pytest

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

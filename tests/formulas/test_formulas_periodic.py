"""F4 and F5: synchronised sources, and periodic ones with random phases. Times in services, τ = 1."""

from __future__ import annotations

import numpy as np
import pytest
from formulas_data import fifo_waits
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.formulas.periodic import (
    periodic_mean_wait,
    periodic_wait_tail,
    synchronised_last_finish,
    synchronised_mean_wait,
)


@pytest.mark.parametrize(
    ("sources", "rho", "wait"),
    [(16, 0.5, 0.402), (16, 0.9, 1.369), (64, 0.7, 1.009), (64, 0.9, 2.470), (64, 1.0, 4.353), (256, 0.9, 3.506)],
)
def test_golden(sources: int, rho: float, wait: float) -> None:
    assert periodic_mean_wait(sources, rho, 1.0) == pytest.approx(wait, abs=5.1e-4)
    assert periodic_mean_wait(sources, rho, 3e-7) == pytest.approx(3e-7 * periodic_mean_wait(sources, rho, 1.0))


@pytest.mark.parametrize(("sources", "rho"), [(2, 0.8), (16, 0.9), (64, 1.0)])
def test_random_phases(sources: int, rho: float) -> None:
    rng = np.random.default_rng(1)
    period = sources / rho
    phases = np.sort(rng.uniform(0, period, (20_000, sources)), axis=1)
    # From the second period on the pattern of waits repeats.
    waits = fifo_waits(np.concatenate((phases, phases + period, phases + 2 * period), axis=1), 1.0)[:, 2 * sources :]
    assert periodic_mean_wait(sources, rho, 1.0) == pytest.approx(waits.mean(), rel=0.015)
    for x in (0.0, 0.5, 1.0, 2.5):
        assert periodic_wait_tail(x, sources, rho) == pytest.approx((waits > x).mean(), abs=0.006)


def test_one_source_never_waits() -> None:
    assert periodic_mean_wait(1, 1.0, 1.0) == 0.0
    assert periodic_wait_tail(0.0, 1, 1.0) == 0.0


def test_two_sources_by_hand() -> None:
    """The other one is d ahead with density 1/D, and then 1 − d is waited: 1/(2D) on average."""
    assert periodic_mean_wait(2, 0.5, 1.0) == pytest.approx(1 / (2 * 4))


@pytest.mark.parametrize("rho", [0.0, 1.01, np.nan])
def test_no_steady_state(rho: float) -> None:
    with pytest.raises(ValueError, match="0 < rho <= 1; found"):
        periodic_mean_wait(8, rho, 1.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 200), st.floats(0.05, 0.95))
def test_less_than_random_arrivals_and_growing_in_load(sources: int, rho: float) -> None:
    wait = periodic_mean_wait(sources, rho, 1.0)
    assert wait <= rho / (2 * (1 - rho)) * (1 + 1e-9)
    assert wait <= periodic_mean_wait(sources, rho + 0.05, 1.0)


@pytest.mark.parametrize("sources", [1, 2, 17])
def test_synchronised(sources: int) -> None:
    waits = fifo_waits(np.zeros(sources), 0.5)
    assert synchronised_mean_wait(sources, 0.5) == waits.mean()
    assert synchronised_last_finish(sources, 0.5) == waits.max() + 0.5

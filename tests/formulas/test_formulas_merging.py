"""F8, F9, F10, F15: golden values, packet simulations of merging ports, limits."""

from __future__ import annotations

import numpy as np
import pytest
from formulas_data import Array, fifo_waits, poisson_arrivals
from hypothesis import given
from hypothesis import strategies as st

from estimator.formulas.merging import (
    departure_cv_sq,
    merged_cv_sq,
    port_wait,
    slotted_merge_wait,
    split_cv_sq,
    tree_hop_wait,
    tree_wait,
)
from estimator.formulas.queueing import md1_wait

LOADS = st.lists(st.floats(0.001, 0.2), min_size=1, max_size=4)


def test_qna_golden() -> None:
    assert departure_cv_sq(0.8, 4.0) == pytest.approx(1.44)
    assert departure_cv_sq(0.5, 4.0) == pytest.approx(3.0)


@pytest.mark.parametrize("rho", [0.3, 0.8])
def test_departures_of_md1(rho: float) -> None:
    arrivals = poisson_arrivals(np.random.default_rng(1), rho, (400_000,))
    gaps = np.diff(arrivals + fifo_waits(arrivals, 1.0))
    assert departure_cv_sq(rho, 1.0) == pytest.approx(gaps.var() / gaps.mean() ** 2, rel=0.02)


def test_thinning() -> None:
    rng = np.random.default_rng(2)
    times = np.cumsum(rng.gamma(4, 1, 400_000))  # c² = 1/4
    gaps = np.diff(times[rng.random(times.size) < 0.3])
    assert split_cv_sq(0.3, 0.25) == pytest.approx(gaps.var() / gaps.mean() ** 2, rel=0.02)


def test_merging_limits() -> None:
    assert merged_cv_sq([2.0], [3.5], 0.4) == pytest.approx(3.5)
    assert merged_cv_sq([1, 2, 3], [1, 1, 1], 0.4) == pytest.approx(1)
    assert merged_cv_sq([1.0] * 10_000, [4.0] * 10_000, 0.1) == pytest.approx(1, abs=1e-3)
    assert merged_cv_sq([1.0, 1.0], [4.0, 2.0], 1.0) == pytest.approx(3)
    # Two equal streams at half load: v = 2, so w = 1/(1 + 4/4) = 1/2, half way from Poisson to c² = 4.
    assert merged_cv_sq([1.0, 1.0], [4.0, 4.0], 0.5) == pytest.approx(2.5)


def halved(rho: float, levels: int) -> list[float]:
    return [rho / 2**level for level in range(levels)]


def test_tree_golden() -> None:
    loads = halved(0.7, 4)
    hops = [tree_hop_wait([rho / 2, rho / 2], 1.0) for rho in loads[:-1]] + [md1_wait(loads[-1], 1.0)]
    assert sum(hops) == pytest.approx(1.1667, abs=5e-5)
    assert sum(md1_wait(rho, 1.0) for rho in loads) == pytest.approx(1.5899, abs=5e-5)
    assert tree_wait(0.7, 1.0) == pytest.approx(sum(hops))


@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_binary_tree_packet_by_packet(rho: float) -> None:
    """Four leaves of Poisson packets, three levels: each hop, and the whole, as F9 says."""
    rng = np.random.default_rng(3)
    leaves: list[tuple[Array, Array]] = []
    for _ in range(4):
        arrivals = poisson_arrivals(rng, rho / 4, (100_000,))
        leaves.append((arrivals, fifo_waits(arrivals, 1.0)))
    horizon = min(arrivals[-1] for arrivals, _ in leaves)
    streams = [arrivals + waits + 1 for arrivals, waits in leaves]
    total = float(np.mean([waits.mean() for _, waits in leaves]))
    for load in (rho / 2, rho):
        merged = [np.sort(np.concatenate(streams[i : i + 2])) for i in range(0, len(streams), 2)]
        merged = [times[times < horizon] for times in merged]
        waits = [fifo_waits(times, 1.0) for times in merged]
        hop = float(np.mean(np.concatenate(waits)))
        assert tree_hop_wait([load / 2, load / 2], 1.0) == pytest.approx(hop, rel=0.04)
        total += hop
        streams = [times + wait + 1 for times, wait in zip(merged, waits, strict=True)]
    assert tree_wait(rho, 1.0) == pytest.approx(total, rel=0.04)


@given(LOADS, st.floats(1, 64), st.integers(1, 100))
def test_port_law_limits(loads: list[float], batch: float, packets: int) -> None:
    assert port_wait(1, loads, 1.0, 1.0) == pytest.approx(tree_hop_wait(loads, 1.0))
    assert port_wait(packets, loads[:1], 1.0, batch) == 0
    wait = port_wait(packets, loads, 1.0, batch)
    assert 0 <= wait <= port_wait(packets + 1, loads, 1.0, batch)
    assert wait <= port_wait(packets, [*loads, 0.1], 1.0, batch) * (1 + 1e-9)


def test_port_law_from_full_load_on() -> None:
    assert port_wait(np.array([1, 2]), [0.5, 0.5], 1.0, 1.0).tolist() == [np.inf, np.inf]
    assert tree_hop_wait([0.9, 0.9], 1.0) == np.inf
    assert tree_hop_wait([], 1.0) == 0


def test_slotted_golden() -> None:
    assert slotted_merge_wait([0.6, 0.05, 0.05], 1.0) == pytest.approx(0.2976, abs=5e-5)
    assert md1_wait(0.7, 1.0) == pytest.approx(1.1667, abs=5e-5)


@given(LOADS)
def test_slotted_limits(loads: list[float]) -> None:
    assert slotted_merge_wait(loads[:1], 1.0) == 0
    assert slotted_merge_wait(loads, 1.0) <= md1_wait(sum(loads), 1.0) * (1 + 1e-9)


@pytest.mark.parametrize("loads", [[0.6, 0.05, 0.05], [0.2, 0.2, 0.2, 0.2]])
def test_slotted_inputs_slot_by_slot(loads: list[float]) -> None:
    rng = np.random.default_rng(4)
    arrivals = (rng.random((1_000_000, len(loads))) < loads).sum(axis=1)
    slots = np.repeat(np.arange(arrivals.size, dtype=float), arrivals)
    assert slotted_merge_wait(loads, 1.0) == pytest.approx(fifo_waits(slots, 1.0).mean(), rel=0.02)

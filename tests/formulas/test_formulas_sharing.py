"""F11, F13, F14, F19: processor sharing, bottlenecks, max-min rates, the baseline of flow counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.formulas.sharing import (
    bottleneck_time,
    fluid_finish_times,
    max_min_rates,
    processor_sharing_time,
    stretch,
    throughput_bound,
    worst_count_times,
)

LINKS = 6


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[list[int]], list[float]]:
    """Up to eight flows over random sets of six links of random capacity."""
    route = st.lists(st.integers(0, LINKS - 1), min_size=1, max_size=4, unique=True)
    routes = draw(st.lists(route, min_size=1, max_size=8))
    return routes, draw(st.lists(st.floats(0.5, 20), min_size=LINKS, max_size=LINKS))


def link_sums(routes: list[list[int]], amounts: np.ndarray) -> np.ndarray:
    sums = np.zeros(LINKS)
    for route, amount in zip(routes, amounts, strict=True):
        sums[route] += amount
    return sums


def test_stretch() -> None:
    assert stretch(np.array([1, 4, 8]), 4).tolist() == [1, 1, 2]


@given(networks())
def test_max_min_definition(network: tuple[list[list[int]], list[float]]) -> None:
    """Every flow crosses a full link on which no flow is faster: that is max-min, and nothing else is."""
    routes, capacity = network
    rates = max_min_rates(routes, capacity)
    used = link_sums(routes, rates)
    assert (used <= np.array(capacity) * (1 + 1e-9)).all()
    for route, rate in zip(routes, rates, strict=True):
        fastest = {link: max(r for other, r in zip(routes, rates, strict=True) if link in other) for link in route}
        assert any(used[link] >= capacity[link] * (1 - 1e-9) and rate >= fastest[link] * (1 - 1e-9) for link in route)


@settings(max_examples=200)
@given(networks(), st.floats(0.1, 1e9))
def test_equal_flows_take_the_bottlenecks_time(network: tuple[list[list[int]], list[float]], size: float) -> None:
    routes, capacity = network
    sizes = np.full(len(routes), size)
    last = fluid_finish_times(sizes, routes, capacity).max()
    assert bottleneck_time(link_sums(routes, sizes), capacity) == pytest.approx(last, rel=1e-12)


@given(networks(), st.data())
def test_unequal_flows(network: tuple[list[list[int]], list[float]], data: st.DataObject) -> None:
    routes, capacity = network
    size = st.one_of(st.just(0.0), st.floats(1e-3, 100))
    sizes = np.array(data.draw(st.lists(size, min_size=len(routes), max_size=len(routes))))
    starts = np.array(data.draw(st.lists(st.floats(0, 10), min_size=len(routes), max_size=len(routes))))
    together = fluid_finish_times(sizes, routes, capacity)
    assert bottleneck_time(link_sums(routes, sizes), capacity) <= together.max() * (1 + 1e-9)
    assert (worst_count_times(sizes, routes, capacity) >= together * (1 - 1e-9)).all()
    staggered = fluid_finish_times(sizes, routes, capacity, starts)
    alone = [size / min(capacity[link] for link in route) for size, route in zip(sizes, routes, strict=True)]
    assert (staggered >= starts + alone - 1e-9).all()
    assert np.isfinite(staggered).all()
    assert np.allclose(fluid_finish_times(sizes * 7, routes, np.array(capacity) * 7, starts), staggered)


def test_finish_times_by_hand() -> None:
    """Sizes 1, 2, 3 on a link of rate 1: thirds until 3, halves until 5, the rest until 6."""
    assert fluid_finish_times([1, 2, 3], [[0]] * 3, [1.0]) == pytest.approx([3, 5, 6])
    # The second starts when half of the first is through.
    assert fluid_finish_times([2, 1], [[0], [0]], [1.0], [0, 1]) == pytest.approx([3, 3])
    # Idle between both.
    assert fluid_finish_times([1, 1, 0], [[0], [0], [0]], [1.0], [0, 5, 2]) == pytest.approx([1, 6, 2])


def test_own_link_limits_a_flow() -> None:
    assert max_min_rates([[0, 1], [0]], [10.0, 2.0]) == pytest.approx([2, 8])
    assert max_min_rates([[], [0]], [10.0, 2.0]).tolist() == [np.inf, 10]
    assert fluid_finish_times([], [], [1.0]).size == 0


def test_huge_sizes_stay_linear() -> None:
    small = fluid_finish_times([3, 5], [[0], [0]], [1.0])
    assert fluid_finish_times([3 * 2**60, 5 * 2**60], [[0], [0]], [1.0]) == pytest.approx(small * 2**60, rel=1e-12)


def test_processor_sharing() -> None:
    """Replay of a shared server with Poisson starts and sizes of 1/2 or 3/2: the sizes' mix does not matter."""
    rng = np.random.default_rng(1)
    rho, count = 0.6, 4000
    starts = np.cumsum(rng.exponential(1 / rho, count))
    sizes = rng.choice([0.5, 1.5], count)
    left, finish, now = sizes.copy(), np.zeros(count), 0.0
    active: list[int] = []
    upcoming = 0
    while upcoming < count or active:
        next_start = starts[upcoming] if upcoming < count else np.inf
        next_end = now + len(active) * min(left[active]) if active else np.inf
        if next_start <= next_end:
            left[active] -= (next_start - now) / max(len(active), 1)
            now = next_start
            active.append(upcoming)
            upcoming += 1
        else:
            left[active] -= (next_end - now) / len(active)
            now = next_end
            done = min(active, key=lambda flow: left[flow])
            active.remove(done)
            finish[done] = now
    times = finish - starts
    for size in (0.5, 1.5):
        assert processor_sharing_time(size, rho) == pytest.approx(times[sizes == size].mean(), rel=0.1)
    assert processor_sharing_time(2.0, 1.0) == np.inf
    assert processor_sharing_time(2.0, 0.0) == 2.0


def test_throughput_of_a_ring() -> None:
    """Ring of 8, one way, uniform traffic: each link carries 8·(0+…+7)/8/8 = 3.5 units."""
    unit_loads = np.zeros(8)
    for src in range(8):
        for hops in range(8):
            unit_loads[(src + np.arange(hops)) % 8] += 1 / 8
    assert throughput_bound(unit_loads, np.ones(8)) == pytest.approx(2 / 7)
    assert throughput_bound([0.0], [1.0]) == np.inf

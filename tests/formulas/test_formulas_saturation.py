"""F16, F17, F18: incast, buffers, victims, head-of-line blocking, and what each fabric makes of it."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.formulas.parameters import FABRICS, Fabric
from estimator.formulas.saturation import (
    HEAD_OF_LINE_LIMIT,
    buffer_fill_time,
    head_of_line_limit,
    incast_finish,
    overflows,
    saturated_rate,
    saturated_time,
    saturated_total_rate,
    victim_rate,
)

LINE = 50e9  # 400 Gb/s


def test_victim_golden() -> None:
    assert victim_rate(0.25, 0.125, 1.0) == pytest.approx(0.375)
    assert saturated_total_rate(0.25, 0.125, 1.0) == pytest.approx(0.5)
    assert victim_rate(0.1, 0.125, 1.0) == pytest.approx(0.9)
    assert victim_rate(0.0, 0.125, 1.0) == 1.0


@pytest.mark.parametrize(("hot_share", "period"), [(0.25, 8), (0.5, 4), (0.2, 4)])
def test_victim_packet_by_packet(hot_share: float, period: int) -> None:
    """A FIFO whose hot packets need room in a buffer that drains one packet each `period` slots."""
    hot = np.random.default_rng(1).random(40_000) < hot_share
    slot, drained = 0, 0
    free_at = deque([0] * 16)  # for each place of the buffer, the slot from which it is free
    for is_hot in hot:
        if is_hot:
            slot = max(slot, free_at.popleft())
            drained = max(slot + 1, drained) + period
            free_at.append(drained)
        slot += 1
    assert victim_rate(hot_share, 1 / period, 1.0) == pytest.approx((~hot).sum() / slot, rel=0.03)


def test_eight_senders_fill_4_mb_in_11_microseconds() -> None:
    assert buffer_fill_time("infiniband", 8, 4e6, LINE) == pytest.approx(11.43e-6, rel=1e-3)
    assert buffer_fill_time("roce", 8, 4e6, LINE) == pytest.approx(5.71e-6, rel=1e-3)
    assert buffer_fill_time("tcp", 1, 4e6, LINE) == np.inf


@pytest.mark.parametrize("sources", [2, 5, 8])
def test_buffer_slot_by_slot(sources: int) -> None:
    """In each slot every source brings a packet and one leaves."""
    burst, buffer = 400, 100
    queue, filled, longest = 0, 0, 0
    for slot in range(1, burst // sources + 1):
        queue += sources - 1
        longest = max(longest, queue)
        filled = filled or (slot if queue >= buffer else 0)
    assert buffer_fill_time("infiniband", sources, buffer, 1.0) == pytest.approx(filled, abs=1)
    assert overflows("infiniband", burst, sources, longest - 1)
    assert not overflows("infiniband", burst, sources, longest)
    assert overflows("roce", burst, sources, 2 * longest - 2)
    assert not overflows("roce", burst, sources, 2 * longest)


@given(st.sampled_from(FABRICS), st.floats(0.01, 1.0), st.floats(1, 1e15))
def test_no_overflow_up_to_full_load(fabric: Fabric, rho: float, burst: float) -> None:
    assert not overflows(fabric, burst, rho, 1)


@pytest.mark.parametrize("fabric", ["infiniband", "roce"])
def test_lossless_incast_degrades_linearly(fabric: Fabric) -> None:
    sources = np.arange(1, 65)
    rates = saturated_rate(fabric, LINE, sources, 4e6, sources * 1e6)
    assert rates == pytest.approx(LINE / sources)
    assert incast_finish(sources, 1e6, LINE) == pytest.approx(1e6 / rates)


def test_tcp_falls_off_the_cliff_when_the_buffer_overflows() -> None:
    below, above = (saturated_time("tcp", 1e6, LINE, n, 4e6, n * 1e6, n) for n in (5, 6))
    assert below == pytest.approx(5e6 / LINE)
    assert above == pytest.approx(6e6 / LINE + 0.2)
    assert saturated_rate("tcp", LINE, 6, 4e6, 6e6) == pytest.approx(1e6 / above)
    assert saturated_rate("tcp", LINE, 2, 4e6, 0.0) == LINE / 2


def simulated_head_of_line(ports: int, slots: int) -> float:
    rng = np.random.default_rng(1)
    wanted = rng.integers(0, ports, ports)
    sent = 0
    for _ in range(slots):
        # The first of a random order wins each output; the others keep their packet.
        order = rng.permutation(ports)
        winners = order[np.unique(wanted[order], return_index=True)[1]]
        wanted[winners] = rng.integers(0, ports, winners.size)
        sent += winners.size
    return sent / slots / ports


@pytest.mark.parametrize(("ports", "limit"), [(1, 1.0), (2, 0.75), (4, 0.655), (8, 0.618)])
def test_head_of_line_golden(ports: int, limit: float) -> None:
    assert head_of_line_limit(ports) == pytest.approx(limit, abs=5e-4)


@pytest.mark.parametrize("ports", [2, 3, 4, 8, 16])
def test_head_of_line_slot_by_slot(ports: int) -> None:
    assert head_of_line_limit(ports) == pytest.approx(simulated_head_of_line(ports, 15_000), rel=0.01)


def test_head_of_line_in_the_limit() -> None:
    assert head_of_line_limit(10**9) == pytest.approx(0.5858, abs=5e-5)
    assert pytest.approx(0.5858, abs=5e-5) == HEAD_OF_LINE_LIMIT

"""Finite buffers: credits against closed forms and a plain packet simulation, and when they are used at all."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimate_shared import (
    FAT_TREE,
    HOST_S,
    LEAF_SPINE,
    MTU,
    OVERHEAD_S,
    RAIL,
    RATE,
    SINGLE,
    TAPERED,
    TORUS,
    allreduce,
    collective,
    incast,
    latencies,
    run,
    sends,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packets import leaf_spine, simulate

from estimator.document import document
from estimator.estimate import EstimateError, message_count
from estimator.replay.buffers import BackPressure, BufferedReplay, is_cyclic, replay_with_credits
from estimator.replay.network import Network
from estimator.scenario import load_scenario, run_scenario
from vef import Op

PACKET_S = MTU / RATE


@pytest.mark.parametrize("packets", [1, 2, 3, 4, 8])
def test_sliding_window(packets: int) -> None:
    # A window of w packets per credit loop: out, through the switch, and the credit's way back.
    count = 64
    result = run(sends(2, [(0, 1, count * MTU)]), SINGLE, parameters={"buffer_size_bytes": str(packets * MTU)})
    loop = 2 * PACKET_S + 2 * HOST_S
    turn = max(loop, packets * PACKET_S)
    last = (count - 1) // packets * turn + (count - 1) % packets * PACKET_S
    assert result.makespan_s == pytest.approx(OVERHEAD_S + last + 2 * PACKET_S + 2 * HOST_S, rel=1e-9)


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    hosts = draw(st.integers(1, 4))
    host = st.integers(0, 2 * hosts - 1)
    pairs = draw(st.lists(st.tuples(host, host).filter(lambda p: p[0] != p[1]), min_size=1, max_size=12))
    # Starts of different picoseconds, so that no order of equal times decides.
    starts = draw(st.lists(st.integers(0, 20_000_000), min_size=len(pairs), max_size=len(pairs), unique=True))
    sizes = draw(st.lists(st.integers(1, 100_000), min_size=len(pairs), max_size=len(pairs)))
    messages = [
        {"id": i, "src": src, "dst": dst, "bytes": size, "ready": start / 1000 + 0.000_137 * i}
        for i, ((src, dst), size, start) in enumerate(zip(pairs, sizes, starts, strict=True))
    ]
    return leaf_spine(hosts, draw(st.integers(1, 2)), messages, draw(st.integers(1, 12)) * 4096)


def with_credits(net: Network, *arguments: Any, **streams: Any) -> BufferedReplay:
    streams.pop("lossless", None)
    replay = replay_with_credits(net, *arguments, MTU, **streams)
    return BufferedReplay(net, replay, BackPressure.MODELLED)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scenario=scenarios())
def test_as_a_plain_packet_simulation(tmp_path: Path, scenario: dict[str, Any]) -> None:
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(scenario))
    with pytest.MonkeyPatch.context() as patch:
        # The credits themselves are under test here, so also where no buffer fills.
        patch.setattr("estimator.scenario.replay_with_buffers", with_credits)
        outcome = run_scenario(load_scenario(file))
    np.testing.assert_allclose(outcome.arrived_s * 1e9, simulate(scenario), rtol=0, atol=0.2)


def test_buffers_that_never_fill_change_nothing() -> None:
    trace = incast(4, 16 * MTU)
    roomy = run(trace, LEAF_SPINE)
    unlimited = run(trace, LEAF_SPINE, parameters={"buffer_size_bytes": "inf"})
    assert roomy.back_pressure == BackPressure.NONE
    assert roomy.makespan_s == unlimited.makespan_s
    np.testing.assert_array_equal(roomy.replay.messages["arrived"], unlimited.replay.messages["arrived"])


def test_smaller_buffers_do_not_hurry_an_incast() -> None:
    trace = incast(8, 64 * MTU)
    times = [
        run(trace, LEAF_SPINE, parameters={"buffer_size_bytes": str(packets * MTU)}).makespan_s
        for packets in (1, 2, 4, 8, 16, 64, 512)
    ]
    assert all(later <= sooner * (1 + 1e-9) for sooner, later in pairwise(times))
    # Behind a port that never idles, the receiver's link decides.
    assert times[-1] == pytest.approx(times[-3], rel=1e-6)


def test_torus_keeps_unlimited_buffers_and_says_so() -> None:
    trace = sends(16, [(i, (i + shift) % 16, 64 * MTU) for i in range(16) for shift in range(1, 16)])
    result = run(trace, TORUS, parameters={"buffer_size_bytes": str(8 * MTU)})
    assert result.back_pressure == BackPressure.MISSING
    assert result.steps.severity.max() == 2


def test_more_cells_than_can_be_followed() -> None:
    trace = sends(3, [(0, 2, 1 << 45), (1, 2, 1 << 45)])
    result = run(trace, SINGLE)
    assert result.back_pressure == BackPressure.MISSING
    assert result.steps.severity.max() == 2


def test_cells_are_as_large_as_they_have_to_be() -> None:
    # 2 × 1 GiB over two links are a million packets: cells of one packet. 64 GiB take trains.
    short = run(sends(3, [(0, 2, 1 << 30), (1, 2, 1 << 30)]), SINGLE)
    long = run(sends(3, [(0, 2, 1 << 35), (1, 2, 1 << 35)]), SINGLE)
    assert short.back_pressure == long.back_pressure == BackPressure.MODELLED
    assert long.makespan_s == pytest.approx((1 << 36) / RATE, rel=1e-4)
    assert short.makespan_s == pytest.approx((1 << 31) / RATE, rel=1e-4)


def test_lost_packets_are_not_modelled() -> None:
    result = run(incast(8, 64 * MTU), SINGLE, parameters={"buffer_size_bytes": str(8 * MTU), "fabric": "tcp"})
    assert result.back_pressure == BackPressure.MISSING
    assert result.steps.severity.max() == 2


def test_back_pressure_reaches_a_flow_that_avoids_the_busy_port() -> None:
    # Hosts 0, 1 and 2 send to host 4 of the next leaf; host 3 to the idle host 5, over the same spine.
    victim = (3, 5, 16 * MTU, 30_000)
    spine = LEAF_SPINE.replace("spines=4", "spines=1")
    trace = sends(16, [*[(i, 4, 256 * MTU) for i in range(3)], victim])
    free = run(trace, spine, parameters={"buffer_size_bytes": "inf"})
    held = run(trace, spine, parameters={"buffer_size_bytes": str(16 * MTU)})

    def latency(result: Any) -> float:
        message = result.replay.messages[3]
        return float(message["arrived"] - message["posted"])

    assert held.back_pressure == BackPressure.MODELLED
    assert held.replay.ports["paused"].max() > 0.0
    assert latency(free) != latency(held)
    assert held.replay.delivered == free.replay.delivered == 4


def test_cycles_among_ports() -> None:
    assert not is_cyclic(4, np.array([0, 1, 2]), np.array([1, 2, 3]))
    assert not is_cyclic(3, np.array([0, 0, 1]), np.array([1, 2, 2]))
    assert is_cyclic(4, np.array([0, 1, 2, 3]), np.array([1, 2, 1, 0]))
    assert is_cyclic(1, np.array([0]), np.array([0]))
    assert not is_cyclic(2, np.array([], np.int64), np.array([], np.int64))



def test_what_a_full_buffer_holds_up_is_queueing() -> None:
    # Every host sends to all others; behind one tapered uplink the hosts are held up most of the time.
    trace = collective(Op.ALLTOALL, 16, 16 * MTU, 0)
    (row,) = document(run(trace, TAPERED, parameters={"buffer_size_bytes": str(8 * MTU)}))["collectives"]
    parts = row["breakdown"]
    assert sum(parts.values()) == pytest.approx(row["latency_s"], rel=1e-9)
    # 15 messages of 16 packets at the host's link; the rest is somebody else's.
    assert parts["serialisation_s"] <= 15 * 16 * PACKET_S * (1 + 1e-9) + 4 * PACKET_S
    assert parts["queueing_s"] > row["latency_s"] / 4


@pytest.mark.parametrize(("fabric", "buffer"), [("infiniband", MTU - 1), ("infiniband", 1), ("roce", 2 * MTU - 1)])
def test_buffer_smaller_than_a_packet_is_refused(fabric: str, buffer: int) -> None:
    parameters = {"buffer_size_bytes": str(buffer), "fabric": fabric}
    with pytest.raises(EstimateError, match="room for a packet of 4KiB"):
        run(incast(4, 16 * MTU), SINGLE, parameters=parameters)
    assert run(incast(4, 16 * MTU), SINGLE, parameters=parameters, model="fluid").replay.delivered == 4


def test_credit_and_message_of_one_instant() -> None:
    # Symmetric ranks: credits come back within a rounding of the moment in which the next message is ready.
    result = run(allreduce(16, 30_000, 3), SINGLE, parameters={"buffer_size_bytes": str(MTU)}, ranks_per_node=2)
    assert result.back_pressure == BackPressure.MODELLED
    assert result.replay.delivered == message_count(result.workload)
    assert not result.workload.network.ports["blocked"].any()


@pytest.mark.parametrize("switching", ["store-and-forward", "cut-through"])
def test_host_that_relays_takes_what_is_for_itself(switching: str) -> None:
    # On rails GPU 1 relays for GPU 0 to other nodes, over the link that also brings its own messages.
    trace = sends(16, [(0, 1, 40 * MTU), (0, 5, 8 * MTU), (2, 1, 40 * MTU), (4, 5, 3 * MTU), (0, 1, 0)])
    result = run(trace, f"{RAIL},switching={switching}", parameters={"buffer_size_bytes": str(MTU)})
    assert result.back_pressure == BackPressure.MODELLED
    assert result.replay.delivered == 5
    assert not result.workload.network.ports["blocked"].any()
    assert result.steps.rho.max() <= 36.0 * 5  # five messages, NVLink 36 times as fast as the slowest port


def test_short_packets_stay_behind_long_ones_over_a_bundle() -> None:
    # The last byte of host 3's first message is ready to leave the bundle before the packet in front of it.
    trace = sends(16, [(1, 12, MTU + 1), (3, 8, 3 * MTU + 1), (3, 9, 3 * MTU + 1), (3, 15, MTU + 1)])
    result = run(trace, FAT_TREE, parameters={"buffer_size_bytes": str(2 * MTU)}, routing="spray")
    alone = latencies(run(trace, FAT_TREE, model="alpha-beta", routing="spray"))
    ports = result.workload.network.ports
    assert result.back_pressure == BackPressure.MODELLED
    assert (latencies(result) >= alone - 1e-12).all()
    assert not ports["members"].any()
    assert not ports["sending"].any()


def test_step_is_not_held_up_for_longer_than_it_takes() -> None:
    # Cells of one message wait at several ports at once.
    result = run(incast(12, 64 * MTU, 16), LEAF_SPINE, parameters={"buffer_size_bytes": str(MTU)})
    assert result.steps.paused_s.max() > 0.0
    assert (result.steps.paused_s <= result.steps.finish_s - result.steps.start_s).all()

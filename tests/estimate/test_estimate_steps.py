"""Steps: which port is loaded, how much, by whom, and whether to hand the step to packet-level simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimate_shared import (
    DRAGONFLY,
    FAT_TREE,
    LEAF_SPINE,
    MIB,
    MODELS,
    MTU,
    RATE,
    SINGLE,
    TAPERED,
    TORUS,
    allreduce,
    collective,
    from_yaml,
    incast,
    network,
    run,
    sends,
)

from estimator.document import document
from estimator.estimate import Estimate
from vef import Op
from vef.program import Program


def steps(result: Estimate) -> list[dict[str, Any]]:
    return document(result)["steps"]


def test_lone_bulk_flow_is_not_marked() -> None:
    (step,) = steps(run(sends(2, [(0, 1, 512 * MIB)]), SINGLE))
    assert (step["rho"], step["regime"], step["run_g5"], step["reasons"]) == (0.0, "low", False, [])
    assert step["worst_port"] is None
    assert step["pattern"] == "point-to-point"
    assert step["messages"] == 1
    assert step["bytes"] == 512 * MIB


def test_one_task_that_sends_a_lot_does_not_merge_with_itself() -> None:
    for model in MODELS:
        result = run(sends(8, [(0, target, MIB) for target in range(1, 8)]), SINGLE, model=model)
        assert result.steps.rho.max() == 0.0, model
        assert not result.steps.run_g5.any()


@pytest.mark.parametrize("model", MODELS)
def test_broadcast_tree_does_not_merge(model: str) -> None:
    program = Program(8)
    program.collective(Op.BROADCAST, [MIB, *[0] * 7], [0, *[MIB] * 7], [0] * 8)
    result = run(program.trace(), SINGLE, model=model, collectives={"broadcast": "binomial"})
    assert result.steps.rho.max() == 0.0
    assert not result.steps.run_g5.any()


@pytest.mark.parametrize("sources", [2, 4, 8, 15])
@pytest.mark.parametrize("size", [MTU, 16 * MTU, MIB])
def test_incast_is_marked(sources: int, size: int) -> None:
    (step,) = steps(run(incast(sources, size, 16), SINGLE))
    assert step["rho"] == pytest.approx(sources, rel=1e-6)
    assert (step["worst_port"], step["flows"], step["regime"]) == ("switch0→h0", sources, "congested")
    assert step["run_g5"]
    assert step["pattern"] == ("incast" if sources >= 3 else "point-to-point")
    assert step["utilisation"] == pytest.approx(1.0)
    assert "switch0→h0" in step["reasons"][0]


@pytest.mark.parametrize("sources", [4, 8, 15])
@pytest.mark.parametrize(
    ("topology", "port"),
    [(FAT_TREE, "edge0→h0"), (LEAF_SPINE, "leaf0→h0"), (TORUS, "r0.0→h0"), (DRAGONFLY, "g0r0→h0")],
)
def test_incast_is_marked_at_the_last_port_behind_others(topology: str, port: str, sources: int) -> None:
    # Ports before it slow the flows down, but what it is offered is what their sources would push: ρ = N. The
    # arrivals spread by the distances, at most 4 links of 0.93 µs in 84 µs a message.
    (step,) = steps(run(incast(sources, MIB, 16), topology))
    assert step["worst_port"] == port
    assert step["flows"] == sources
    assert sources * (1 - 4 * 0.93 / 84) <= step["rho"] <= sources * (1 + 1e-9)
    assert step["pattern"] == "incast"
    assert f"the burst of {sources}MiB lasts" in step["reasons"][0]


def test_numbers_in_the_reasons() -> None:
    (step,) = steps(run(incast(8, MIB), SINGLE, parameters={"fabric": "tcp"}))
    first, second = step["reasons"]
    assert first.startswith("8 flows merge at switch0→h0 (ρ 8.00 of 100Gb/s)")
    # 8 MiB at 12.5 GB/s; at the end of the arrivals, M/B less a packet, the port has sent one message less a packet.
    assert abs(8 * MIB / RATE - 671.1e-6) < 0.05e-6
    assert "the burst of 8MiB lasts 671.1us" in first
    assert abs(8 * MIB - (MIB - MTU) - 7.004 * MIB) < 0.0005 * MIB
    assert "the longest queue on its way is 7.004MiB" in first
    # B/((n-1)C)
    assert abs(4 * MIB / (7 * RATE) - 47.93e-6) < 0.005e-6
    assert "a port buffer of 4MiB fills in 47.93us" in second
    assert "200 ms" in second
    assert step["severity"] == "likely wrong"


@pytest.mark.parametrize("fabric", ["infiniband", "roce"])
def test_incast_in_lossless_fabric_is_informational(fabric: str) -> None:
    (step,) = steps(run(incast(8, 32 * MTU), SINGLE, parameters={"fabric": fabric}))
    assert (step["run_g5"], step["severity"], step["paused_s"]) == (True, "informational", 0.0)
    assert len(step["reasons"]) == 1
    # Every source fills its link's buffer of 128 packets, then goes on at the pace of the receiver.
    buffer = {"infiniband": 128 * MTU, "roce": 256 * MTU}[fabric]
    (step,) = steps(run(incast(8, MIB), SINGLE, parameters={"fabric": fabric, "buffer_size_bytes": str(buffer)}))
    packet_s = MTU / RATE
    assert step["severity"] == "informational"
    assert step["paused_s"] == pytest.approx((8 * 128 - 255) * packet_s, abs=20 * packet_s)
    assert {"infiniband": "credits", "roce": "PFC"}[fabric] in step["reasons"][1]


@pytest.mark.parametrize("ranks", [4, 8, 16])
@pytest.mark.parametrize("topology", [SINGLE, LEAF_SPINE, FAT_TREE])
def test_ring_allreduce_on_a_full_fabric_is_not_marked(topology: str, ranks: int) -> None:
    result = document(run(allreduce(ranks, 256 * MTU * ranks), topology, collectives={"allreduce": "ring"}))
    (row,) = result["collectives"]
    assert (row["algorithm"], row["pattern"], row["run_g5"], row["regime"]) == ("ring", "ring", False, "low")
    assert len(result["steps"]) == 2 * (ranks - 1)
    assert {step["pattern"] for step in result["steps"]} == {"ring"}
    assert [step["round"] for step in result["steps"]] == list(range(2 * (ranks - 1)))
    assert all(step["collective"] == "G0" and step["messages"] == ranks for step in result["steps"])


def test_ring_across_a_tapered_spine_is_marked_there() -> None:
    # Strided placement: every neighbour is in another leaf, so four flows share the only uplink of each.
    trace = sends(16, [(4 * (i % 4) + i // 4, (4 * (i % 4) + i // 4 + 4) % 16, MIB) for i in range(16)])
    (step,) = steps(run(trace, TAPERED))
    assert step["rho"] == pytest.approx(4.0, rel=1e-6)
    assert step["flows"] == 4
    assert step["worst_port"].endswith("→spine0")
    assert step["run_g5"]


def test_all_to_all_pattern() -> None:
    trace = sends(8, [(i, (i + shift) % 8, MTU) for i in range(8) for shift in range(1, 8)])
    (step,) = steps(run(trace, SINGLE))
    assert step["pattern"] == "all-to-all"
    linear = document(run(collective(Op.ALLTOALL, 8, MTU, 0), SINGLE, collectives={"alltoall": "linear"}))
    assert linear["collectives"][0]["pattern"] == "all-to-all"
    assert linear["collectives"][0]["max_flows"] >= 1


@pytest.mark.parametrize("model", MODELS)
def test_two_slow_flows_are_a_transition(model: str, tmp_path: Path) -> None:
    # Two sources of 25 Gb/s into a port of 100 Gb/s: ρ = 1/4 + 1/4.
    text = "kind: custom\nhosts: 3\nswitches: 1\nlinks:\n- {a: h0, b: s0}\n- {a: 'h[1-2]', b: s0, rate: 25Gb/s}\n"
    (step,) = steps(run(incast(2, 16 * MIB), from_yaml(text, tmp_path), model=model))
    assert step["rho"] == pytest.approx(0.5, rel=1e-3)
    assert step["flows"] == 2
    assert (step["regime"], step["run_g5"], step["worst_port"]) == ("transition", False, "s0→h0")
    assert step["utilisation"] == pytest.approx(0.5, rel=1e-3)


def test_thresholds_are_parameters(tmp_path: Path) -> None:
    text = "kind: custom\nhosts: 3\nswitches: 1\nlinks:\n- {a: h0, b: s0}\n- {a: 'h[1-2]', b: s0, rate: 25Gb/s}\n"
    fabric = from_yaml(text, tmp_path)
    low = run(
        incast(2, MIB), fabric, parameters={"low_load_threshold_rho": "0.51", "congestion_threshold_rho": "0.6"}
    )
    assert low.steps.regime.tolist() == [0]
    high = run(incast(2, MIB), fabric, parameters={"saturation_threshold_rho": "0.5"})
    assert high.steps.run_g5.tolist() == [True]


def test_two_collectives_that_overlap_load_the_same_port(tmp_path: Path) -> None:
    # Two pairs, each a communicator with a ring of its own, cross the only spine from one leaf to the other.
    placement = tmp_path / "hosts"
    placement.write_text("h0\nh1\nh4\nh5\n", encoding="utf-8")
    program = Program(4, {1: [0, 2], 2: [1, 3]})
    size = 64 * MIB
    for communicator in (1, 2):
        program.collective(Op.ALLREDUCE, [size] * 2, [size] * 2, [0] * 2, communicator)
    program.finish()
    both = document(run(program.trace(), TAPERED, placement=str(placement), collectives={"allreduce": "ring"}))
    for row in both["collectives"]:
        assert row["max_rho"] == pytest.approx(2.0, rel=0.02)
        assert row["max_flows"] == 2
        assert row["run_g5"]
        assert row["latency_s"] == pytest.approx(2 * row["alpha_beta_s"], rel=0.01)
    alone = Program(4, {1: [0, 2], 2: [1, 3]})
    alone.collective(Op.ALLREDUCE, [size] * 2, [size] * 2, [0] * 2, 1)
    (row,) = document(run(alone.trace(), TAPERED, placement=str(placement), collectives={"allreduce": "ring"}))[
        "collectives"
    ]
    assert (row["max_rho"], row["run_g5"]) == (0.0, False)


def test_two_jobs_that_overlap_load_the_same_port(tmp_path: Path) -> None:
    placement = tmp_path / "hosts"
    placement.write_text("h0\nh4\nh1\nh5\n", encoding="utf-8")
    job = sends(2, [(0, 1, 64 * MIB)])
    result = document(run([job, job], TAPERED, placement=str(placement)))
    # A step of each job; the load of both is in each.
    assert [step["trace"] for step in result["steps"]] == [0, 1]
    for step in result["steps"]:
        assert step["rho"] == pytest.approx(2.0, rel=1e-3)
        assert step["flows"] == 2
        assert step["messages"] == 1
    assert result["summary"]["g5_steps"] == 2


@pytest.mark.parametrize("sources", [2, 5, 12])
def test_incast_of_single_packets_has_the_same_load(sources: int) -> None:
    for size in (64, 1000, MTU):
        (step,) = steps(run(incast(sources, size, 16), SINGLE))
        assert step["rho"] == pytest.approx(sources, rel=1e-6)
        assert step["flows"] == sources


def test_bursts_apart_in_time_are_steps_of_their_own() -> None:
    trace = sends(4, [(i, 0, MIB, burst * 10**8) for i in range(1, 4) for burst in range(3)])
    result = steps(run(trace, SINGLE))
    assert [step["messages"] for step in result] == [3, 3, 3]
    assert [step["start_s"] for step in result] == pytest.approx([0.0, 0.1, 0.2], abs=1e-12)
    assert all(step["rho"] == pytest.approx(3.0, rel=1e-6) for step in result)


def test_utilisation_of_ports() -> None:
    result = document(run(incast(3, MIB), SINGLE))
    ports = {row["name"]: row for row in result["ports"]}
    assert set(ports) == {"switch0→h0", "h1→switch0", "h2→switch0", "h3→switch0"}
    makespan = result["summary"]["makespan_s"]
    assert ports["switch0→h0"]["busy_s"] == pytest.approx(3 * MIB / RATE, rel=1e-9)
    assert ports["switch0→h0"]["utilisation"] == pytest.approx(3 * MIB / RATE / makespan, rel=1e-9)
    assert ports["h1→switch0"]["bytes"] == MIB
    assert ports["switch0→h0"]["bytes"] == 3 * MIB
    assert ports["switch0→h0"]["capacity"] == RATE
    # What came in less what went out while it came.
    assert ports["switch0→h0"]["peak_backlog_bytes"] == pytest.approx(2 * MIB + MTU, abs=1)
    assert ports["switch0→h0"]["g5_steps"] == 1
    assert ports["h1→switch0"]["max_rho"] == 0.0


def test_a_victim_is_marked_only_where_it_meets_the_incast() -> None:
    # Seven hosts send to host 0; a message between two others on the switch meets nobody.
    trace = [*[(i, 0, MIB) for i in range(1, 8)], (8, 9, MIB)]
    result = run(sends(16, trace), SINGLE)
    alone = run(sends(16, [(8, 9, MIB)]), SINGLE)
    assert result.replay.messages["arrived"][7] == alone.replay.messages["arrived"][0]
    # On the tapered tree a victim shares the spine's link down with the incast, and waits.
    trace = [*[(i, 0, MIB) for i in range(4, 12)], (12, 1, MIB)]
    victim = run(sends(16, trace), TAPERED)
    alone = run(sends(16, [(12, 1, MIB)]), TAPERED)
    assert victim.replay.messages["arrived"][8] > 2 * alone.replay.messages["arrived"][0]


def test_summary_counts_what_the_steps_say() -> None:
    result = run(allreduce(16, 4 * MIB), TAPERED)
    found = document(result)
    marked = [step for step in found["steps"] if step["run_g5"]]
    assert marked
    summary = found["summary"]
    assert summary["steps"] == len(found["steps"])
    assert summary["g5_steps"] == len(marked) == sum(row["g5_steps"] for row in found["collectives"])
    assert summary["max_rho"] == max(step["rho"] for step in found["steps"])
    lasted = sum(step["latency_s"] for step in found["steps"])
    assert summary["g5_share_of_time"] == pytest.approx(sum(s["latency_s"] for s in marked) / lasted, rel=1e-9)
    assert summary["slowdown"] == pytest.approx(
        summary["communication_s"] / summary["communication_alpha_beta_s"], rel=1e-12
    )
    assert sum(step["messages"] for step in found["steps"]) == summary["messages"]
    names = set(network(TAPERED).port_names())
    assert {step["worst_port"] for step in marked} <= names
    for row in found["collectives"]:
        assert all(text for text in row["reasons"])
        assert row["finish_s"] - row["start_s"] == pytest.approx(row["latency_s"], rel=1e-9)


def test_ranks_of_a_host_merge_in_its_nic() -> None:
    trace = sends(8, [(i, 4 + i, MIB) for i in range(4)])
    (step,) = steps(run(trace, SINGLE, ranks_per_node=4))
    assert step["worst_port"] in ("h0→switch0", "switch0→h1")
    assert step["flows"] == 4
    assert step["rho"] == pytest.approx(4.0, rel=0.01)
    apart = run(trace, SINGLE)
    assert np.all(apart.steps.rho == 0.0)


def test_a_relayed_message_queues_with_the_relaying_hosts_own() -> None:
    # h0 reaches rail 1 through h1, whose NIC then carries both messages: 2 M/B, not M/B.
    size = 10 * MIB
    topology = "rail-optimized:nodes=2,gpus=2,rate=100Gb/s"
    own = run(sends(4, [(1, 3, size)]), topology).makespan_s
    both = run(sends(4, [(1, 3, size), (0, 3, size)]), topology).makespan_s
    assert both - own == pytest.approx(size / RATE, rel=1e-6)


@pytest.mark.parametrize("model", ["static", "fluid", "md1", "kingman", "empirical"])
def test_models_share_a_relaying_nic_too(model: str) -> None:
    # Six 1 MiB messages into one GPU: no sooner than its NIC carries them, and of that order.
    transfers = [(source, 0, MIB) for source in range(2, 8)]
    span = run(sends(8, transfers), "rail-optimized:nodes=4,gpus=2,rate=100Gb/s", model=model).makespan_s
    assert 6 * MIB / RATE <= span < 2.5 * 6 * MIB / RATE

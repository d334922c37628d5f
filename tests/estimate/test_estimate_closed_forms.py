"""Times that can be written down: lone messages, incasts, rings, copies within a host, on networks of every kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from estimate_shared import (
    DRAGONFLY,
    FAT_TREE,
    HOST_S,
    INTRA_RATE,
    INTRA_S,
    LEAF_SPINE,
    MESH,
    MIB,
    MODELS,
    MTU,
    OVERHEAD_S,
    RAIL,
    RAIL_SPINES,
    RATE,
    SINGLE,
    TORUS,
    allreduce,
    arrivals,
    from_yaml,
    incast,
    latencies,
    lone_s,
    run,
    sends,
    wires_s,
)

from estimator.topology import load_topology
from vef.program import Program

# Source, destination and links between them, counted by hand.
PAIRS = [
    (SINGLE, 0, 5, 2),
    (FAT_TREE, 0, 1, 2),
    (FAT_TREE, 0, 2, 4),
    (FAT_TREE, 0, 15, 6),
    (LEAF_SPINE, 0, 3, 2),
    (LEAF_SPINE, 0, 4, 4),
    (DRAGONFLY, 0, 1, 2),  # one router
    (DRAGONFLY, 0, 2, 3),  # one group
    (DRAGONFLY, 0, 14, 3),  # routers at the two ends of a global link
    (DRAGONFLY, 0, 8, 4),
    (DRAGONFLY, 2, 8, 5),
    (TORUS, 0, 1, 3),
    (TORUS, 0, 10, 6),
    (TORUS, 0, 15, 4),  # round the corner both ways
    (MESH, 0, 15, 8),  # no corner to go round
    (RAIL, 0, 4, 2),
    (RAIL_SPINES, 0, 5, 4),
]
SIZES = (1, MTU - 1, MTU, 3 * MTU + 17, MIB)

XGFT = "kind: fat-tree\nlevels:\n- {down: 2, up: 2}\n- {down: 2, up: 2}\n- {down: 2, up: 2}\n- {down: 2}\n"
CUSTOM = """
kind: custom
hosts: 4
switches: 2
links:
- {a: "h[0-1]", b: s0}
- {a: h2, b: s1, rate: 50Gb/s, latency: 1us}
- {a: h3, b: s1, rate: 400Gb/s}
- {a: s0, b: s1, rate: 200Gb/s, latency: 2us}
"""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("topology", "source", "target", "hops"), PAIRS)
def test_lone_message(topology: str, source: int, target: int, hops: int, model: str) -> None:
    for size in SIZES:
        result = run(sends(16, [(source, target, size)]), topology, model=model)
        assert arrivals(result)[0] == pytest.approx(lone_s(size, hops, wires_s(hops)), rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("topology", "source", "target", "hops"), PAIRS)
def test_lone_message_with_cut_through(topology: str, source: int, target: int, hops: int, model: str) -> None:
    for size in (1, 3 * MTU + 17, MIB):
        result = run(sends(16, [(source, target, size)]), topology + ",switching=cut-through", model=model)
        assert arrivals(result)[0] == pytest.approx(lone_s(size, hops, wires_s(hops), cut_through=True), rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_lone_message_over_four_levels(model: str, tmp_path: Path) -> None:
    fabric = from_yaml(XGFT, tmp_path)
    for target, hops in ((1, 2), (3, 4), (7, 6), (15, 8)):
        result = run(sends(16, [(0, target, MIB)]), fabric, model=model)
        assert arrivals(result)[0] == pytest.approx(lone_s(MIB, hops, wires_s(hops)), rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("target", "rates", "wires"),
    [
        (1, (12.5e9, 12.5e9), 800e-9),
        (2, (12.5e9, 25e9, 6.25e9), 400e-9 + 2e-6 + 1e-6),  # slowest last
        (3, (12.5e9, 25e9, 50e9), 400e-9 + 2e-6 + 400e-9),  # slowest first
    ],
)
def test_lone_message_over_unequal_links(
    target: int, rates: tuple[float, ...], wires: float, model: str, tmp_path: Path
) -> None:
    fabric = from_yaml(CUSTOM, tmp_path)
    for size in (1000, MTU, MIB):
        first = min(size, MTU)
        expected = OVERHEAD_S + wires + sum(first / rate for rate in rates) + (size - first) / min(rates)
        result = run(sends(4, [(0, target, size)]), fabric, model=model)
        assert arrivals(result)[0] == pytest.approx(expected, rel=1e-9)
        assert not result.steps.run_g5.any()


@pytest.mark.parametrize("model", MODELS)
def test_lone_message_inside_a_gpu_node_and_across_rails(model: str) -> None:
    nvlink, nvlink_s = 450e9, 300e-9
    inside = OVERHEAD_S + 2 * nvlink_s + (MIB + MTU) / nvlink
    relayed = OVERHEAD_S + 2 * nvlink_s + 2 * HOST_S + 2 * MTU / nvlink + (MIB + MTU) / RATE
    for target, expected in ((1, inside), (5, relayed)):
        result = run(sends(16, [(0, target, MIB)]), RAIL, model=model)
        assert arrivals(result)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_messages_on_paths_of_their_own_are_all_alone(model: str) -> None:
    # A cyclic shift on one switch uses every port once.
    result = run(sends(16, [(i, (i + 3) % 16, MIB) for i in range(16)]), SINGLE, model=model)
    assert arrivals(result) == pytest.approx(np.full(16, lone_s(MIB, 2, wires_s(2))), rel=1e-9)
    assert not result.steps.run_g5.any()


@pytest.mark.parametrize("size", [1000, MTU, 16 * MTU, MIB])
@pytest.mark.parametrize("sources", [2, 3, 8, 15])
def test_incast_on_a_switch(sources: int, size: int) -> None:
    # reference/README.md: N M/B + MTU/B + 2 lat; single packets leave one by one.
    packet = min(size, MTU) / RATE
    last = OVERHEAD_S + 2 * HOST_S + sources * size / RATE + packet
    result = run(incast(sources, size), SINGLE)
    assert result.makespan_s == pytest.approx(last, rel=1e-9)
    # The last packets of all messages come last, one after the other.
    expected = last - np.arange(sources)[::-1] * packet
    assert np.sort(arrivals(result)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("model", ["static", "fluid"])
@pytest.mark.parametrize("sources", [2, 8, 15])
def test_incast_in_the_models_of_sharing(sources: int, model: str) -> None:
    alpha = OVERHEAD_S + 2 * HOST_S + MTU / RATE
    result = run(incast(sources, MIB), SINGLE, model=model)
    assert arrivals(result) == pytest.approx(np.full(sources, alpha + sources * MIB / RATE), rel=1e-9)


@pytest.mark.parametrize(
    ("topology", "nearest"),
    [(FAT_TREE, 2), (LEAF_SPINE, 2), (DRAGONFLY, 2), (TORUS, 3), (MESH, 3), (RAIL_SPINES, 2)],
)
def test_incast_of_all_keeps_the_last_link_busy(topology: str, nearest: int) -> None:
    # The last link is busy from the first packet of the nearest source on.
    sources = [task for task in range(1, 16) if not (topology == RAIL_SPINES and task < 4)]
    result = run(sends(16, [(task, 0, MIB) for task in sources]), topology)
    last = OVERHEAD_S + wires_s(nearest) + (nearest - 1) * MTU / RATE + len(sources) * MIB / RATE
    assert result.makespan_s == pytest.approx(last, rel=2e-3)


def test_incast_over_links_of_other_rates(tmp_path: Path) -> None:
    # Four NICs of 100 Gb/s fill one of 400 Gb/s exactly, five do not fit.
    text = "kind: custom\nhosts: 6\nswitches: 1\nlinks:\n- {a: h0, b: s0, rate: 400Gb/s}\n- {a: 'h[1-5]', b: s0}\n"
    fabric = from_yaml(text, tmp_path)
    alpha = OVERHEAD_S + 2 * HOST_S
    four = run(incast(4, MIB, 6), fabric)
    assert four.makespan_s == pytest.approx(alpha + MIB / RATE + 4 * MTU / (4 * RATE), rel=1e-9)
    five = run(incast(5, MIB, 6), fabric)
    assert five.makespan_s == pytest.approx(alpha + MTU / RATE + 5 * MIB / (4 * RATE), rel=1e-9)


def hops_between(topology: str, a: int, b: int) -> int:
    """Links between two hosts, from the shape of the network."""
    if topology == FAT_TREE:
        return 2 if a // 2 == b // 2 else 4 if a // 4 == b // 4 else 6
    if topology == LEAF_SPINE:
        return 2 if a // 4 == b // 4 else 4
    if topology == TORUS:
        x, y = abs(a % 4 - b % 4), abs(a // 4 - b // 4)
        return 2 + min(x, 4 - x) + min(y, 4 - y)
    return 2


@pytest.mark.parametrize("chunk", [16 * MTU, 256 * MTU])  # an eager and a rendezvous send
@pytest.mark.parametrize("topology", [SINGLE, FAT_TREE, LEAF_SPINE, TORUS])
@pytest.mark.parametrize("ranks", [2, 4, 8, 16])
def test_ring_allreduce_without_contention(topology: str, ranks: int, chunk: int) -> None:
    result = run(allreduce(ranks, chunk * ranks), topology, collectives={"allreduce": "ring"})
    # A rank starts a round once the chunk of the round before is there and, above the eager limit, its own is out.
    hops = [hops_between(topology, i, (i + 1) % ranks) for i in range(ranks)]
    to_right = np.array([lone_s(chunk, h, wires_s(h)) for h in hops])
    ready = np.zeros(ranks)
    for _ in range(2 * (ranks - 1)):
        sent = ready + (to_right if chunk > 262144 else OVERHEAD_S)
        ready = np.maximum(np.roll(ready + to_right, 1), sent)
    assert result.makespan_s == pytest.approx(ready.max(), rel=1e-9)
    assert result.replay.instances["finish_alone"][0] == pytest.approx(ready.max(), rel=1e-9)
    if topology == SINGLE:  # 2(N-1)(α + (S/N)/β)
        assert result.makespan_s == pytest.approx(2 * (ranks - 1) * lone_s(chunk, 2, wires_s(2)), rel=1e-9)
    assert not result.steps.run_g5.any()


def test_messages_within_a_host_do_not_touch_the_network() -> None:
    trace = sends(4, [(0, 1, MIB), (1, 0, 3 * MIB), (2, 3, 0), (3, 3, 100)])
    for model in MODELS:
        result = run(trace, SINGLE, ranks_per_node=4, model=model)
        expected = OVERHEAD_S + INTRA_S + np.array([MIB, 3 * MIB, 0, 100]) / INTRA_RATE
        assert arrivals(result) == pytest.approx(expected, rel=1e-12)
        assert result.workload.network.ports["bytes"].sum() == 0


def test_ranks_of_a_host_share_its_nic() -> None:
    # Tasks 0 to 3 are on host 0; each sends to a host of its own.
    trace = sends(20, [(0, 4, MIB), (1, 8, MIB), (2, 12, MIB), (3, 16, MIB)])
    apart = run(trace, SINGLE.replace("hosts=16", "hosts=20"))
    lone = lone_s(MIB, 2, wires_s(2))
    assert arrivals(apart) == pytest.approx(np.full(4, lone), rel=1e-9)
    together = run(trace, SINGLE, ranks_per_node=4)
    # Whole messages in the order of posting.
    assert arrivals(together) == pytest.approx(lone + np.arange(4) * MIB / RATE, rel=1e-9)


def test_one_rank_queues_behind_its_own_messages() -> None:
    sizes = [MIB, MTU, 5 * MTU]
    result = run(sends(4, [(0, 1 + i, size) for i, size in enumerate(sizes)]), SINGLE)
    expected = [lone_s(size, 2, wires_s(2)) + sum(sizes[:i]) / RATE for i, size in enumerate(sizes)]
    assert arrivals(result) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("size", [MTU, 64 * MTU])
def test_two_flows_over_one_link_between_switches(size: int) -> None:
    # Hosts 0 and 1 of one leaf, hosts 4 and 5 of the other, one spine.
    topology = LEAF_SPINE.replace("spines=4", "spines=1")
    result = run(sends(16, [(0, 4, size), (1, 5, size)]), topology)
    alone = OVERHEAD_S + wires_s(4) + 3 * MTU / RATE
    assert np.sort(arrivals(result)) == pytest.approx(
        [alone + (2 * size - MTU) / RATE, alone + 2 * size / RATE], rel=1e-9
    )


def test_pipeline_of_stages_adds_up() -> None:
    program = Program(4)
    handle = program.send(0, 1, MIB, 1000)
    for task in (1, 2):
        program.receive(task, handle)
        handle = program.send(task, task + 1, MIB, 1000)
    program.receive(3, handle)
    program.finish()
    result = run(program.trace(), SINGLE)
    assert result.makespan_s == pytest.approx(3 * (lone_s(MIB, 2, wires_s(2)) + 1e-6), rel=1e-9)


def test_latency_counts_from_the_start_of_the_message() -> None:
    for start in (1_000, 10**9, 3_600 * 10**9):
        result = run(sends(2, [(0, 1, MIB, start)]), SINGLE)
        assert latencies(result)[0] == pytest.approx(lone_s(MIB, 2, wires_s(2)), rel=1e-6)


def test_dragonfly_pays_its_own_latencies() -> None:
    topology = DRAGONFLY + ",local_latency=1us,global_latency=5us"
    result = run(sends(9, [(2, 8, MTU)]), topology)
    # Host, local, global, local, host.
    assert arrivals(result)[0] == pytest.approx(lone_s(MTU, 5, 2 * HOST_S + 1e-6 + 5e-6 + 1e-6), rel=1e-9)


def test_link_rate_is_decimal_bits() -> None:
    fabric = load_topology("single-switch:hosts=2,rate=8Gb/s,host.latency=0ns,host.overhead=0ns,mtu=1000B")
    result = run(sends(2, [(0, 1, 10**9)]), fabric, parameters={"mtu_bytes": "1000"})
    assert arrivals(result)[0] == pytest.approx(1.0 + 1e-6, rel=1e-12)

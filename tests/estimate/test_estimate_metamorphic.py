"""Changes of the input whose effect is known (spec: the table of metamorphic tests)."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from itertools import pairwise
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
    MIB,
    MODELS,
    MTU,
    OVERHEAD_S,
    RATE,
    SINGLE,
    TAPERED,
    allreduce,
    arrivals,
    collective,
    incast,
    latencies,
    lone_s,
    rated,
    run,
    sends,
    wires_s,
)

from estimator.document import document
from vef import InvalidTrace, Op, Trace
from vef.build import build_trace

SHARING = ("segmented", "static", "fluid", "empirical")
KINDS = {
    "single": "single-switch:hosts=16",
    "fat-tree": "fat-tree:k=4",
    "tapered": "leaf-spine:leaves=4,hosts=4,spines=1",
    "dragonfly": "dragonfly:a=4,p=2,h=2",
    "torus": "torus:4x4",
    "mesh": "mesh:4x4",
}


def shuffled_traffic(seed: int, tasks: int = 16, count: int = 60) -> Trace:
    """Messages between random tasks, at times no two of which are equal."""
    random = np.random.default_rng(seed)
    source = random.integers(0, tasks, count)
    target = (source + random.integers(1, tasks, count)) % tasks
    start = np.sort(random.choice(100_000, count, replace=False))
    size = random.integers(1, 300_000, count)
    return sends(tasks, list(zip(*(c.tolist() for c in (source, target, size, start)), strict=True)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_half_the_bandwidth_doubles_what_is_not_latency(kind: str, model: str) -> None:
    for trace in (sends(16, [(0, 13, MIB)]), incast(15, 16 * MTU)):
        full, half = (
            run(trace, rated(KINDS[kind]), model=model),
            run(trace, rated(KINDS[kind], "50Gb/s"), model=model),
        )
        none = run(trace, rated(KINDS[kind], "100000000Gb/s"), model=model)
        # T = fixed + c/B where nothing depends on how sizes and latencies compare.
        fixed = none.makespan_s
        # Over paths of several lengths, the head starts of the nearer sources weigh less.
        tolerance = 1e-5 if len(trace.task) == 1 or kind == "single" else 0.06
        if model == "empirical" and len(trace.task) > 1:
            continue  # its factor stretches the latency too
        assert half.makespan_s - fixed == pytest.approx(2 * (full.makespan_s - fixed), rel=tolerance)


def test_half_the_bandwidth_doubles_the_serialisation_of_a_collective() -> None:
    for operation, algorithm in (("allreduce", "ring"), ("allreduce", "recursive_doubling")):
        rows = []
        for rate in ("100Gb/s", "50Gb/s"):
            result = run(allreduce(8, MIB), rated("single-switch:hosts=8", rate), collectives={operation: algorithm})
            rows.append(document(result)["collectives"][0]["breakdown"])
        assert rows[1]["serialisation_s"] == pytest.approx(2 * rows[0]["serialisation_s"], rel=1e-9)
        assert rows[1]["latency_s"] == pytest.approx(rows[0]["latency_s"], rel=1e-9)
        assert rows[1]["overhead_s"] == pytest.approx(rows[0]["overhead_s"], rel=1e-9)


def test_another_topology_differs_or_the_common_port_is_named() -> None:
    exchange = sends(16, [(i, (i + 8) % 16, MIB) for i in range(16)])
    full, tapered = run(exchange, LEAF_SPINE), run(exchange, TAPERED)
    fixed = OVERHEAD_S + wires_s(4) + 3 * MTU / RATE
    assert full.makespan_s == pytest.approx(fixed + MIB / RATE, rel=1e-9)
    assert tapered.makespan_s == pytest.approx(fixed + 4 * MIB / RATE, rel=1e-9)
    # An incast takes as long on both; the report names the port that binds.
    results = [document(run(incast(15, MIB), topology)) for topology in (LEAF_SPINE, TAPERED)]
    spans = [result["summary"]["makespan_s"] for result in results]
    assert spans[0] == pytest.approx(spans[1], rel=2e-3)
    assert [result["summary"]["worst_port"] for result in results] == ["leaf0→h0"] * 2


@pytest.mark.parametrize("model", MODELS)
def test_tori_of_swapped_sizes(model: str, tmp_path: Path) -> None:
    wide, tall = rated("torus:2x8"), rated("torus:8x2")
    # Every router sends to its neighbours in both dimensions.
    near = [(x + 2 * y, other) for y in range(8) for x in range(2) for other in _neighbours(x, y)]
    placement = tmp_path / "hosts"
    placement.write_text("\n".join(str(task // 2 + 8 * (task % 2)) for task in range(16)) + "\n", encoding="utf-8")
    trace = sends(16, [(a, b, 16 * MTU) for a, b in near])
    one, other = run(trace, wide, model=model), run(trace, tall, placement=str(placement), model=model)
    assert arrivals(other) == pytest.approx(arrivals(one), rel=1e-9)
    # Every pair: the same links carry the same, whichever dimension is first.
    pairs = sends(16, [(a, (a + shift) % 16, MTU) for a in range(16) for shift in range(1, 16)])
    one, other = run(pairs, wide, model=model), run(pairs, tall, model=model)
    loads = [np.sort(result.workload.network.ports["bytes"]) for result in (one, other)]
    assert loads[0] == pytest.approx(loads[1], abs=0.5)
    assert other.makespan_s == pytest.approx(one.makespan_s, rel=0.1)


def _neighbours(x: int, y: int) -> list[int]:
    return [(1 - x) + 2 * y, x + 2 * ((y + 1) % 8), x + 2 * ((y - 1) % 8)]


@pytest.mark.parametrize("topology", [TAPERED, FAT_TREE, DRAGONFLY])
@pytest.mark.parametrize("model", MODELS)
def test_ranks_renamed_together_with_their_hosts(topology: str, model: str, tmp_path: Path) -> None:
    trace = shuffled_traffic(7)
    names = np.random.default_rng(3).permutation(16)
    host = np.empty(16, int)
    host[names] = np.arange(16)  # the task now called names[i] stays on host i
    placement = tmp_path / "hosts"
    placement.write_text("\n".join(map(str, host)) + "\n", encoding="utf-8")
    rows = zip(trace.task.tolist(), trace.peer.tolist(), trace.send_bytes.tolist(), trace.time.tolist(), strict=True)
    renamed = sends(16, [(int(names[a]), int(names[b]), size, start) for a, b, size, start in rows])
    base, other = run(trace, topology, model=model), run(renamed, topology, placement=str(placement), model=model)
    assert arrivals(other) == pytest.approx(arrivals(base), rel=1e-9)
    ports = base.workload.network.ports["bytes"], other.workload.network.ports["bytes"]
    assert ports[0] == pytest.approx(ports[1], abs=0.5)


@pytest.mark.parametrize("topology", [SINGLE, FAT_TREE, TAPERED, DRAGONFLY])
@pytest.mark.parametrize("model", [model for model in MODELS if model != "alpha-beta"])
def test_more_fan_in_takes_longer(topology: str, model: str) -> None:
    spans = [run(incast(sources, 64 * MTU, 16), topology, model=model).makespan_s for sources in range(1, 16)]
    assert all(later > earlier for earlier, later in pairwise(spans))


@pytest.mark.parametrize("topology", [SINGLE, FAT_TREE, TAPERED])
@pytest.mark.parametrize("model", ["segmented", "static", "fluid"])
@pytest.mark.parametrize("parts", [2, 8, 64])
def test_a_transfer_in_parts(topology: str, model: str, parts: int) -> None:
    whole = run(sends(16, [(0, 13, MIB)]), topology, model=model)
    split = run(sends(16, [(0, 13, MIB // parts)] * parts), topology, model=model)
    assert split.makespan_s == pytest.approx(whole.makespan_s, rel=1e-9)
    assert split.steps.rho.max() == 0.0
    # In competition with another transfer to the same host, too: the port has as many bytes to carry.
    whole = run(sends(16, [(0, 13, MIB), (1, 13, MIB)]), topology, model=model)
    split = run(sends(16, [*[(0, 13, MIB // parts)] * parts, (1, 13, MIB)]), topology, model=model)
    if model == "segmented":
        assert split.makespan_s == pytest.approx(whole.makespan_s, rel=1e-6)
    else:  # sharing by flow: a share for each part
        assert split.makespan_s >= whole.makespan_s * (1 - 1e-9)


def test_a_train_of_packets_beside_a_bulk_message() -> None:
    # Two hosts of a leaf send 1 MiB each over the one uplink; the bytes are the same in parts of a packet each.
    alpha = OVERHEAD_S + wires_s(4) + 3 * MTU / RATE
    split = run(sends(16, [*[(0, 4, MTU)] * 256, (1, 4, MIB)]), TAPERED)
    assert split.makespan_s == pytest.approx(alpha + 2 * MIB / RATE, rel=1e-6)


@pytest.mark.parametrize("gap_ns", [0, 100, 5_000, 20_000, 200_000])
@pytest.mark.parametrize("topology", [SINGLE, TAPERED, FAT_TREE])
def test_staggered_starts(topology: str, gap_ns: int) -> None:
    trace = sends(16, [(i, 0, 64 * MTU, gap_ns * (i - 1)) for i in range(1, 16)])
    queued, shared = run(trace, topology), run(trace, topology, model="fluid")
    # Work that is conserved: no later than max-min sharing, up to the packets in flight.
    assert queued.makespan_s <= shared.makespan_s + 6 * MTU / RATE
    together = run(incast(15, 64 * MTU), topology).makespan_s
    assert queued.makespan_s <= together + 14 * gap_ns * 1e-9 + 1e-12
    ports = queued.workload.network.ports
    assert (ports["bytes"] / ports["rate"] <= queued.makespan_s).all()
    assert (queued.steps.utilisation <= 1.0).all()
    assert all(port["utilisation"] <= 1.0 for port in document(queued)["ports"])


@pytest.mark.parametrize("model", SHARING)
def test_a_parallel_link_is_used_and_never_harms(model: str) -> None:
    exchange = sends(16, [(i, (i + 4) % 16, MIB) for i in range(16)])
    spans, used = [], []
    for links in (1, 2, 4):
        topology = rated(f"leaf-spine:leaves=4,hosts=4,spines=1,links={links}", more="routing=ecmp")
        result = run(exchange, topology, model=model)
        carried = result.workload.network.ports["bytes"]
        between = np.array(result.fabric.level_names)[result.fabric.level_of] != "host-leaf"
        spans.append(result.makespan_s)
        used.append(int((carried[between] > 0).sum()))
    assert spans[0] >= spans[1] * (1 - 1e-9)
    assert spans[0] >= spans[2] * (1 - 1e-9)
    assert used[0] == 8
    assert used[1] > used[0]
    assert used[2] > used[1]


@pytest.mark.parametrize("model", MODELS)
def test_sprayed_parallel_links_are_one_fat_link(model: str) -> None:
    exchange = sends(16, [(i, (i + 4) % 16, MIB) for i in range(16)])
    topology = rated("leaf-spine:leaves=4,hosts=4,spines=4", more="routing=spray")
    result = run(exchange, topology, model=model)
    # Four links carry the four flows of a leaf, and a packet of each takes one link.
    alone = lone_s(MIB, 4, wires_s(4))
    assert result.replay.finish_bare == pytest.approx(run(exchange, topology, model="alpha-beta").replay.finish)
    if model in ("segmented", "alpha-beta", "static", "fluid"):
        assert arrivals(result).max() == pytest.approx(alone, rel=0.02)


@pytest.mark.parametrize("model", MODELS)
def test_idle_jobs_tasks_and_hosts_change_nothing(model: str) -> None:
    trace = shuffled_traffic(11)
    base = run(trace, TAPERED, model=model)
    more = rated("leaf-spine:leaves=8,hosts=4,spines=1")
    idle_hosts = run(trace, more, model=model)
    assert arrivals(idle_hosts) == pytest.approx(arrivals(base), rel=1e-12)
    idle_job = run([trace, sends(8, [])], more, model=model)
    assert arrivals(idle_job) == pytest.approx(arrivals(base), rel=1e-12)
    assert idle_job.steps.rho == pytest.approx(base.steps.rho, rel=1e-12)
    assert idle_job.makespan_s == pytest.approx(base.makespan_s, rel=1e-12)
    columns = (trace.task, trace.peer, trace.send_bytes, trace.time)
    idle_tasks = run(sends(24, list(zip(*(c.tolist() for c in columns), strict=True))), more, model=model)
    assert arrivals(idle_tasks) == pytest.approx(arrivals(base), rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [2**31 - 1, 2**31 + 8, 2**32 + 1, 2**53 + 2, 2**60])
def test_sizes_beyond_32_and_53_bits(size: int, model: str) -> None:
    result = run(sends(16, [(0, 5, size)]), SINGLE, model=model)
    assert arrivals(result)[0] == pytest.approx(lone_s(size, 2, wires_s(2)), rel=1e-12)
    many = run(incast(3, size), SINGLE, model=model)
    if model in SHARING:
        assert many.makespan_s == pytest.approx(3 * size / RATE, rel=1e-4)
    ports = document(many)["ports"]
    assert max(port["bytes"] for port in ports) == pytest.approx(3 * size, rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [2**31 + 8, 2**40])
def test_large_collectives(size: int, model: str) -> None:
    result = run(allreduce(4, size), SINGLE, model=model, collectives={"allreduce": "ring"})
    assert result.makespan_s == pytest.approx(2 * 3 / 4 * size / RATE, rel=1e-3)
    (row,) = document(result)["collectives"]
    assert row["bytes"] >= size


@pytest.mark.parametrize("model", MODELS)
def test_traffic_late_in_a_long_trace(model: str) -> None:
    # Times of hours: 10 ps at a time is all that a double has.
    for start in (10**12, 10**14, 10**16):
        late = run(sends(9, [(i, 0, MIB, start) for i in range(1, 9)]), SINGLE, model=model)
        early = run(incast(8, MIB), SINGLE, model=model)
        assert latencies(late) == pytest.approx(latencies(early), rel=1e-3)
        assert late.steps.rho == pytest.approx(early.steps.rho, rel=1e-3)
        assert late.steps.severity.tolist() == early.steps.severity.tolist()


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from estimate_shared import LEAF_SPINE, collective, run, MIB
from estimator.document import document
from vef import Op
from vef.generate import halo
jobs = [collective(Op.ALLTOALL, 8, MIB, 0, 2), collective(Op.ALLREDUCE, 4, MIB, MIB, 3)]
options = {"routing": "ecmp", "seed": 5, "placement": "random:3"}
print(json.dumps(document(run(jobs, LEAF_SPINE, **options))))
print(json.dumps(document(run(halo(), LEAF_SPINE, ranks_per_node=2, **options))))
"""


def test_same_bytes_whatever_the_hash_seed() -> None:
    digests = set()
    for seed in ("0", "12345"):
        found = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(Path(__file__).parent)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        assert found.stdout.count(b'"schema_version"') == 2
        digests.add(hashlib.sha256(found.stdout).hexdigest())
    assert len(digests) == 1


@pytest.mark.parametrize("model", MODELS)
def test_trace_without_records(model: str) -> None:
    result = run(sends(4, []), SINGLE, model=model)
    assert result.makespan_s == 0.0
    found = document(result)
    assert found["summary"]["messages"] == found["summary"]["steps"] == 0
    assert found["summary"]["slowdown"] is None
    assert found["ports"] == found["steps"] == found["collectives"] == []
    # And on the network without limits.
    assert document(run(sends(4, []), "ideal", model=model))["summary"]["makespan_s"] == 0.0


@pytest.mark.parametrize("op", [op for op in Op if op not in (Op.GATHER, Op.SCATTER)])
def test_collectives_of_one_rank_take_no_time(op: Op) -> None:
    found = document(run(collective(op, 1, MTU, MTU if op not in (Op.BARRIER, Op.ALLTOALL) else 0), SINGLE))
    (row,) = found["collectives"]
    assert row["ranks"] == 1
    assert (row["latency_s"], row["slowdown"], row["run_g5"]) == (0.0, None, False)
    assert found["summary"]["makespan_s"] == 0.0


@pytest.mark.parametrize("model", MODELS)
def test_message_to_oneself(model: str) -> None:
    result = run(sends(2, [(1, 1, MIB)]), SINGLE, model=model)
    assert arrivals(result)[0] == pytest.approx(OVERHEAD_S + INTRA_S + MIB / INTRA_RATE, rel=1e-12)
    assert result.workload.network.ports["bytes"].sum() == 0


@pytest.mark.parametrize("model", MODELS)
def test_size_zero(model: str) -> None:
    result = run(sends(16, [(0, 5, 0)]), SINGLE, model=model)
    assert arrivals(result)[0] == pytest.approx(OVERHEAD_S + 2 * HOST_S, rel=1e-12)
    many = document(run(incast(8, 0), SINGLE, model=model))
    assert many["summary"]["makespan_s"] == pytest.approx(OVERHEAD_S + 2 * HOST_S, rel=1e-9)
    assert not any(step["run_g5"] for step in many["steps"])
    for op in (Op.ALLREDUCE, Op.ALLTOALL, Op.ALLGATHER):
        (row,) = document(run(collective(op, 4, 0, 0), SINGLE, model=model))["collectives"]
        assert np.isfinite(row["latency_s"])
        assert not row["run_g5"]


def test_a_trace_that_waits_for_itself_is_refused() -> None:
    columns = {
        "id": [0, 1], "task": [0, 1], "peer": [1, 0], "op": [-1, -1], "send_bytes": [8, 8], "recv_bytes": [0, 0],
        "dep": [6, 6], "time": [0, 0], "dep_id": [1, 0],
    }  # fmt: skip
    with pytest.raises(InvalidTrace):
        run(build_trace({0: range(2)}, **columns), SINGLE)

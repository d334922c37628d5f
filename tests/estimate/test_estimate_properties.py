"""Properties that hold whatever the traffic (spec: the segmented congestion model)."""

from __future__ import annotations

import numpy as np
import pytest
from estimate_shared import (
    DRAGONFLY,
    FAT_TREE,
    LEAF_SPINE,
    MESH,
    MODELS,
    MTU,
    OVERHEAD_S,
    RAIL,
    RATE,
    SINGLE,
    TAPERED,
    TORUS,
    arrivals,
    collective,
    incast,
    latencies,
    network,
    posts,
    rated,
    run,
    sends,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.document import document
from vef import Op, Trace

SMALL = (SINGLE, FAT_TREE, LEAF_SPINE, TAPERED, DRAGONFLY, TORUS, MESH, RAIL)
TASKS = 12

quick = settings(max_examples=40, deadline=None)
hosts = st.integers(0, TASKS - 1)
sizes = st.one_of(st.integers(0, 3 * MTU), st.integers(1, 64).map(lambda n: n * MTU), st.integers(1, 4 << 20))
starts = st.integers(0, 50_000)


@st.composite
def traffic(draw: st.DrawFn, size: st.SearchStrategy[int] = sizes) -> Trace:
    """Up to 40 messages between different tasks at any times."""
    message = st.tuples(hosts, hosts, size, starts).filter(lambda m: m[0] != m[1])
    found = draw(st.lists(message, min_size=1, max_size=40))
    return sends(TASKS, sorted(found, key=lambda m: (m[0], m[3])))


def alone_s(trace: Trace, topology: str) -> np.ndarray:
    """α + M/β of every message, from the ports of its route."""
    from estimator.topology import routes

    fabric = network(topology)
    found = routes(fabric, trace.task, trace.peer)
    expected = np.empty(len(trace.task))
    for i, size in enumerate(trace.send_bytes.tolist()):
        ports = found.of(i)
        rate = fabric.rate[ports]
        first = min(size, MTU)
        serial = (first / rate).sum() + (size - first) / rate.min()
        expected[i] = fabric.host_overhead_s + fabric.latency[ports].sum() + serial
    return expected


@quick
@given(st.integers(1, 15), st.integers(1, 4 << 20), st.sampled_from(SMALL), st.sampled_from(MODELS))
def test_incast_never_ends_before_its_bytes_fit_through_the_port(
    sources: int, size: int, topology: str, model: str
) -> None:
    through_nic = sources - min(sources, 3) if topology == RAIL else sources  # the others come over NVLink
    if model != "alpha-beta":  # which knows no sharing
        assert run(incast(sources, size), topology, model=model).makespan_s >= through_nic * size / RATE


@quick
@given(traffic(), st.sampled_from(SMALL), st.sampled_from(MODELS))
def test_no_message_is_faster_than_alone(trace: Trace, topology: str, model: str) -> None:
    result = run(trace, topology, model=model)
    bare = alone_s(trace, topology)
    assert (latencies(result) >= bare - 1e-12).all()
    if model == "alpha-beta":
        assert latencies(result) == pytest.approx(bare, rel=1e-9)
    assert result.replay.finish_bare == pytest.approx(
        run(trace, topology, model="alpha-beta").replay.finish, rel=1e-9
    )


@quick
@given(hosts, hosts, sizes, starts, st.sampled_from(SMALL), st.sampled_from(MODELS))
def test_lone_message_is_exact(source: int, target: int, size: int, start: int, topology: str, model: str) -> None:
    if source == target:
        return
    trace = sends(TASKS, [(source, target, size, start)])
    result = run(trace, topology, model=model)
    assert latencies(result) == pytest.approx(alone_s(trace, topology), rel=1e-8)
    assert result.steps.rho.tolist() == [0.0]
    assert result.steps.severity.tolist() == [0]


@quick
@given(st.integers(1, 14), st.integers(0, 2 << 20), st.sampled_from(SMALL), st.sampled_from(MODELS))
def test_more_sources_or_bytes_are_never_faster(sources: int, size: int, topology: str, model: str) -> None:
    base = run(incast(sources, size, 16), topology, model=model)
    wider = run(incast(sources + 1, size, 16), topology, model=model)
    larger = run(incast(sources, size + MTU, 16), topology, model=model)
    assert wider.makespan_s >= base.makespan_s * (1 - 1e-9)
    assert larger.makespan_s >= base.makespan_s * (1 - 1e-9)


@quick
@given(traffic(), st.sampled_from((SINGLE, TAPERED, TORUS)), st.sampled_from(MODELS))
def test_background_never_helps(trace: Trace, topology: str, model: str) -> None:
    # Another job's traffic beside it.
    alone = run(trace, topology.replace("hosts=16", "hosts=24"), model=model)
    job = sends(4, [(0, 1, 1 << 20), (1, 2, 1 << 20), (2, 3, 1 << 20)])
    both = run([trace, job], topology.replace("hosts=16", "hosts=24"), model=model)
    assert both.makespan_s >= alone.makespan_s * (1 - 1e-9)


@quick
@given(traffic(), st.sampled_from([2, 4, 16]), st.sampled_from(MODELS))
def test_scaling_sizes_and_rates_changes_nothing(trace: Trace, factor: int, model: str) -> None:
    from dataclasses import replace

    base = f"leaf-spine:leaves=3,hosts=4,spines=1,mtu={MTU}B"
    scaled = base.replace(f"mtu={MTU}B", f"mtu={factor * MTU}B")
    larger = replace(trace, send_bytes=trace.send_bytes * factor)
    slow = run(trace, rated(base, "100Gb/s"), model=model)
    fast = run(larger, rated(scaled, f"{100 * factor}Gb/s"), model=model)
    assert arrivals(fast) == pytest.approx(arrivals(slow), rel=1e-6)
    assert fast.steps.rho == pytest.approx(slow.steps.rho, rel=1e-6)


@quick
@given(traffic(st.just(16 * MTU)), st.permutations(range(TASKS)), st.sampled_from(MODELS))
def test_task_labels_do_not_matter_on_a_switch(trace: Trace, names: list[int], model: str) -> None:
    rows = zip(trace.task.tolist(), trace.peer.tolist(), trace.send_bytes.tolist(), trace.time.tolist(), strict=True)
    renamed = sends(TASKS, [(names[a], names[b], size, start) for a, b, size, start in rows])
    base, other = run(trace, SINGLE, model=model), run(renamed, SINGLE, model=model)
    assert other.makespan_s == pytest.approx(base.makespan_s, rel=1e-9)
    assert np.sort(arrivals(other)) == pytest.approx(np.sort(arrivals(base)), rel=1e-9)


@quick
@given(st.permutations(range(1, 12)), st.integers(1, 1 << 20), st.sampled_from((SINGLE, LEAF_SPINE)))
def test_order_of_the_records_does_not_matter(order: list[int], size: int, topology: str) -> None:
    base = run(incast(11, size), topology)
    other = run(sends(12, [(source, 0, size) for source in order]), topology)
    assert np.sort(arrivals(other)) == pytest.approx(np.sort(arrivals(base)), rel=1e-9)


@quick
@given(traffic(), st.integers(0, 10**13), st.sampled_from((SINGLE, TAPERED)), st.sampled_from(MODELS))
def test_time_of_day_does_not_matter(trace: Trace, shift: int, topology: str, model: str) -> None:
    rows = zip(trace.task.tolist(), trace.peer.tolist(), trace.send_bytes.tolist(), trace.time.tolist(), strict=True)
    later = sends(TASKS, [(a, b, size, start + shift) for a, b, size, start in rows])
    base, other = run(trace, topology, model=model), run(later, topology, model=model)
    # A double of 10⁴ s has steps of 2 ps.
    assert latencies(other) == pytest.approx(latencies(base), rel=1e-3, abs=1e-10)


@quick
@given(traffic(), st.sampled_from(SMALL), st.sampled_from(MODELS))
def test_bytes_are_conserved_and_no_link_is_over_full(trace: Trace, topology: str, model: str) -> None:
    result = run(trace, topology, model=model)
    fabric, ports = result.fabric, result.workload.network.ports
    sent = trace.send_bytes.sum()
    into_hosts = (fabric.port_to < fabric.host_count) & (fabric.port_from >= fabric.host_count)
    out_of_hosts = (fabric.port_from < fabric.host_count) & (fabric.port_to >= fabric.host_count)
    if topology != RAIL:  # where GPUs relay
        assert ports["bytes"][into_hosts].sum() == pytest.approx(sent, abs=0.5)
        assert ports["bytes"][out_of_hosts].sum() == pytest.approx(sent, abs=0.5)
    if model == "segmented":  # the others let a link carry more than it can, for a while
        assert (ports["bytes"] / ports["rate"] <= result.makespan_s * (1 + 1e-9)).all()
    steps = result.steps
    assert ((steps.utilisation >= 0) & (steps.utilisation <= 1 + 1e-9)).all()
    assert steps.messages.sum() == result.replay.delivered == len(trace.task)
    assert steps.bytes.sum() == pytest.approx(sent, abs=0.5)


OPS = {
    Op.BROADCAST: None,
    Op.ALLREDUCE: (1, 1),
    Op.ALLGATHER: (1, 8),
    Op.BARRIER: (0, 0),
    Op.ALLTOALL: (1, 0),
}


def call(op: Op, size: int) -> Trace:
    """A collective of eight tasks; every one has `size` bytes."""
    if op == Op.BROADCAST:
        from vef.program import Program

        program = Program(8)
        program.collective(op, [size, *[0] * 7], [0, *[size] * 7], [0] * 8)
        return program.trace()
    send, receive = OPS[op]
    return collective(op, 8, send * size, receive * size)


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(sorted(OPS)),
    st.sampled_from([1, 1000, MTU, 30_000, 1 << 18, 3 << 20]),
    st.sampled_from(SMALL),
    st.sampled_from(MODELS),
    st.sampled_from([1, 2, 4]),
)
def test_parts_of_a_collective_add_up(op: Op, size: int, topology: str, model: str, per_node: int) -> None:
    result = run(call(op, size), topology, model=model, ranks_per_node=per_node)
    (row,) = document(result)["collectives"]
    parts = row["breakdown"]
    assert sum(parts.values()) == pytest.approx(row["latency_s"], rel=1e-9)
    # Nothing is negative, but for rounding; a wait that others' traffic hides is no gain.
    assert min(parts.values()) >= -1e-12
    assert row["latency_s"] >= row["alpha_beta_s"] * (1 - 1e-9)
    assert parts["overhead_s"] >= OVERHEAD_S - 1e-12
    if model == "alpha-beta":
        assert row["latency_s"] == pytest.approx(row["alpha_beta_s"], rel=1e-9)
        assert parts["sharing_s"] + parts["queueing_s"] == pytest.approx(0.0, abs=1e-12)


@quick
@given(traffic(), st.sampled_from(SMALL))
def test_no_traffic_but_its_own_is_waited_for(trace: Trace, topology: str) -> None:
    # Messages that never overlap wait for nobody.
    rows = zip(trace.task.tolist(), trace.peer.tolist(), trace.send_bytes.tolist(), strict=True)
    spread = sends(TASKS, [(a, b, size, 5_000_000 * i) for i, (a, b, size) in enumerate(rows)])
    for model in ("segmented", "kingman"):
        result = run(spread, topology, model=model)
        assert latencies(result) == pytest.approx(alone_s(spread, topology), rel=1e-6)
        assert posts(result) == pytest.approx(5e-3 * np.arange(len(spread.task)), abs=1e-12)
        assert not result.steps.run_g5.any()

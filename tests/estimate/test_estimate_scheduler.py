"""When records start: program order, dependencies, pseudo-records, eager and rendezvous sends, jobs, placement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from estimate_shared import (
    HOST_S,
    INTRA_RATE,
    INTRA_S,
    LEAF_SPINE,
    MIB,
    MODELS,
    MTU,
    NS,
    OVERHEAD_S,
    RATE,
    SINGLE,
    allreduce,
    arrivals,
    incast,
    latencies,
    lone_s,
    posts,
    run,
    sends,
    wires_s,
)

from vef import Op, Trace
from vef.build import build_trace
from vef.program import Program

KIB64 = 64 * 1024


def lone(size: int) -> float:
    """Latency of a lone message on the single switch."""
    return lone_s(size, 2, wires_s(2))


def records(rows: list[tuple[int, int, int, int, int, int]], tasks: int = 4) -> Trace:
    """Point-to-point records in file order: source, target, bytes, dep, time, depId; ids count from 0."""
    columns = np.array(rows).T
    return build_trace(
        {0: range(tasks)},
        id=np.arange(len(rows)),
        task=columns[0],
        peer=columns[1],
        op=np.full(len(rows), -1),
        send_bytes=columns[2],
        recv_bytes=np.zeros(len(rows), int),
        dep=columns[3],
        time=columns[4],
        dep_id=columns[5],
        path="<records>",
    )


def test_send_after_an_eager_send_starts_when_that_is_handed_over() -> None:
    # The second send depends on the first and computes 2 µs.
    result = run(records([(0, 1, KIB64, 4, 1000, -1), (0, 2, KIB64, 5, 2000, 0)]), SINGLE)
    assert posts(result) == pytest.approx([1e-6, 1e-6 + OVERHEAD_S + 2e-6], rel=1e-12)
    # The NIC sends the first until 1 µs + overhead + 64 KiB/B; the second is ready before.
    first = 1e-6 + lone(KIB64)
    assert arrivals(result) == pytest.approx([first, first + KIB64 / RATE], rel=1e-9)


def test_send_after_a_rendezvous_send_starts_when_that_has_arrived() -> None:
    result = run(records([(0, 1, MIB, 4, 1000, -1), (0, 2, MIB, 5, 2000, 0)]), SINGLE)
    second = 1e-6 + lone(MIB) + 2e-6
    assert posts(result) == pytest.approx([1e-6, second], rel=1e-12)
    assert arrivals(result)[1] == pytest.approx(second + lone(MIB), rel=1e-9)


@pytest.mark.parametrize("limit", ["65535", "65536"])
def test_eager_limit_is_the_largest_eager_message(limit: str) -> None:
    trace = records([(0, 1, KIB64, 4, 0, -1), (0, 2, 1, 5, 0, 0)])
    result = run(trace, SINGLE, parameters={"eager_limit_bytes": limit})
    assert posts(result)[1] == pytest.approx(OVERHEAD_S if limit == "65536" else lone(KIB64), rel=1e-12)


def test_send_after_a_receive() -> None:
    # Task 1 enters the receive at 1 µs, leaves it when the message of task 0 is there, computes 3 µs, sends on.
    trace = records([(0, 1, KIB64, 4, 0, -1), (1, 1, 0, 0, 1000, -1), (1, 2, KIB64, 6, 3000, 0)])
    result = run(trace, SINGLE)
    assert posts(result)[2] == pytest.approx(lone(KIB64) + 3e-6, rel=1e-12)


def test_receive_entered_after_the_message_came_costs_nothing() -> None:
    # Task 1 computes 1 ms before it enters the receive: the time after the pseudo-record counts from there.
    trace = records([(0, 1, KIB64, 4, 0, -1), (1, 1, 0, 0, 1_000_000, -1), (1, 2, KIB64, 6, 3000, 0)])
    result = run(trace, SINGLE)
    assert posts(result)[2] == pytest.approx(1e-3 + 3e-6, rel=1e-12)


def test_without_a_pseudo_record_the_time_counts_from_the_dependency() -> None:
    # Documented form: both records of task 1 depend on the receive, 1 ms and 3 µs after it; order is kept.
    trace = records([(0, 1, KIB64, 4, 0, -1), (1, 2, KIB64, 6, 1_000_000, 0), (1, 3, KIB64, 6, 3000, 0)])
    result = run(trace, SINGLE)
    assert posts(result)[1:] == pytest.approx([lone(KIB64) + 1e-3] * 2, rel=1e-12)


def test_records_of_one_dependency_start_by_their_times() -> None:
    trace = records([(0, 1, KIB64, 4, 0, -1), (1, 2, KIB64, 6, 3000, 0), (1, 3, KIB64, 6, 1_000_000, 0)])
    result = run(trace, SINGLE)
    assert posts(result)[1:] == pytest.approx([lone(KIB64) + 3e-6, lone(KIB64) + 1e-3], rel=1e-12)


def test_wait_for_two_messages_ends_with_the_later() -> None:
    # Two pseudo-records; the second enters when the first message is there, the send follows the second message.
    trace = records(
        [
            (0, 2, MTU, 4, 0, -1),
            (1, 2, MIB, 4, 0, -1),
            (2, 2, 0, 0, 100, -1),
            (2, 2, 0, 2, 0, 0),
            (2, 3, MTU, 6, 500, 1),
        ]
    )
    result = run(trace, SINGLE)
    expected = max(lone(MIB), arrivals(result)[1])
    assert posts(result)[4] == pytest.approx(expected + 500 * NS, rel=1e-12)
    reverse = records(
        [
            (0, 2, MIB, 4, 0, -1),
            (1, 2, MTU, 4, 0, -1),
            (2, 2, 0, 0, 100, -1),
            (2, 2, 0, 2, 0, 0),
            (2, 3, MTU, 6, 500, 1),
        ]
    )
    # The short message came while the task waited for the long one.
    result = run(reverse, SINGLE)
    assert posts(result)[4] == pytest.approx(arrivals(result)[0] + 500 * NS, rel=1e-12)


def test_forward_reference_waits() -> None:
    # The first line depends on the last.
    trace = records([(1, 2, KIB64, 6, 1000, 1), (0, 1, KIB64, 4, 5000, -1)])
    assert posts(run(trace, SINGLE)) == pytest.approx([5e-6 + lone(KIB64) + 1e-6, 5e-6], rel=1e-12)


def test_finalize_waits_for_a_rendezvous_send() -> None:
    program = Program(2)
    handle = program.send(0, 1, MIB)
    program.receive(1, handle)
    program.finish(compute_ns=7000)
    result = run(program.trace(), SINGLE)
    assert result.replay.finish == pytest.approx(np.full(2, lone(MIB) + 7e-6), rel=1e-12)
    assert result.makespan_s == pytest.approx(lone(MIB) + 7e-6, rel=1e-12)


def test_compute_scale() -> None:
    program = Program(2)
    handle = program.send(0, 1, MTU, 10_000)
    program.receive(1, handle, compute_ns=500)
    program.send(1, 0, MTU, 20_000)
    program.finish()
    for scale in (0.0, 0.5, 1.0, 3.0):
        result = run(program.trace(), SINGLE, compute_scale=scale)
        assert result.makespan_s == pytest.approx(scale * 30e-6 + 2 * lone(MTU), rel=1e-12)
        assert result.ideal_makespan_s == pytest.approx(scale * 30e-6, rel=1e-12)
        assert result.communication_s == pytest.approx(
            np.mean(result.replay.finish) - scale * (10e-6 + 20.5e-6) / 2, rel=1e-9
        )


def test_clock_of_the_trace() -> None:
    program = Program(2)
    program.send(0, 1, MTU, 10_000)
    trace = program.trace()
    from dataclasses import replace

    slow = replace(trace, header=replace(trace.header, clock_ps=250))
    assert run(slow, SINGLE).makespan_s == pytest.approx(2.5e-6 + lone(MTU), rel=1e-12)


def test_barrier_releases_nobody_before_the_last_enters() -> None:
    program = Program(8)
    program.collective(Op.BARRIER, [0] * 8, [0] * 8, [0] * 7 + [1_000_000])
    for task in range(8):
        program.send(task, (task + 1) % 8, MTU, 0)
    program.finish()
    result = run(program.trace(), SINGLE)
    is_send = result.workload.traces[0].kind == 0
    assert (posts(result)[is_send] >= 1e-3 + lone(0)).all()
    assert posts(result)[is_send].max() <= 1e-3 + 6 * lone(0)
    assert result.replay.instances["start"][0] == 0.0


def test_straggler_of_a_collective_is_named() -> None:
    from estimator.document import document

    program = Program(4)
    program.collective(Op.ALLREDUCE, [MIB] * 4, [MIB] * 4, [0, 0, 0, 1_000_000])
    program.finish()
    row = document(run(program.trace(), SINGLE))["collectives"][0]
    assert row["breakdown"]["straggler_s"] == pytest.approx(1e-3, rel=1e-9)
    punctual = document(run(allreduce(4, MIB), SINGLE))["collectives"][0]
    assert row["latency_s"] == pytest.approx(punctual["latency_s"] + 1e-3, rel=1e-9)


def overlapping(second_ns: int) -> Trace:
    """Documented form: two non-blocking allreduces of every task, then a message after both."""
    rows: list[tuple[int, int, int, int, int, int, int, int]] = []
    for task in range(4):
        rows.append((0, task, 0, int(Op.ALLREDUCE), MIB, 0, 0, -1))
        rows.append((1, task, 0, int(Op.ALLREDUCE), MIB, 0, second_ns, -1))
    columns = np.array(rows).T
    return build_trace(
        {0: range(4)},
        id=columns[0],
        task=columns[1],
        peer=columns[2],
        op=columns[3],
        send_bytes=columns[4],
        recv_bytes=columns[4],
        dep=columns[5],
        time=columns[6],
        dep_id=columns[7],
        only_send=True,
        prospector=False,
        path="<overlapping>",
    )


def test_collectives_that_do_not_wait_for_each_other_share_the_network() -> None:
    alone = run(allreduce(4, MIB), SINGLE, collectives={"allreduce": "ring"}).makespan_s
    apart = run(overlapping(10_000_000), SINGLE, collectives={"allreduce": "ring"})
    starts, ends = apart.replay.instances["start"], apart.replay.instances["finish"]
    assert starts == pytest.approx([0.0, 10e-3], abs=1e-12)
    assert ends - starts == pytest.approx([alone, alone], rel=1e-9)
    together = run(overlapping(0), SINGLE, collectives={"allreduce": "ring"})
    starts, ends = together.replay.instances["start"], together.replay.instances["finish"]
    assert starts == pytest.approx([0.0, 0.0], abs=1e-12)
    # Every NIC has twice the bytes to send: 2 · 2(N-1)/N · M/B, and no more than one after the other.
    assert ends.max() >= 2 * 2 * 3 / 4 * MIB / RATE
    assert alone * (1 + 1e-9) < ends.max() <= 2 * alone * (1 + 1e-9)
    assert together.replay.instances["finish_alone"] == pytest.approx([alone, alone], rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_jobs_on_links_of_their_own_do_not_meet(model: str) -> None:
    job = incast(3, MIB)
    alone = run(job, LEAF_SPINE, model=model)
    both = run([job, job], LEAF_SPINE, model=model)  # four tasks each: a leaf each
    assert arrivals(both) == pytest.approx(np.tile(arrivals(alone), 2), rel=1e-9)


def test_jobs_that_share_a_link_slow_each_other(tmp_path: Path) -> None:
    # Two pairs of hosts, both across the only spine of a tapered network.
    topology = LEAF_SPINE.replace("spines=4", "spines=1")
    job = sends(2, [(0, 1, MIB)])
    placement = tmp_path / "hosts"
    placement.write_text("h0\nh4\nh1\nh5\n", encoding="utf-8")
    both = run([job, job], topology, placement=str(placement))
    last = OVERHEAD_S + wires_s(4) + 3 * MTU / RATE + 2 * MIB / RATE
    assert both.makespan_s == pytest.approx(last, rel=1e-9)
    placement.write_text("h0\nh4\nh8\nh12\n", encoding="utf-8")
    apart = run([job, job], topology, placement=str(placement))
    assert apart.makespan_s == pytest.approx(lone_s(MIB, 4, wires_s(4)), rel=1e-9)


def test_two_tasks_per_node() -> None:
    # Tasks 0 and 1 on host 0, 2 and 3 on host 1: one message inside, one across.
    result = run(sends(4, [(0, 1, MIB), (2, 0, MIB)]), SINGLE, ranks_per_node=2)
    assert arrivals(result) == pytest.approx([OVERHEAD_S + INTRA_S + MIB / INTRA_RATE, lone(MIB)], rel=1e-9)
    # Round-robin: 0 and 2 share host 0, 1 and 3 host 1.
    result = run(sends(4, [(0, 1, MIB), (2, 0, MIB)]), SINGLE, ranks_per_node=2, placement="round-robin")
    assert arrivals(result) == pytest.approx([lone(MIB), OVERHEAD_S + INTRA_S + MIB / INTRA_RATE], rel=1e-9)


def test_many_messages_of_one_task_keep_their_order() -> None:
    # More than a task posts in one turn, while another task's messages go to the same port.
    count = 300
    trace = sends(3, [(0, 2, MTU)] * count + [(1, 2, MTU)] * count)
    arrived = arrivals(run(trace, SINGLE))
    assert (np.diff(arrived[:count]) > 0).all()
    assert (np.diff(arrived[count:]) > 0).all()
    assert arrived.max() == pytest.approx(OVERHEAD_S + 2 * HOST_S + (2 * count + 1) * MTU / RATE, rel=1e-9)


def test_message_that_nobody_receives_still_arrives() -> None:
    result = run(records([(0, 1, KIB64, 4, 0, -1)]), SINGLE)
    assert result.replay.delivered == 1
    assert result.makespan_s == pytest.approx(lone(KIB64), rel=1e-12)
    # The task itself is done once its eager send is handed over.
    assert result.replay.finish[0] == pytest.approx(OVERHEAD_S, rel=1e-12)


def test_zero_byte_messages_have_a_latency_and_pseudo_records_none() -> None:
    trace = records([(0, 1, 0, 4, 0, -1), (1, 1, 0, 0, 0, -1), (1, 2, 0, 6, 0, 0)])
    result = run(trace, SINGLE)
    assert arrivals(result)[2] == pytest.approx(2 * (OVERHEAD_S + 2 * HOST_S), rel=1e-12)
    assert result.replay.delivered == 2
    assert latencies(result)[0] == pytest.approx(OVERHEAD_S + 2 * HOST_S, rel=1e-12)

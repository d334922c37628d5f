"""Random valid traces come back from a file as they went in; random damage is reported, never a crash."""

import contextlib
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vef_shared import BASE

from vef import InvalidTrace, Op, find_stuck, ideal_replay, read_trace, write_trace
from vef.build import build_trace
from vef.program import Program

COLUMNS = (
    "kind",
    "id",
    "task",
    "peer",
    "op",
    "send_bytes",
    "recv_bytes",
    "dep",
    "time",
    "dep_row",
    "collective",
)
QUICK = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def assert_equal(one, other):
    assert one.header == other.header
    for name in (*COLUMNS, "task_ptr", "task_rows"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("gid", "op", "communicator", "root", "ptr", "rows"):
        np.testing.assert_array_equal(getattr(one.collectives, name), getattr(other.collectives, name), err_msg=name)
    for name in ("ids", "ptr", "tasks"):
        np.testing.assert_array_equal(getattr(one.communicators, name), getattr(other.communicators, name))


@st.composite
def programs(draw):
    tasks = draw(st.integers(1, 6))
    ranks = st.integers(0, tasks - 1)
    group = draw(st.lists(ranks, min_size=1, unique=True))
    program = Program(tasks, {draw(st.integers(1, 9)): group})
    time = st.integers(0, 2**33)
    size = st.integers(0, 2**40)
    open_messages = []
    for action in draw(st.lists(st.sampled_from(["send", "receive", "collective"]), max_size=25)):
        if action == "send":
            dest = draw(ranks)
            open_messages.append((program.send(draw(ranks), dest, draw(size), draw(time)), dest))
        elif action == "receive" and open_messages:
            message, dest = open_messages.pop(draw(st.integers(0, len(open_messages) - 1)))
            program.receive(dest, message, compute_ns=draw(time))
        elif action == "collective":
            number = draw(st.sampled_from(sorted(program.communicators)))
            members = len(program.communicators[number])
            op = draw(st.sampled_from(list(Op)))
            program.collective(op, *sizes(op, members, draw), [draw(time) for _ in range(members)], number)
    program.finish()
    return program.trace()


def sizes(op, members, draw):
    each = [draw(st.integers(1, 2**40)) for _ in range(members)]
    root = draw(st.integers(0, members - 1))
    total, zero = sum(each), [0] * members
    at_root = [total if rank == root else 0 for rank in range(members)]
    return {
        Op.BROADCAST: (at_root, [0 if rank == root else total for rank in range(members)]),
        Op.REDUCE: ([0 if rank == root else total for rank in range(members)], at_root),
        Op.ALLREDUCE: ([total] * members, [total] * members),
        Op.GATHER: (each, at_root),
        Op.SCATTER: (at_root, each),
        Op.ALLGATHER: (each, [total] * members),
        Op.BARRIER: (zero, zero),
        Op.ALLTOALL: (each, [draw(st.integers(0, 1))] * members),
    }[op]


@QUICK
@given(trace=programs(), suffix=st.sampled_from([".vef", ".vef.gz", ".vef.zst"]))
def test_written_and_read_again(tmp_path, trace, suffix):
    path = tmp_path / f"trace{suffix}"
    write_trace(trace, path)
    again = read_trace(path)
    assert_equal(trace, again)
    assert find_stuck(again) == []
    assert ideal_replay(again).makespan_ticks >= ideal_replay(again).compute_ticks.max()


@QUICK
@given(trace=programs(), data=st.data())
def test_renamed_ids_and_another_interleaving_change_nothing(trace, data):
    makespan = ideal_replay(trace).makespan_ticks
    names = np.array(data.draw(st.permutations(range(0, 3 * len(trace), 3))), np.int64)
    keys = data.draw(
        st.permutations([task for task, rows in enumerate(map(trace.rows_of, range(trace.tasks))) for _ in rows])
    )
    turns = [iter(trace.rows_of(task).tolist()) for task in range(trace.tasks)]
    order = np.array([next(turns[task]) for task in keys], np.int64)
    is_group = trace.op[order] >= 0
    dep_kind = trace.dep[order] & 3
    own = np.where(trace.op >= 0, trace.id, names[np.maximum(trace.id, 0)])
    shuffled = build_trace(
        {
            number: trace.communicators.members(i).tolist()
            for i, number in enumerate(trace.communicators.ids.tolist())
        },
        id=own[order],
        task=trace.task[order],
        peer=np.where(is_group, trace.communicators.ids[trace.peer[order] * is_group], trace.peer[order]),
        op=trace.op[order],
        send_bytes=trace.send_bytes[order],
        recv_bytes=trace.recv_bytes[order],
        dep=trace.dep[order],
        time=trace.time[order],
        dep_id=np.where(dep_kind > 0, own[trace.dep_row[order]], -1),
    )
    assert ideal_replay(shuffled).makespan_ticks == makespan


PROSPECTOR = """VEF3 2 5 1 1 2 0 1000
C0 0 1
0 0 1 4096 4 10 -1
1 0 0 0 1 10 0
2 1 1 0 0 1000 -1
3 1 0 8 6 50 0
G0 C0 2 0 8 8 2 5 3
G0 C0 2 1 8 8 1 5 3
4 1 1 0 3 5 G0
"""


@pytest.mark.parametrize("text", [BASE, PROSPECTOR])
def test_same_bytes(tmp_path, text):
    path = tmp_path / "trace.vef"
    path.write_text(text)
    written = io.BytesIO()
    write_trace(read_trace(path), written)
    assert written.getvalue().decode() == text


@settings(QUICK, max_examples=400)
@given(
    text=st.sampled_from([BASE, PROSPECTOR]),
    edits=st.lists(
        st.tuples(
            st.integers(0, 400),
            st.integers(0, 3),
            st.sampled_from(
                [b"", b"\n", b" ", b"0", b"9", b"-", b"G", b"C", b"\t", b"\r", b"\0", b"\xff", b"99999999999"]
            ),
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_damage_is_reported_or_harmless(tmp_path, text, edits):
    data = text.encode()
    for at, removed, added in edits:
        at %= len(data) + 1
        data = data[:at] + added + data[at + removed :]
    path = tmp_path / "trace.vef"
    path.write_bytes(data)
    with contextlib.suppress(InvalidTrace):
        trace = read_trace(path)
        assert len(trace.line_map.skips) < 100
        if not find_stuck(trace):
            ideal_replay(trace)


@settings(QUICK, max_examples=100)
@given(
    data=st.binary(max_size=200),
    head=st.sampled_from([b"", b"VEF3 ", b"VEF3 2 1 1 0 0 FALSE\n", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"]),
)
def test_noise_is_reported(tmp_path, data, head):
    path = tmp_path / "trace.vef"
    path.write_bytes(head + data)
    with pytest.raises(InvalidTrace):
        read_trace(path)


def test_built_trace_is_checked():
    with pytest.raises(InvalidTrace) as caught:
        build_trace(
            {0: [0, 1]},
            id=[0, 1, 1],
            task=[0, 2, 1],
            peer=[1, 0, 0],
            op=[-1, -1, -1],
            send_bytes=[-5, 8, 8],
            recv_bytes=[0, 0, 0],
            dep=[0, 0, 0],
            time=[1, 1, 1],
            dep_id=[-1, -1, -1],
        )
    assert [(problem.line, problem.found) for problem in caught.value.problems] == [
        (3, "send_bytes -5"),
        (4, "task 2"),
    ]

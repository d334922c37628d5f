"""A summary by hand calculation, against the lists beside real traces, and by what must hold for every trace."""

import csv
import io
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vef_shared import BASE, BASE_MAKESPAN, TRACES, entries

from vef import COLLECTIVE, MESSAGE, InvalidTrace, Op, build_trace, ideal_replay, read_trace
from vef.generate import SAMPLES, halo
from vef.program import Program
from vef.summary import document, matrix_csv, matrix_npz, render_csv, summarise
from vef.summary.document import ranges

LIMIT = 262144
NS = 1e-9
CASES = [
    pytest.param(folder, *param.values, id=f"{folder}-{param.id}", marks=param.marks)
    for folder in ("prospector", "captured", "documented")
    for param in entries(f"{folder}/manifest.json", "traces")
]


def read(tmp_path, text):
    path = tmp_path / "trace.vef"
    path.write_text(text)
    return read_trace(path)


def found(trace, limit=LIMIT):
    return document(summarise(trace, limit))


def sends(tasks, messages):
    """A trace of messages (source, destination, bytes) at time 0 that nobody receives."""
    source, dest, size = zip(*messages, strict=True)
    count = len(messages)
    return build_trace(
        {0: range(tasks)},
        id=range(count),
        task=source,
        peer=dest,
        op=[-1] * count,
        send_bytes=size,
        recv_bytes=[0] * count,
        dep=[4] * count,
        time=[0] * count,
        dep_id=[-1] * count,
    )


@pytest.fixture
def base(tmp_path):
    return found(read(tmp_path, BASE))


def test_counts_by_hand(base):
    assert base["records"] == {
        "messages": 4,
        "pseudo": 0,
        "collective": 6,
        "dependencies": {"start": 1, "send": 4, "receive": 3, "collective": 2},
    }
    assert base["messages"]["bytes"] == 1024 + 2048 + 4096 + 64
    assert base["messages"]["never_received"] == 1  # the last, of 64 bytes
    fields = "op", "communicator", "ranks", "bytes", "count"
    assert [tuple(row[field] for field in fields) for row in base["collectives"]] == [
        ("broadcast", 1, 2, 512, 1),
        ("barrier", 0, 4, 0, 1),
    ]
    assert [row["sent_bytes"] for row in base["collectives"]] == [512, 0]
    assert [row["first_line"] for row in base["collectives"]] == [12, 7]
    # The barrier is left at 2100 by tasks that enter at 1100, 1600, 2100, 2100; the broadcast at 2350, one at 2150.
    assert [row["waited_s"] for row in base["collectives"]] == pytest.approx([200 * NS, 1500 * NS])
    assert [(row["communicator"], row["members"], row["collectives"]) for row in base["communicators"]] == [
        (0, "0-3", 1),
        (1, "0,1", 1),
    ]


def test_times_by_hand(base):
    assert base["ideal"]["makespan_ticks"] == BASE_MAKESPAN
    tasks = base["tasks"]
    assert [row["compute_s"] for row in tasks] == pytest.approx([1350 * NS, 650 * NS, 600 * NS, 100 * NS])
    assert [row["wait_s"] for row in tasks] == pytest.approx([1000 * NS, 1700 * NS, 1500 * NS, 2000 * NS])
    assert [row["finish_s"] for row in tasks] == pytest.approx([2350 * NS, 2350 * NS, 2100 * NS, 2100 * NS])
    assert [row["destinations"] for row in tasks] == [2, 1, 1, 0]
    assert [row["sources"] for row in tasks] == [0, 1, 1, 2]
    assert [row["bytes_received"] for row in tasks] == [0, 1024, 2048, 4096 + 64]
    assert base["balance"]["load_balance"] == pytest.approx(2700 / 4 / 1350)
    assert base["balance"]["dependency_efficiency"] == pytest.approx(1350 / 2350)
    assert base["balance"]["bytes_sent_max_over_mean"] == pytest.approx(4096 / (7232 / 4))
    assert base["ideal"]["message_bytes_per_s"] == pytest.approx(7232 / (2350 * NS))


def test_critical_path_by_hand(base):
    """0 sends to 1 at 1000, 1 to 2 at 1500, 2 enters the barrier last at 2100, 0 goes on until 2350."""
    path = base["critical_path"]
    assert (path["stretches"], path["messages"], path["message_bytes"]) == (4, 2, 1024 + 2048)
    assert path["collectives_by_op"] == {"barrier": 1}
    stretches = sorted(base["path_stretches"], key=lambda row: row["begin_s"])
    assert [(row["task"], row["first_line"], row["last_line"], row["records"]) for row in stretches] == [
        (0, 4, 4, 1),
        (1, 5, 5, 1),
        (2, 6, 9, 2),
        (0, 11, 12, 2),
    ]
    assert [row["compute_s"] for row in stretches] == pytest.approx([1000 * NS, 500 * NS, 600 * NS, 250 * NS])
    assert [(row["after"], row["after_id"], row["to_task"]) for row in stretches] == [
        ("message", "0", 1),
        ("message", "1", 2),
        ("collective", "G0 barrier", 0),
        ("end", None, None),
    ]
    assert [(row["task"], row["stretches"]) for row in base["path_tasks"]] == [(0, 2), (2, 1), (1, 1)]
    assert [row["share"] for row in base["path_tasks"]] == pytest.approx([1250 / 2350, 600 / 2350, 500 / 2350])


@pytest.mark.parametrize(("folder", "entry"), CASES)
def test_real_trace(folder, entry):
    trace = read_trace(TRACES / folder / entry["file"])
    summary = summarise(trace, LIMIT)
    of = document(summary)
    assert of["ideal"]["makespan_ticks"] == entry["ideal_makespan_ns"]
    assert of["messages"]["messages"] == entry.get("p2p_real", entry.get("p2p"))
    assert of["records"]["pseudo"] == entry.get("p2p_pseudo", 0)
    operations = sum(row["count"] for row in of["collectives"])
    assert operations == entry.get("global_collectives", operations)
    assert of["records"]["collective"] == entry.get("local_collectives", of["records"]["collective"])
    for name, key in (
        ("bytes", "p2p_payload_bytes"),
        ("zero_byte_messages", "zero_byte_messages"),
        ("to_self", "self_messages"),
        ("never_received", "messages_never_received"),
        ("received_again", "messages_received_twice"),
    ):
        assert of["messages"][name] == entry.get(key, of["messages"][name]), name
    if "comm_sizes" in entry:
        sizes = Counter(str(row["ranks"]) for row in of["communicators"])
        assert sizes == entry["comm_sizes"]
    if "collectives" in entry:
        ops = Counter()
        for row in of["collectives"]:
            ops[row["op"]] += row["count"]
        assert ops == entry["collectives"]
    if "max_compute_ns" in entry:  # the chain rule holds there, so that all times are compute
        assert summary.compute_ticks.max() == entry["max_compute_ns"]
    check_whole(trace, summary)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name):
    trace = SAMPLES[name]()
    check_whole(trace, summarise(trace, LIMIT))


def check_whole(trace, summary):
    """What holds for every trace, some of it against a plain loop over the records."""
    of = document(summary)
    pairs = defaultdict(lambda: [0, 0])
    is_message = trace.kind == MESSAGE
    columns = trace.task[is_message].tolist(), trace.peer[is_message].tolist(), trace.send_bytes[is_message].tolist()
    for source, dest, size in zip(*columns, strict=True):
        pairs[source, dest][0] += 1
        pairs[source, dest][1] += size
    rows = list(csv.reader(io.StringIO("".join(matrix_csv(summary)))))
    assert rows[0] == ["source", "destination", "messages", "bytes"]
    assert [tuple(map(int, row)) for row in rows[1:]] == [(*pair, *pairs[pair]) for pair in sorted(pairs)]
    assert sum(map(sum, of["heat_map"]["bytes"])) == of["messages"]["bytes"]
    for key in ("messages", "bytes", "eager_messages", "rendezvous_bytes"):
        assert sum(row[key] for row in of["sizes"]) == of["messages"][key]

    entered = np.bincount(trace.task[trace.kind == COLLECTIVE], minlength=trace.tasks).tolist()
    assert [row["collectives"] for row in of["tasks"]] == entered
    ideal = ideal_replay(trace)
    assert summary.finish_ticks.tolist() == ideal.finish_ticks.tolist()
    assert (summary.compute_ticks <= summary.finish_ticks).all()
    assert (summary.compute_ticks <= ideal.compute_ticks).all()

    path = summary.path
    assert (path.begin_ticks[0], path.end_ticks[-1]) == (0, ideal.makespan_ticks)
    assert path.begin_ticks[1:].tolist() == path.end_ticks[:-1].tolist()
    assert (path.task[1:] != path.task[:-1]).all()
    assert (path.begin_ticks <= path.end_ticks).all()


@st.composite
def programs(draw):
    """Programs of messages, collectives and compute, in the form with pseudo-records."""
    tasks = draw(st.integers(2, 5))
    program = Program(tasks, {1: range(1, tasks)})
    times = st.integers(0, 50)
    for _ in range(draw(st.integers(1, 12))):
        if draw(st.booleans()):
            source, dest = draw(st.permutations(range(tasks)))[:2]
            sent = program.send(source, dest, draw(st.integers(0, 9)), draw(times))
            program.receive(dest, sent, compute_ns=draw(times))
        else:
            number = draw(st.integers(0, 1))
            members = tasks - number
            op = draw(st.sampled_from([Op.BROADCAST, Op.REDUCE, Op.ALLREDUCE, Op.BARRIER, Op.SCATTER]))
            root = draw(st.integers(0, members - 1))
            at_root, elsewhere = {
                Op.BROADCAST: ((8, 0), (0, 8)),
                Op.SCATTER: ((8 * members, 8), (0, 8)),
                Op.REDUCE: ((0, 8), (8, 0)),
                Op.ALLREDUCE: ((8, 8), (8, 8)),
                Op.BARRIER: ((0, 0), (0, 0)),
            }[op]
            sizes = [at_root if rank == root else elsewhere for rank in range(members)]
            compute = [draw(times) for _ in range(members)]
            program.collective(op, [s for s, _ in sizes], [r for _, r in sizes], compute, number)
    program.finish(draw(times))
    return program.trace()


@settings(deadline=None, max_examples=60)
@given(programs())
def test_every_stretch_of_the_critical_path_is_critical(trace):
    """What takes longer on the path makes the whole that much longer, exactly."""
    summary = summarise(trace, LIMIT)
    check_whole(trace, summary)
    for row in summary.path.first_row.tolist():
        time = trace.time.copy()
        time[row] += 7
        assert ideal_replay(replace(trace, time=time)).makespan_ticks == summary.makespan_ticks + 7


def test_critical_path_without_pseudo_records():
    """Two sends after one receive overlap: 10 and 30 ticks after it, the second counts from the receive."""
    trace = build_trace(
        {0: [0, 1]},
        id=[0, 1, 2],
        task=[0, 1, 1],
        peer=[1, 0, 0],
        op=[-1] * 3,
        send_bytes=[1] * 3,
        recv_bytes=[0] * 3,
        dep=[0, 2, 2],
        time=[100, 10, 30],
        dep_id=[-1, 0, 0],
    )
    summary = summarise(trace, LIMIT)
    assert summary.makespan_ticks == 130
    assert summary.compute_ticks.tolist() == [100, 30]
    assert summary.path.task.tolist() == [0, 1]
    assert (summary.path.end_ticks - summary.path.begin_ticks).tolist() == [100, 30]
    assert summary.path.records.tolist() == [1, 1]  # the send at 110 holds up nothing


def test_size_classes():
    sizes = [0, 0, 1, 2, 3, 4, 5, 262144, 262145]
    of = found(sends(2, [(0, 1, size) for size in sizes]))
    used = {row["most_bytes"]: row for row in of["sizes"] if row["messages"]}
    counts = {most: row["messages"] for most, row in used.items()}
    assert counts == {0: 2, 1: 1, 2: 1, 4: 2, 8: 1, 262144: 1, 524288: 1}
    assert [row["above_bytes"] for row in of["sizes"][:5]] == [-1, 0, 1, 2, 4]
    assert [most for most, row in used.items() if row["rendezvous_messages"]] == [524288]
    assert used[524288]["rendezvous_bytes"] == 262145
    assert found(sends(2, [(0, 1, 3), (0, 1, 4)]), 3)["sizes"][0] | {"bytes": 7} == {
        "above_bytes": 2,
        "most_bytes": 4,
        "messages": 2,
        "bytes": 7,
        "eager_messages": 1,
        "rendezvous_messages": 1,
        "eager_bytes": 3,
        "rendezvous_bytes": 4,
    }


def test_eager_limit_of_zero_leaves_only_messages_without_bytes():
    of = found(sends(2, [(0, 1, 0), (0, 1, 1)]), 0)
    assert (of["messages"]["eager_messages"], of["messages"]["rendezvous_messages"]) == (1, 1)


def test_sums_beyond_63_bits_are_exact():
    most = 2**63 - 1
    trace = sends(3, [(0, 1, most), (0, 1, most), (0, 2, 5), (2, 1, most)])
    summary = summarise(trace, LIMIT)
    of = document(summary)
    assert of["messages"]["bytes"] == 3 * most + 5
    assert "".join(matrix_csv(summary)).splitlines()[1:] == [f"0,1,2,{2 * most}", "0,2,1,5", f"2,1,1,{most}"]
    assert [row["bytes_sent"] for row in of["tasks"]] == [2 * most + 5, 0, most]
    assert [row["bytes_received"] for row in of["tasks"]] == [0, 3 * most, 5]
    with pytest.raises(InvalidTrace, match=r"63 bits.*write the matrix as \.csv"):
        matrix_npz(summary)
    # Each pair fits, the sum over a task's pairs does not.
    of = found(sends(3, [(0, 1, 2**62), (0, 2, 2**62)]))
    assert of["tasks"][0]["bytes_sent"] == 2**63


@pytest.mark.parametrize(
    ("op", "sizes", "each", "given_bytes"),
    [
        (Op.ALLTOALL, [(6, 0)] * 3, 6, 6 * 3 * 3),  # to each of three, by each of three
        (Op.ALLTOALL, [(6, 1), (9, 1), (3, 1)], 3, 18),  # in all, a third to each
        (Op.GATHER, [(5, 9), (3, 0), (1, 0)], 5, 9),
        (Op.SCATTER, [(9, 5), (0, 3), (0, 1)], 5, 9),
        (Op.ALLGATHER, [(5, 9), (3, 9), (1, 9)], 5, 9),
        (Op.REDUCE, [(0, 4), (4, 0), (4, 0)], 4, 8),
        (Op.ALLTOALL, [(2**62, 0)] * 3, 2**62, 9 * 2**62),
    ],
)
def test_bytes_of_collectives(op, sizes, each, given_bytes):
    program = Program(3)
    program.collective(op, [send for send, _ in sizes], [recv for _, recv in sizes], [0] * 3)
    (row,) = found(program.trace())["collectives"]
    assert (row["bytes"], row["sent_bytes"]) == (each, given_bytes)


def test_npz_holds_the_matrix():
    summary = summarise(halo(), LIMIT)
    with np.load(io.BytesIO(matrix_npz(summary))) as file:
        dense = np.zeros((file["tasks"], file["tasks"]), np.int64)
        dense[file["source"], file["destination"]] = file["bytes"]
        assert file["messages"].sum() == 27 * 6 * 4
    # Six neighbours in each of four steps, 32 KiB each.
    assert (dense.sum(axis=0) == 6 * 4 * 32768).all()
    assert (dense > 0).sum(axis=1).tolist() == [6] * 27


def test_heat_map_of_more_tasks_than_cells():
    of = found(sends(33, [(0, 32, 7), (2, 30, 1), (32, 0, 5)]))["heat_map"]
    assert of["tasks_per_cell"] == 3
    assert len(of["bytes"]) == len(of["bytes"][0]) == 11
    assert (of["bytes"][0][10], of["bytes"][10][0]) == (8, 5)


def test_largest_pairs_first_and_not_more_than_a_hundred():
    pairs = [(source, dest) for source in range(12) for dest in range(12) if source != dest]
    messages = [(source, dest, 10 + (source == 3) * dest) for source, dest in pairs]
    rows = found(sends(12, messages))["pairs"]
    assert len(rows) == 100
    assert [(row["source"], row["destination"]) for row in rows[:3]] == [(3, 11), (3, 10), (3, 9)]
    # Those that are alike by source and destination.
    assert [(row["source"], row["destination"]) for row in rows[10:13]] == [(0, 1), (0, 2), (0, 3)]


@given(st.lists(st.integers(0, 40), unique=True, max_size=20))
def test_ranges_name_every_number_in_order(numbers):
    named = []
    for part in filter(None, ranges(numbers).split(",")):
        bounds, _, step = part.partition(":")
        first, _, last = bounds.partition("-")
        named += range(int(first), int(last or first) + 1, int(step or 1))
    assert named == numbers


def test_ranges():
    assert ranges(range(8)) == "0-7"
    assert ranges([0, 4, 8, 12, 1]) == "0-12:4,1"
    assert ranges([3, 2, 1]) == "3,2,1"
    assert ranges([5]) == "5"


def test_csv_has_what_the_json_has(base):
    rows = list(csv.DictReader(io.StringIO(render_csv(base))))
    assert {row["section"] for row in rows} == {key for key, value in base.items() if value != []}
    bytes_sent = [int(row["value"]) for row in rows if (row["section"], row["field"]) == ("tasks", "bytes_sent")]
    assert bytes_sent == [row["bytes_sent"] for row in base["tasks"]]

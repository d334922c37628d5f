"""The ideal replay by hand calculation, and traces that cannot be played."""

import pytest
from vef_shared import BASE

from vef import InvalidTrace, find_stuck, ideal_replay, read_trace


def read(tmp_path, text):
    path = tmp_path / "trace.vef"
    path.write_text(text)
    return read_trace(path)


def rooted(op, root_sizes, other_sizes):
    """Tasks 0, 1, 2 enter at 10, 20, 30, task 1 is the root; each then sends 1 after leaving."""
    lines = ["VEF3 3 3 1 1 3 0 1000", "C0 0 1 2"]
    for task in range(3):
        sizes = root_sizes if task == 1 else other_sizes
        lines.append(f"G0 C0 {op} {task} {sizes} 0 {10 * (task + 1)} -1")
    lines += [f"{task} {task} {(task + 1) % 3} 8 7 1 G0" for task in range(3)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("op", "root_sizes", "other_sizes", "finish"),
    [
        (0, "8 0", "0 8", [21, 21, 31]),  # broadcast: max(own entry, the root's)
        (4, "24 8", "0 8", [21, 21, 31]),  # scatter
        (1, "0 8", "8 0", [11, 31, 31]),  # reduce: the root when the last is in, the others at once
        (3, "8 24", "8 0", [11, 31, 31]),  # gather
        (2, "8 8", "8 8", [31, 31, 31]),
        (5, "8 24", "8 24", [31, 31, 31]),
        (6, "0 0", "0 0", [31, 31, 31]),
        (7, "8 0", "8 0", [31, 31, 31]),
        (0, "0 0", "0 0", [11, 21, 31]),  # no bytes: the root is communicator rank 0
        (1, "0 0", "0 0", [31, 21, 31]),
    ],
)
def test_when_a_task_leaves_a_collective(tmp_path, op, root_sizes, other_sizes, finish):
    replay = ideal_replay(read(tmp_path, rooted(op, root_sizes, other_sizes)))
    assert replay.finish_ticks.tolist() == finish


def test_last_record_is_done_when_its_collective_is(tmp_path):
    text = "VEF3 2 0 1 1 2 FALSE\nC0 0 1\nG0 0 6 0 0 0 0 5 -1\nG0 0 6 1 0 0 0 9 -1\n"
    assert ideal_replay(read(tmp_path, text)).finish_ticks.tolist() == [9, 9]


def test_pseudo_record_moves_the_time_behind_the_wait(tmp_path):
    # Task 1 enters the receive at 100, the message comes at 40: it leaves at 100 and ends 7 later.
    text = "VEF3 2 3 1 0 0 0 1000\nC0 0 1\n0 0 1 8 4 40 -1\n1 1 1 0 0 100 -1\n2 1 1 0 2 7 0\n"
    assert ideal_replay(read(tmp_path, text)).finish_ticks.tolist() == [40, 107]


def test_records_that_share_a_dependency_keep_program_order(tmp_path):
    text = "VEF3 1 3 1 0 0 FALSE\nC0 0\n0 0 0 8 0 10 -1\n1 0 0 8 2 50 0\n2 0 0 8 2 20 0\n"
    assert ideal_replay(read(tmp_path, text)).start_ticks.tolist() == [10, 60, 60]


def test_clock_and_scale(tmp_path):
    trace = read(tmp_path, "VEF3 1 2 1 0 0 0 250\nC0 0\n0 0 0 0 0 5 -1\n1 0 0 0 0 7 -1\n")
    assert ideal_replay(trace).makespan_s == pytest.approx(12 * 250e-12)
    assert ideal_replay(trace, 2.0).makespan_ticks == 24
    assert ideal_replay(trace, 0.5).start_ticks.tolist() == [2, 6]  # 2.5 and 3.5, ties to even
    assert ideal_replay(trace, 2.0).compute_ticks.tolist() == [24]
    with pytest.raises(ValueError, match="compute_scale"):
        ideal_replay(trace, -1.0)
    with pytest.raises(ValueError, match="compute_scale"):
        ideal_replay(trace, 1e18)


def test_unequal_compute(tmp_path):
    trace = read(tmp_path, BASE)
    assert ideal_replay(trace).compute_ticks.tolist() == [1350, 650, 600, 100]


STUCK_PAIR = "VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 1 8 6 5 1\n1 1 0 8 6 5 0\n"
STUCK_BARRIER = "VEF3 2 1 1 1 2 FALSE\nC0 0 1\nG0 0 6 0 0 0 0 5 -1\n0 0 1 8 3 10 G0\nG0 0 6 1 0 0 2 10 0\n"
CROSSED = """VEF3 2 0 1 2 4 FALSE
C0 0 1
G0 0 6 0 0 0 0 5 -1
G1 0 6 0 0 0 3 5 G0
G1 0 6 1 0 0 0 5 -1
G0 0 6 1 0 0 3 5 G1
"""
OWN_LATER = "VEF3 2 0 1 1 2 FALSE\nC0 0 1\nG0 0 6 0 0 0 3 5 G0\nG0 0 6 1 0 0 0 5 -1\n"
NO_ROOT_YET = """VEF3 2 1 1 1 2 FALSE
C0 0 1
G0 0 0 1 0 8 0 5 -1
0 1 0 8 3 5 G0
G0 0 0 0 8 0 2 5 0
"""


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (STUCK_PAIR, 3, ["task 0 (line 3)", "message 1, which task 1 sends at line 4", "task 1 (line 4)"]),
        (
            STUCK_BARRIER,
            4,
            ["G0 (barrier), which waits for task 1", "message 0, which task 0 sends at line 4"],
        ),
        (CROSSED, 4, ["G0 (barrier), which waits for task 1", "G1 (barrier), which waits for task 0"]),
        (OWN_LATER, 3, ["G0 (barrier), which it enters itself at line 3"]),
        (
            NO_ROOT_YET,
            4,
            ["G0 (broadcast), which waits for task 0", "message 0, which task 1 sends at line 4"],
        ),
    ],
)
def test_stuck_trace_is_described(tmp_path, text, line, words):
    trace = read(tmp_path, text)
    [problem] = find_stuck(trace)
    assert problem.line == line
    for word in words:
        assert word in problem.found
    with pytest.raises(InvalidTrace):
        ideal_replay(trace)


def test_every_circle_is_named(tmp_path):
    text = "VEF3 4 4 1 0 0 0 1000\nC0 0 1 2 3\n0 0 1 8 6 5 1\n1 1 0 8 6 5 0\n2 2 3 8 6 5 3\n3 3 2 8 6 5 2\n"
    assert [problem.line for problem in find_stuck(read(tmp_path, text))] == [3, 5]


def test_a_trace_that_ends_is_not_stuck(tmp_path):
    assert find_stuck(read(tmp_path, BASE)) == []

"""Collectives and communicators of a capture against the table of the format and hand-computed replays."""

from __future__ import annotations

import pytest
from mix_shared import communicator, lines, mix, scripts

from vef.mix import CaptureError
from vef.mix.events import Call


def sizes(kind: Call, sizes: list[int], root: int = -1) -> list[tuple[int, int, int]]:
    """Op, sendBytes and recvBytes by task of one collective."""
    programs = scripts(len(sizes))
    for program, own in zip(programs, sizes, strict=True):
        program.call(kind, bytes=own, root=root).finalize()
    rows = sorted(line.split() for line in lines(mix(programs)) if line[0] == "G")
    return [(int(row[2]), int(row[4]), int(row[5])) for row in sorted(rows, key=lambda row: int(row[3]))]


@pytest.mark.parametrize(
    ("kind", "own", "root", "expected"),
    [
        (Call.BROADCAST, [9, 9, 9], 1, [(0, 0, 9), (0, 9, 0), (0, 0, 9)]),
        (Call.REDUCE, [9, 9, 9], 2, [(1, 9, 0), (1, 9, 0), (1, 0, 9)]),
        (Call.ALLREDUCE, [9, 9, 9], -1, [(2, 9, 9)] * 3),
        (Call.GATHER, [10, 20, 30], 1, [(3, 10, 0), (3, 20, 60), (3, 30, 0)]),
        (Call.SCATTER, [10, 20, 30], 0, [(4, 60, 10), (4, 0, 20), (4, 0, 30)]),
        (Call.ALLGATHER, [10, 20, 30], -1, [(5, 10, 60), (5, 20, 60), (5, 30, 60)]),
        (Call.BARRIER, [0, 0, 0], -1, [(6, 0, 0)] * 3),
        (Call.ALLTOALL, [9, 9, 9], -1, [(7, 9, 0)] * 3),
        (Call.ALLTOALLV, [10, 20, 30], -1, [(7, 10, 1), (7, 20, 1), (7, 30, 1)]),
        (Call.REDUCE_SCATTER, [9, 9, 9], -1, [(7, 9, 1)] * 3),
        (Call.GATHER, [0, 0, 30], 2, [(3, 0, 0), (3, 0, 0), (3, 30, 30)]),
        (Call.BROADCAST, [0, 0, 0], 2, [(0, 0, 0)] * 3),
    ],
)
def test_sizes(kind: Call, own: list[int], root: int, expected: list[tuple[int, int, int]]) -> None:
    assert sizes(kind, own, root) == expected


def test_root_is_a_world_rank() -> None:
    programs = scripts(4, communicator(3, 1, 2))
    for program in programs[1:]:
        program.call(Call.BROADCAST, bytes=8, root=3, comm=1)
    for program in programs:
        program.finalize()
    trace = mix(programs).trace
    assert trace.collectives.root.tolist() == [0]
    assert trace.communicators.members(1).tolist() == [3, 1, 2]


def test_reduce_scatter_is_replaced_and_said() -> None:
    programs = scripts(2)
    for program in programs:
        program.call(Call.REDUCE_SCATTER, bytes=100).finalize()
    assert mix(programs).warnings == ("2 calls of reduce_scatter: written as AlltoAll with totals",)


@pytest.mark.parametrize("kind", [Call.SCAN, Call.EXSCAN])
def test_scan_is_a_chain_of_messages(kind: Call) -> None:
    programs = scripts(4, communicator(2, 0, 3))
    for program, delay in zip(programs, (50, 0, 10, 30), strict=True):
        program.work(delay)
        if program.rank != 1:
            program.call(kind, 100, bytes=16, comm=1)
        program.work(delay).finalize()
    mixed = mix(programs)
    messages = {tuple(map(int, line.split()[1:4])) for line in lines(mixed) if int(line.split()[4]) >= 4}
    assert messages == {(2, 0, 16), (0, 3, 16)}
    assert mixed.warnings == (f"3 calls of {kind.label}: written as messages from each rank to the next",)
    # 2 sends at 10; 0 enters at 50, sends on, and works 50 more; 3 has it at 50 and works 30 more.
    assert mixed.ideal_makespan_s == pytest.approx(100e-9)


def test_non_blocking_scan_waits_for_the_rank_before_only() -> None:
    one, two = scripts(2)
    one.call(Call.SCAN, bytes=8, request=1).wait(1).call(Call.RECV, peer=1, tag=3).finalize()
    two.call(Call.SCAN, bytes=8, request=7).call(Call.SEND, peer=0, bytes=4, tag=3).wait(7).finalize()
    text = [line.split()[1:4] for line in lines(mix([one, two])) if int(line.split()[4]) >= 4]
    assert text == [["0", "1", "8"], ["1", "0", "4"]]


def test_non_blocking_collective_overlaps_compute() -> None:
    """Task 0 calls at 100 and waits at 100 + 10 + 400; task 1 calls at 700, and works 30 before its wait."""
    one, two = scripts(2)
    one.work(100).call(Call.ALLREDUCE, bytes=8, request=1).work(400).wait(1, cost=300).work(50).finalize()
    two.work(700).call(Call.ALLREDUCE, bytes=8, request=1).work(30).wait(1).work(1).finalize()
    mixed = mix([one, two])
    assert lines(mixed) == [
        "G0 C0 2 0 8 8 0 100 -1",
        "0 0 0 0 0 0 -1",
        "1 0 0 0 0 400 -1",
        "G0 C0 2 1 8 8 0 700 -1",
        "2 1 1 0 0 0 -1",
        "3 1 1 0 0 30 -1",
        "4 1 1 0 3 1 G0",
        "5 0 0 0 3 50 G0",
    ]
    # Task 0 waits at 500 until 700, then works 50; task 1 waits at 730, already done, then works 1.
    assert mixed.ideal_makespan_s == pytest.approx(750e-9)


def test_non_blocking_collective_after_a_receive_keeps_the_clock() -> None:
    """What follows it starts that much later than it, also where the message before came long ago."""
    one, two = scripts(2)
    one.call(Call.SEND, 0, peer=1, bytes=1, tag=0).call(Call.BARRIER, 0, request=1).wait(1, cost=0).finalize()
    two.work(900).call(Call.RECV, 0, peer=0, tag=0).work(10).call(Call.BARRIER, 0, request=1)
    two.work(70).wait(1, cost=0).work(5).finalize()
    assert mix([one, two]).ideal_makespan_s == pytest.approx(985e-9)


def test_two_collectives_under_way_are_told_apart() -> None:
    programs = scripts(2)
    for program in programs:
        program.call(Call.BARRIER, request=1).call(Call.ALLREDUCE, bytes=4, request=2).wait(2).wait(1).finalize()
    trace = mix(programs).trace
    waits = [trace.collective[trace.dep_row[row]] for row in trace.rows_of(0) if trace.dep[row] == 3]
    assert [trace.collectives.op[index] for index in waits] == [2, 6]


def test_communicators_with_the_same_members() -> None:
    twins = [communicator(0, 1, key=1), communicator(0, 1, key=2)]
    programs = scripts(2, *twins)
    first, second = (1, 2), (2, 1)
    for program, order in zip(programs, (first, second), strict=True):
        for comm in order:
            program.call(Call.ALLREDUCE, bytes=comm * 100, comm=comm, request=comm)
        program.wait(1, 2).finalize()
    one, two = programs
    trace = mix([one, two]).trace
    assert [trace.communicators.members(index).tolist() for index in range(3)] == [[0, 1]] * 3
    found = {(int(trace.peer[row]), int(trace.send_bytes[row])) for row in range(len(trace)) if trace.op[row] == 2}
    assert found == {(1, 100), (2, 200)}


def test_messages_of_two_communicators_do_not_meet() -> None:
    programs = scripts(2, communicator(0, 1, key=1))
    one, two = programs
    one.call(Call.SEND, peer=1, bytes=10, tag=0).call(Call.SEND, peer=1, bytes=20, tag=0, comm=1).finalize()
    two.call(Call.RECV, peer=0, tag=0, comm=1).call(Call.RECV, peer=0, tag=0).finalize()
    trace = mix(programs).trace
    assert trace.send_bytes[trace.dep_row[trace.rows_of(1)[1:]]].tolist() == [20, 10]


def test_thousand_communicators() -> None:
    more = [communicator(*((0, 1, 2), (2, 0), (1, 2))[number % 3], key=number) for number in range(1, 1001)]
    programs = scripts(3, *more)
    for program in programs:
        for index, _ in enumerate(program.communicators):
            program.call(Call.BARRIER, comm=index)
        program.finalize()
    trace = mix(programs).trace
    assert len(trace.communicators) == 1001
    assert len(trace.collectives) == 1001
    assert sorted(trace.collectives.communicator.tolist()) == list(range(1001))


def test_communicator_of_one_is_listed_only_if_used() -> None:
    programs = scripts(2, communicator(0), communicator(1))
    programs[1].call(Call.ALLREDUCE, bytes=4, comm=1)
    for program in programs:
        program.finalize()
    trace = mix(programs).trace
    assert [trace.communicators.members(index).tolist() for index in range(len(trace.communicators))] == [[0, 1], [1]]


def test_different_operations_are_an_error() -> None:
    one, two = scripts(2)
    one.call(Call.BARRIER).call(Call.BROADCAST, bytes=1, root=0)
    two.call(Call.BARRIER).call(Call.REDUCE, bytes=1, root=0)
    message = r"rank1: collective 1 .*found reduce .*rank 1; expected broadcast .*rank 0"
    with pytest.raises(CaptureError, match=message):
        mix([one, two])


def test_different_roots_are_an_error() -> None:
    programs = scripts(2)
    for program in programs:
        program.call(Call.BROADCAST, bytes=1, root=program.rank)
    with pytest.raises(CaptureError, match="found broadcast with root 1 by rank 1; expected broadcast with root 0"):
        mix(programs)

"""Small captures against records worked out by hand from the rules of the format."""

from __future__ import annotations

import pytest
from mix_shared import Script, communicator, lines, mix, scripts

from vef.mix import CaptureError
from vef.mix.events import ANY, CANCELLED, NULL, Call


def test_send_and_receive() -> None:
    one, two = scripts(2)
    one.work(100).call(Call.SEND, peer=1, bytes=64, tag=5).work(50).call(Call.RECV, 30, peer=1, tag=6)
    one.work(5).finalize()
    two.work(120).call(Call.RECV, 20, peer=0, tag=5).work(40).call(Call.SEND, peer=0, bytes=32, tag=6)
    two.work(7).finalize()
    mixed = mix([one, two])
    assert mixed.warnings == ()
    assert lines(mixed) == [
        "0 0 1 64 4 100 -1",
        "1 1 1 0 0 120 -1",
        "3 0 0 0 1 50 0",
        "2 1 0 32 6 40 0",
        "4 0 0 0 2 5 2",
        "5 1 1 0 1 7 2",
    ]
    # Task 1 sends at 120 + 40, task 0 receives that and works 5 more; task 1 ends 7 after its send.
    assert mixed.ideal_makespan_s == pytest.approx(167e-9)


def test_each_rank_has_its_own_zero() -> None:
    programs = scripts(2)
    shifted = [Script(p.rank, p.communicators, zero) for p, zero in zip(programs, (10**15, -77), strict=True)]
    for one, two in (programs, shifted):
        one.work(9).call(Call.SEND, peer=1, bytes=1, tag=0).finalize()
        two.work(3).call(Call.RECV, peer=0, tag=0).work(8).finalize()
    assert lines(mix(programs)) == lines(mix(shifted))


def test_posting_a_receive_is_work_and_leaves_no_record() -> None:
    one, two = scripts(2)
    one.work(100).call(Call.IRECV, 4, peer=ANY, tag=ANY, request=8).work(6)
    one.call(Call.ISEND, peer=1, bytes=2, tag=1, request=9)
    one.work(20).wait(9, (8, 1, 3), cost=50).finalize()
    two.work(1).call(Call.SEND, peer=0, bytes=3, tag=3).call(Call.RECV, peer=0, tag=1).finalize()
    assert lines(mix([one, two])) == [
        "0 1 0 3 4 1 -1",
        "2 1 1 0 1 0 0",
        "3 1 1 0 2 0 1",  # two ends at 21, one begins to send at 110
        "1 0 1 2 4 110 -1",
        "4 0 0 0 1 20 1",
        "5 0 0 0 2 0 0",
    ]


def test_wait_on_several_receives() -> None:
    one, two = scripts(2)
    for request, tag in ((1, 10), (2, 20)):
        one.call(Call.IRECV, 0, peer=1, tag=tag, request=request)
    one.work(30).wait((2, 1, 20), (1, 1, 10)).work(5).finalize()
    two.work(40).call(Call.SEND, 0, peer=0, bytes=1, tag=10).call(Call.SEND, 0, peer=0, bytes=2, tag=20)
    two.work(9).finalize()
    # In the order in which the wait reports them: tag 20, then 10.
    assert lines(mix([one, two])) == [
        "1 0 0 0 0 30 -1",
        "3 0 0 0 2 0 0",
        "2 1 0 1 4 40 -1",
        "0 1 0 2 5 0 2",
        "4 0 0 0 2 5 2",
        "5 1 1 0 1 9 0",
    ]


def test_wait_on_sends_only_is_one_record() -> None:
    one, two = scripts(2)
    one.call(Call.ISEND, peer=1, bytes=5, tag=0, request=1).call(Call.ISEND, peer=1, bytes=6, tag=0, request=2)
    one.work(3).wait(1, 2, cost=99).work(4).finalize()
    two.work(200).call(Call.RECV, peer=0, tag=0).call(Call.RECV, peer=0, tag=0).finalize()
    assert lines(mix([one, two])) == [
        "0 0 1 5 4 0 -1",
        "1 0 1 6 5 0 0",
        "2 0 0 0 1 3 1",
        "3 0 0 0 1 4 1",
        "4 1 1 0 0 200 -1",
        "5 1 1 0 2 0 0",
        "6 1 1 0 2 0 1",
    ]


def test_sendrecv_is_a_message_then_a_receive() -> None:
    programs = scripts(2)
    for program, other in zip(programs, (1, 0), strict=True):
        program.work(10).call(Call.SEND, 40, peer=other, bytes=8, tag=1)
        program.now -= 40
        program.call(Call.RECV, 40, peer=other, tag=1).work(6).finalize()
    text = lines(mix(programs))
    assert text[:4] == ["0 0 1 8 4 10 -1", "1 1 0 8 4 10 -1", "2 0 0 0 1 0 0", "3 1 1 0 1 0 1"]
    assert text[4:] == ["4 0 0 0 2 6 1", "5 1 1 0 2 6 0"]


def test_probe_waits_for_the_message_of_the_next_receive() -> None:
    one, two = scripts(2)
    one.work(10).call(Call.PROBE, 100, peer=1, tag=4).work(2).call(Call.RECV, 3, peer=1, tag=4).finalize()
    two.work(90).call(Call.SEND, 5, peer=0, bytes=7, tag=4).finalize()
    assert lines(mix([one, two])) == [
        "1 0 0 0 0 10 -1",
        "0 1 0 7 4 90 -1",
        "2 1 1 0 1 0 0",
        "3 0 0 0 2 2 0",
        "4 0 0 0 2 0 0",
    ]


def test_matched_probe_takes_the_message_before_a_later_receive() -> None:
    one, two = scripts(2)
    one.call(Call.MPROBE, peer=1, tag=4, request=50).call(Call.RECV, peer=1, tag=4).wait(50).work(1).finalize()
    two.call(Call.SEND, peer=0, bytes=100, tag=4).call(Call.SEND, peer=0, bytes=200, tag=4).finalize()
    trace = mix([one, two]).trace
    received = trace.send_bytes[trace.dep_row[trace.rows_of(0)[1:]]]
    assert received.tolist() == [100, 200, 100]


def test_time_inside_mpi_without_record_is_not_compute() -> None:
    one, two = scripts(2)
    one.work(5).call(Call.SETUP, 1000).work(6).call(Call.SEND, 500, peer=NULL, bytes=9, tag=0).work(7)
    one.work(300).call(Call.SKIPPED, 77, hidden_ns=300).work(8).call(Call.SEND, peer=1, bytes=1, tag=0).finalize()
    two.call(Call.RECV, peer=0, tag=0).finalize()
    assert "0 0 1 1 4 26 -1" in lines(mix([one, two]))


def test_message_to_self_is_a_message() -> None:
    (one,) = scripts(1)
    one.call(Call.ISEND, peer=0, bytes=0, tag=0, request=1).call(Call.RECV, peer=0, tag=0).wait(1).finalize()
    mixed = mix([one])
    assert lines(mixed)[:2] == ["0 0 0 0 4 0 -1", "1 0 0 0 1 0 0"]
    assert mixed.trace.kind.tolist()[:2] == [0, 1]


def test_sizes_beyond_4_gib() -> None:
    one, two = scripts(2)
    one.call(Call.SEND, peer=1, bytes=5 * 2**31, tag=0).call(Call.ALLGATHER, bytes=2**40).finalize()
    two.call(Call.RECV, peer=0, tag=0).call(Call.ALLGATHER, bytes=2**41).finalize()
    text = lines(mix([one, two]))
    assert text[0] == f"0 0 1 {5 * 2**31} 4 0 -1"
    assert {" ".join(line.split()[2:6]) for line in text if line[0] == "G"} == {
        f"5 0 {2**40} {3 * 2**40}",
        f"5 1 {2**41} {3 * 2**40}",
    }


def test_persistent_requests_keep_their_number() -> None:
    one, two = scripts(2)
    for size in (10, 20, 30):
        one.call(Call.ISEND, peer=1, bytes=size, tag=2, request=4).wait(4)
        two.call(Call.IRECV, peer=ANY, tag=2, request=6).wait((6, 0, 2))
    one.finalize()
    two.finalize()
    mixed = mix([one, two])
    trace = mixed.trace
    assert mixed.warnings == ()
    assert trace.send_bytes[trace.dep_row[trace.rows_of(1)[1:]]].tolist() == [10, 20, 30]


def test_cancelled_receive_takes_no_message() -> None:
    one, two = scripts(2)
    one.call(Call.IRECV, peer=1, tag=0, request=1).call(Call.IRECV, peer=1, tag=0, request=2)
    one.wait((1, CANCELLED, 0)).wait((2, 1, 0)).finalize()
    two.call(Call.SEND, peer=0, bytes=11, tag=0).finalize()
    mixed = mix([one, two])
    assert mixed.warnings == ()
    own = [line.split()[4:] for line in lines(mixed) if line.split()[1] == "0"]
    # Two receives are posted in 10 each.
    assert own == [["0", "20", "-1"], ["2", "0", "0"]]


def test_unmatched_calls_are_counted() -> None:
    one, two = scripts(2)
    one.call(Call.SEND, peer=1, bytes=1, tag=1).call(Call.SEND, peer=1, bytes=1, tag=2).work(3)
    one.call(Call.RECV, 500, peer=1, tag=9).work(4).finalize()
    two.call(Call.RECV, peer=0, tag=2).call(Call.IRECV, peer=ANY, tag=1, request=1).finalize()
    mixed = mix([one, two])
    assert mixed.warnings == (
        "1 message sent but never received (first: 0 to 1, tag 1): kept, nothing waits for them",
        "1 receive without a send (first: 1 to 0, tag 9): left out",
        "1 receive from any source or tag never seen to complete: left out",
    )
    # The lost receive is no compute time: 3 before it and 4 after it are.
    assert lines(mixed)[-1] == "4 0 0 0 1 7 1"


def test_rank_that_was_killed() -> None:
    one, two = scripts(2)
    for program in (one, two):
        program.call(Call.BARRIER)
    one.call(Call.SEND, peer=1, bytes=4, tag=0).call(Call.BARRIER, 10**9).work(8).finalize()
    mixed = mix([one, two])
    assert mixed.warnings == (
        "1 rank of 2 without MPI_Finalize (1): the trace holds what they did until they ended",
        "1 message sent but never received (first: 0 to 1, tag 0): kept, nothing waits for them",
        "1 collective that not all members called: left out",
    )
    assert lines(mixed) == [
        "G0 C0 6 0 0 0 0 0 -1",
        "G0 C0 6 1 0 0 0 0 -1",
        "0 0 1 4 7 0 G0",
        "1 0 0 0 1 8 0",
    ]


def test_nothing_recorded_is_an_error() -> None:
    with pytest.raises(CaptureError, match="no MPI call"):
        mix(scripts(3))


def test_unsupported_calls_are_reported() -> None:
    one, two = scripts(2)
    one.unsupported, two.unsupported = {"MPI_Put": 3}, {"MPI_Put": 1, "MPI_File_open": 1}
    one.finalize()
    two.finalize()
    assert mix([one, two]).warnings == (
        "1 call of MPI_File_open: left out, the format has no place for it",
        "4 calls of MPI_Put: left out, the format has no place for it",
    )


def test_ties_go_to_the_rank_whose_previous_call_began_first() -> None:
    one, two = scripts(2)
    one.work(50).call(Call.SEND, 10, peer=1, bytes=1, tag=0).work(40).call(Call.SEND, peer=1, bytes=3, tag=0)
    two.work(20).call(Call.SEND, 75, peer=0, bytes=2, tag=0).work(5).call(Call.SEND, peer=0, bytes=4, tag=0)
    assert [line.split()[3] for line in lines(mix([one, two]))[:4]] == ["2", "1", "4", "3"]


def test_intercommunicator() -> None:
    programs = scripts(2, communicator(0, 1, key=3, inter=True))
    one, two = programs
    one.call(Call.SEND, peer=1, bytes=5, tag=0, comm=1).call(Call.BARRIER, comm=1).finalize()
    two.call(Call.RECV, peer=0, tag=0, comm=1).call(Call.BARRIER, comm=1).finalize()
    mixed = mix(programs)
    assert mixed.warnings == ("2 calls of collective of an intercommunicator: left out",)
    assert len(mixed.trace.communicators) == 1
    assert lines(mixed)[0] == "0 0 1 5 4 0 -1"

"""Random programs on a network without latency whose calls take no time: the trace, replayed, starts as they did."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from mix_shared import Script, mix, scripts

from vef import PSEUDO, ideal_replay
from vef.mix.events import ANY, Call

TASKS = 4


def until(program: Script, kind: Call, end: int, **columns: int) -> None:
    """A call that lasts until `end`, or no time if that is past."""
    program.call(kind, max(end - program.now, 0), **columns)


def wait_until(program: Script, end: int, *requests: int | tuple[int, int, int]) -> None:
    """A wait that lasts until `end`, or no time if that is past."""
    program.wait(*requests, cost=max(end - program.now, 0))


def ring(programs: list[Script], work: list[int]) -> None:
    """Irecv, Isend, compute, Waitall."""
    sent = {}
    for program in programs:
        program.call(Call.IRECV, 0, peer=(program.rank - 1) % TASKS, tag=1, request=1)
        sent[program.rank] = program.now
        program.call(Call.ISEND, 0, peer=(program.rank + 1) % TASKS, bytes=100, tag=1, request=2)
        program.work(work[program.rank])
    for program in programs:
        wait_until(program, sent[(program.rank - 1) % TASKS], 1, 2)


def send_receive(programs: list[Script], work: list[int]) -> None:
    """Compute, then Sendrecv: odd and even exchange."""
    starts = [program.work(work[program.rank]).now for program in programs]
    for program in programs:
        other, start = program.rank ^ 1, program.now
        until(program, Call.SEND, starts[other], peer=other, bytes=8, tag=2)
        program.now = start
        until(program, Call.RECV, starts[other], peer=other, tag=2)


def master(programs: list[Script], work: list[int]) -> None:
    """All others send to the first, which probes and receives them as they come."""
    for program in programs[1:]:
        program.work(work[program.rank]).call(Call.SEND, 0, peer=0, bytes=program.rank, tag=3)
    for program in sorted(programs[1:], key=lambda program: program.now):
        until(programs[0], Call.PROBE, program.now, peer=program.rank, tag=3)
        programs[0].call(Call.RECV, 0, peer=program.rank, tag=3)
        programs[0].work(work[0])


def any_source(programs: list[Script], work: list[int]) -> None:
    """The first posts receives from anyone and waits for them one by one, in the order of arrival."""
    for request in range(1, TASKS):
        programs[0].call(Call.IRECV, 0, peer=ANY, tag=4, request=request)
    for program in programs[1:]:
        program.work(work[program.rank]).call(Call.SEND, 0, peer=0, bytes=program.rank, tag=4)
    for request, program in enumerate(sorted(programs[1:], key=lambda program: program.now), 1):
        wait_until(programs[0], program.now, (request, program.rank, 4))
        programs[0].work(work[0])


def allreduce(programs: list[Script], work: list[int]) -> None:
    """Compute, then a collective that all leave together."""
    last = max(program.work(work[program.rank]).now for program in programs)
    for program in programs:
        until(program, Call.ALLREDUCE, last, bytes=8)


def broadcast(programs: list[Script], work: list[int]) -> None:
    """The root leaves at once, the others when it has entered."""
    for program in programs:
        program.work(work[program.rank])
    root = work[0] % TASKS
    start = programs[root].now
    for program in programs:
        until(program, Call.BROADCAST, start, bytes=8, root=root)


def overlapped(programs: list[Script], work: list[int]) -> None:
    """A non-blocking collective under compute."""
    starts = [program.work(work[-1 - program.rank]).now for program in programs]
    for program in programs:
        program.call(Call.ALLGATHER, 0, bytes=program.rank, request=9).work(work[program.rank])
    for program in programs:
        wait_until(program, max(starts), 9)


def scan(programs: list[Script], work: list[int]) -> None:
    """Each waits for the one before."""
    done = 0
    for program in programs:
        done = max(done, program.work(work[program.rank]).now)
        until(program, Call.SCAN, done, bytes=8)


def lost(programs: list[Script], work: list[int]) -> None:
    """Calls without a record; here they take no time."""
    for program in programs:
        program.work(work[program.rank]).call(Call.SETUP, 0).call(Call.SEND, 0, peer=-2, bytes=3, tag=0)


ROUNDS = [ring, send_receive, master, any_source, allreduce, broadcast, overlapped, scan, lost]
Round = tuple[Callable[[list[Script], list[int]], None], list[int]]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(ROUNDS), st.lists(st.integers(0, 99), min_size=4, max_size=4)), max_size=8))
def test_replay_starts_as_captured(rounds: list[Round]) -> None:
    programs = scripts(TASKS)
    for play, work in rounds:
        play(programs, work)
    for program in programs:
        program.finalize()
    mixed = mix(programs)
    trace, replay = mixed.trace, ideal_replay(mixed.trace)
    for program in programs:
        rows = trace.rows_of(program.rank)
        assert replay.start_ticks[rows[-1]] == program.ended
        real = rows[trace.kind[rows] != PSEUDO]
        calls = [start for row in program.rows if (start := traffic(program, row)) >= 0]
        assert np.array_equal(replay.start_ticks[real], calls)


def traffic(program: Script, row: dict[str, int]) -> int:
    """When a call puts its message or collective on the network, -1 if it does not."""
    if row["call"] == Call.SCAN:
        return row["end_ns"] if program.rank < TASKS - 1 else -1
    sends = row["call"] in (Call.SEND, Call.ISEND) and row["peer"] >= 0
    return row["start_ns"] if sends or row["call"] >= Call.BARRIER else -1

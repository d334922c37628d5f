"""Random programs: who gets which message, against a receiver that keeps queues as MPI describes them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from mix_shared import communicator, mix, scripts

from vef.mix.events import ANY, CANCELLED, Call

TASKS, TAGS = 3, 2
RANK, COMM = st.integers(0, TASKS - 1), st.integers(0, 1)
SEND = st.tuples(st.just("send"), RANK, RANK, st.integers(0, TAGS - 1), COMM)
POST = st.tuples(st.just("post"), RANK, st.integers(-1, TASKS - 1), st.integers(-1, TAGS - 1), COMM)


def fits(post: tuple[int, int, int], message: tuple[int, int, int]) -> bool:
    """Whether a receive (source, tag, communicator) may take a message."""
    return post[2] == message[2] and post[0] in (ANY, message[0]) and post[1] in (ANY, message[1])


@settings(deadline=None, max_examples=150)
@given(events=st.lists(st.one_of(SEND, POST), max_size=40), data=st.data())
def test_receives_get_what_the_queues_give(events: list[tuple[str, int, int, int, int]], data: st.DataObject) -> None:
    programs = scripts(TASKS, communicator(*range(TASKS), key=5))
    posted: list[list[tuple[int, tuple[int, int, int]]]] = [[] for _ in range(TASKS)]
    early: list[list[tuple[int, tuple[int, int, int]]]] = [[] for _ in range(TASKS)]
    got: list[dict[int, tuple[int, int, int]]] = [{} for _ in range(TASKS)]
    for number, (what, rank, other, tag, comm) in enumerate(events, 1):
        if what == "send":
            programs[rank].call(Call.ISEND, peer=other, bytes=number, tag=tag, comm=comm)
            message = (rank, tag, comm)
            at = next((at for at, (_, post) in enumerate(posted[other]) if fits(post, message)), None)
            if at is None:
                early[other].append((number, message))
            else:
                got[other][posted[other].pop(at)[0]] = (number, rank, tag)
        else:
            programs[rank].call(Call.IRECV, peer=other, tag=tag, comm=comm, request=number)
            at = next((at for at, (_, m) in enumerate(early[rank]) if fits((other, tag, comm), m)), None)
            if at is None:
                posted[rank].append((number, (other, tag, comm)))
            else:
                sent, message = early[rank].pop(at)
                got[rank][number] = (sent, message[0], message[1])
    expected = []
    for program in programs:
        order = data.draw(st.permutations(sorted(got[program.rank])))
        for request in order:
            program.wait((request, *got[program.rank][request][1:]))
        for request, _ in posted[program.rank]:
            program.wait((request, CANCELLED, ANY))
        program.finalize()
        expected.append([got[program.rank][request][0] for request in order])

    mixed = mix(programs)
    trace = mixed.trace
    for rank, numbers in enumerate(expected):
        rows = [row for row in trace.rows_of(rank) if trace.dep[row] & 3 == 2]
        assert trace.send_bytes[trace.dep_row[rows]].tolist() == numbers
    lost = sum(map(len, early))
    assert [warning.split()[0] for warning in mixed.warnings] == ([str(lost)] if lost else [])
    assert sorted(trace.id[trace.op < 0].tolist()) == list(range(len(trace)))

"""Messages of captured programs against what the MPI library itself counts, and against what the programs do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from capture_shared import messages_by_pair, receive_order

from vef import MESSAGE

KINDS = ("blocking", "nonblocking", "both", "from_anyone", "communicators")


def _counted_by_open_mpi(folder: Path, ranks: int) -> dict[tuple[int, int], tuple[int, int]]:
    """(from, to) → (messages, bytes) of the program's own messages, from the files of the monitoring component."""
    pairs = {}
    for rank in range(ranks):
        for line in (folder / f"counts.{rank}.prof").read_text().splitlines():
            if line.startswith("E\t"):
                _, source, target, size, number, *_ = line.split("\t")
                pairs[int(source), int(target)] = (int(number.split()[0]), int(size.split()[0]))
    return pairs


@pytest.mark.parametrize("kind", [*KINDS, "huge"])
def test_messages_and_bytes_of_each_pair_are_those_that_open_mpi_counts(openmpi, tmp_path, kind):
    monitoring = {
        "pml_monitoring_enable": "2", "pml_monitoring_enable_output": "3",
        "pml_monitoring_filename": str(tmp_path / "counts"),
    }  # fmt: skip
    options = tuple(word for name, value in monitoring.items() for word in ("--mca", name, value))
    program = "limits.c" if kind == "huge" else "exchange.c"
    outcome = openmpi.capture(4, program, kind, options=options)
    counted = _counted_by_open_mpi(tmp_path, 4)
    assert counted
    assert messages_by_pair(outcome.trace) == counted


def test_persistent_requests_are_messages_at_each_start(mpi):
    # The monitoring of Open MPI 4 does not see them: 5 rounds of Startall and one of Start, 60 doubles to the right.
    trace = mpi.capture(3, "exchange.c", "persistent").trace
    assert messages_by_pair(trace) == {(rank, (rank + 1) % 3): (6, 6 * 480) for rank in range(3)}


def test_both_mpis_give_the_same_messages(mpi):
    # By hand from the program, 3 ranks: what rank 2 sends to rank 0.
    trace = mpi.capture(3, "exchange.c", *KINDS).trace
    sizes = trace.send_bytes[(trace.kind == MESSAGE) & (trace.task == 2) & (trace.peer == 0)]
    assert sorted(sizes.tolist()) == sorted(
        [
            *(40, 44, 48, 777),  # blocking
            *(100, 101, 102, 103, 300000),  # non-blocking
            42,  # Sendrecv to the right; the replacing one goes left, the last has an end
            *(1002, 2002, 3002, 4002),  # to rank 0 from anyone
            *(31, 33, 35, 37),  # communicators; ranks 2 and 0 are alone in the even one
        ]
    )


def test_receives_from_anyone_depend_on_the_messages_that_they_got(mpi, printed: Callable[[], str]):
    trace = mpi.capture(4, "exchange.c", "from_anyone").trace
    served = [int(word) for word in printed().split()]
    assert len(served) == 9
    received = receive_order(trace, 0)
    first, third, fourth = (
        [source for source, size in received if base < size < base + 1000] for base in (1000, 3000, 4000)
    )
    assert first + third + fourth == served


def test_communicators_of_groups_and_between_them(mpi):
    # Rank 2 to 0; and the leader of the odd ranks, 3, to that of the even ones, 2.
    assert messages_by_pair(mpi.capture(4, "exchange.c", "groups").trace) == {(2, 0): (1, 39), (3, 2): (1, 41)}


def test_communicators_with_the_same_members_are_told_apart(mpi):
    # Equal tags; the receives come in the other order than the sends.
    trace = mpi.capture(2, "limits.c", "same_members").trace
    assert receive_order(trace, 1) == [(0, 22), (0, 11)]
    barriers = trace.collectives
    assert len(barriers) == 2
    assert len(trace.communicators.ids) == 3


def test_duplicates_that_are_completed_in_another_order_are_the_same_communicators(mpich):
    # Open MPI 4.1 itself hangs in this program.
    trace = mpich.capture(2, "limits.c", "duplicates").trace
    assert receive_order(trace, 1) == [(0, 33), (0, 22), (0, 11)]


def test_a_thousand_communicators(mpi):
    # 334 splits into even and odd, 666 of both: as many broadcasts of 4 bytes.
    trace = mpi.capture(2, "limits.c", "many").trace
    sizes = np.array([len(trace.communicators.members(index)) for index in range(len(trace.communicators.ids))])
    assert len(trace.collectives) == 2 * 334 + 666
    assert (sizes == 1).sum() == 2 * 334
    assert (sizes == 2).sum() == 666 + 1


def test_empty_messages_and_more_than_two_gibibytes(mpi):
    trace = mpi.capture(2, "limits.c", "huge").trace
    assert receive_order(trace, 1) == [(0, 2200 << 20), (0, 0)]

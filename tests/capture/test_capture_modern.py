"""Threads, calls of MPI 4, waiting by polling, command lines of several programs."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
from capture_programs import run_congest
from capture_shared import messages_by_pair

from vef import COLLECTIVE, MESSAGE, PSEUDO


def test_calls_of_mpi_4(mpi, printed: Callable[[], str]):
    outcome = mpi.capture(2, "modern.c", "mpi4")
    if "none" in printed():
        pytest.skip(f"{mpi.name} is older than MPI 4")
    trace = outcome.trace
    rows = (trace.kind == COLLECTIVE) & (trace.task == 0)
    # Three starts of a persistent allreduce, and a broadcast with a large count.
    found = list(zip(trace.op[rows].tolist(), trace.send_bytes[rows].tolist(), strict=True))
    assert found == [(2, 64), (2, 64), (2, 64), (0, 200)]
    assert messages_by_pair(trace) == {(0, 1): (2, 250), (1, 0): (1, 50)}


def test_calls_of_several_threads_are_all_there_and_the_trace_says_so(mpi, printed: Callable[[], str]):
    outcome = mpi.capture(2, "modern.c", "threads")
    if "none" in printed():
        pytest.skip(f"{mpi.name} is built without threads")
    size = 50 * (11 + 12 + 13)
    assert messages_by_pair(outcome.trace) == {(0, 1): (150, size), (1, 0): (150, size)}
    assert "several threads called MPI" in outcome.err


def test_polling_is_waiting_and_not_computing(mpi):
    trace = mpi.capture(2, "modern.c", "polling").trace
    tick = trace.header.clock_ps * 1e-12
    sent = trace.time[(trace.kind == MESSAGE) & (trace.task == 0)] * tick
    assert sent.sum() >= 0.3
    polled = trace.time[(trace.kind == PSEUDO) & (trace.task == 1)] * tick
    # Rank 1 did nothing but poll in that time; a busy machine may stop it for a while.
    assert polled.sum() < 0.2


def test_two_programs_in_one_command_line(mpi, tmp_path):
    program = str(mpi.build("endings.c"))
    path = tmp_path / "x.vef"
    command = [mpi.mpirun, "-n", "1", program, "ok", ":", "-n", "2", program, "ok"]
    outcome = run_congest("capture", "-o", path, "--", *command, path=path)
    assert outcome.code == 0
    assert messages_by_pair(outcome.trace) == {(rank, (rank + 1) % 3): (10, 640) for rank in range(3)}
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.vef"]


def test_files_of_several_nodes_in_several_folders_are_one_capture(any_mpi, tmp_path):
    outcome = any_mpi.capture(3, "endings.c", "ok")
    node = tmp_path / "node1"
    node.mkdir()
    shutil.move(tmp_path / "raw" / "1.calls", node)
    path = tmp_path / "again.vef"
    assert run_congest("mix", tmp_path / "raw", node, "-o", path, path=path).code == 0
    assert path.read_bytes() == outcome.path.read_bytes()
    alone = run_congest("mix", tmp_path / "raw", "-o", path, path=path)
    assert alone.code == 2
    assert "rank 1 of 3 left no file" in alone.err

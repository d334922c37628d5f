"""Programs that end early, disks that are full, calls that a trace cannot hold."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from capture_programs import run_congest
from capture_shared import messages_by_pair

from vef import check_trace, read_trace

RING = {(rank, (rank + 1) % 3): (10, 640) for rank in range(3)}


def _is_usable(path: Path) -> bool:
    trace, problems = check_trace(str(path))
    return trace is not None and not any(problem.fatal for problem in problems)


def test_a_program_that_fails_after_finalize_is_whole_and_code_1(mpi):
    outcome = mpi.capture(3, "endings.c", "exit3")
    assert outcome.code == 1
    assert "exit code 3" in outcome.err
    assert messages_by_pair(outcome.trace) == RING


def test_a_program_without_finalize_keeps_its_messages(openmpi):
    outcome = openmpi.capture(3, "endings.c", "no_finalize")
    assert outcome.code == 1
    assert "without MPI_Finalize" in outcome.err
    assert _is_usable(outcome.path)
    # All receive from the left in each round; who left first was maybe waited for by none.
    assert sum(number for number, _ in messages_by_pair(outcome.trace).values()) >= 20


@pytest.mark.parametrize("end", ["killed", "abort"])
def test_what_was_done_before_a_rank_died_is_a_usable_trace(mpi, end):
    outcome = mpi.capture(3, "endings.c", end, "1000")
    assert outcome.code == 1
    assert "the program failed" in outcome.err
    assert _is_usable(outcome.path)
    # Rank 1 died in the middle of 1000 rounds, having sent 500 messages.
    assert messages_by_pair(outcome.trace)[1, 2] == (500, 500 * 64)
    if end == "abort":
        assert "called MPI_Abort after 1,000 calls" in outcome.err


def test_a_killed_program_that_is_mixed_again_gives_the_same_trace(any_mpi, tmp_path):
    outcome = any_mpi.capture(3, "endings.c", "ok")
    again = run_congest("mix", tmp_path / "raw", "-o", tmp_path / "again.vef", path=tmp_path / "again.vef")
    assert again.code == 0
    assert again.path.read_bytes() == outcome.path.read_bytes()


def test_a_capture_that_is_asked_to_end_keeps_what_was_done(mpi, tmp_path):
    path = tmp_path / "x.vef"
    command = [mpi.mpirun, "-n", "3", str(mpi.build("endings.c")), "pause"]
    congest = [sys.executable, "-c", "from cli.main import run; run()", "capture", "-o", str(path), "--", *command]
    with (tmp_path / "messages").open("w+") as messages:
        with subprocess.Popen(congest, stdout=subprocess.PIPE, stderr=messages, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.terminate()
            assert process.wait() == 1
        messages.seek(0)
        assert "the program failed" in messages.read()
    assert _is_usable(path)
    assert messages_by_pair(read_trace(path)) == RING


def test_calls_without_a_place_in_a_trace_are_counted(mpi):
    outcome = mpi.capture(2, "limits.c", "one_sided")
    assert outcome.code == 0
    # Two puts and two fences on each of two ranks.
    assert "4 calls of MPI_Put" in outcome.err
    assert "4 calls of MPI_Win_fence" in outcome.err
    assert len(outcome.trace.collectives) == 1


def test_a_full_disk_is_an_error_and_leaves_no_trace(any_mpi, tmp_path):
    disk = tmp_path / "raw"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount).returncode:
        pytest.skip("needs the right to mount a small file system")
    try:
        # 100,000 rounds are 12.8 MB a rank.
        outcome = any_mpi.capture(2, "endings.c", "ok", "100000")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
    assert outcome.code == 2
    assert "No space left on device" in outcome.err
    assert "free some space" in outcome.err
    assert not outcome.path.exists()


def test_a_limit_on_file_sizes_is_an_error_and_leaves_no_trace(openmpi):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (12 << 20, before[1]))
        # To itself, so that it does not have to wait for another rank to get a core.
        outcome = openmpi.capture(1, "endings.c", "ok", "100000")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert outcome.code == 2
    assert "File too large" in outcome.err
    assert not outcome.path.exists()

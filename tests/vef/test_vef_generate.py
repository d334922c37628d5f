"""The shipped sample traces are what the generator makes, and look like what they are called."""

import subprocess
import sys
from pathlib import Path

import pytest

from vef import COLLECTIVE, MESSAGE, ideal_replay, read_trace, write_trace
from vef.generate import SAMPLES, alltoall_skew, incast, main, pipeline, ring

SHIPPED = Path(__file__).parents[2] / "sample_traces"


@pytest.mark.parametrize("name", SAMPLES)
def test_shipped_sample_is_the_generated_one(tmp_path, name):
    write_trace(SAMPLES[name](), tmp_path / "trace.vef")
    shipped = SHIPPED / f"{name}.vef"
    assert shipped.read_bytes() == (tmp_path / "trace.vef").read_bytes()
    assert shipped.stat().st_size < 60_000
    trace = read_trace(shipped)
    assert trace.warnings == ()
    assert ideal_replay(trace).makespan_ticks > 0


def test_main_writes_all(tmp_path, capsys):
    assert main([str(tmp_path / "new")]) == 0
    assert sorted(path.stem for path in (tmp_path / "new").iterdir()) == sorted(SAMPLES)
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_counts():
    assert int((ring(tasks=5, steps=3).kind == MESSAGE).sum()) == 15
    trace = incast(senders=4, rounds=2)
    assert trace.peer[trace.kind == MESSAGE].tolist() == [0] * 8
    assert int((trace.kind == COLLECTIVE).sum()) == 10
    assert int((alltoall_skew(tasks=4, rounds=2, point_to_point=True).kind == MESSAGE).sum()) == 24


def test_pipeline_fills_and_drains():
    # s - 1 stages compute on the way forward, so the last of m microbatches arrives after (s - 1 + m - 1) c;
    # all then go back through as many stages at 2 c: 3 (s + m - 2) c in all.
    replay = ideal_replay(pipeline(stages=4, microbatches=5, compute_ns=1000, spread=0.0))
    assert replay.makespan_ticks == 3 * (4 + 5 - 2) * 1000


def test_numba_is_not_imported_before_a_trace_is_read():
    code = "import sys, vef; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

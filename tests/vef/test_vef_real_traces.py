"""Traces of real programs: counts, hashes and ideal makespans are those of the lists beside them."""

import gzip
import io
from collections import Counter

import pytest
from vef_shared import TRACES, entries

from vef import COLLECTIVE, MESSAGE, PSEUDO, Op, ideal_replay, read_trace, write_trace


def text_of(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


@pytest.mark.parametrize("folder", ["prospector", "captured", "documented"])
def test_lists_are_there(folder):
    if not (TRACES / folder / "manifest.json").exists():
        pytest.skip(f"no reference traces at {TRACES}; set CONGEST_SHARED")


CASES = [
    pytest.param(folder, *param.values, id=f"{folder}-{param.id}", marks=param.marks)
    for folder in ("prospector", "captured", "documented")
    for param in entries(f"{folder}/manifest.json", "traces")
]


@pytest.mark.parametrize(("folder", "entry"), CASES)
def test_real_trace(folder, entry):
    path = TRACES / folder / entry["file"]
    trace = read_trace(path)
    assert trace.tasks == entry["ranks"]
    assert trace.warnings == ()
    kinds = Counter(trace.kind.tolist())
    if "p2p_real" in entry:
        assert (kinds[MESSAGE], kinds[PSEUDO]) == (entry["p2p_real"], entry["p2p_pseudo"])
    else:
        assert (kinds[MESSAGE], kinds[PSEUDO]) == (entry["p2p"], 0) if folder == "documented" else True
    assert len(trace.collectives) == entry.get("global_collectives", len(trace.collectives))
    assert kinds[COLLECTIVE] == entry.get("local_collectives", kinds[COLLECTIVE])
    assert len(trace.communicators) == entry.get("comms", len(trace.communicators))
    if "collectives" in entry:
        assert Counter(Op(op).label for op in trace.collectives.op.tolist()) == entry["collectives"]
    text_hash = entry.get("text_sha256", entry.get("sha256"))
    assert trace.sha256 == (text_hash or trace.sha256)
    assert ideal_replay(trace).makespan_ticks == entry["ideal_makespan_ns"]

    written = io.BytesIO()
    write_trace(trace, written)
    assert written.getvalue() == text_of(path)

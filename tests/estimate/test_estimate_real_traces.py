"""Traces of real programs: all replay to their end, and on the ideal network take what their manifests say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimate_shared import network, run

from estimator.estimate import message_count
from vef import Trace, read_trace

TRACES = Path(__file__).parents[3] / "shared" / "traces"
SETS = ("prospector", "captured", "documented")

pytestmark = pytest.mark.skipif(not TRACES.is_dir(), reason=f"the real traces are not at {TRACES}")


def _listed() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name in SETS:
        manifest = TRACES / name / "manifest.json"
        if manifest.is_file():
            found += [(name, entry) for entry in json.loads(manifest.read_text(encoding="utf-8"))["traces"]]
    return found


LISTED = _listed()
each_trace = pytest.mark.parametrize(
    ("folder", "entry"), LISTED, ids=[f"{folder}/{entry['file']}" for folder, entry in LISTED]
)


def read(folder: str, entry: dict[str, Any]) -> Trace:
    return read_trace(str(TRACES / folder / entry["file"]))


def test_all_sets_are_listed() -> None:
    assert {folder for folder, _ in LISTED} == set(SETS)
    assert sum(folder == "prospector" for folder, _ in LISTED) == 5


@each_trace
def test_replays_to_the_end(folder: str, entry: dict[str, Any]) -> None:
    trace = read(folder, entry)
    assert trace.header.tasks == entry["ranks"]
    if "global_collectives" in entry:
        assert len(trace.collectives.gid) == entry["global_collectives"]
    if "p2p_real" in entry:
        assert int((trace.kind == 0).sum()) == entry["p2p_real"]
    for topology in ("fat-tree:k=8", "dragonfly:a=4,p=2,h=2"):
        fabric = network(topology)
        per_node = -(-trace.header.tasks // fabric.host_count)
        result = run(trace, topology, ranks_per_node=per_node)
        assert result.replay.stuck.size == 0
        assert result.replay.delivered == message_count(result.workload) == result.steps.messages.sum()
        assert np.isfinite(result.replay.finish).all()
        assert np.isfinite(result.replay.parts["left"]).all()
        # No network is faster than none.
        assert result.makespan_s >= result.ideal_makespan_s * (1 - 1e-12)
        # A task takes at least the time that it computes.
        assert (result.replay.finish >= result.workload.compute_s * (1 - 1e-9)).all()
        ports = result.workload.network.ports
        assert (ports["bytes"] / ports["rate"] <= result.makespan_s * (1 + 1e-6)).all()


@each_trace
def test_ideal_network(folder: str, entry: dict[str, Any]) -> None:
    result = run(read(folder, entry), "ideal")
    assert result.makespan_s == pytest.approx(entry["ideal_makespan_ns"] * 1e-9, rel=1e-12)
    # The replay itself gets there too, where no algorithm of a collective changes who waits for whom.
    assert result.replay.stuck.size == 0
    assert result.replay.delivered == message_count(result.workload)


def test_resnet50_takes_eleven_seconds() -> None:
    result = run(read_trace(str(TRACES / "prospector" / "output_trace_resnet50.vef")), "ideal")
    assert result.makespan_s == pytest.approx(11.250007247, rel=1e-12)

"""`congest topo` and `congest validate` on good files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_shared import ROOT, SAMPLES, congest

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_topology_is_described(config: Path) -> None:
    done = congest("topo", config, "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["hosts"] > 0
    assert "hosts" in congest("topo", config).out


def test_a_k_ary_fat_tree_has_the_known_counts() -> None:
    found = json.loads(congest("topo", "fat-tree:k=8", "--format", "json").out)
    assert (found["hosts"], found["switches"], found["links"]) == (8**3 // 4, 5 * 8**2 // 4, 3 * 8**3 // 4)
    assert found["diameter_hops"] == 6


def test_what_has_no_limit_is_null_in_json() -> None:
    found = json.loads(congest("topo", "ideal", "--format", "json").out, parse_constant=pytest.fail)
    assert found["bisection"] is None


def test_route_is_shown_from_host_to_host() -> None:
    route = json.loads(congest("topo", "fat-tree:k=4", "--routes", "h0", "h15", "--format", "json").out)["route"]
    assert len(route) == 6
    assert route[0].startswith("h0→")
    assert route[-1].endswith("→h15")
    assert congest("topo", "fat-tree:k=4", "--route", "h0", "h16").code == 2


def test_export_and_plot_write_files(tmp_path: Path) -> None:
    graph, picture = tmp_path / "graph.graphml", tmp_path / "picture.svg"
    assert congest("topo", "fat-tree:k=4", "--export", graph, "--plot", picture).code == 0
    assert "<graphml" in graph.read_text()
    assert "<svg" in picture.read_text()


@pytest.mark.parametrize("trace", SAMPLES, ids=lambda path: path.stem)
def test_validate_accepts_the_samples(trace: Path) -> None:
    done = congest("validate", trace)
    assert done.code == 0
    assert "ok:" in done.out


def test_validate_lists_every_problem(tmp_path: Path) -> None:
    broken = tmp_path / "broken.vef"
    broken.write_text(
        "VEF3 2 4 1 0 0 0 1000\nC0 0 1\n0 0 9 8 4 5 -1\n1 1 0 x 4 5 -1\n2 1 0 8 4 5 -1\n2 0 1 8 4 5 -1\n"
    )
    done = congest("validate", broken)
    assert done.code == 2
    for line in (3, 4, 6):
        assert f"broken.vef:{line}:" in done.out
    found = json.loads(congest("validate", broken, "--format", "json").out)["traces"][0]
    assert {problem["line"] for problem in found["problems"]} >= {3, 4, 6}

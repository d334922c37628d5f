"""`congest compare`: formats, exit codes, streams, and the estimate of a trace against a stored one."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from cli_shared import ROOT, Outcome, congest

HALO = ROOT / "sample_traces" / "halo.vef"
TRAINING = ROOT / "sample_traces" / "training-step.vef"
FABRIC = ROOT / "configs" / "leafspine.yaml"
FORMATS = ("table", "json", "markdown", "github", "junit")


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored result of the training step."""
    file = tmp_path_factory.mktemp("compare") / "baseline.json"
    done = congest("estimate", TRAINING, "--topo", FABRIC, "--format", "json", "-o", file)
    assert done.code == 0, done.err
    return file


def changed(baseline: Path, target: Path, factor: float) -> Path:
    """The same result with other latencies."""
    document = json.loads(baseline.read_text(encoding="utf-8"))
    for row in document["collectives"]:
        row["latency_s"] *= factor
    target.write_text(json.dumps(document), encoding="utf-8")
    return target


def compare(*arguments: str | Path, stdin: bytes | None = None) -> Outcome:
    return congest("compare", *arguments, stdin=stdin)


@pytest.mark.parametrize("name", FORMATS)
def test_the_format_does_not_change_the_code(baseline: Path, tmp_path: Path, name: str) -> None:
    slower, faster = (
        changed(baseline, tmp_path / "slower.json", 1.2),
        changed(baseline, tmp_path / "faster.json", 0.8),
    )
    same = compare(baseline, baseline, "--format", name)
    assert (same.code, same.err) == (0, "")
    worse = compare(baseline, slower, "--format", name)
    assert worse.code == 1
    assert "failed: latency>5%,abs>1us: latency of 97 of 97 collectives" in worse.err
    assert compare(baseline, faster, "--format", name).code == 0
    assert compare(baseline, baseline, "--format", name, "--fail-on", "network>5%,slowdown>1%").code == 0


def test_every_format_says_what_got_slower(baseline: Path, tmp_path: Path) -> None:
    slower = changed(baseline, tmp_path / "slower.json", 1.2)
    document = json.loads(compare(baseline, slower, "--format", "json").out)
    jsonschema.validate(document, json.loads(congest("schema", "compare").out))
    assert {row["verdict"] for row in document["collectives"]} == {"worse"}
    assert {round(row["relative"], 9) for row in document["collectives"]} == {0.2}
    suite = ElementTree.fromstring(compare(baseline, slower, "--format", "junit").out.encode())
    assert suite.attrib["failures"] == "98"  # the limit and 97 collectives
    assert (
        "::error title=congest compare --fail-on::latency>5%25" in compare(baseline, slower, "--format", "github").out
    )
    assert "+20.0 %" in compare(baseline, slower, "--format", "markdown").out
    assert "+20.0 %" in compare(baseline, slower).out


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_and_is_plain(
    baseline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    done = compare(baseline, changed(baseline, tmp_path / "slower.json", 1.2))
    assert max(len(line) for line in done.out.splitlines()) <= width
    assert "…" not in done.out
    assert "\x1b" not in done.out
    assert "default limits" in done.out


def test_a_trace_is_held_against_a_stored_result(baseline: Path) -> None:
    same = compare("--baseline", baseline, TRAINING, "--topo", FABRIC)
    assert (same.code, same.err) == (0, "")
    slowed = compare("--baseline", baseline, TRAINING, "--topo", FABRIC, "--compute-scale", "2")
    assert slowed.code == 1
    assert "warning: the compute scale differs: 1.0 → 2.0" in slowed.err
    assert "failed: makespan>5%,abs>1us" in slowed.err
    assert "the compute scale differs" in slowed.out
    quiet = compare("--baseline", baseline, TRAINING, "--topo", FABRIC, "--compute-scale", "2", "--quiet")
    assert (quiet.code, quiet.out) == (1, slowed.out)
    assert "warning" not in quiet.err


def test_a_changed_topology_under_the_same_name_is_noticed(baseline: Path, tmp_path: Path) -> None:
    text = FABRIC.read_text(encoding="utf-8")
    assert "100Gb/s" in text
    faster = tmp_path / FABRIC.name
    faster.write_text(text.replace("100Gb/s", "200Gb/s"), encoding="utf-8")
    done = compare("--baseline", baseline, TRAINING, "--topo", faster)
    assert "warning: the topology differs: links, rates or latencies" in done.err
    refused = compare("--baseline", baseline, TRAINING, "--topo", faster, "--require-same", "traces,topology")
    assert (refused.code, refused.out) == (2, "")
    assert "--require-same" in refused.err
    assert compare("--baseline", baseline, TRAINING, "--topo", faster, "--require-same", "traces").code in (0, 1)


def test_another_trace_is_said_and_never_green(baseline: Path) -> None:
    done = compare("--baseline", baseline, HALO, "--topo", FABRIC)
    assert done.code == 3
    assert "warning: the traces differ" in done.err
    assert "no counterpart" in done.err


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_in_common_is_code_3(baseline: Path, tmp_path: Path, name: str) -> None:
    document = json.loads(baseline.read_text(encoding="utf-8"))
    document["collectives"] = []
    empty = tmp_path / "empty.json"
    empty.write_text(json.dumps(document), encoding="utf-8")
    done = compare(baseline, empty, "--format", name)
    assert done.code == 3
    assert "error: Nothing compared" in done.err


def test_results_come_from_standard_input(baseline: Path) -> None:
    data = baseline.read_bytes()
    assert compare("-", baseline, stdin=data).code == 0
    assert compare(baseline, "-", stdin=data).code == 0
    assert "<stdin> (base)" in compare("--baseline", "-", TRAINING, "--topo", FABRIC, stdin=data).out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["BASE"], "found 1 file"),
        (["BASE", "BASE", "BASE"], "found 3 files"),
        (["-", "-"], "standard input"),
        (["BASE", "none.json"], "none.json: there is no such file"),
        (["--baseline", "none.json", "TRACE"], "none.json: there is no such file"),
        (["BASE", "TRACE"], "halo.vef: line 1, column 1: found no JSON"),
        (["BASE", "BASE", "--topo", "fat-tree:k=8"], "--topo is for estimates: it needs --baseline"),
        (["BASE", "BASE", "--set", "x=1"], "--set is for estimates"),
        (["BASE", "BASE", "--fail-on", "latency>5"], "--fail-on: found '5' for latency"),
        (["BASE", "BASE", "--format", "xml"], "--format: found 'xml'"),
        (["BASE", "BASE", "--require-same", "trace"], "did you mean 'traces'"),
        (["BASE", "BASE", "-o", "BASE"], "is an input of this command"),
    ],
)
def test_wrong_use_is_code_2(baseline: Path, arguments: list[str], said: str) -> None:
    names = {"BASE": str(baseline), "TRACE": str(HALO)}
    done = compare(*(names.get(argument, argument) for argument in arguments))
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_result_cut_short_leaves_no_output(baseline: Path, tmp_path: Path) -> None:
    short, target = tmp_path / "short.json", tmp_path / "out.json"
    short.write_bytes(baseline.read_bytes()[:5000])
    done = compare(baseline, short, "--format", "json", "-o", target)
    assert done.code == 2
    assert "cut short" in done.err
    assert not target.exists()


def test_the_same_comparison_is_the_same_bytes(baseline: Path, tmp_path: Path) -> None:
    slower = changed(baseline, tmp_path / "slower.json", 1.2)
    for name in FORMATS:
        target = tmp_path / f"out.{name}"
        assert compare(baseline, slower, "--format", name, "-o", target).code == 1
        assert compare(baseline, slower, "--format", name).out == target.read_text(encoding="utf-8")


def test_every_setting_of_estimate_is_an_option() -> None:
    own, theirs = (congest(command, "--help").out for command in ("compare", "estimate"))
    for option in ("--topo", "--model", "--placement", "--ranks-per-node", "--routing", "--seed", "--collective",
                   "--openmpi", "--compute-scale", "--background", "--set"):  # fmt: skip
        assert option in own
        assert option in theirs


def test_schemas_go_by_name() -> None:
    assert congest("schema").out == congest("schema", "estimate").out
    assert json.loads(congest("schema", "compare").out)["title"] == "Result of congest compare"
    assert congest("schema", "nothing").code == 2

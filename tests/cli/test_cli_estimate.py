"""`congest estimate`: result, formats, gates, errors and streams."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from cli_shared import ROOT, SAMPLES, congest

RING = ROOT / "sample_traces" / "ring.vef"
TRAINING = ROOT / "sample_traces" / "training-step.vef"
FABRIC = "fat-tree:k=8"


def result(*arguments: str | Path) -> dict:
    done = congest("estimate", *arguments, "--format", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.fixture(scope="module")
def schema() -> dict:
    return json.loads(congest("schema").out)


@pytest.mark.parametrize("topology", [FABRIC, "dragonfly:a=4,p=2,h=2", "ideal", "torus:8x8"])
@pytest.mark.parametrize("trace", SAMPLES, ids=lambda path: path.stem)
def test_json_follows_its_schema(trace: Path, topology: str, schema: dict) -> None:
    document = result(trace, "--topo", topology)
    jsonschema.validate(document, schema)
    assert document["summary"]["steps"] == len(document["steps"])
    assert document["summary"]["collectives"] == len(document["collectives"])
    for row in document["collectives"]:
        assert sum(row["breakdown"].values()) == pytest.approx(row["latency_s"], rel=1e-9, abs=1e-15)
        assert row["latency_s"] >= row["alpha_beta_s"] * (1 - 1e-9)
        assert row["run_g5"] == bool(row["reasons"])


def test_csv_has_a_row_per_collective_or_step() -> None:
    document = result(TRAINING, "--topo", FABRIC)
    for option, rows in ((), document["collectives"]), (("--steps",), document["steps"]):
        text = congest("estimate", TRAINING, "--topo", FABRIC, "--format", "csv", *option).out
        read = list(csv.DictReader(io.StringIO(text)))
        assert [row["id"] for row in read] == [str(row["id"]) for row in rows]
        assert [float(row["latency_s"]) for row in read] == [row["latency_s"] for row in rows]


def test_jsonl_has_an_object_per_line() -> None:
    document = result(TRAINING, "--topo", FABRIC)
    lines = congest("estimate", TRAINING, "--topo", FABRIC, "--format", "jsonl").out.splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds[:4] == ["result", "inputs", "summary", "coverage"]
    assert kinds.count("collective") == len(document["collectives"])
    assert kinds.count("step") == len(document["steps"])


def test_junit_counts_its_cases() -> None:
    document = result(TRAINING, "--topo", FABRIC)
    suite = ElementTree.fromstring(congest("estimate", TRAINING, "--topo", FABRIC, "--format", "junit").out)
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase")) == len(document["collectives"])


def test_gates_are_told_to_ci() -> None:
    gates = ("--fail-on", "makespan>1ns", "--fail-on", "makespan>1000s")
    annotated = congest("estimate", RING, "--topo", FABRIC, "--format", "github", *gates)
    assert annotated.code == 1
    assert annotated.out.count("::error title=congest --fail-on::makespan is ") == 1
    suite = ElementTree.fromstring(congest("estimate", RING, "--topo", FABRIC, "--format", "junit", *gates).out)
    cases = suite.findall("testcase[@classname='congest.gate']")
    assert [case.find("failure") is not None for case in cases] == [True, False]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")


def test_stdout_without_greek_letters_gets_the_result_all_the_same() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", "from cli.main import run; run()", "estimate", str(RING), "--topo", FABRIC]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"Makespan" in done.stdout


@pytest.mark.parametrize("name", ["markdown", "github", "table"])
def test_text_formats_tell_the_makespan(name: str) -> None:
    done = congest("estimate", RING, "--topo", FABRIC, "--format", name)
    assert done.code == 0
    assert "Makespan" in done.out


@pytest.mark.parametrize("trace", SAMPLES, ids=lambda path: path.stem)
def test_table_fits_80_columns_and_is_plain(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = congest("estimate", trace, "--topo", FABRIC)
    assert max(len(line) for line in done.out.splitlines()) <= 80
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("makespan>1ns", 1),
        ("makespan>1000s", 0),
        ("steps>=1,makespan<1ns", 1),
        ("g5<0", 0),
        ("latency > 1000 s", 2),
        ("steps>=1 and makespan<1ns", 0),
        ("steps>=1 and makespan>1ns", 1),
    ],
)
def test_gates(gate: str, code: int) -> None:
    assert congest("estimate", RING, "--topo", FABRIC, "--fail-on", gate).code == code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no-such-file.vef"], ["no-such-file.vef", "no such file"]),
        ([ROOT / "README.md"], ["README.md:1", "header"]),
        ([ROOT / "sample_traces"], ["directory"]),
        ([RING, "--topo", "no-such.yaml"], ["no-such.yaml", "shorthand"]),
        ([RING, "--topo", "fat-tree:k=5"], ["k", "even"]),
        ([RING, "--topo", "single-switch:hosts=2"], ["2", "16", "--ranks-per-node"]),
        ([RING, "--set", "bufer=3"], ["bufer", "buffer_size_bytes"]),
        ([RING, "--set", "buffer_size_bytes=lots"], ["buffer_size_bytes", "lots"]),
        ([RING, "--set", "saturation_threshold_rho"], ["NAME=VALUE"]),
        ([RING, "--collective", "allreduce=foo"], ["foo", "recursive_doubling"]),
        ([RING, "--collective", "allreduce"], ["OP=ALGORITHM"]),
        ([RING, "--model", "magic"], ["magic", "segmented"]),
        ([RING, "--routing", "dor"], ["dor", "d-mod-k"]),
        ([RING, "--placement", "random:x"], ["random:x"]),
        ([RING, "--compute-scale", "inf"], ["compute_scale inf"]),
        ([RING, "--placement", "no-such-hosts"], ["no-such-hosts"]),
        ([RING, "--background", "nowhere=0.5"], ["nowhere"]),
        ([RING, "--background", "host-edge=1.5"], ["1.5", "RHO"]),
        ([RING, "--fail-on", "g6>0"], ["g6", "g5"]),
        ([RING, "--fail-on", "latency"], ["latency", "expected"]),
        ([RING, "--format", "xml"], ["xml", "json"]),
        ([RING, "-o", "/no/such/folder/x.json"], ["/no/such/folder"]),
        (["-", "-"], ["standard input"]),
    ],
)
def test_errors_say_what_was_found_and_what_would_do(arguments: list[str | Path], words: list[str]) -> None:
    topology = [] if "--topo" in arguments else ["--topo", "fat-tree:k=4"]
    done = congest("estimate", *arguments, *topology)
    assert done.code == 2
    assert done.out == ""
    for word in words:
        assert word in done.err


def test_no_file_is_left_after_an_error(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    broken = tmp_path / "broken.vef"
    broken.write_text("VEF3 2 1 1 0 0 0 1000\nC0 0 1\n0 0 1 8 4 5\n")
    assert congest("estimate", broken, "--topo", FABRIC, "--format", "json", "-o", target).code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.vef"]


def test_result_goes_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    done = congest("estimate", RING, "--topo", FABRIC, "--format", "json", "-o", target)
    assert (done.code, done.out) == (0, "")
    assert json.loads(target.read_text())["summary"] == result(RING, "--topo", FABRIC)["summary"]


def test_nothing_to_estimate_is_not_success(tmp_path: Path) -> None:
    empty = tmp_path / "empty.vef"
    empty.write_text("VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 0 0 0 5 -1\n1 1 1 0 0 5 -1\n")
    done = congest("estimate", empty, "--topo", FABRIC)
    assert done.code == 3
    assert "nothing to estimate" in done.err


def test_reads_standard_input() -> None:
    done = congest("estimate", "-", "--topo", FABRIC, "--format", "json", stdin=RING.read_bytes())
    assert json.loads(done.out)["summary"] == result(RING, "--topo", FABRIC)["summary"]


def test_two_jobs_have_prefixed_ids() -> None:
    document = result(TRAINING, TRAINING, "--topo", FABRIC)
    ids = {row["id"] for row in document["collectives"]}
    assert {"0:G0", "1:G0"} <= ids
    assert len(document["inputs"]["traces"]) == 2


def test_assumes_a_network_where_none_is_given_and_says_so() -> None:
    done = congest("estimate", RING)
    assert done.code == 0
    assert "fat-tree:k=4 is assumed" in done.err
    assert congest("estimate", RING, "--quiet").err == ""


def test_same_input_gives_the_same_bytes() -> None:
    outputs = []
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [
            sys.executable,
            "-c",
            "from cli.main import run; run()",
            "estimate",
            str(TRAINING),
            "--topo",
            FABRIC,
        ]
        done = subprocess.run([*command, "--format", "json"], env=environment, capture_output=True, check=True)
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]


def test_help_does_not_load_the_heavy_libraries() -> None:
    code = (
        "import sys, cli.main; print([m for m in ('numpy', 'numba', 'networkx', 'matplotlib') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_input_is_never_replaced(tmp_path: Path) -> None:
    trace = tmp_path / "own.vef"
    trace.write_bytes(RING.read_bytes())
    done = congest("estimate", trace, "--topo", FABRIC, "-o", trace)
    assert done.code == 2
    assert "input" in done.err
    assert trace.read_bytes() == RING.read_bytes()


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert congest("estimate", RING, "--topo", FABRIC, "--format", "json", "-o", pipe).code == 0
        assert json.loads(reader.communicate(timeout=60)[0])["schema_version"] == 1
    assert pipe.is_fifo()


@pytest.mark.parametrize(("closed", "code"), [(">&-", 2), ("2>&-", 0)])
def test_a_closed_stream_is_no_traceback(closed: str, code: int) -> None:
    command = f"'{sys.executable}' -c 'from cli.main import run; run()' estimate '{RING}' --topo {FABRIC} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ("Makespan" in done.stdout) == (code == 0)


def test_a_lone_message_has_a_slowdown_of_one(tmp_path: Path) -> None:
    lone = tmp_path / "lone.vef"
    lone.write_text("VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 1 1000000 4 0 -1\n1 1 1 0 2 0 0\n")
    assert congest("estimate", lone, "--topo", FABRIC, "--fail-on", "slowdown>1").code == 0


@pytest.mark.parametrize(
    ("setting", "code"),
    [("eager_limit_bytes=0", 0), ("empirical_flow_exponent=1e5", 2), ("empirical_load_exponent=-1", 2)],
)
def test_limits_of_parameters(setting: str, code: int) -> None:
    done = congest("estimate", RING, "--topo", FABRIC, "--model", "empirical", "--set", setting)
    assert done.code == code


@pytest.mark.parametrize("columns", ["80", "100", "140"])
def test_no_number_of_a_table_is_cut(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = congest("estimate", TRAINING, "--topo", "configs/leafspine.yaml", "--quiet").out
    rows = [line for line in shown.splitlines() if re.match(r" G\d+ (allreduce|barrier) ", line) and "iB " in line]
    assert len(rows) == 2
    for row in rows:
        # Of 48 alike, with a mark: what a cut number or mark would lose is its end.
        assert re.search(r"G5 ×\d+\s*$", row)
        assert len(re.findall(r"\d[\d.]*(?:ns|us|ms|s) ", row)) == 3
        assert all(re.search("[a-z]…", cell) for cell in row.split() if "…" in cell)


def test_the_longest_queue_is_the_one_of_the_port_that_is_named() -> None:
    document = result(TRAINING, "--topo", FABRIC)
    longest = max(port["peak_backlog_bytes"] / port["capacity"] for port in document["ports"])
    shown = " ".join(congest("estimate", TRAINING, "--topo", FABRIC, "--quiet").out.split())
    value, unit, name = re.search(r"longest queue ([\d.]+)(us|ms|ns) at (\S+)\.", shown).groups()
    port = next(port for port in document["ports"] if port["name"] == name)
    assert port["peak_backlog_bytes"] / port["capacity"] == longest
    assert float(value) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[unit] == pytest.approx(longest, rel=1e-3)


def test_a_forced_algorithm_that_cannot_run_is_told(tmp_path: Path) -> None:
    # One element of 4 bytes for four ranks: a ring has nothing to hand to three of them.
    trace = tmp_path / "small.vef"
    records = "".join(f"G0 C0 2 {task} 4 4 0 0 -1\n" for task in range(4))
    trace.write_text(f"VEF3 4 0 1 1 4 1 1000\nC0 0 1 2 3\n{records}")
    shown = congest("estimate", trace, "--topo", FABRIC, "--collective", "allreduce=ring").out
    assert "allreduce=ring forced (cannot run in 1 of 1 calls)" in " ".join(shown.split())


def test_steps_of_several_jobs_say_of_which() -> None:
    shown = congest("estimate", RING, RING, "--topo", FABRIC, "--steps").out
    assert "of job 0" in shown
    assert "of job 1" in shown
    assert "of job" not in congest("estimate", RING, "--topo", FABRIC, "--steps").out

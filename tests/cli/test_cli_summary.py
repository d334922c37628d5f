"""`congest summary`: formats, files, odd traces, errors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from cli_shared import ROOT, SAMPLES, SHARED, congest, needs_shared

HALO = ROOT / "sample_traces" / "halo.vef"
MOST = 2**63 - 1
ODD = {
    "no-records": "VEF3 3 0 1 0 0 0 1000\nC0 0 1 2\n",
    "one-task": "VEF3 1 1 1 0 0 0 1000\nC0 0\n0 0 0 0 0 5 -1\n",
    "one-task-collective": "VEF3 1 0 1 1 1 0 1000\nC0 0\nG0 C0 2 0 8 8 0 5 -1\n",
    "to-itself": "VEF3 1 1 1 0 0 0 1000\nC0 0\n0 0 0 8 4 5 -1\n",
    "only-collectives": "VEF3 2 0 1 1 2 0 1000\nC0 0 1\nG0 C0 6 0 0 0 0 5 -1\nG0 C0 6 1 0 0 0 9 -1\n",
    "no-compute": "VEF3 2 1 1 0 0 0 1000\nC0 0 1\n0 0 1 8 4 0 -1\n",
    "no-bytes": "VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 1 0 4 1 -1\n1 1 0 0 4 2 -1\n",
    "huge": f"VEF3 2 2 1 0 0 0 {MOST}\nC0 0 1\n0 0 1 {MOST} 4 {MOST // 4} -1\n1 1 0 {MOST} 4 {MOST // 4} -1\n",
    "huge-id": f"VEF3 2 1 1 0 0 0 1000\nC0 0 1\n{MOST} 0 1 8 4 0 -1\n",
}


def odd(tmp_path: Path, name: str) -> Path:
    path = tmp_path / f"{name}.vef"
    path.write_text(ODD[name])
    return path


@pytest.fixture(scope="module")
def schema() -> dict:
    return json.loads(congest("schema", "summary").out)


@pytest.mark.parametrize("trace", SAMPLES, ids=lambda path: path.stem)
def test_json_follows_its_schema(trace: Path, schema: dict) -> None:
    done = congest("summary", trace, "--format", "json")
    assert done.code == 0, done.err
    jsonschema.validate(json.loads(done.out, parse_constant=pytest.fail), schema)


@pytest.mark.parametrize("name", ODD)
def test_odd_traces(tmp_path: Path, name: str, schema: dict) -> None:
    path = odd(tmp_path, name)
    document = json.loads(congest("summary", path, "--format", "json").out, parse_constant=pytest.fail)
    jsonschema.validate(document, schema)
    for form in ("table", "csv", "markdown"):
        done = congest("summary", path, "--format", form, "--matrix", tmp_path / "matrix.csv")
        assert done.code == 0, done.err
        assert "nan" not in done.out.lower()
    expected = {"to-itself": 1, "no-compute": 1, "no-bytes": 2, "huge": 2, "huge-id": 1}.get(name, 0)
    assert document["messages"]["messages"] == expected
    assert len((tmp_path / "matrix.csv").read_text().splitlines()) == 1 + expected


def test_schema_describes_every_field_and_lets_no_other_in(schema: dict) -> None:
    def check(node: dict, path: str) -> None:
        assert node.get("description") or "const" in node or path == "", path
        if "properties" in node:
            assert node["additionalProperties"] is False, path
            assert node["required"] == list(node["properties"]), path
        for name, child in node.get("properties", {}).items():
            check(child, f"{path}.{name}")
        if "items" in node:
            check(node["items"], f"{path}[]")

    check(schema, "")
    jsonschema.Draft202012Validator.check_schema(schema)


def test_schema_of_other_commands() -> None:
    assert congest("schema").out == congest("schema", "estimate").out
    assert congest("schema", "nothing").code == 2


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("trace", SAMPLES, ids=lambda path: path.stem)
def test_table_fits_the_screen_and_cuts_nothing(monkeypatch: pytest.MonkeyPatch, trace: Path, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(ROOT)
    out = congest("summary", trace.relative_to(ROOT)).out
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out


def test_the_halo_exchange_is_described() -> None:
    out = " ".join(congest("summary", HALO).out.split())
    # 27 tasks send to 6 neighbours in 4 steps, 32 KiB each.
    assert "648 messages (20.25MiB)" in out
    assert "108 participations in 4 collectives (864B given)" in out


def test_top_limits_the_tables() -> None:
    few, many = (congest("summary", HALO, "--top", top, "--format", "markdown").out for top in ("1", "27"))
    assert "Tasks by compute time (1 of 27)" in few
    assert sum(line.startswith("| ") for line in many.splitlines()) > 27


def test_eager_limit_is_an_option() -> None:
    def split(*options: str) -> tuple[int, int]:
        messages = json.loads(congest("summary", HALO, "--format", "json", *options).out)["messages"]
        return messages["eager_messages"], messages["rendezvous_messages"]

    assert split() == split("--eager-limit", "32KiB") == (648, 0)
    assert split("--eager-limit", "32767B") == split("--eager-limit", "0") == (0, 648)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--format", "xml"), "expected one of table, json, csv, markdown"),
        (("--eager-limit", "64"), "--eager-limit: found the bare number 64"),
        (("--eager-limit", "many"), "expected a size such as"),
        (("--matrix", "matrix.txt"), "ends in .csv or .npz"),
        (("--matrix", "-"), "ends in .csv or .npz"),
        (("--matrix", "/nowhere/at/all.csv"), "there is no folder"),
        (("-o", "/nowhere/at/all.json"), "there is no folder"),
        (("--matrix", "same.csv", "-o", "same.csv"), "expected two files"),
    ],
)
def test_wrong_use_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = congest("summary", HALO, *options)
    assert (done.code, done.out) == (2, "")
    assert words in done.err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


def test_unusable_traces_are_refused_and_leave_no_file(tmp_path: Path) -> None:
    stuck = tmp_path / "stuck.vef"
    stuck.write_text("VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 1 8 6 0 1\n1 1 0 8 6 0 0\n")
    done = congest("summary", stuck, "-o", tmp_path / "out.json", "--matrix", tmp_path / "out.csv")
    assert (done.code, done.out) == (2, "")
    assert "stuck.vef:3: found a circle of waits" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["stuck.vef"]
    assert congest("summary", tmp_path / "missing.vef").code == 2


def test_a_trace_is_not_overwritten(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(ODD["no-bytes"])
    for option in ("-o", "--matrix"):
        assert congest("summary", trace, option, trace).code == 2
    assert trace.read_text() == ODD["no-bytes"]


def test_a_matrix_that_does_not_fit_an_npz_leaves_no_file(tmp_path: Path) -> None:
    matrix = tmp_path / "matrix.npz"
    done = congest("summary", odd(tmp_path, "huge"), "--matrix", matrix, "-o", tmp_path / "out.txt")
    assert done.code == 2
    assert "write the matrix as .csv" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["huge.vef"]


def test_both_matrices_agree_and_are_the_same_each_time(tmp_path: Path) -> None:
    assert congest("summary", HALO, "--matrix", tmp_path / "matrix.csv").code == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "matrix.csv").read_text())))
    for name in ("one.npz", "two.npz"):
        assert congest("summary", HALO, "--matrix", tmp_path / name).code == 0
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with np.load(tmp_path / "one.npz") as file:
        for key in ("source", "destination", "messages", "bytes"):
            assert [int(row[key]) for row in rows] == file[key].tolist()


def test_standard_input_is_read(tmp_path: Path) -> None:
    done = congest("summary", "-", "--format", "json", "-o", tmp_path / "out.json", stdin=HALO.read_bytes())
    assert (done.code, done.out) == (0, "")
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["trace"]["path"] == "<stdin>"
    assert document["trace"]["tasks"] == 27


def test_warnings_go_to_the_message_stream(tmp_path: Path) -> None:
    trace = tmp_path / "blank.vef"
    trace.write_text(ODD["no-bytes"] + "\n")
    assert "a blank line" in congest("summary", trace).err
    assert congest("summary", trace, "--quiet").err == ""
    document = json.loads(congest("summary", trace, "--format", "json").out)
    assert [(row["code"], row["line"]) for row in document["warnings"]] == [("blank-line", 5)]


def bad_cases() -> list[str]:
    path = SHARED / "traces" / "bad" / "expected.json"
    return sorted(file.name for file in path.parent.glob("*.vef")) if path.exists() else []


@needs_shared
@pytest.mark.parametrize("name", bad_cases())
def test_what_validate_refuses_summary_refuses(name: str) -> None:
    path = SHARED / "traces" / "bad" / name
    good, done = congest("validate", path), congest("summary", path)
    assert done.code == good.code
    assert bool(done.out) == (good.code == 0)

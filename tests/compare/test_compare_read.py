"""Files that are no result of `estimate` are refused with their fault; fields that are not needed may be anything."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from compare_shared import collective, compared, result, step
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.compare import ResultError, check_result, read_result
from estimator.output.comparison import FORMATS, render

ROWS = [collective(name, trace=0, breakdown={"straggler_s": 1e-4}) for name in ("G0", "G1")]
GOOD = result(ROWS, [step("G0", trace=0, run_g5=True), step("G1", trace=0), step(None, trace=0)])
GOOD["ports"] = [{"name": "h0→leaf0", "capacity": 1e9}]


def refused(tmp_path: Path, data: bytes) -> str:
    file = tmp_path / "result.json"
    file.write_bytes(data)
    with pytest.raises(ResultError) as caught:
        read_result(str(file))
    assert str(file) in str(caught.value)
    return str(caught.value)


def text_with(before: str, after: str) -> bytes:
    text = json.dumps(GOOD, indent=1)
    assert before in text
    return text.replace(before, after, 1).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "an empty file"),
        (b" \n", "an empty file"),
        (b"VEF3 16 0 0\n", "no JSON"),
        (b"[1, 2]", "found a list"),
        (b"{}", "no field 'schema_version'"),
        (b"12", "found 12"),
        (b'"text"', "found 'text'"),
        (b"null", "found nothing"),
        (b"\xff\xfe\x00", "no UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "numbers that fit"),
        (json.dumps(GOOD).encode()[:200], "cut short"),
        (json.dumps(GOOD).encode()[:-1], "cut short"),
        (gzip.compress(json.dumps(GOOD).encode())[:-20], "gzip"),
        (b'{"kind": "result"}\n{"kind": "inputs"}\n', "JSON lines"),
        (text_with('"schema_version": 1', '"schema_version": 2'), "update this one"),
        (text_with('"schema_version": 1', '"schema_version": true'), "schema_version: found True"),
        (text_with('"schema_version": 1', '"schema_version": "1"'), "schema_version: found '1'"),
        (text_with('"latency_s": 0.001', '"latency_s": NaN'), "found NaN; expected a finite number"),
        (text_with('"latency_s": 0.001', '"latency_s": 1e999'), "collectives[0].latency_s: found inf"),
        (text_with('"latency_s": 0.001', '"latency_s": -1'), "collectives[0].latency_s: found -1"),
        (text_with('"latency_s": 0.001', '"latency_s": "1ms"'), "collectives[0].latency_s: found '1ms'"),
        (text_with('"latency_s": 0.001', '"latency_s": null'), "collectives[0].latency_s: found nothing"),
        (text_with('"latency_s": 0.001', '"latency_s": true'), "collectives[0].latency_s: found True"),
        (text_with('"latency_s"', '"latency"'), "collectives[0]: found no field 'latency_s'"),
        (text_with('"makespan_s"', '"makespan"'), "summary: found no field 'makespan_s'"),
        (text_with('"id": "G1"', '"id": "G0"'), "collectives[1].id: found 'G0' again"),
        (text_with('"id": "G1"', '"id": "G\\u001b[31m"'), "control characters"),
        (text_with('"steps": [', '"others": ['), "no field 'steps'"),
        (text_with('"sha256"', '"md5"'), "inputs.traces[0]: found no field 'sha256'"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    assert said in refused(tmp_path, data)


def test_the_line_of_a_nan_is_told(tmp_path: Path) -> None:
    data = text_with('"latency_s": 0.001', '"latency_s": NaN')
    line = 1 + data[: data.index(b"NaN")].count(b"\n")
    assert f"line {line}:" in refused(tmp_path, data)


def test_a_comparison_is_not_a_result(tmp_path: Path) -> None:
    assert "the result of congest compare" in refused(tmp_path, json.dumps(compared(GOOD, GOOD)).encode())


def test_a_missing_file_tells_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="congest estimate"):
        read_result(str(tmp_path / "none.json"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda data: b"\xef\xbb\xbf" + data])
def test_plain_and_packed_files_are_read(tmp_path: Path, pack) -> None:
    file = tmp_path / "result.json"
    file.write_bytes(pack(json.dumps(GOOD | {"more": 1}).encode()))
    assert read_result(str(file)) == GOOD | {"more": 1}


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Every place in a document."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [path, *(place for key in keys for place in places(value[key], (*path, key)))][0 if path else 1 :]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**400) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(places(GOOD)), anything, st.booleans())
def test_whatever_a_field_holds_it_is_refused_or_compared(place: tuple, value: object, removed: bool) -> None:
    document = json.loads(json.dumps(GOOD))
    *way, last = place
    inner = document
    for key in way:
        inner = inner[key]
    if removed:
        del inner[last]
    else:
        inner[last] = value
    try:
        check_result(document, "x.json")
    except ResultError:
        return
    for pair in ((GOOD, document), (document, GOOD)):
        found = compared(*pair)
        assert all(render(found, name) for name in FORMATS)

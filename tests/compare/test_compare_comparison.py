"""Verdicts, totals, marks and differences of the inputs."""

from __future__ import annotations

import json
from importlib.resources import files
from xml.etree import ElementTree

import jsonschema
import pytest
from compare_shared import collective, compared, result, step, verdict
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.compare import InputsDifferError, parse_aspects, require_same
from estimator.output.comparison import render

SCHEMA = json.loads(files("estimator").joinpath("schemas/compare.schema.json").read_text(encoding="utf-8"))

times = st.one_of(st.just(0.0), st.floats(1e-12, 1e3))


@st.composite
def documents(draw) -> dict:
    latencies = draw(st.lists(times, min_size=1, max_size=8))
    rows = [
        collective(f"G{i}", latency, start_s=draw(times), op=draw(st.sampled_from(["allreduce", "barrier"])))
        for i, latency in enumerate(latencies)
    ]
    steps = [step(row["id"], run_g5=draw(st.booleans())) for row in rows]
    return result(rows, steps, makespan_s=draw(times), communication_s=draw(times))


def scaled(document: dict, factor: float) -> dict:
    rows = [row | {"latency_s": row["latency_s"] * factor} for row in document["collectives"]]
    return document | {"collectives": rows}


@settings(deadline=None)
@given(documents())
def test_a_result_against_itself_is_green(document: dict) -> None:
    found = compared(document, document, "latency>0%", "makespan>0s,communication>0%", "g5>0,newly_marked>0")
    assert found["comparison"]["verdict"] == "passed"
    assert found["comparison"]["same"] == found["comparison"]["matched"] == len(document["collectives"])
    assert found["warnings"] == found["newly_marked"] == []


@settings(deadline=None)
@given(documents())
def test_a_fifth_longer_is_beyond_five_percent(document: dict) -> None:
    expected = "regression" if any(row["latency_s"] > 0 for row in document["collectives"]) else "passed"
    assert verdict(document, scaled(document, 1.2), "latency>5%") == expected
    assert verdict(document, scaled(document, 1.2), "latency>25%") == "passed"
    assert verdict(document, scaled(document, 1 / 1.2), "latency>5%") == "passed"


@settings(deadline=None)
@given(documents(), st.lists(st.sampled_from([0.5, 0.97, 1.0, 1.03, 2.0]), min_size=8, max_size=8))
def test_worse_one_way_is_better_the_other(one: dict, factors: list[float]) -> None:
    rows = [row | {"latency_s": row["latency_s"] * by} for row, by in zip(one["collectives"], factors, strict=False)]
    other = one | {"collectives": rows}
    there, back = (compared(*pair, "latency>5%")["comparison"] for pair in ((one, other), (other, one)))
    assert (there["worse"], there["better"], there["same"]) == (back["better"], back["worse"], back["same"])
    changed = [by for row, by in zip(rows, factors, strict=False) if row["latency_s"] > 0]
    assert (there["worse"], there["better"]) == (changed.count(2.0), changed.count(0.5))


@settings(deadline=None, max_examples=25)
@given(documents(), documents())
def test_every_format_of_every_comparison_is_well_formed(one: dict, other: dict) -> None:
    found = compared(one, other, "latency>5%", "g5>0", "slowdown>1%")
    jsonschema.validate(json.loads(render(found, "json")), SCHEMA)
    suite = ElementTree.fromstring(render(found, "junit").split("\n", 1)[1])
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.attrib[name]) == len(suite.findall(f"testcase/{tag}"))
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    failed = found["comparison"]["verdict"] == "regression"
    assert (suite.attrib["failures"] != "0") == failed
    annotations = render(found, "github").splitlines()
    assert all(line.startswith(("::notice ", "::warning ", "::error ")) for line in annotations)
    passed = found["comparison"]["verdict"] == "passed"
    assert any(line.startswith("::error ") for line in annotations) != passed
    assert (suite.attrib["failures"], suite.attrib["errors"]) != ("0", "0") or passed
    rows = [line for line in render(found, "markdown").splitlines() if line.startswith("| ")]
    assert rows
    assert all(row.endswith(" |") for row in rows)


def test_growth_and_shrinking_are_told_in_numbers() -> None:
    base = result([collective("G0", 1e-3), collective("G1", 2e-3, op="reduce")])
    new = result([collective("G0", 1.5e-3), collective("G1", 1e-3, op="reduce")])
    first, second = compared(base, new)["collectives"]
    assert (first["change_s"], first["relative"], first["verdict"]) == (
        pytest.approx(5e-4),
        pytest.approx(0.5),
        "worse",
    )
    assert (second["change_s"], second["relative"], second["verdict"]) == (-1e-3, -0.5, "better")
    assert first["exceeded"] == ["latency>5%,abs>1us"]


@pytest.mark.parametrize(
    ("quantity", "base", "new", "limit"),
    [
        ("makespan_s", 1.0, 1.06, "makespan>5%"),
        ("communication_s", 0.0, 1e-3, "communication>5%,abs>1us"),
        ("slowdown", 1.2, 1.5, "slowdown>0.2"),
        ("max_rho", 0.5, 0.8, "max_rho>50%"),
        ("g5_steps", 0, 1, "g5>0"),
        ("g5_share_of_time", 0.0, 0.2, "g5_share>0.1"),
    ],
)
def test_totals(quantity: str, base: float, new: float, limit: str) -> None:
    rows = [collective("G0")]
    ours, theirs = result(rows, **{quantity: base}), result(rows, **{quantity: new})
    assert verdict(ours, theirs, limit) == "regression"
    assert verdict(theirs, ours, limit) == "passed"


def test_a_base_of_zero_has_no_share() -> None:
    found = compared(result([collective("G0", 0.0)]), result([collective("G0", 1e-3)]))
    assert found["collectives"][0]["relative"] is None
    assert found["comparison"]["verdict"] == "regression"


def test_waiting_for_late_members_is_no_matter_of_the_network() -> None:
    base = result([collective("G0", 1e-3, breakdown={"straggler_s": 0.5e-3})])
    new = result([collective("G0", 2e-3, breakdown={"straggler_s": 1.5e-3})])
    assert verdict(base, new, "network>5%,abs>1us") == "passed"
    found = compared(base, new)
    assert found["comparison"]["verdict"] == "regression"
    assert "1ms of it waiting for late members" in found["limits"][0]["message"]


def test_steps_marked_in_the_new_result_only_are_listed() -> None:
    rows = [collective("G0"), collective("G1")]
    base = result(rows, [step("G0", 0, run_g5=True), step("G0", 1), step("G1", 0, run_g5=True), step(None, bytes=9)])
    new = result(
        [row | {"id": f"G{i + 7}"} for i, row in enumerate(rows)],
        [
            step("G7", 0, run_g5=True), step("G7", 1, run_g5=True), step("G8", 0),
            step(None, bytes=5, run_g5=True), step(None, bytes=9, run_g5=True),
        ],
    )  # fmt: skip
    found = compared(base, new, "newly_marked>2")
    marked = [(row["collective"], row["round"], row["bytes"], row["in_base"]) for row in found["newly_marked"]]
    assert marked == [("G7", 1, 1 << 20, True), (None, 0, 5, False), (None, 0, 9, True)]
    assert found["comparison"]["no_longer_marked"] == 1
    assert found["comparison"]["verdict"] == "regression"


def test_a_mark_that_turned_likely_wrong_counts() -> None:
    rows = [collective("G0")]
    base = result(rows, [step("G0", run_g5=True)])
    new = result(rows, [step("G0", run_g5=True, severity="likely wrong")])
    assert verdict(base, new) == "passed"
    assert verdict(base, new, "likely_wrong>0") == "regression"
    assert verdict(new, new, "likely_wrong>0") == "passed"


def test_nothing_in_common_is_never_green() -> None:
    one, other = result([collective("G0")]), result([collective("G0", op="barrier")])
    assert verdict(one, other) == "nothing compared"
    assert verdict(one, result()) == "nothing compared"
    assert verdict(result(), one) == "nothing compared"
    assert verdict(result(), result()) == "nothing compared"
    assert verdict(one, other, "makespan>5%") == "passed"
    assert verdict(one, other, "makespan>5%", "latency>5%") == "nothing compared"
    assert verdict(one, one, "slowdown>5%") == "passed"
    assert verdict(one, result([collective("G0")], slowdown=None), "slowdown>5%") == "nothing compared"
    assert verdict(one, one, "network>5%") == "nothing compared"


def test_point_to_point_programs_have_no_collectives_to_compare() -> None:
    base, new = result([], [step(None)]), result([], [step(None)], makespan_s=2.0)
    assert verdict(base, base) == "passed"
    assert verdict(base, new) == "regression"
    assert verdict(base, base, "latency>5%") == "nothing compared"


def test_a_regression_is_told_even_where_another_limit_had_nothing() -> None:
    base, new = result([collective("G0")]), result([collective("G0", op="barrier")], makespan_s=2.0)
    assert verdict(base, new) == "regression"


CHANGES = {
    "traces": {"traces": [{"path": "app.vef", "sha256": "1" * 64}]},
    "topology": {"topology": {"path": "net.yaml", "kind": "fat-tree", "hosts": 32}},
    "routing": {"routing": "ecmp"},
    "placement": {"ranks_per_node": 2},
    "model": {"model": "fluid"},
    "parameters": {"parameters": {"mtu_bytes": 9000}},
    "algorithms": {"collective_algorithms": {"allreduce": "ring"}},
    "compute_scale": {"compute_scale": 0.5},
    "background": {"background": [{"ports": "*", "rho": 0.1}]},
}


@pytest.mark.parametrize("aspect", CHANGES)
def test_other_inputs_are_said_and_can_be_refused(aspect: str) -> None:
    base, new = result([collective("G0")]), result([collective("G0")])
    new["inputs"] |= CHANGES[aspect]
    found = compared(base, new)
    assert [row["aspect"] for row in found["differences"]] == [aspect]
    assert [row["code"] for row in found["warnings"]] == [f"different-{aspect.replace('_', '-')}"]
    assert found["comparison"]["verdict"] == "passed"
    require_same(found, parse_aspects(["tool", ",".join(set(CHANGES) - {aspect})]))
    for name in (aspect, "all"):
        with pytest.raises(InputsDifferError, match="differ"):
            require_same(found, parse_aspects([name]))


def test_a_network_is_the_same_under_another_name_but_not_with_another_fingerprint() -> None:
    def on(**changes: object) -> dict:
        document = result([collective("G0")])
        document["inputs"]["topology"] |= changes
        return document

    def fields(base: dict, new: dict) -> list[str]:
        return [row["field"] for row in compared(base, new)["differences"]]

    assert fields(on(fingerprint="a"), on(fingerprint="a", path="other.yaml", name="other")) == []
    assert fields(on(fingerprint="a"), on(fingerprint="b")) == ["topology.fingerprint"]
    assert fields(on(), on(fingerprint="b")) == []
    assert fields(on(), on(path="other.yaml")) == ["topology.path"]
    slow, fast = on(), on()
    slow["ports"], fast["ports"] = [{"name": "h0→s", "capacity": 1e9}], [{"name": "h0→s", "capacity": 2e9}]
    assert fields(slow, fast) == ["ports.h0→s.capacity"]


def test_a_trace_under_another_name_is_the_same_trace() -> None:
    base, new = result([collective("G0")]), result([collective("G0")])
    new["inputs"]["traces"][0]["path"] = "elsewhere/app.vef"
    assert compared(base, new)["differences"] == []


def test_aspects_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputsDifferError, match="did you mean 'topology'"):
        parse_aspects(["topologie"])


def test_records_that_are_not_covered_are_said() -> None:
    base, new = result([collective("G0")]), result([collective("G0")])
    new["coverage"] = {"unsupported": [{"what": "one-sided", "count": 3, "lines": [7], "bytes": 24}]}
    assert [row["code"] for row in compared(base, new)["warnings"]] == ["not-covered"]
    base["coverage"] = {"unsupported": []}
    assert compared(base, base)["warnings"] == []


def test_a_result_that_was_edited_is_noticed() -> None:
    base = result([collective("G0"), collective("G1")])
    found = compared(base, base | {"collectives": base["collectives"][:1]})
    assert {row["code"] for row in found["warnings"]} == {"edited", "vanished"}

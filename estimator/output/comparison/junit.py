"""JUnit XML of a comparison: a test case per limit and per collective in both results."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from estimator.compare import NOTHING
from estimator.compare.limits import change_in_words
from estimator.output.comparison.words import headline, limit_state, row_name, summary_lines


def render(comparison: dict[str, Any]) -> str:
    """A suite: limits and collectives fail where exceeded; vanished collectives are skipped; nothing is an error."""
    suite = ElementTree.Element("testsuite", name="congest compare")
    for row in comparison["limits"]:
        case = _case(suite, "congest.compare.limit", row["limit"], 0.0)
        if limit_state(row) == "exceeded":
            ElementTree.SubElement(case, "failure", message=row["message"], type="fail-on")
        elif limit_state(row) == "not compared":
            ElementTree.SubElement(case, "skipped", message=row["message"])
        else:
            ElementTree.SubElement(case, "system-out").text = row["message"]
    for row in comparison["collectives"]:
        case = _case(suite, f"congest.compare.{row['op']}", row_name(row), row["new_latency_s"])
        if row["exceeded"]:
            text = f"latency {change_in_words('latency', row['base_latency_s'], row['new_latency_s'])}"
            failure = ElementTree.SubElement(case, "failure", message=text, type="fail-on")
            failure.text = "\n".join(row["exceeded"])
    for row in comparison["vanished"]:
        case = _case(suite, f"congest.compare.{row['op']}", row["id"], 0.0)
        ElementTree.SubElement(case, "skipped", message="no counterpart in the new result")
    if comparison["comparison"]["verdict"] == NOTHING:
        case = _case(suite, "congest.compare", "something is compared", 0.0)
        ElementTree.SubElement(case, "error", message=headline(comparison), type="nothing-compared")
    texts = [*summary_lines(comparison), *(f"warning: {row['message']}" for row in comparison["warnings"])]
    suite.set("tests", str(len(suite)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", repr(next(row["new"] for row in comparison["totals"] if row["quantity"] == "makespan")))
    ElementTree.SubElement(suite, "system-out").text = "\n".join(texts)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, kind: str, name: str, time_s: float) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=kind, name=name, time=repr(float(time_s)))

"""JUnit XML: a test case per collective, failed where a step of it is likely wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from estimator.output.gates import Gate


def render(document: dict[str, Any], gates: Sequence[Gate] = ()) -> str:
    """A suite of the collectives and the gates; marked but exact ones pass, with their reasons as output."""
    rows = document["collectives"]
    failures = sum(row["severity"] == "likely wrong" for row in rows) + sum(gate.fails(document) for gate in gates)
    suite = ElementTree.Element(
        "testsuite",
        name="congest",
        tests=str(len(rows) + len(gates)),
        failures=str(failures),
        errors="0",
        time=repr(document["summary"]["makespan_s"]),
    )
    for row in rows:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"congest.{row['op']}", name=row["id"], time=repr(row["latency_s"])
        )
        if row["severity"] == "likely wrong":
            failure = ElementTree.SubElement(case, "failure", message="run G5: likely wrong", type="run-g5")
            failure.text = "\n".join(row["reasons"])
        elif row["reasons"]:
            ElementTree.SubElement(case, "system-out").text = "\n".join(row["reasons"])
    for gate in gates:
        case = ElementTree.SubElement(suite, "testcase", classname="congest.gate", name=gate.text, time="0")
        if gate.fails(document):
            ElementTree.SubElement(case, "failure", message=gate.describe(document), type="fail-on")
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"

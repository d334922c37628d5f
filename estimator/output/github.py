"""Annotations for GitHub Actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from estimator.output.gates import Gate
from estimator.output.ranking import leading_steps
from estimator.output.words import step_name, verdict

# GitHub shows ten annotations of a kind per step.
MOST = 10


def render(document: dict[str, Any], gates: Sequence[Gate] = ()) -> str:
    """A notice with the verdict, an error per failed gate, and a warning per marked step."""
    trace = document["inputs"]["traces"][0]["path"]
    lines = [f"::notice title=congest::{escaped(' '.join(verdict(document)))}"]
    for gate in gates:
        if gate.fails(document):
            lines.append(f"::error title=congest --fail-on::{escaped(gate.describe(document))}")
    for step in leading_steps(document["steps"], MOST, marked_only=True):
        text = f"{step_name(step, document)}: {'; '.join(step['reasons'])}"
        lines.append(f"::warning file={trace},title=run G5 ({step['severity']})::{escaped(text)}")
    for warning in document["warnings"]:
        place = f"file={warning['file']},line={warning['line'] or 1}," if warning["file"] else ""
        lines.append(f"::warning {place}title={warning['code']}::{escaped(warning['message'])}")
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """A message as annotations want it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

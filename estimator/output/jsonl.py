"""JSON lines: one object a line, its `kind` first."""

from __future__ import annotations

import json
from typing import Any

ROWS = {"collectives": "collective", "steps": "step", "ports": "port", "warnings": "warning"}


def render(document: dict[str, Any]) -> str:
    """Inputs, summary and coverage, then every row of every table."""
    head = {"kind": "result", "schema_version": document["schema_version"], "tool": document["tool"]}
    lines = [json.dumps(head)]
    for name in ("inputs", "summary", "coverage"):
        lines.append(json.dumps({"kind": name, **document[name]}, ensure_ascii=False))
    for name, kind in ROWS.items():
        lines.extend(json.dumps({"kind": kind, **row}, ensure_ascii=False) for row in document[name])
    return "\n".join(lines) + "\n"

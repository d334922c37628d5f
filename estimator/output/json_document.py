"""JSON, and its schema."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def render(document: dict[str, Any]) -> str:
    """One JSON document, one row of a table per line."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            rows = ",\n  ".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value)
            lines.append(f"{json.dumps(key)}: [\n  {rows}\n ]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def schema_text(name: str = "estimate") -> str:
    """The JSON Schema (draft 2020-12) of a command's result."""
    return files("estimator").joinpath(f"schemas/{name}.schema.json").read_text(encoding="utf-8")

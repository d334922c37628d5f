"""What the results of all commands share: how their JSON is laid out, and which version made them."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def tool_version() -> str:
    """Version of the installed package."""
    try:
        return version("congest")
    except PackageNotFoundError:
        return "0"


def render_json(document: dict[str, Any]) -> str:
    """One JSON document, one row of a table per line."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            rows = ",\n  ".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value)
            lines.append(f"{json.dumps(key)}: [\n  {rows}\n ]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}")
    return "{\n " + ",\n ".join(lines) + "\n}\n"

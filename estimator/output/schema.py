"""The JSON Schemas of results."""

from __future__ import annotations

from importlib.resources import files


def schema_text(name: str = "estimate") -> str:
    """The JSON Schema (draft 2020-12) of a command's result."""
    return files("estimator").joinpath(f"schemas/{name}.schema.json").read_text(encoding="utf-8")

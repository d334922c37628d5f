"""Whether two results are about the same: traces, network, settings. What differs is said, and can be refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from estimator.topology.errors import nearest

# What can differ, and the fields of `inputs` that tell.
ASPECTS = {
    "traces": ("traces",),
    "topology": ("topology",),
    "routing": ("routing", "seed"),
    "placement": ("placement", "ranks_per_node"),
    "model": ("model",),
    "parameters": ("parameters",),
    "algorithms": ("collective_algorithms", "openmpi"),
    "compute_scale": ("compute_scale",),
    "background": ("background",),
    "tool": (),
}
# Where a file lies and what it calls itself do not matter.
NAMES_ONLY = ("path", "name")
LONGEST_VALUE = 60

Difference = dict[str, Any]
Change = tuple[str, str, Any, Any]


class InputsDifferError(Exception):
    """Results that were to be about the same are not; says in what."""


def parse_aspects(expressions: Iterable[str]) -> list[str]:
    """Read names of `ASPECTS`, several in one expression separated by commas; `all` is every one.

    Raises
    ------
    InputsDifferError
        For a name that is none of them.
    """
    names = [part.strip() for text in expressions for part in text.split(",")]
    for name in names:
        if name != "all" and name not in ASPECTS:
            known = ", ".join(ASPECTS)
            raise InputsDifferError(
                f"--require-same: found '{name}'; expected all, or some of {known}; {nearest(name, ASPECTS)}"
            )
    return list(ASPECTS) if "all" in names else names


def require_same(comparison: dict[str, Any], aspects: Iterable[str]) -> None:
    """Refuse a comparison of results that differ in one of the aspects.

    Raises
    ------
    InputsDifferError
        With every such difference, a line each.
    """
    wanted = set(aspects)
    found = [row["message"] for row in comparison["differences"] if row["aspect"] in wanted]
    if found:
        raise InputsDifferError("\n".join(f"{text} (--require-same)" for text in found))


def input_differences(base: dict[str, Any], new: dict[str, Any]) -> list[Difference]:
    """What differs between the inputs of two results: `aspect`, `field`, `base`, `new`, `message`."""
    found = [
        {"aspect": change[0], "field": change[1], "base": change[2], "new": change[3], "message": _message(*change)}
        for change in _differences(base["inputs"], new["inputs"])
    ]
    capacity = _changed_capacity(base, new)
    if capacity and not any(row["field"] == "topology.fingerprint" for row in found):
        name, ours, theirs, count = capacity
        text = f"the topology differs: capacity of {count} port(s), such as {name}: {ours:g} → {theirs:g} bytes/s"
        field = f"ports.{name}.capacity"
        found.append({"aspect": "topology", "field": field, "base": ours, "new": theirs, "message": text})
    tools = [result.get("tool", {}).get("version") for result in (base, new)]
    if tools[0] != tools[1]:
        text = f"the results come from congest {printable(tools[0])} and {printable(tools[1])}"
        found.append({"aspect": "tool", "field": "tool.version", "base": tools[0], "new": tools[1], "message": text})
    return found


def _differences(base: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    for aspect, fields in ASPECTS.items():
        for field in fields:
            ours, theirs = base.get(field), new.get(field)
            if field == "traces":
                if [row["sha256"] for row in ours or []] != [row["sha256"] for row in theirs or []]:
                    yield aspect, "traces", ours, theirs
            elif isinstance(ours, dict) and isinstance(theirs, dict):
                yield from _inside(aspect, field, ours, theirs)
            elif ours != theirs:
                yield aspect, field, ours, theirs


def _inside(aspect: str, field: str, base: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    known = {"fingerprint"} if aspect == "topology" and "fingerprint" not in base.keys() & new.keys() else set()
    names = sorted((base.keys() | new.keys()) - {*known, *(NAMES_ONLY if aspect == "topology" else ())})
    changed = [name for name in names if base.get(name) != new.get(name)]
    if known and not changed and base.get("path") != new.get("path"):
        changed = ["path"]  # without a fingerprint, another file may be another network
    for name in changed:
        yield aspect, f"{field}.{name}", base.get(name), new.get(name)


def _changed_capacity(base: dict[str, Any], new: dict[str, Any]) -> tuple[str, float, float, int] | None:
    """First port whose capacity differs, both capacities, and how many there are."""
    ours, theirs = _capacities(base), _capacities(new)
    changed = [name for name in ours if name in theirs and ours[name] != theirs[name]]
    return (printable(changed[0]), ours[changed[0]], theirs[changed[0]], len(changed)) if changed else None


def _capacities(result: dict[str, Any]) -> dict[str, float]:
    rows = result.get("ports")
    return {
        row["name"]: row["capacity"]
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and isinstance(row.get("name"), str) and _is_rate(row.get("capacity"))
    }


def _is_rate(value: Any) -> bool:
    return isinstance(value, int | float) and -1e300 < value < 1e300


def _message(aspect: str, field: str, base: Any, new: Any) -> str:
    if aspect == "traces":
        return f"the traces differ: {_traces(base)} → {_traces(new)}"
    if field == "topology.fingerprint":
        return "the topology differs: links, rates or latencies are not the same"
    subject = {
        "topology": f"the topology differs: {field.partition('.')[2]}",
        "parameters": f"the parameters differ: {field.partition('.')[2]}",
        "algorithms": f"the algorithms differ: {field.partition('.')[2] or field}",
    }.get(aspect, f"the {field.replace('_', ' ')} differs:")
    absent = {"algorithms": "not forced", "parameters": "no limit"}.get(aspect, "nothing")
    shown = (absent if value is None else _quoted(value) for value in (base, new))
    return f"{subject} {' → '.join(shown)}"


def _traces(rows: Any) -> str:
    shown = [f"{printable(row['path'])} (sha256 {row['sha256'][:8]}…)" for row in rows[:3]]
    return ", ".join(shown) + (f" and {len(rows) - 3} more" if len(rows) > 3 else "")


def _quoted(value: Any) -> str:
    text = "nothing" if value is None else printable(value if isinstance(value, str) else json.dumps(value))
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def printable(value: object) -> str:
    """Text of a file that is safe to show."""
    return "".join(sign if sign.isprintable() else "?" for sign in str(value))

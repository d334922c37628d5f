"""The comparison of two results as a document of plain values (`estimator/schemas/compare.schema.json`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from estimator.compare.limits import (
    COUNTS,
    DEFAULT_LIMITS,
    OF_COLLECTIVES,
    TOTALS,
    Limit,
    change_in_words,
    parse_limits,
    value_of,
)
from estimator.compare.match import Matching, match_collectives, match_steps
from estimator.compare.same_inputs import input_differences, printable
from estimator.units import format_time
from vef.documents import tool_version

SCHEMA_VERSION = 1
PASSED, REGRESSION, NOTHING = "passed", "regression", "nothing compared"
WORSE, BETTER, SAME = "worse", "better", "same"
WRONG = "likely wrong"

# From this share of a growth on, waiting is worth a word.
WAITING_SHARE = 0.5

# From where on a quantity without a limit of its own is called worse or better.
NOTEWORTHY = {
    limit.quantity: limit
    for limit in parse_limits([*DEFAULT_LIMITS, "network>5%,abs>1us", "slowdown>5%", "max_rho>5%", "g5_share>5%"])
}

Document = dict[str, Any]
Row = dict[str, Any]


def compare(
    base: Document, new: Document, limits: Sequence[Limit], *, base_path: str = "base", new_path: str = "new"
) -> Document:
    """Compare two results that `check_result` has let pass.

    Parameters
    ----------
    limits : growth beyond any of them is a regression
    base_path, new_path : what the results are called

    Returns
    -------
    dict
        `comparison.verdict` is `PASSED`, `REGRESSION`, or `NOTHING` where a limit had nothing to be held against.
    """
    base_path, new_path = printable(base_path), printable(new_path)
    matching = match_collectives(base["collectives"], new["collectives"])
    rows = [_pair(base["collectives"][i], new["collectives"][j], limits) for i, j in matching.pairs]
    marked, unmarked = _marks(base, new, matching)
    filled = all(result["collectives"] or result["steps"] for result in (base, new))
    totals = [_total(name, base["summary"], new["summary"], limits) for name in TOTALS]
    counts = {
        "newly_marked": len(marked),
        "likely_wrong": sum(row["newly_likely_wrong"] for row in marked),
        "appeared": len(matching.appeared),
        "vanished": len(matching.vanished),
    }
    anything = bool(base["collectives"] or new["collectives"])
    outcomes = [_outcome(limit, rows, totals, counts, filled) for limit in limits]
    differences = input_differences(base, new)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "congest", "version": tool_version()},
        "comparison": {
            "verdict": _verdict(outcomes, anything),
            "matched": len(rows),
            "matched_by_id": sum(row["matched_by"] == "id" for row in rows),
            **{name: sum(row["verdict"] == name for row in rows) for name in (WORSE, BETTER, SAME)},
            **{name: counts[name] for name in COUNTS},
            "no_longer_marked": unmarked,
        },
        "base": _side(base, base_path),
        "new": _side(new, new_path),
        "differences": differences,
        "limits": outcomes,
        "totals": totals,
        "collectives": rows,
        "appeared": [_lone(new["collectives"][j]) for j in matching.appeared],
        "vanished": [_lone(base["collectives"][i]) for i in matching.vanished],
        "newly_marked": marked,
        "warnings": [*_of_inputs(differences), *_of_rows(base, new, base_path, new_path, matching, rows)],
    }


def _side(result: Document, path: str) -> Row:
    return {"path": path, "tool": result.get("tool"), "inputs": result["inputs"]}


def _verdict(outcomes: list[Row], anything: bool) -> str:
    if any(row["exceeded"] for row in outcomes):
        return REGRESSION
    # The default limit on collectives is none on a program without any.
    asked = [row for row in outcomes if anything or not (row["default"] and row["quantity"] in OF_COLLECTIVES)]
    return PASSED if asked and all(row["compared"] for row in asked) else NOTHING


def _judged(quantity: str, base: float, new: float, limits: Sequence[Limit]) -> tuple[str, list[str]]:
    """Worse, better or the same, and the limits that are exceeded."""
    own = [limit for limit in limits if limit.quantity == quantity]
    exceeded = [limit.text for limit in own if limit.exceeded(base, new)]
    scale = own or [NOTEWORTHY[quantity]]
    if exceeded or any(limit.exceeded(base, new) for limit in scale):
        return WORSE, exceeded
    return BETTER if any(limit.exceeded(new, base) for limit in scale) else SAME, exceeded


def _change(base: float | None, new: float | None) -> tuple[float | None, float | None]:
    """Growth, and its share of the base; None where there is none."""
    if base is None or new is None:
        return None, None
    share = (new - base) / base if base > 0 else math.inf
    return new - base, share if math.isfinite(share) else None


def _total(name: str, base: Row, new: Row, limits: Sequence[Limit]) -> Row:
    ours, theirs = value_of(name, base), value_of(name, new)
    change, relative = _change(ours, theirs)
    verdict, exceeded = (SAME, []) if ours is None or theirs is None else _judged(name, ours, theirs, limits)
    return {
        "quantity": name,
        "base": ours,
        "new": theirs,
        "change": change,
        "relative": relative,
        "verdict": verdict if change is not None else None,
        "exceeded": exceeded,
    }


def _network_s(row: Row) -> float | None:
    """Latency without the time that the last chain of messages waited for a late member, where that is told."""
    parts = row.get("breakdown")
    waited = parts.get("straggler_s") if isinstance(parts, dict) else None
    known = isinstance(waited, int | float) and math.isfinite(waited)
    return max(row["latency_s"] - waited, 0.0) if known else None


def _pair(base: Row, new: Row, limits: Sequence[Limit]) -> Row:
    verdict, exceeded = _judged("latency", base["latency_s"], new["latency_s"], limits)
    networks = _network_s(base), _network_s(new)
    if networks[0] is not None and networks[1] is not None:
        beyond = [limit for limit in limits if limit.quantity == "network" and limit.exceeded(*networks)]  # type: ignore[arg-type]
        exceeded += [limit.text for limit in beyond]
        verdict = WORSE if beyond else verdict
    change, relative = _change(base["latency_s"], new["latency_s"])
    return {
        "id": new["id"],
        "base_id": base["id"],
        "matched_by": "id" if base["id"] == new["id"] else "sequence",
        "op": new["op"],
        "communicator": new["communicator"],
        "ranks": new["ranks"],
        "bytes": new["bytes"],
        "algorithm": new["algorithm"],
        "call_changes": {
            name: {"base": base[name], "new": new[name]}
            for name in ("communicator", "ranks", "root", "bytes", "algorithm")
            if base[name] != new[name]
        },
        "base_latency_s": base["latency_s"],
        "new_latency_s": new["latency_s"],
        "change_s": change,
        "relative": relative,
        "base_network_s": networks[0],
        "new_network_s": networks[1],
        "base_slowdown": base["slowdown"],
        "new_slowdown": new["slowdown"],
        "base_max_rho": base["max_rho"],
        "new_max_rho": new["max_rho"],
        "base_run_g5": base["run_g5"],
        "new_run_g5": new["run_g5"],
        "verdict": verdict,
        "exceeded": exceeded,
    }


def _lone(row: Row) -> Row:
    return {name: row[name] for name in ("id", "op", "communicator", "ranks", "bytes", "latency_s", "run_g5")}


def _marks(base: Document, new: Document, matching: Matching) -> tuple[list[Row], int]:
    """Steps marked in the new result only, or only there as likely wrong, and how many lost their mark."""
    origin = {new["collectives"][j]["id"]: base["collectives"][i]["id"] for i, j in matching.pairs}
    known = {(row["collective"], row["round"]): row for row in base["steps"] if row["collective"] is not None}
    ours = [row for row in base["steps"] if row["collective"] is None]
    theirs = [row for row in new["steps"] if row["collective"] is None]
    ops = {row["id"]: row["op"] for row in new["collectives"]}
    alone = {id(theirs[j]): ours[i] for i, j in match_steps(ours, theirs)}
    found, unmarked = [], 0
    for row in new["steps"]:
        if row["collective"] is None:
            before = alone.get(id(row))
        else:
            before = known.get((origin.get(row["collective"]), row["round"]))
        was_marked = before is not None and before["run_g5"]
        wrong = row.get("severity") == WRONG and (before is None or before.get("severity") != WRONG)
        if row["run_g5"] and (not was_marked or wrong):
            found.append(_mark(row, ops.get(row["collective"]), before is not None, wrong))
        unmarked += was_marked and not row["run_g5"]
    return found, unmarked


def _mark(row: Row, op: str | None, known: bool, wrong: bool) -> Row:
    reasons = row.get("reasons")
    port = row.get("worst_port")
    return {
        "collective": row["collective"],
        "op": op,
        "round": row["round"],
        "bytes": row["bytes"],
        "start_s": row["start_s"],
        "in_base": known,
        "newly_likely_wrong": wrong,
        "severity": row.get("severity") if row.get("severity") in ("informational", WRONG) else None,
        "worst_port": None if port is None else printable(port),
        "reasons": [printable(text) for text in reasons] if isinstance(reasons, list) else [],
    }


def _outcome(limit: Limit, rows: list[Row], totals: list[Row], counts: dict[str, int], filled: bool) -> Row:
    """What became of a limit: how much it was held against, whether it is exceeded, and that in words."""
    if limit.quantity in OF_COLLECTIVES:
        compared, exceeded, text = _held_against_rows(limit, rows)
    elif limit.quantity in COUNTS:
        count = counts[limit.quantity]
        compared, exceeded = int(filled), int(limit.exceeded(0, count))
        text = f"{limit.quantity.replace('_', ' ')}: {count}"
    else:
        row = next(row for row in totals if row["quantity"] == limit.quantity)
        compared = int(filled and row["change"] is not None)
        exceeded = int(limit.text in row["exceeded"])
        text = f"{limit.quantity} {change_in_words(limit.quantity, row['base'], row['new'])}" if compared else ""
    if not compared:
        exceeded, text = 0, f"{limit.quantity}: nothing to compare"
    return {
        "limit": limit.text,
        "quantity": limit.quantity,
        "default": limit.default,
        "compared": compared,
        "exceeded": exceeded,
        "message": text,
    }


def _held_against_rows(limit: Limit, rows: list[Row]) -> tuple[int, int, str]:
    name = limit.quantity
    told = [row for row in rows if row[f"base_{name}_s"] is not None and row[f"new_{name}_s"] is not None]
    beyond = [row for row in told if limit.text in row["exceeded"]]
    if not beyond:
        return len(told), 0, f"{name}: none of {len(told)} collectives"
    worst = max(beyond, key=lambda row: row[f"new_{name}_s"] - row[f"base_{name}_s"])
    words = change_in_words(name, worst[f"base_{name}_s"], worst[f"new_{name}_s"]) + _waiting(name, worst)
    text = f"{name} of {len(beyond)} of {len(told)} collectives, most {call_name(worst)}: {words}"
    return len(told), len(beyond), text


def _waiting(name: str, row: Row) -> str:
    """Where a longer latency is mostly waiting for late members, that is said: no network does that."""
    base, new = row["base_network_s"], row["new_network_s"]
    if name != "latency" or base is None or new is None:
        return ""
    waited = row["change_s"] - (new - base)
    share = waited / row["change_s"]
    return f", {format_time(waited)} of it waiting for late members" if share > WAITING_SHARE else ""


def call_name(row: Row) -> str:
    """A collective as people call it, with the id it had."""
    moved = f" (was {row['base_id']})" if row.get("base_id", row["id"]) != row["id"] else ""
    return f"{row['id']} {row['op']}{moved}"


def _of_inputs(differences: list[Row]) -> list[Row]:
    codes = [f"different-{row['aspect'].replace('_', '-')}" for row in differences]
    return [{"code": code, "message": row["message"]} for code, row in zip(codes, differences, strict=True)]


def _of_rows(
    base: Document, new: Document, base_path: str, new_path: str, matching: Matching, rows: list[Row]
) -> list[Row]:
    found = []
    for result, path in ((base, base_path), (new, new_path)):
        for name in ("collectives", "steps"):
            counted, listed = result["summary"][name], len(result[name])
            if counted != listed:
                text = f"{path}: the summary counts {counted} {name}, but {listed} are listed: the file was edited"
                found.append({"code": "edited", "message": text})
        coverage = result.get("coverage")
        left_out = coverage.get("unsupported") if isinstance(coverage, dict) else None
        if isinstance(left_out, list) and left_out:
            text = f"{path}: {len(left_out)} kinds of records are not covered by the estimate"
            found.append({"code": "not-covered", "message": text})
    ours, theirs = len(base["collectives"]), len(new["collectives"])
    if matching.vanished:
        text = f"{len(matching.vanished)} of {ours} collectives of the base: no counterpart in the new result"
        found.append({"code": "vanished", "message": text})
    if matching.appeared:
        text = f"{len(matching.appeared)} of {theirs} collectives of the new result: no counterpart in the base"
        found.append({"code": "appeared", "message": text})
    moved = sum(row["matched_by"] == "sequence" for row in rows)
    if moved:
        found.append({"code": "ids-moved", "message": f"{moved} collectives have other ids and go by sequence"})
    changed = [row for row in rows if row["call_changes"].keys() - {"algorithm"}]
    if changed:
        names = sorted({name for row in changed for name in row["call_changes"]} - {"algorithm"})
        text = f"{len(changed)} collectives are called with other {', '.join(names)}, such as {call_name(changed[0])}"
        found.append({"code": "calls-changed", "message": text})
    other = [row for row in rows if "algorithm" in row["call_changes"]]
    if other:
        change = other[0]["call_changes"]["algorithm"]
        text = f"{len(other)} collectives take another algorithm, such as {call_name(other[0])}: "
        found.append({"code": "algorithm-changed", "message": text + f"{change['base']} → {change['new']}"})
    return found

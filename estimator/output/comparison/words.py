"""Sentences and groups that several formats of a comparison share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from estimator.compare import NOTHING, REGRESSION
from estimator.compare.limits import in_words
from estimator.output.words import alike, mark
from estimator.units import format_time

NAMES = {"max_rho": "max ρ", "g5": "G5 steps", "g5_share": "G5 share of time"}
MOST_REASONS = 2
MOST_NAMES = 5


@dataclass(frozen=True)
class Group:
    """Collectives of the same kind that fared alike; `row` is the one that changed most."""

    row: dict[str, Any]
    count: int


def headline(comparison: dict[str, Any]) -> str:
    """The verdict in a line."""
    counts, limits = comparison["comparison"], comparison["limits"]
    if counts["verdict"] == REGRESSION:
        failed = sum(row["exceeded"] > 0 for row in limits)
        return f"Regression: {failed} of {_limits(len(limits))} exceeded."
    if counts["verdict"] == NOTHING:
        idle = ", ".join(row["limit"] for row in limits if not row["compared"])
        return f"Nothing compared: there was nothing to hold {idle} against."
    return f"No regression: {_limits(len(limits))} kept."


def _limits(count: int) -> str:
    return f"{count} limit{'' if count == 1 else 's'}"


def summary_lines(comparison: dict[str, Any]) -> list[str]:
    """What was compared with what, and how the collectives fared."""
    counts = comparison["comparison"]
    lines = [f"{comparison['base']['path']} (base) → {comparison['new']['path']} (new)"]
    if counts["matched"] or counts["appeared"] or counts["vanished"]:
        lines.append(
            f"Of {counts['matched']} collectives in both, {counts['worse']} got slower, {counts['better']} faster, "
            f"{counts['same']} neither; {counts['appeared']} appeared, {counts['vanished']} vanished."
        )
    else:
        lines.append("There are no collectives; totals and steps are compared.")
    if counts["newly_marked"] or counts["no_longer_marked"]:
        wrong, marked = counts["likely_wrong"], counts["newly_marked"]
        kind = f", or marked before and now likely wrong: {marked} ({wrong} likely wrong)" if wrong else f": {marked}"
        lines.append(f"Steps newly marked “run G5”{kind}; no longer marked: {counts['no_longer_marked']}.")
    return lines


def limit_lines(comparison: dict[str, Any]) -> list[str]:
    """Every limit and what became of it, where limits come from, and how to accept what is beyond them."""
    lines = [f"{limit_state(row)}: {row['limit']}: {row['message']}" for row in comparison["limits"]]
    if comparison["comparison"]["verdict"] == REGRESSION:
        lines.append("If this is wanted, make the new result the baseline (estimate --format json -o FILE).")
    if any(row["default"] for row in comparison["limits"]):
        lines.append("These are the default limits; --fail-on EXPR sets others.")
    return lines


def limit_state(row: dict[str, Any]) -> str:
    """Whether a limit is exceeded."""
    return "exceeded" if row["exceeded"] else "kept" if row["compared"] else "not compared"


def quantity_name(quantity: str) -> str:
    """A total as people call it."""
    return NAMES.get(quantity, quantity.replace("_", " "))


def growth(relative: float | None, change: float | None) -> str:
    """A change as a share of the base."""
    if change is None:
        return "–"
    if relative is None:
        return "new" if change else "0 %"
    # Rounding is no change.
    if abs(relative) < 1e-9:
        return "0 %"
    share = 100 * relative
    return f"×{relative + 1:.3g}" if share >= 1000 else f"{share:+.1f} %" if abs(share) >= 0.05 else f"{share:+.1g} %"


def signed_time(seconds: float) -> str:
    """A difference of times."""
    return ("+" if seconds > 0 else "-" if seconds < 0 else "") + format_time(abs(seconds))


def total_cells(row: dict[str, Any]) -> list[str]:
    """Quantity, base, new, change."""
    name = row["quantity"]
    shown = [in_words(name, row["base"]), in_words(name, row["new"])]
    return [quantity_name(name), *shown, growth(row["relative"], row["change"]), outcome(row)]


def outcome(row: dict[str, Any]) -> str:
    """What became of a total or a collective."""
    return "exceeded" if row["exceeded"] else row["verdict"] or "–"


def changed_groups(comparison: dict[str, Any]) -> list[Group]:
    """Collectives that got slower or faster, those alike as one; the slower first, by the greatest change."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in comparison["collectives"]:
        if row["verdict"] != "same" or row["exceeded"]:
            groups.setdefault((row["verdict"], bool(row["exceeded"]), *_kind(row)), []).append(row)
    found = [Group(max(rows, key=lambda row: abs(row["change_s"])), len(rows)) for rows in groups.values()]
    found.sort(key=lambda group: -abs(group.row["change_s"]))
    found.sort(key=lambda group: (not group.row["exceeded"], group.row["verdict"] != "worse"))
    return found


def lone_groups(rows: list[dict[str, Any]]) -> list[Group]:
    """Collectives without a counterpart, those alike as one."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(_kind(row), []).append(row)
    return [Group(rows[0], len(rows)) for rows in groups.values()]


def _kind(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["op"], row["ranks"], row["bytes"], row.get("algorithm")


def row_name(row: dict[str, Any]) -> str:
    """A collective, with the id it had before where that differs."""
    was = "" if row["base_id"] == row["id"] else f" (was {row['base_id']})"
    return f"{row['id']} {row['op']}{was}"


def marks(row: dict[str, Any]) -> str:
    """Whether a collective has, got or lost its mark."""
    if row["new_run_g5"]:
        return "G5" if row["base_run_g5"] else "new G5"
    return "no more G5" if row["base_run_g5"] else ""


def mark_lines(comparison: dict[str, Any], top: int) -> list[str]:
    """Newly marked steps with their reasons, those alike as one, the likely wrong first."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in sorted(comparison["newly_marked"], key=lambda row: row["severity"] != "likely wrong"):
        groups.setdefault((row["severity"], row["in_base"], row["op"], row["bytes"]), []).append(row)
    lines = []
    for rows in list(groups.values())[:top]:
        row = rows[0]
        where = f" at {row['worst_port']}" if row["worst_port"] else ""
        why = "; ".join(row["reasons"][:MOST_REASONS]) or f"{mark(row['severity']) or 'G5'}{where}"
        lone = "" if row["in_base"] else ", not in the base"
        lines.append(f"{step_name(row)}{alike(len(rows))}, {row['severity'] or 'marked'}{lone}: {why}")
    if len(groups) > top:
        lines.append(f"and {len(groups) - top} kinds more")
    return lines


def step_name(row: dict[str, Any]) -> str:
    """A step as people call it."""
    if row["collective"] is None:
        return f"point-to-point step at {format_time(row['start_s'])}"
    return f"{row['collective']} round {row['round']}"


def names_of(groups: Iterable[Group]) -> str:
    """Groups in a sentence."""
    shown = [f"{group.row['id']} {group.row['op']}{alike(group.count)}" for group in groups]
    tail = f" and {len(shown) - MOST_NAMES} kinds more" if len(shown) > MOST_NAMES else ""
    return ", ".join(shown[:MOST_NAMES]) + tail

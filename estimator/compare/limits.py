"""Limits on growth (`--fail-on` of a comparison), such as `latency>5%,abs>1us` or `makespan>2% and abs>10us`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from estimator.output.gates import GateError
from estimator.topology.errors import nearest
from estimator.units import UnitError, format_time, parse_time

# Differences below this share of a value are rounding.
ROUNDING = 1e-9

DEFAULT_LIMITS = ("latency>5%,abs>1us", "makespan>5%,abs>1us", "communication>5%,abs>1us", "g5>0")

# Quantities of each collective, totals (where they stand in `summary`), and counts of a comparison.
OF_COLLECTIVES = ("latency", "network")
TOTALS = {
    "makespan": "makespan_s",
    "communication": "communication_s",
    "slowdown": "slowdown",
    "max_rho": "max_rho",
    "g5": "g5_steps",
    "g5_share": "g5_share_of_time",
}
COUNTS = ("newly_marked", "likely_wrong", "appeared", "vanished")
ALIASES = {"rho": "max_rho", "g5_steps": "g5", "latency_s": "latency", "makespan_s": "makespan",
           "communication_s": "communication"}  # fmt: skip
TIMES = {"latency", "network", "makespan", "communication"}
KNOWN = (*OF_COLLECTIVES, *TOTALS, *COUNTS)

CONDITION = re.compile(r"\s*([A-Za-z0-9_]+)\s*(>=|<=|==|!=|>|<)\s*(\S.*?)\s*")
SHARE = re.compile(r"(\d+\.?\d*|\.\d+)\s*%")
MORE = ("abs", "rel")
FORM = "a limit on growth such as 'latency>5%,abs>1us', 'makespan>2%' or 'g5>0'"


@dataclass(frozen=True)
class Condition:
    """Growth by more than a share of the base (`relative`), or by more than an amount."""

    relative: bool
    inclusive: bool
    limit: float

    def exceeded(self, base: float, new: float) -> bool:
        """Whether `new` is beyond the limit; rounding is not, and counts for a limit that is inclusive."""
        growth = new - base
        limit = self.limit * base if self.relative else self.limit
        slack = ROUNDING * max(abs(base), abs(new))
        return growth >= limit - slack if self.inclusive else growth > limit + slack


@dataclass(frozen=True)
class Limit:
    """Conditions on the growth of one quantity; all must be exceeded.

    Attributes
    ----------
    text : as it was written
    quantity : of `KNOWN`
    conditions : shares and amounts (s for times)
    default : whether it holds because no other was asked for
    """

    text: str
    quantity: str
    conditions: tuple[Condition, ...]
    default: bool = False

    def exceeded(self, base: float, new: float) -> bool:
        """Whether the quantity has grown beyond the limit."""
        return all(condition.exceeded(base, new) for condition in self.conditions)


def change_in_words(quantity: str, base: float, new: float) -> str:
    """`1ms → 1.2ms (+20 %, +200us)`, or `1ms, unchanged`."""
    growth, parts = new - base, []
    if abs(growth) <= ROUNDING * max(abs(base), abs(new)):
        return f"{in_words(quantity, new)}, unchanged"
    if base > 0:
        parts.append(f"{100 * growth / base:+.3g} %")
    sign = "+" if growth >= 0 else "-"
    parts.append(sign + in_words(quantity, abs(growth)))
    return f"{in_words(quantity, base)} → {in_words(quantity, new)} ({', '.join(parts)})"


def in_words(quantity: str, value: float | None) -> str:
    """A value with its unit."""
    if value is None:
        return "none"
    if quantity == "g5_share":
        return f"{100 * value:.3g} %"
    return format_time(value) if quantity in TIMES else f"{value:.4g}" if value % 1 else f"{value:.0f}"


def parse_limits(expressions: Iterable[str]) -> list[Limit]:
    """Read limits, several in one expression separated by commas; `abs>…` goes with the quantity before it.

    `and` joins conditions on one quantity as well. Without expressions, `DEFAULT_LIMITS` hold.

    Raises
    ------
    estimator.output.gates.GateError
        With what was found and what would do.
    """
    given = list(expressions)
    return [_limit(group, not given) for text in given or DEFAULT_LIMITS for group in _groups(text)]


def _groups(text: str) -> list[list[str]]:
    """Conditions that belong together: those joined by `and`, and `abs` with what stands before it."""
    groups: list[list[str]] = []
    for part in text.split(","):
        conditions = [condition.strip() for condition in re.split(r"\band\b", part)]
        if conditions[0].startswith(MORE) and groups:
            groups[-1] += conditions
        else:
            groups.append(conditions)
    return groups


def _limit(texts: list[str], default: bool) -> Limit:
    quantity = ""
    conditions = []
    for text in texts:
        match = CONDITION.fullmatch(text)
        if match is None:
            raise GateError(f"--fail-on: found '{text}'; expected {FORM}")
        name, compare, value = match.groups()
        if name not in MORE:
            name = _known(name)
            if quantity and name != quantity:
                raise GateError(
                    f"--fail-on: found '{quantity}' and '{name}' in one limit; expected conditions on one quantity, "
                    "such as latency>5%,abs>1us; give others after a comma"
                )
            quantity = name
        elif not quantity:
            raise GateError(f"--fail-on: found '{text}' without a quantity before it; expected {FORM}")
        if compare not in (">", ">="):
            raise GateError(f"--fail-on: found '{compare}' in '{text}'; expected > or >=, a limit on growth")
        conditions.append(_condition(quantity, name, compare, value))
    return Limit(",".join(texts), quantity, tuple(conditions), default)


def _known(name: str) -> str:
    name = ALIASES.get(name, name)
    if name not in KNOWN:
        raise GateError(f"--fail-on: found '{name}'; expected one of {', '.join(KNOWN)}; {nearest(name, KNOWN)}")
    return name


def _condition(quantity: str, name: str, compare: str, value: str) -> Condition:
    share = SHARE.fullmatch(value)
    if name == "rel" and share is None:
        raise GateError(f"--fail-on: found '{value}' for rel; expected a share such as 5%")
    if share is not None:
        if name == "abs" or quantity in COUNTS:
            raise GateError(f"--fail-on: found '{value}' for {name}; expected an amount, not a share")
        return Condition(True, compare == ">=", float(share[1]) / 100)
    try:
        amount = parse_time(value) if quantity in TIMES else float(value)
    except (UnitError, ValueError) as error:
        wanted = "a time such as 10us" if quantity in TIMES else "a number"
        either = wanted if name == "abs" or quantity in COUNTS else f"a share such as 5%, or {wanted}"
        raise GateError(f"--fail-on: found '{value}' for {name}; expected {either}") from error
    if not (math.isfinite(amount) and amount >= 0):
        raise GateError(f"--fail-on: found '{value}' for {name}; expected a finite limit, not negative")
    return Condition(False, compare == ">=", amount)


def value_of(quantity: str, summary: dict[str, Any]) -> float | None:
    """A total; None where there is none."""
    value = summary[TOTALS[quantity]]
    return None if value is None else float(value)

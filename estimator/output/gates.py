"""Gates of `--fail-on`: conditions on the summary that make a run fail, such as `g5>0` or `makespan>10ms`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from estimator.topology.errors import nearest
from estimator.units import UnitError, format_time, parse_time

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
}  # fmt: skip

# What a gate can ask for: its name, and where it stands in the result.
FIELDS: dict[str, Callable[[dict[str, Any]], float | None]] = {
    "g5": lambda d: d["summary"]["g5_steps"],
    "g5_steps": lambda d: d["summary"]["g5_steps"],
    "g5_share": lambda d: d["summary"]["g5_share_of_time"],
    "likely_wrong": lambda d: sum(step["severity"] == "likely wrong" for step in d["steps"]),
    "slowdown": lambda d: d["summary"]["slowdown"],
    "max_slowdown": lambda d: max((row["slowdown"] or 0.0 for row in d["collectives"]), default=0.0),
    "makespan": lambda d: d["summary"]["makespan_s"],
    "communication": lambda d: d["summary"]["communication_s"],
    "latency": lambda d: max((row["latency_s"] for row in d["collectives"]), default=0.0),
    "max_rho": lambda d: d["summary"]["max_rho"],
    "rho": lambda d: d["summary"]["max_rho"],
    "steps": lambda d: d["summary"]["steps"],
    "collectives": lambda d: d["summary"]["collectives"],
}
TIMES = {"makespan", "communication", "latency"}

CONDITION = re.compile(r"\s*([A-Za-z0-9_]+)\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*")


class GateError(ValueError):
    """A condition that cannot be read."""


@dataclass(frozen=True)
class Condition:
    """One comparison of a field with a limit."""

    text: str
    field: str
    compare: str
    limit: float

    def holds(self, document: dict[str, Any]) -> bool:
        """Whether it is true; never where there is no value."""
        value = FIELDS[self.field](document)
        return value is not None and OPERATORS[self.compare](float(value), self.limit)

    def describe(self, document: dict[str, Any]) -> str:
        """The value that was found against the limit."""
        value = FIELDS[self.field](document)
        shown = "none" if value is None else format_time(value) if self.field in TIMES else f"{value:g}"
        return f"{self.field} is {shown} ({self.text})"


@dataclass(frozen=True)
class Gate:
    """Conditions joined by `and`; the run fails where all of them hold."""

    conditions: tuple[Condition, ...]

    @property
    def text(self) -> str:
        """As it was written."""
        return " and ".join(condition.text for condition in self.conditions)

    def fails(self, document: dict[str, Any]) -> bool:
        """Whether all conditions hold."""
        return all(condition.holds(document) for condition in self.conditions)

    def describe(self, document: dict[str, Any]) -> str:
        """The values that were found against the limits."""
        return "; ".join(condition.describe(document) for condition in self.conditions)


def parse_gates(expressions: list[str]) -> list[Gate]:
    """Read gates, several in one expression separated by commas; `and` joins conditions that must hold together.

    Raises
    ------
    GateError
        With what was found and what would do.
    """
    parts = [part for text in expressions for part in text.split(",")]
    return [Gate(tuple(_parse(condition) for condition in re.split(r"\band\b", part))) for part in parts]


def _parse(text: str) -> Condition:
    match = CONDITION.fullmatch(text)
    if match is None:
        raise GateError(
            f"--fail-on: found '{text.strip()}'; expected a condition such as g5>0, slowdown>2 or makespan>10ms"
        )
    field, compare, value = match.groups()
    name = field[:-2] if field.endswith("_s") and field[:-2] in TIMES else field
    if name not in FIELDS:
        known = ", ".join(FIELDS)
        raise GateError(f"--fail-on: found '{field}'; expected one of {known}; {nearest(field, FIELDS)}")
    try:
        limit = parse_time(value) if name in TIMES else float(value)
    except (UnitError, ValueError) as error:
        wanted = "a time such as 10ms" if name in TIMES else "a number"
        raise GateError(f"--fail-on: found '{value}' for {name}; expected {wanted}") from error
    return Condition(text.strip(), name, compare, limit)

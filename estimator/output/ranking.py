"""Which rows lead: marked ones, then slow ones; the same thing many times is one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WRONG = "likely wrong"


@dataclass(frozen=True)
class Group:
    """Collectives that are the same call: operation, algorithm, communicator size and bytes.

    Attributes
    ----------
    slowest : the row of the slowest one
    count, marked : how many there are, and how many of them are marked
    total_s : sum of their latencies without the time they wait for late members
    """

    slowest: dict[str, Any]
    count: int
    marked: int
    total_s: float


@dataclass(frozen=True)
class StepGroup:
    """Marked steps that are alike: of the same kind of call, or of the same point-to-point pattern.

    Attributes
    ----------
    worst : the row of the worst one
    count : how many there are
    """

    worst: dict[str, Any]
    count: int


def congestion_s(row: dict[str, Any]) -> float:
    """The part of a collective's latency that others cause: sharing and queueing."""
    return float(row["breakdown"]["sharing_s"] + row["breakdown"]["queueing_s"])


def network_s(row: dict[str, Any]) -> float:
    """A collective's latency without the time that its last chain of messages waited for a late member."""
    return float(row["latency_s"] - row["breakdown"]["straggler_s"])


def call_key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What two collectives have in common that are the same call."""
    return row["op"], row["algorithm"], row["ranks"], row["bytes"]


def leading_collectives(rows: list[dict[str, Any]], top: int) -> list[Group]:
    """Groups of collectives: those with a mark "likely wrong" first, then those that take longest in all."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(call_key(row), []).append(row)
    found = [
        Group(
            max(members, key=lambda row: (row["severity"] == WRONG, network_s(row))),
            len(members),
            sum(row["run_g5"] for row in members),
            sum(network_s(row) for row in members),
        )
        for members in groups.values()
    ]
    found.sort(key=lambda group: -group.total_s)
    found.sort(key=lambda group: group.slowest["severity"] != WRONG)
    return found[:top]


def leading_steps(rows: list[dict[str, Any]], top: int, *, marked_only: bool) -> list[dict[str, Any]]:
    """Steps by severity, then by the time that their longest queue stands for, then by load."""
    chosen = [row for row in rows if row["run_g5"] or not marked_only]
    chosen.sort(key=lambda row: (row["severity"] == WRONG, row["queue_s"], row["rho"]), reverse=True)
    return chosen[:top]


def marked_groups(document: dict[str, Any]) -> list[StepGroup]:
    """Marked steps, those alike under the worst of them, the worst group first."""
    calls = {row["id"]: call_key(row) for row in document["collectives"]}
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for step in leading_steps(document["steps"], len(document["steps"]), marked_only=True):
        alike = calls[step["collective"]] if step["collective"] is not None else (step["trace"], step["pattern"])
        groups.setdefault((step["severity"], *alike), []).append(step)
    return [StepGroup(members[0], len(members)) for members in groups.values()]

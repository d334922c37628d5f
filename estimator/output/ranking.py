"""Which rows lead: marked ones, then slow ones; the same thing many times is one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Group:
    """Collectives that are the same call: operation, algorithm, communicator size and bytes.

    Attributes
    ----------
    slowest : the row of the slowest one
    count, marked : how many there are, and how many of them are marked
    total_s : sum of their latencies
    """

    slowest: dict[str, Any]
    count: int
    marked: int
    total_s: float


def congestion_s(row: dict[str, Any]) -> float:
    """The part of a collective's latency that others cause: sharing and queueing."""
    return float(row["breakdown"]["sharing_s"] + row["breakdown"]["queueing_s"])


def leading_collectives(rows: list[dict[str, Any]], top: int) -> list[Group]:
    """Groups of collectives: those with a mark "likely wrong" first, then those that take longest in all."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["op"], row["algorithm"], row["ranks"], row["bytes"]), []).append(row)
    found = [
        Group(
            max(members, key=lambda row: (row["severity"] == "likely wrong", row["latency_s"])),
            len(members),
            sum(row["run_g5"] for row in members),
            sum(row["latency_s"] for row in members),
        )
        for members in groups.values()
    ]
    found.sort(key=lambda group: -group.total_s)
    found.sort(key=lambda group: group.slowest["severity"] != "likely wrong")
    return found[:top]


def leading_steps(rows: list[dict[str, Any]], top: int, *, marked_only: bool) -> list[dict[str, Any]]:
    """Steps by severity, then by the time that their longest queue stands for, then by load."""
    chosen = [row for row in rows if row["run_g5"] or not marked_only]
    chosen.sort(key=lambda row: (row["severity"] == "likely wrong", row["queue_s"], row["rho"]), reverse=True)
    return chosen[:top]

"""Results of `estimate` made by hand: few fields, round numbers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from estimator.compare import compare, parse_limits

Document = dict[str, Any]


def collective(id_: str, latency_s: float = 1e-3, **changes: Any) -> Document:
    """A row of `collectives`, an allreduce of 1 MiB unless told otherwise."""
    row = {
        "id": id_, "op": "allreduce", "communicator": "C0", "ranks": 16, "root": None, "bytes": 1 << 20,
        "algorithm": "ring", "start_s": 0.0, "latency_s": latency_s, "slowdown": 1.0, "max_rho": 0.5, "run_g5": False,
    }  # fmt: skip
    return row | changes


def step(collective_: str | None, round_: int = 0, *, run_g5: bool = False, **changes: Any) -> Document:
    """A row of `steps`."""
    row = {
        "collective": collective_, "round": round_, "messages": 16, "bytes": 1 << 20, "start_s": 0.0,
        "run_g5": run_g5, "severity": "informational" if run_g5 else None, "worst_port": "leaf0→h0",
        "reasons": ["2 flows merge"] if run_g5 else [],
    }  # fmt: skip
    return row | changes


def result(collectives: Sequence[Document] = (), steps: Sequence[Document] | None = None, **summary: Any) -> Document:
    """A whole result; totals can be given by name."""
    rows = copy.deepcopy(list(collectives))
    if steps is None:
        steps = [step(row["id"]) for row in rows]
    return {
        "schema_version": 1,
        "tool": {"name": "congest", "version": "1.0"},
        "inputs": {
            "traces": [{"path": "app.vef", "sha256": "0" * 64}],
            "topology": {"path": "net.yaml", "kind": "fat-tree", "hosts": 16},
            "placement": "block",
            "model": "segmented",
            "parameters": {"mtu_bytes": 4096},
        },
        "summary": {
            "makespan_s": 1.0, "communication_s": 0.5, "slowdown": 1.25, "collectives": len(rows),
            "steps": len(steps), "g5_steps": sum(row["run_g5"] for row in steps), "g5_share_of_time": 0.0,
            "max_rho": 0.5,
        } | summary,
        "collectives": rows,
        "steps": copy.deepcopy(list(steps)),
        "ports": [],
    }  # fmt: skip


def compared(base: Document, new: Document, *limits: str) -> Document:
    """Their comparison, under the default limits unless some are given."""
    return compare(base, new, parse_limits(limits))


def verdict(base: Document, new: Document, *limits: str) -> str:
    """The outcome of their comparison."""
    return compared(base, new, *limits)["comparison"]["verdict"]

"""CSV: a row per collective, or per step."""

from __future__ import annotations

import csv
import io
from typing import Any

from estimator.document import BREAKDOWN


def render(document: dict[str, Any], *, steps: bool = False) -> str:
    """Rows with the field names of the JSON; breakdowns as columns `breakdown_…`, reasons joined by ' | '."""
    rows = [_flat(row) for row in document["steps" if steps else "collectives"]]
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else STEP_FIELDS if steps else COLLECTIVE_FIELDS)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in row.items() if key not in ("breakdown", "hashes")}
    if row.get("hashes"):
        flat |= {f"hashes_{key}": value for key, value in row["hashes"].items() if key != "collisions"}
    flat["reasons"] = " | ".join(row["reasons"])
    return {**flat, **{f"breakdown_{key}": value for key, value in row.get("breakdown", {}).items()}}


STEP_FIELDS = [
    "id", "trace", "collective", "round", "messages", "bytes", "start_s", "finish_s", "latency_s", "latency_p99_s",
    "rho", "worst_port", "flows", "utilisation", "queue_s", "paused_s", "regime", "pattern", "run_g5", "severity",
    "reasons",
]  # fmt: skip
COLLECTIVE_FIELDS = [
    "id", "trace", "op", "communicator", "ranks", "root", "bytes", "algorithm", "algorithm_reason", "start_s",
    "finish_s", "latency_s", "latency_p99_s", "alpha_beta_s", "slowdown", "max_rho", "worst_port", "max_flows",
    "regime", "pattern", "run_g5", "severity", "g5_steps", "reasons", *(f"breakdown_{part}" for part in BREAKDOWN),
]  # fmt: skip

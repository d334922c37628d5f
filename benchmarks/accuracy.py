"""How far a model is off: run it on scenarios of a packet-level simulator and compare.

    python benchmarks/accuracy.py DIR [--model segmented] [--json]

DIR holds scenario files (see estimator.scenario), also in subfolders. Prints, per family, the median, the 90th
percentile and the worst of the relative error of the makespan and of the mean message latency, its mean with sign,
and the error per message, each also for the scenarios that are marked "run G5" and for those that are not.
Where the simulator has several seeds, the comparison is with their mean.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from estimator.estimate import MODELS
from estimator.scenario import Scenario, ScenarioError, load_scenario, run_scenario

MARKS = ("marked", "unmarked")


def compare(task: tuple[str, str]) -> dict[str, Any] | str:
    """Relative errors of one scenario, or why there are none."""
    path, model = task
    try:
        scenario = load_scenario(path)
        makespan_ns, mean_latency_ns = expected_ns(scenario)
        outcome = run_scenario(scenario, model)
    except ScenarioError as error:
        return str(error)
    except KeyError as error:
        return f"{path}: the result of the simulation has no {error}"
    percentile_s = scenario.reference.get("replications", {}).get("quantiles_ns", {}).get("99", 0.0) * 1e-9
    return {
        "family": family_of(scenario),
        "name": scenario.name,
        "makespan": outcome.makespan_s * 1e9 / makespan_ns - 1.0 if makespan_ns else float("nan"),
        "mean_latency": outcome.mean_latency_s * 1e9 / mean_latency_ns - 1.0,
        "per_message": per_message_error(scenario, outcome.posted_s, outcome.arrived_s),
        "percentile_99": outcome.latency_p99_s / percentile_s - 1.0 if percentile_s else float("nan"),
        "marked": outcome.run_g5,
    }


def expected_ns(scenario: Scenario) -> tuple[float | None, float]:
    """Makespan and mean latency of the simulator: the mean of its replications where there are several.

    A probe stands for many messages at random times, which have no makespan.
    """
    reference = scenario.reference
    replications = reference.get("replications", {})
    if "makespan_mean_ns" in replications:
        return replications["makespan_mean_ns"], replications["mean_latency_mean_ns"]
    if replications.get("kind") == "probe":
        return None, reference["mean_latency_ns"]
    return reference["makespan_ns"], reference["mean_latency_ns"]


def family_of(scenario: Scenario) -> str:
    """The file's family; c is split by background."""
    return "c_background" if scenario.family == "c" and scenario.streams else scenario.family


def per_message_error(scenario: Scenario, posted: np.ndarray, arrived: np.ndarray) -> float:
    """Mean relative error of the messages' latencies; nan without the simulator's detail."""
    finish = scenario.reference.get("messages", {}).get("finish_ns")
    start = scenario.reference.get("messages", {}).get("start_ns")
    if not finish or not start or len(finish) != len(arrived):
        return float("nan")
    expected = np.array(finish, float) - np.array(start, float)
    return float(np.mean(np.abs((arrived - posted) * 1e9 / expected - 1.0)))


def statistics(errors: list[float]) -> dict[str, float] | None:
    """Median, 90th percentile and worst of the absolute error, and the mean with sign."""
    known = np.array([error for error in errors if not np.isnan(error)])
    if not known.size:
        return None
    size = np.abs(known)
    return {
        "median": float(np.median(size)),
        "p90": float(np.quantile(size, 0.9)),
        "worst": float(size.max()),
        "mean_signed": float(known.mean()),
    }


def is_off(row: dict[str, Any]) -> bool:
    """Whether the makespan or the mean latency is more than 10 % off."""
    return bool(max(abs(np.nan_to_num(row["makespan"])), abs(row["mean_latency"])) > 0.1)


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of one family."""
    found: dict[str, Any] = {"count": len(rows)}
    for name in ("makespan", "mean_latency", "per_message", "percentile_99"):
        found[name] = statistics([row[name] for row in rows])
    for name, chosen in zip(MARKS, (True, False), strict=True):
        own = [row for row in rows if row["marked"] == chosen]
        found[name] = {
            "count": len(own),
            "makespan": statistics([row["makespan"] for row in own]),
            "mean_latency": statistics([row["mean_latency"] for row in own]),
            "off_by_more_than_10_percent": sum(is_off(row) for row in own),
        }
    return found


def cell(figures: dict[str, float] | None) -> str:
    if figures is None:
        return f"{'–':>9}{'–':>9}{'–':>9}  "
    return "".join(f"{100 * figures[name]:>9.3f}" for name in ("median", "p90", "worst")) + " %"


def show(families: dict[str, Any], left_out: int) -> None:
    """Print the table for people."""
    print(
        f"{'family':<14}{'files':>6}   makespan med / p90 / worst     mean latency med / p90 / worst"
        f"   marked (off)  unmarked (off)"
    )
    for name, family in families.items():
        cells = "".join(cell(family[key]) for key in ("makespan", "mean_latency"))
        marks = (f"{family[key]['count']} ({family[key]['off_by_more_than_10_percent']})" for key in MARKS)
        print(f"{name:<14}{family['count']:>6}{cells}{''.join(f'{text:>15}' for text in marks)}")
        if family["percentile_99"]:
            print(f"{'  99th percentile of the latency':<49}{cell(family['percentile_99'])}")
    print("off: more than 10 % in the makespan or the mean latency")
    if left_out:
        print(f"{left_out} scenarios left out (unreadable, or no messages)", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--model", default="segmented", choices=list(MODELS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    files = sorted(path for path in options.dir.rglob("*.json*") if path.is_file())
    if not files:
        print(f"error: no scenario files (*.json, *.json.gz) in {options.dir}", file=sys.stderr)
        return 2
    compare((str(files[0]), options.model))  # compiles once, before the workers start
    with ProcessPoolExecutor() as pool:
        results = list(pool.map(compare, [(str(path), options.model) for path in files], chunksize=8))
    rows = [result for result in results if isinstance(result, dict)]
    if not rows:
        print(f"error: {options.dir} has no scenario to compare with; the first is: {results[0]}", file=sys.stderr)
        return 2
    names = sorted({row["family"] for row in rows})
    families = {name: summarise([row for row in rows if row["family"] == name]) for name in names}
    left_out = len(results) - len(rows)
    if options.json:
        json.dump({"model": options.model, "families": families, "left_out": left_out}, sys.stdout, indent=1)
    else:
        show(families, left_out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

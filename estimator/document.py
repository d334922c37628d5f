"""The result as a document of plain values: base units, fixed names, the same for the same input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.estimate import Estimate
from estimator.formulas import REGIMES
from estimator.patterns import NAMES, classify
from estimator.replay.layout import MESSAGE, RANDOM_BOUND, RANDOM_MEAN, RANDOM_VARIANCE
from estimator.steps import SEVERITIES, reasons, surplus_p99
from estimator.workload import IDEAL
from vef import Op
from vef.documents import tool_version

SCHEMA_VERSION = 1

# Reasons of a collective are those of its most loaded steps.
MOST_REASONS = 3

BREAKDOWN = ("overhead_s", "latency_s", "serialisation_s", "sharing_s", "queueing_s", "straggler_s")
RANDOM_PARTS = (RANDOM_MEAN, RANDOM_VARIANCE, RANDOM_BOUND)


def document(result: Estimate) -> dict[str, Any]:
    """The whole result; the fields are described by `estimator/schemas/estimate.schema.json`."""
    names = result.fabric.port_names()
    names += ["injection"] * (len(result.workload.network.ports) - len(names))
    steps = step_rows(result, names)
    collectives = collective_rows(result, names, steps)
    ports = port_rows(result, names)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "congest", "version": tool_version()},
        "inputs": inputs(result),
        "summary": summary(result, names),
        "collectives": collectives,
        "steps": steps,
        "ports": ports,
        "coverage": coverage(result),
        "warnings": warnings(result, ports),
    }


def inputs(result: Estimate) -> dict[str, Any]:
    """What was estimated, on what, with which settings."""
    fabric, options = result.fabric, result.options
    return {
        "traces": [
            {
                "path": trace.path,
                "sha256": trace.sha256,
                "tasks": trace.header.tasks,
                "records": len(trace.kind),
                "p2p_messages": int((trace.kind == MESSAGE).sum()),
                "collectives": len(trace.collectives.gid),
                "bytes": int(trace.send_bytes[trace.kind == MESSAGE].sum()),
            }
            for trace in result.workload.traces
        ],
        "topology": {
            "path": fabric.source or fabric.name,
            "kind": fabric.kind,
            "name": fabric.name,
            "fingerprint": fabric.fingerprint,
            "hosts": fabric.host_count or len(result.workload.host_of),
            "switches": fabric.switch_count,
            "links": fabric.link_count,
            "fabric": fabric.fabric,
            "switching": fabric.switching,
            "host_overhead_s": fabric.host_overhead_s,
            "host_copy_rate": fabric.host_copy_rate if np.isfinite(fabric.host_copy_rate) else None,
            "host_rendezvous_s": fabric.host_rendezvous_s,
            "intra_node_rate": fabric.intra_node_rate if np.isfinite(fabric.intra_node_rate) else None,
            "intra_node_latency_s": fabric.intra_node_latency_s,
        },
        "placement": options.placement,
        "ranks_per_node": options.ranks_per_node,
        "model": options.model,
        "routing": fabric.routing,
        "seed": fabric.seed if options.seed is None else options.seed,
        "collective_algorithms": dict(options.collectives),
        "openmpi": options.openmpi,
        "compute_scale": options.compute_scale,
        "background": [_without_inf(asdict(entry)) for entry in fabric.background + options.background],
        "parameters": _without_inf(result.parameters.as_dict()),
    }


def _without_inf(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name, None for what has no limit: JSON has no infinity."""
    return {name: None if value == np.inf else value for name, value in values.items()}


def summary(result: Estimate, names: list[str]) -> dict[str, Any]:
    """The totals."""
    steps = result.steps
    marked = steps.run_g5
    latency = steps.finish_s - steps.start_s
    worst = int(np.argmax(steps.rho)) if len(steps) else -1
    bare = result.communication_alpha_beta_s
    total = float(latency.sum())
    return {
        "makespan_s": result.makespan_s,
        "ideal_makespan_s": result.ideal_makespan_s,
        "communication_s": result.communication_s,
        "communication_alpha_beta_s": bare,
        "slowdown": ratio(result.communication_s, bare),
        "collectives": len(result.replay.instances),
        "messages": result.replay.delivered,
        "steps": len(steps),
        "g5_steps": int(marked.sum()),
        "g5_share_of_time": float(latency[marked].sum()) / total if total > 0 else 0.0,
        "max_rho": float(steps.rho[worst]) if worst >= 0 else 0.0,
        "worst_port": names[steps.port[worst]] if worst >= 0 and steps.port[worst] >= 0 else None,
        "back_pressure": str(result.back_pressure),
        "hashes": None if result.hashes is None else _spread(result.hashes.makespan_s),
    }


def _spread(values: NDArray[np.float64]) -> dict[str, float]:
    """A quantity over the hashes that were tried."""
    return {
        "seeds": len(values),
        "median_s": float(np.median(values)),
        "p95_s": float(np.quantile(values, 0.95)),
        "min_s": float(values.min()),
        "max_s": float(values.max()),
    }


def _hashes(result: Estimate, index: int) -> dict[str, Any] | None:
    """Latency of a collective over the hashes, and the law of its collisions."""
    if result.hashes is None:
        return None
    law = result.hashes.collisions[result.workload.call_of[index]]
    return {**_spread(result.hashes.latency_s[:, index]), "collisions": None if law is None else asdict(law)}


def ratio(time_s: float, bare_s: float) -> float | None:
    """A slowdown; exactly 1 where the two differ by rounding only, None where there is nothing to compare with."""
    if bare_s <= 0.0:
        return None
    return 1.0 if abs(time_s - bare_s) <= 1e-12 * bare_s else time_s / bare_s


def collective_id(result: Estimate, index: int) -> str:
    """Name of a collective operation: its G number, with the trace's index when there are several."""
    workload = result.workload
    job = int(np.searchsorted(workload.collective_ptr, index, side="right") - 1)
    gid = int(workload.traces[job].collectives.gid[index - workload.collective_ptr[job]])
    return f"G{gid}" if len(workload.traces) == 1 else f"{job}:G{gid}"


def step_rows(result: Estimate, names: list[str]) -> list[dict[str, Any]]:
    """One row per step, in the order in which they begin."""
    steps = result.steps
    rate = result.workload.network.ports["rate"].tolist()
    rows = []
    columns = zip(
        steps.collective.tolist(), steps.job.tolist(), steps.round.tolist(), steps.messages.tolist(),
        steps.bytes.tolist(), steps.start_s.tolist(), steps.finish_s.tolist(), steps.rho.tolist(),
        steps.port.tolist(), steps.flows.tolist(), steps.utilisation.tolist(), steps.regime.tolist(),
        steps.pattern.tolist(), steps.severity.tolist(), steps.peak_bytes.tolist(), steps.paused_s.tolist(),
        steps.latency_p99_s.tolist(), strict=True,
    )  # fmt: skip
    for index, row in enumerate(columns):
        (
            collective, job, round_, messages, size, start, finish, rho, port, flows, used, regime, kind, mark, peak,
            paused, p99,
        ) = row  # fmt: skip
        rows.append(
            {
                "id": index,
                "trace": job,
                "collective": collective_id(result, collective) if collective >= 0 else None,
                "round": round_,
                "messages": messages,
                "bytes": int(size),
                "start_s": start,
                "finish_s": finish,
                "latency_s": finish - start,
                "latency_p99_s": p99,
                "rho": rho,
                "worst_port": names[port] if port >= 0 else None,
                "flows": flows,
                "utilisation": used,
                "queue_s": peak / rate[port] if port >= 0 else 0.0,
                "paused_s": paused,
                "regime": REGIMES[regime],
                "pattern": NAMES[kind],
                "run_g5": mark > 0,
                "severity": SEVERITIES[mark],
                "reasons": reasons(steps, index, names[port], rate[port], result.parameters) if mark else [],
            }
        )
    return rows


def collective_rows(result: Estimate, names: list[str], steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per collective operation, in the order of the trace."""
    workload, replay = result.workload, result.replay
    own_steps = _steps_of_collectives(result)
    patterns = _call_patterns(result)
    instances = replay.instances
    p99 = surplus_p99(*(replay.instance_time[:, part] for part in RANDOM_PARTS)).tolist()
    rows = []
    for index, call_index in enumerate(workload.call_of.tolist()):
        call = workload.calls[call_index]
        trace = workload.traces[call.job]
        local = index - int(workload.collective_ptr[call.job])
        root = int(trace.collectives.root[local])
        start = float(instances["start"][index])
        latency = float(instances["finish"][index]) - start
        alone = float(instances["finish_alone"][index]) - start
        own = own_steps[index]
        worst = max(own, key=lambda i: result.steps.rho[i], default=None)
        port = int(result.steps.port[worst]) if worst is not None else -1
        marked = [i for i in own if steps[i]["run_g5"]]
        rows.append(
            {
                "id": collective_id(result, index),
                "trace": call.job,
                "op": Op(int(trace.collectives.op[local])).label,
                "communicator": f"C{int(trace.communicators.ids[call.communicator])}",
                "ranks": len(call.tasks),
                "root": int(call.tasks[root] - workload.task_ptr[call.job]) if root >= 0 else None,
                "bytes": int(call.expansion.bytes),
                "algorithm": call.expansion.algorithm,
                "algorithm_reason": call.expansion.reason,
                "start_s": start,
                "finish_s": start + latency,
                "latency_s": latency,
                "latency_p99_s": latency + p99[index],
                "alpha_beta_s": alone,
                "slowdown": ratio(latency, alone),
                "max_rho": float(result.steps.rho[worst]) if worst is not None else 0.0,
                "worst_port": names[port] if port >= 0 else None,
                "max_flows": max((int(result.steps.flows[i]) for i in own), default=0),
                "regime": REGIMES[max((int(result.steps.regime[i]) for i in own), default=0)],
                "pattern": NAMES[patterns[call_index]],
                "run_g5": bool(marked),
                "severity": SEVERITIES[max((int(result.steps.severity[i]) for i in own), default=0)],
                "g5_steps": len(marked),
                "reasons": _collective_reasons(result, steps, marked),
                "hashes": _hashes(result, index),
                "breakdown": dict(zip(BREAKDOWN, _breakdown(result, index, latency), strict=True)),
            }
        )
    return rows


def _breakdown(result: Estimate, index: int, latency: float) -> list[float]:
    """Parts of a collective's latency; rounding is put into the largest, so that they add up."""
    parts = result.replay.instance_time[index, : len(BREAKDOWN)].copy()
    parts[np.abs(parts) < 1e-15] = 0.0
    parts[np.argmax(parts)] += latency - parts.sum()
    return parts.tolist()


def _steps_of_collectives(result: Estimate) -> list[list[int]]:
    own: list[list[int]] = [[] for _ in range(len(result.replay.instances))]
    for index in np.flatnonzero(result.steps.collective >= 0).tolist():
        own[result.steps.collective[index]].append(index)
    return own


def _call_patterns(result: Estimate) -> NDArray[np.int8]:
    """Pattern of each kind of call, over all of its rounds."""
    calls = result.workload.calls
    by_schedule: dict[int, int] = {}
    for call in calls:
        if call.schedule not in by_schedule:
            schedule = call.expansion.schedule
            group = np.zeros(schedule.src.size, np.int64)
            ranks = np.array([schedule.ranks])
            by_schedule[call.schedule] = int(classify(group, schedule.src, schedule.dst, ranks, 1)[0])
    return np.array([by_schedule[call.schedule] for call in calls] or [0], np.int8)


def _collective_reasons(result: Estimate, steps: list[dict[str, Any]], marked: list[int]) -> list[str]:
    found: list[str] = []
    for index in sorted(marked, key=lambda i: -result.steps.rho[i])[:MOST_REASONS]:
        label = f"round {steps[index]['round']}: "
        found.extend(label + text for text in steps[index]["reasons"])
    if len(marked) > MOST_REASONS:
        found.append(f"and {len(marked) - MOST_REASONS} more marked rounds with less load")
    return found


def port_rows(result: Estimate, names: list[str]) -> list[dict[str, Any]]:
    """Ports that carried something, the most loaded first."""
    fabric, ports = result.fabric, result.workload.network.ports
    marked = result.steps.port[result.steps.run_g5 & (result.steps.port >= 0)]
    g5_steps = np.bincount(marked, minlength=len(ports))
    ports = ports[: fabric.port_count]
    used = np.flatnonzero(ports["bytes"] > 0)
    used = used[np.lexsort((used, -ports["bytes"][used], -ports["max_rho"][used]))]
    makespan = result.makespan_s
    rows = []
    for port in used.tolist():
        busy = float(ports["bytes"][port] / ports["rate"][port])
        rows.append(
            {
                "name": names[port],
                "from": fabric.node_names[fabric.port_from[port]],
                "to": fabric.node_names[fabric.port_to[port]],
                "capacity": float(ports["rate"][port]),
                "bytes": round(float(ports["bytes"][port])),
                "busy_s": busy,
                "utilisation": busy / makespan if makespan > 0 else 0.0,
                "max_rho": float(ports["max_rho"][port]),
                "paused_s": float(ports["paused"][port]),
                "peak_backlog_bytes": round(float(ports["peak_backlog"][port])),
                "g5_steps": int(g5_steps[port]),
            }
        )
    return rows


def coverage(result: Estimate) -> dict[str, Any]:
    """How much of the input the estimate covers."""
    records = len(result.workload.work.rows)
    return {"records": records, "replayed": records, "unsupported": [], "byte_share_estimated": 1.0}


def warnings(result: Estimate, ports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What to know about the inputs."""
    found = [
        {
            "code": problem.code,
            "message": replace(problem, line=None).render(),
            "file": trace.path,
            "line": problem.line,
        }
        for trace in result.workload.traces
        for problem in trace.warnings
    ]
    if any(port["utilisation"] > 1.0 + 1e-9 for port in ports):
        text = f"{result.options.model} knows no contention: some ports carry more than they can"
        found.append({"code": "overloaded-ports", "message": text, "file": None, "line": None})
    if result.fabric.kind == IDEAL:
        found.append(
            {"code": "ideal-network", "message": "no latency and no limit of bandwidth", "file": None, "line": None}
        )
    return found

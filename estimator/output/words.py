"""Sentences about a result that several formats share."""

from __future__ import annotations

from typing import Any

from estimator.collectives import ALGORITHMS
from estimator.output.ranking import WRONG, Group, congestion_s, marked_groups
from estimator.units import format_rate, format_size, format_time

# From this share of a collective's latency on, congestion is worth an advice.
CONGESTED_SHARE = 0.05


def percent(share: float) -> str:
    """A share as people write it."""
    if share < 1e-5:
        return "0 %"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def verdict(document: dict[str, Any]) -> list[str]:
    """How slow, why, where, and whether to trust it: a few lines for people."""
    summary = document["summary"]
    makespan, communication = summary["makespan_s"], summary["communication_s"]
    share = communication / makespan if makespan > 0 else 0.0
    lines = [
        f"Makespan {format_time(makespan)}; a rank communicates or waits for {format_time(communication)} of it "
        f"({percent(share)}) on average."
    ]
    lines.append(_contention(document))
    wrong = sum(step["severity"] == WRONG for step in document["steps"])
    if summary["g5_steps"] == 0:
        lines.append(
            f"None of the {summary['steps']} steps is marked “run G5”: no queue is so loaded that the estimate "
            "would need a packet-level check."
        )
    else:
        lines.append(
            f"{summary['g5_steps']} of {summary['steps']} steps are marked “run G5” "
            f"({percent(summary['g5_share_of_time'])} of the time of all): "
            f"{wrong} likely wrong, {summary['g5_steps'] - wrong} informational."
        )
    return lines


def _contention(document: dict[str, Any]) -> str:
    """What contention costs, and where the load is highest."""
    summary = document["summary"]
    if summary["worst_port"] is None:
        return "No two flows ever meet at a port: there is no congestion."
    queue = max(document["steps"], key=lambda step: step["queue_s"])
    where = (
        f"the highest load is ρ {summary['max_rho']:.2f} at {summary['worst_port']}, the longest queue "
        f"{format_time(queue['queue_s'])} at {queue['worst_port']}."
    )
    slowdown = summary["slowdown"]
    if slowdown is None:
        return where[0].upper() + where[1:]
    if slowdown < 1.0 + 1e-5:
        return f"Congestion costs nothing; {where}"
    bare = format_time(summary["communication_alpha_beta_s"])
    grown = f"{slowdown:.3g} times as long" if slowdown >= 1.1 else f"{percent(slowdown - 1.0)} longer"
    return f"Without contention that would be {bare}: congestion makes it {grown}; {where}"


def assumptions(document: dict[str, Any]) -> list[str]:
    """What was assumed, so that it can be put right."""
    inputs = document["inputs"]
    topology, parameters = inputs["topology"], inputs["parameters"]
    forced = "".join(f", {op}={name} forced" for op, name in inputs["collective_algorithms"].items())
    lines = [
        f"{topology['kind']} of {topology['hosts']} hosts ({topology['path']}), routing {inputs['routing']} "
        f"(seed {inputs['seed']}), {topology['switching']}",
        f"placement {inputs['placement']}, {inputs['ranks_per_node']} rank(s) per host; all jobs start at time 0",
        f"model {inputs['model']}; collectives by Open MPI {inputs['openmpi']}{forced}",
        f"software overhead {format_time(topology['host_overhead_s'])} a message, sends up to "
        f"{format_size(parameters['eager_limit_bytes'])} are eager, MTU {format_size(parameters['mtu_bytes'])}",
        f"{parameters['fabric']} fabric with {format_size(parameters['buffer_size_bytes'])} a port; within a host "
        f"{'no limit' if topology['intra_node_rate'] is None else format_rate(topology['intra_node_rate'])}",
    ]
    if inputs["compute_scale"] != 1.0:
        lines.append(f"compute times times {inputs['compute_scale']:g}")
    for entry in inputs["background"]:
        lines.append(f"background of load {entry['rho']:g} on {entry['ports']}")
    if not inputs["background"]:
        lines.append("no traffic of others (--background PORTS=RHO adds some)")
    return lines


def limits(document: dict[str, Any]) -> list[str]:
    """What the model cannot know."""
    lines = ["Not modelled: pauses and credits once a buffer is full; other tenants unless given as background."]
    if document["inputs"]["routing"] == "ecmp":
        lines.append("The real ECMP hash is unknown: other values of --seed show the spread.")
    return lines


def advice(document: dict[str, Any]) -> list[str]:
    """What to do next."""
    lines = []
    wrong = [group for group in marked_groups(document) if group.worst["severity"] == WRONG]
    if wrong:
        shown = ", ".join(step_name(group.worst) + alike(group.count) for group in wrong[:5])
        more = f" and {len(wrong) - 5} kinds more" if len(wrong) > 5 else ""
        lines.append(f"Simulate packet by packet (G5): {shown}{more}.")
    elif document["summary"]["g5_steps"]:
        lines.append("The marked steps are highly loaded, but their queues stay within the buffers.")
    lines.extend(_other_algorithm(document))
    lines.append("--steps lists every step, --format json has everything, docs/model.md explains the model.")
    return lines


def _other_algorithm(document: dict[str, Any]) -> list[str]:
    """Where congestion is a good part of a collective, what else could carry it."""
    congested = [row for row in document["collectives"] if congestion_s(row) > CONGESTED_SHARE * row["latency_s"]]
    if not congested:
        return []
    worst = max(congested, key=congestion_s)
    series = document["inputs"]["openmpi"]
    known = ALGORITHMS["bcast" if worst["op"] == "broadcast" else worst["op"]]
    others = [found.name for found in known if found.name != worst["algorithm"] and series in found.versions]
    share = percent(congestion_s(worst) / worst["latency_s"])
    return [
        f"Congestion is {share} of {worst['id']} {worst['op']}: try another "
        f"--placement or --routing, or --collective {worst['op']}=ALGORITHM ({', '.join(others)})."
    ]


def alike(count: int) -> str:
    """How many more there are like one."""
    return f" (and {count - 1} like it)" if count > 1 else ""


def step_name(step: dict[str, Any]) -> str:
    """A step as people call it."""
    if step["collective"] is None:
        return f"step {step['id']} (point-to-point)"
    return f"{step['collective']} round {step['round']}"


def mark(severity: str | None) -> str:
    """A mark, short."""
    return {None: "", "informational": "G5", "likely wrong": "G5 !"}[severity]


def group_mark(group: Group) -> str:
    """Mark of a group of collectives, and how many of them have one."""
    if not group.marked:
        return ""
    sign = mark(group.slowest["severity"] or "informational")
    return sign if group.count == 1 else f"{sign} ×{group.marked}"

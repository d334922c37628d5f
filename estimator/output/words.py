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
    lines.extend(_held_up(document))
    lines.extend(_over_hashes(document))
    wrong = sum(step["severity"] == WRONG for step in document["steps"])
    if summary["g5_steps"] == 0:
        lines.append(
            f"None of the {summary['steps']} steps is marked “run G5”: no queue is so loaded that the estimate "
            "would need a packet-level check."
        )
    else:
        lines.append(
            f"{summary['g5_steps']} of {summary['steps']} steps are marked “run G5” "
            f"({percent(summary['g5_share_of_time'])} of the time of all steps): "
            f"{wrong} likely wrong, {summary['g5_steps'] - wrong} informational."
        )
    return lines


def _contention(document: dict[str, Any]) -> str:
    """What contention costs, and where the load is highest."""
    summary = document["summary"]
    if summary["worst_port"] is None:
        return "No two flows ever meet at a port: there is no congestion."
    lengths = [(port["peak_backlog_bytes"] / port["capacity"], port["name"]) for port in document["ports"]]
    queue_s, port = max(lengths, key=lambda row: row[0])
    where = f"the highest load is ρ {summary['max_rho']:.2f} at {summary['worst_port']}, " + (
        f"the longest queue {format_time(queue_s)} at {port}." if queue_s > 0 else "no port of a switch has a queue."
    )
    slowdown = summary["slowdown"]
    if slowdown is None:
        return where[0].upper() + where[1:]
    if slowdown < 1.0 + 1e-5:
        return f"Congestion costs nothing; {where}"
    bare = format_time(summary["communication_alpha_beta_s"])
    grown = f"{slowdown:.3g} times as long" if slowdown >= 1.1 else f"{percent(slowdown - 1.0)} longer"
    return f"Without contention that would be {bare}: congestion makes it {grown}; {where}"


def _held_up(document: dict[str, Any]) -> list[str]:
    """What full buffers do."""
    if document["summary"]["back_pressure"] != "modelled":
        return []
    worst = max(document["ports"], key=lambda port: port["paused_s"])
    return [
        f"Buffers fill and hold senders up ({HELD_BY[document['inputs']['parameters']['fabric']]}): "
        f"{worst['name']} longest, for {format_time(worst['paused_s'])} in all."
    ]


HELD_BY = {"infiniband": "credits", "roce": "PFC pauses"}


def _over_hashes(document: dict[str, Any]) -> list[str]:
    """How much depends on the hash."""
    spread = document["summary"]["hashes"]
    if spread is None:
        return []
    lines = [
        f"Over {spread['seeds']} ECMP hashes the makespan is {format_time(spread['median_s'])} (median), "
        f"{format_time(spread['p95_s'])} (95th percentile), {format_time(spread['min_s'])} to "
        f"{format_time(spread['max_s'])}; what follows is seed {document['inputs']['seed']}."
    ]
    known = [row for row in document["collectives"] if row["hashes"]["collisions"]]
    if known:
        row = max(known, key=lambda row: row["latency_s"])
        law = row["hashes"]["collisions"]
        lines.append(
            f"{row['id']} {row['op']}, round {law['round']}: {law['flows']} flows of a leaf hash onto "
            f"{law['uplinks']} uplinks; the busiest uplink has {law['here']} here, {law['mean']:.2f} on average, and "
            f"at most {law['p95']} with 95 of 100 hashes."
        )
    return lines


def assumptions(document: dict[str, Any]) -> list[str]:
    """What was assumed, so that it can be put right."""
    inputs = document["inputs"]
    topology, parameters = inputs["topology"], inputs["parameters"]
    forced = "".join(_forced(document, op, str(name)) for op, name in inputs["collective_algorithms"].items())
    lines = [
        f"{topology['kind']} of {topology['hosts']} hosts ({topology['path']}), routing {inputs['routing']} "
        f"(seed {inputs['seed']}), {topology['switching']}",
        f"placement {inputs['placement']}, {inputs['ranks_per_node']} rank(s) per host; all jobs start at time 0",
        f"model {inputs['model']}; collectives by Open MPI {inputs['openmpi']}{forced}",
        f"software overhead {format_time(topology['host_overhead_s'])} a message{_protocols(topology)}, sends up to "
        f"{format_size(parameters['eager_limit_bytes'])} are eager, MTU {format_size(parameters['mtu_bytes'])}",
        f"{parameters['fabric']} fabric with {format_size(parameters['buffer_size_bytes'])} a port; within a host "
        f"{'no limit' if topology['intra_node_rate'] is None else format_rate(topology['intra_node_rate'])}",
    ]
    if inputs["compute_scale"] != 1.0:
        lines.append(f"compute times times {inputs['compute_scale']:g}")
    for entry in inputs["background"]:
        where = entry["matrix"] or f"load {entry['rho']:g} on {entry['ports']}"
        lines.append(f"background: {where}")
    if not inputs["background"]:
        lines.append("no traffic of others (--background PORTS=RHO adds some)")
    return lines


def _forced(document: dict[str, Any], op: str, wanted: str) -> str:
    """An algorithm that was asked for, and how many calls ran another since it cannot run there."""
    names = {found.name for found in ALGORITHMS[_operation(op)] if wanted in (found.name, str(found.id))}
    asked = [row for row in document["collectives"] if _operation(row["op"]) == _operation(op)]
    asked = [row for row in asked if "asked for" in row["algorithm_reason"]]
    others = sum(row["algorithm"] not in names for row in asked)
    return f", {op}={wanted} forced" + (f" (cannot run in {others} of {len(asked)} calls)" if others else "")


def _operation(op: str) -> str:
    """An operation as the table of algorithms calls it."""
    return "bcast" if op == "broadcast" else op


def _protocols(topology: dict[str, Any]) -> str:
    """What eager and rendezvous messages cost besides."""
    text = ""
    if topology["host_copy_rate"] is not None:
        text += f", eager ones copied at {format_rate(topology['host_copy_rate'])}"
    if topology["host_rendezvous_s"]:
        text += f", {format_time(topology['host_rendezvous_s'])} more for larger ones"
    return text


def limits(document: dict[str, Any]) -> list[str]:
    """What the model cannot know."""
    lines = ["Not modelled: other tenants unless given as background; congestion control that slows senders down."]
    fabric, pressure = document["inputs"]["parameters"]["fabric"], document["summary"]["back_pressure"]
    if pressure == "not modelled":
        lines.append(UNMODELLED[fabric])
    elif fabric == "roce" and pressure == "modelled":
        lines.append("PFC is modelled as pauses at half of a link's buffer, without headroom, hysteresis and DCQCN.")
    if document["inputs"]["routing"] == "ecmp" and document["summary"]["hashes"] is None:
        lines.append("The real ECMP hash is unknown: --ecmp-seeds 20 shows the spread over hashes.")
    return lines


UNMODELLED = {
    "infiniband": "Buffers fill, and what credits do then is not in the result: routes wait for each other in a "
    "circle (virtual channels are not modelled), or the run is too long to follow cell by cell.",
    "roce": "Buffers fill, and what PFC does then is not in the result: routes wait for each other in a circle, or "
    "the run is too long to follow cell by cell.",
    "tcp": "Queues outgrow the buffers: packets would be lost, and every time-out costs at least 200 ms (a lower "
    "estimate: partial loss and repeated time-outs cost more). Latencies are those of unlimited buffers.",
}


def advice(document: dict[str, Any]) -> list[str]:
    """What to do next."""
    lines = []
    wrong = [group for group in marked_groups(document) if group.worst["severity"] == WRONG]
    if wrong:
        shown = ", ".join(step_name(group.worst, document) + alike(group.count) for group in wrong[:5])
        more = f" and {len(wrong) - 5} kinds more" if len(wrong) > 5 else ""
        lines.append(f"Simulate packet by packet (G5): {shown}{more}.")
    elif document["summary"]["g5_steps"]:
        lines.append("The marked steps are highly loaded, but the model has what happens there: queues"
            " that stay within the buffers, or credits that hold senders up.")
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
    op = worst["op"]
    # Unequal sizes make it the v-variant, which has algorithms of its own.
    if f": {op}v" in worst["algorithm_reason"]:
        op += "v"
    known = ALGORITHMS[_operation(op)]
    others = [found.name for found in known if found.name != worst["algorithm"] and series in found.versions]
    share = percent(congestion_s(worst) / worst["latency_s"])
    return [
        f"Congestion is {share} of {worst['id']} {worst['op']}: try another "
        f"--placement or --routing, or --collective {op}=ALGORITHM ({', '.join(others)})."
    ]


def alike(count: int) -> str:
    """How many more there are like one."""
    return f" (and {count - 1} like it)" if count > 1 else ""


def step_name(step: dict[str, Any], document: dict[str, Any]) -> str:
    """A step as people call it; of several jobs it says which."""
    if step["collective"] is None:
        return f"point-to-point step {step['id']}{of_job(step, document)}"
    return f"{step['collective']} round {step['round']}"


def of_job(step: dict[str, Any], document: dict[str, Any]) -> str:
    """Which job a step is of, where there are several; collectives have it in their name."""
    return f" of job {step['trace']}" if len(document["inputs"]["traces"]) > 1 else ""


def mark(severity: str | None) -> str:
    """A mark, short."""
    return {None: "", "informational": "G5", "likely wrong": "G5 !"}[severity]


def group_mark(group: Group) -> str:
    """Mark of a group of collectives, and how many of them have one."""
    if not group.marked:
        return ""
    sign = mark(group.slowest["severity"] or "informational")
    return sign if group.count == 1 else f"{sign} ×{group.marked}"

"""From traces and a placement to the tables of the replay: records, collectives' schedules, routes in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.collectives import Expansion, expand_trace_collective
from estimator.replay import layout
from estimator.replay.engine import Work
from estimator.replay.network import Network, network_of
from estimator.topology import Fabric, Routes, routes, routing_fabric
from vef import MESSAGE, PSEUDO, Op, Trace
from vef.compiled import kernel

PICOSECOND = 1e-12

# Kind of a fabric without latency or limit of bandwidth.
IDEAL = "ideal"

# Up to this many pairs of hosts, a table over all pairs is quicker than sorting those in use.
DENSE_PAIRS = 1 << 24


@dataclass(frozen=True, eq=False)
class Collective:
    """A kind of collective call: the same schedule on the same communicator of the same job."""

    job: int
    communicator: int  # index in the trace
    tasks: NDArray[np.int64]  # of the workload, by communicator rank
    expansion: Expansion
    schedule: int


@dataclass(frozen=True, eq=False)
class Workload:
    """Everything that a replay needs, and what its result is to be read with.

    Attributes
    ----------
    traces : the jobs' traces
    task_ptr : int64[jobs + 1], first task of each job
    row_ptr : int64[jobs + 1], first record of each job
    collective_ptr : int64[jobs + 1], first collective operation of each job
    host_of : int32[tasks]
    calls : kinds of collective calls
    call_of : int32[collectives], kind of each collective operation
    compute_s : float64[tasks], sum of the compute times, each counted once
    fabric : the network as routed on (with bundles where routing is adaptive)
    network, work : tables of the replay
    """

    traces: tuple[Trace, ...]
    task_ptr: NDArray[np.int64]
    row_ptr: NDArray[np.int64]
    collective_ptr: NDArray[np.int64]
    host_of: NDArray[np.int32]
    calls: tuple[Collective, ...]
    call_of: NDArray[np.int32]
    compute_s: NDArray[np.float64]
    fabric: Fabric
    network: Network
    work: Work


def build_workload(
    traces: Sequence[Trace],
    fabric: Fabric,
    host_of: NDArray[np.int32],
    *,
    routing: str | None = None,
    seed: int | None = None,
    forced: Mapping[str, str] | None = None,
    version: str = "5.0",
    compute_scale: float = 1.0,
) -> Workload:
    """Lay out traces that share a fabric.

    Parameters
    ----------
    host_of : int32[tasks of all traces], host of each task
    forced : algorithm by collective operation
    compute_scale : factor on compute times

    Raises
    ------
    UnknownAlgorithm, CallError
        A forced algorithm does not exist.
    ConfigError
        The routing rule does not apply, or a pair of hosts is not connected.
    """
    task_ptr = np.cumsum([0, *(trace.header.tasks for trace in traces)])
    row_ptr = np.cumsum([0, *(len(trace.kind) for trace in traces)])
    collective_ptr = np.cumsum([0, *(len(trace.collectives.gid) for trace in traces)])
    rows = np.zeros(row_ptr[-1], layout.ROW_TYPE)
    compute = np.zeros(task_ptr[-1])
    sends = parts_before = 0
    for job, trace in enumerate(traces):
        own = rows[row_ptr[job] : row_ptr[job + 1]]
        _fill_rows(own, trace, sends, parts_before, compute_scale)
        compute[task_ptr[job] : task_ptr[job + 1]] = _compute_s(trace, compute_scale)
        sends += int(np.count_nonzero(own["kind"] == MESSAGE))
        parts_before += len(trace.collectives.rows)
    calls, call_of, expansions = _find_calls(traces, task_ptr, forced, version)
    schedules, op_ptr, ops, planned = _join_schedules(expansions)
    instances, step_count = _lay_out_instances(calls, call_of, expansions)
    parts = _lay_out_parts(traces, task_ptr, collective_ptr)
    routed = routing_fabric(fabric, routing)
    network, bound = _route(traces, routed, host_of, rows, task_ptr, calls, seed)
    paths_at = np.cumsum([0, *(call.expansion.schedule.src.size for call in calls)])
    instances["paths"] = paths_at[call_of]
    work = Work(
        task_ptr=np.concatenate([[0], *(t.task_ptr[1:] + r for t, r in zip(traces, row_ptr, strict=False))]),
        job=np.repeat(np.arange(len(traces)), np.diff(task_ptr)),
        rows=rows,
        parts=parts,
        instances=instances,
        schedules=schedules,
        op_ptr=op_ptr,
        ops=ops,
        planned=planned,
        delay_s=np.zeros(1),
        bound_path=bound,
        collective_steps=step_count,
    )
    return Workload(
        traces=tuple(traces),
        task_ptr=task_ptr,
        row_ptr=row_ptr,
        collective_ptr=collective_ptr,
        host_of=host_of,
        calls=tuple(calls),
        call_of=call_of,
        compute_s=compute,
        fabric=routed,
        network=network,
        work=work,
    )


def _fill_rows(rows: NDArray[np.void], trace: Trace, sends: int, parts: int, compute_scale: float) -> None:
    """Records of one trace in program order; `sends` and `parts`: those of the traces before."""
    order = trace.task_rows
    rows["kind"] = trace.kind[order]
    rows["dep"] = trace.dep[order] & 3
    rows["time_s"] = trace.time[order] * (trace.header.clock_ps * PICOSECOND * compute_scale)
    rows["size"] = trace.send_bytes[order]
    rows["path"] = -1
    item = np.full(len(order), -1, np.int32)
    is_message = rows["kind"] == MESSAGE
    item[order[is_message]] = np.arange(sends, sends + np.count_nonzero(is_message))
    item[trace.collectives.rows] = np.arange(parts, parts + len(trace.collectives.rows))
    rows["item"] = item[order]
    after = trace.dep_row[order]
    rows["after"] = np.where(after >= 0, item[after], -1)


def _compute_s(trace: Trace, compute_scale: float) -> NDArray[np.float64]:
    """Compute time of each task.

    Records that wait for the same thing (non-blocking calls) count their times from the same moment, so the longest
    of them holds the others; after a pseudo-record the time counts from the record before.
    """
    tick = trace.header.clock_ps * PICOSECOND * compute_scale
    return _sum_of_longest(
        trace.task_ptr, trace.task_rows, trace.kind, trace.dep, trace.dep_row, trace.time, tick
    )


@kernel
def _sum_of_longest(
    task_ptr: NDArray[np.int64],
    task_rows: NDArray[np.integer],
    kind: NDArray[np.uint8],
    dep: NDArray[np.uint8],
    dep_row: NDArray[np.integer],
    ticks: NDArray[np.int64],
    tick_s: float,
) -> NDArray[np.float64]:
    tasks = task_ptr.size - 1
    total = np.zeros(tasks)
    # By what records wait for (a record, and whether for its arrival): who waited for it last, and how long at most.
    waited = np.full(2 * kind.size, -1, np.int32)
    longest = np.zeros(2 * kind.size, np.float64)
    for task in range(tasks):
        longest_at_start = 0.0
        before = MESSAGE
        for at in range(task_ptr[task], task_ptr[task + 1]):
            row = task_rows[at]
            time = ticks[row] * tick_s
            if before == PSEUDO:
                total[task] += time
            elif dep_row[row] < 0:
                total[task] += max(0.0, time - longest_at_start)
                longest_at_start = max(longest_at_start, time)
            else:
                moment = 2 * dep_row[row] + (1 if dep[row] & 3 == 2 else 0)
                if waited[moment] != task:
                    waited[moment] = task
                    longest[moment] = 0.0
                total[task] += max(0.0, time - longest[moment])
                longest[moment] = max(longest[moment], time)
            before = kind[row]
    return total


def _find_calls(
    traces: Sequence[Trace],
    task_ptr: NDArray[np.int64],
    forced: Mapping[str, str] | None,
    version: str,
) -> tuple[list[Collective], NDArray[np.int32], list[Expansion]]:
    """Tell apart the kinds of calls, and expand each once."""
    calls: list[Collective] = []
    call_of = np.zeros(sum(len(trace.collectives.gid) for trace in traces), np.int32)
    expansions: list[Expansion] = []
    schedule_of: dict[int, int] = {}
    at = 0
    for job, trace in enumerate(traces):
        known: dict[tuple[int, int, int, bytes, bytes], int] = {}
        table = trace.collectives
        sends, receives = trace.send_bytes[table.rows], trace.recv_bytes[table.rows]
        ends = table.ptr.tolist()
        heads = zip(table.op.tolist(), table.communicator.tolist(), table.root.tolist(), strict=True)
        for index, (op, communicator, root) in enumerate(heads):
            own = slice(ends[index], ends[index + 1])
            key = (op, communicator, root, sends[own].tobytes(), receives[own].tobytes())
            call = known.get(key)
            if call is None:
                expansion = expand_trace_collective(
                    Op(op).label, sends[own], receives[own], root, forced=forced, version=version
                )
                schedule = schedule_of.setdefault(id(expansion.schedule), len(expansions))
                if schedule == len(expansions):
                    expansions.append(expansion)
                call = known[key] = len(calls)
                members = trace.communicators.members(communicator).astype(np.int64) + task_ptr[job]
                calls.append(Collective(job, communicator, members, expansion, schedule))
            call_of[at + index] = call
        at += len(table.gid)
    return calls, call_of, expansions


def _join_schedules(
    expansions: Sequence[Expansion],
) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.int64], NDArray[np.void]]:
    """Put the schedules one after another."""
    made = [expansion.schedule for expansion in expansions]
    messages = np.cumsum([0, *(s.src.size for s in made)])
    threads = np.cumsum([0, *(s.ranks + 1 for s in made)])
    at_ops = np.cumsum([0, *(s.ops.size for s in made)])
    schedules = np.zeros(len(made), layout.SCHEDULE_TYPE)
    schedules["message"], schedules["messages"] = messages[:-1], np.diff(messages)
    schedules["thread"] = threads[:-1]
    planned = np.zeros(messages[-1], layout.PLANNED_TYPE)
    op_ptr = np.zeros(max(1, threads[-1]), np.int64)
    ops = np.zeros(max(1, at_ops[-1]), np.int64)
    for i, schedule in enumerate(made):
        own = planned[messages[i] : messages[i + 1]]
        own["size"], own["round"] = schedule.size_bytes, schedule.round
        op_ptr[threads[i] : threads[i + 1]] = schedule.op_ptr + at_ops[i]
        ops[at_ops[i] : at_ops[i + 1]] = schedule.ops
    return schedules, op_ptr, ops, planned


def _lay_out_instances(
    calls: Sequence[Collective],
    call_of: NDArray[np.int32],
    expansions: Sequence[Expansion],
) -> tuple[NDArray[np.void], int]:
    """One instance per collective operation, with a step for each of its rounds."""
    rounds = np.array([int(e.schedule.round.max()) + 1 if e.schedule.round.size else 0 for e in expansions] or [0])
    schedule_of_call = np.array([call.schedule for call in calls] or [0], np.int32)
    ranks_of_call = np.array([call.expansion.schedule.ranks for call in calls] or [0], np.int32)
    instances = np.zeros(call_of.size, layout.INSTANCE_TYPE)
    instances["schedule"] = schedule_of_call[call_of]
    instances["staying"] = ranks_of_call[call_of]
    ends = np.cumsum(rounds[instances["schedule"]])
    instances["step"] = ends - rounds[instances["schedule"]]
    return instances, int(ends[-1]) if ends.size else 0


def _lay_out_parts(
    traces: Sequence[Trace],
    task_ptr: NDArray[np.int64],
    collective_ptr: NDArray[np.int64],
) -> NDArray[np.void]:
    """One participation per collective record, members of a collective in communicator rank order."""
    chunks = []
    for job, trace in enumerate(traces):
        table = trace.collectives
        sizes = np.diff(table.ptr)
        parts = np.zeros(len(table.rows), layout.PART_TYPE)
        parts["instance"] = np.repeat(np.arange(len(sizes)), sizes) + collective_ptr[job]
        parts["thread"] = np.arange(len(table.rows)) - np.repeat(table.ptr[:-1], sizes)
        parts["task"] = trace.task[table.rows] + task_ptr[job]
        chunks.append(parts)
    return np.concatenate(chunks) if chunks else np.zeros(0, layout.PART_TYPE)


def _route(
    traces: Sequence[Trace],
    fabric: Fabric,
    host_of: NDArray[np.int32],
    rows: NDArray[np.void],
    task_ptr: NDArray[np.int64],
    calls: Sequence[Collective],
    seed: int | None,
) -> tuple[Network, NDArray[np.int32]]:
    """Find the pairs of hosts that talk, route each once, and number the path of every message."""
    hosts = np.int64(max(fabric.host_count, int(host_of.max(initial=0)) + 1))
    keys = []
    sends = 0
    for job, trace in enumerate(traces):
        send = trace.task_rows[trace.kind[trace.task_rows] == MESSAGE]
        src = host_of[trace.task[send] + task_ptr[job]]
        dst = host_of[trace.peer[send] + task_ptr[job]]
        sends += send.size
        keys.append(src * hosts + dst)
    for call in calls:
        schedule = call.expansion.schedule
        at = host_of[call.tasks]
        keys.append(at[schedule.src] * hosts + at[schedule.dst])
    key = np.concatenate(keys) if keys else np.zeros(0, np.int64)
    used, path = _numbered(key, int(hosts))
    if fabric.kind == IDEAL:
        path[:] = -1
        network = network_of(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(1, np.int64), np.zeros(0, np.int32))
    else:
        found = routes(fabric, used // hosts, used % hosts, None, seed)
        network = network_of(*with_injection_ports(fabric, found))
    rows["path"][rows["kind"] == MESSAGE] = path[:sends]
    return network, np.ascontiguousarray(path[sends:]) if path.size > sends else np.zeros(1, np.int32)


def with_injection_ports(fabric: Fabric, found: Routes) -> tuple[NDArray[Any], ...]:
    """Ports and routes for the replay, where hosts relay for others with an injection port of their own in front.

    A host's injection queue is no port that others' messages pass. Where they do (a GPU that relays to its rail), its
    own messages go through an injection port without delay first, and then queue with the relayed ones.

    Returns
    -------
    rate, packet_rate, latency, ptr, ports : the extra ports come behind the fabric's
    """
    starts = found.ptr[:-1]
    is_first = np.zeros(found.ports.size, bool)
    is_first[starts] = True
    relaying = np.intersect1d(found.ports[starts], found.ports[~is_first])
    columns = (fabric.rate, fabric.packet_rate, fabric.latency)
    if not relaying.size:
        return (*columns, found.ptr, found.ports)
    extra = np.full(fabric.port_count, -1, np.int32)
    extra[relaying] = fabric.port_count + np.arange(relaying.size)
    before = extra[found.ports[starts]]
    led = before >= 0
    ports = np.insert(found.ports, starts[led], before[led])
    ptr = found.ptr + np.concatenate([[0], np.cumsum(led)])
    unlimited = np.full(relaying.size, layout.UNLIMITED_RATE)
    rate, packet_rate = (np.concatenate([column, unlimited]) for column in columns[:2])
    return rate, packet_rate, np.concatenate([fabric.latency, np.zeros(relaying.size)]), ptr, ports


def _numbered(key: NDArray[np.int64], hosts: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Distinct pairs between two hosts, ascending, and the number of each key's pair (-1 within a host)."""
    local = key // hosts == key % hosts
    if hosts * hosts <= DENSE_PAIRS:
        seen = np.zeros(hosts * hosts, bool)
        seen[key] = True
        seen[:: hosts + 1] = False
        used = np.flatnonzero(seen)
        number = np.full(hosts * hosts, -1, np.int32)
        number[used] = np.arange(used.size)
        return used, number[key]
    used, inverse = np.unique(key[~local], return_inverse=True)
    path = np.full(key.size, -1, np.int32)
    path[~local] = inverse
    return used, path

"""Run the compiled replay loop: allocate its tables, let it run, grow what is full, read the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.replay import layout
from estimator.replay.layout import (
    DELIVERED,
    DONE,
    DUE_FIRST,
    DUE_LAST,
    EVENTS,
    FLOW_FIRST,
    N_CELL_FREE,
    N_COUNTERS,
    N_EVENT_FREE,
    N_SLOT_FREE,
    N_STEPS,
    NEED_POOL,
    PARTS,
    POOL_USED,
    READY_FIRST,
    READY_LAST,
)
from estimator.replay.network import Network

# Logarithms of the least and the largest number of buckets of the calendar of events, and its first width.
BUCKET_BITS = (8, 16)
BUCKET_S = 1e-7

# Events between two looks at the progress callback.
BUDGET = 2_000_000

Table = NDArray[np.void]
TableSet = dict[str, NDArray[Any]]


class Settings(NamedTuple):
    """How the replay works out the latency of a message; units as in `layout.SETTINGS_TYPE`."""

    model: int
    packet_bytes: float
    overhead_s: float
    eager_limit_bytes: float
    intra_rate: float
    intra_latency_s: float
    ripple_tolerance: float
    mtu_bytes: float = 4096.0
    arrival_cv_sq: float = 1.0
    service_cv_sq: float = 0.0
    wait_factor: float = 1.0
    flow_exponent: float = 1.0
    load_exponent: float = 0.0
    cell_bytes: float = 4096.0
    copy_s_per_byte: float = 0.0
    rendezvous_s: float = 0.0


class Flows(NamedTuple):
    """Endless background flows: path, and rate in bytes/s."""

    paths: NDArray[np.int32]
    rates: NDArray[np.float64]


class Work(NamedTuple):
    """Trace records in program order, task by task, and the collectives' shared schedules.

    Participations and instances are given at rest: columns instance, thread, task of `parts`, and columns paths,
    step, schedule, staying of `instances`.
    """

    task_ptr: NDArray[np.int64]
    job: NDArray[np.int64]
    rows: Table  # ROW_TYPE
    parts: Table  # PART_TYPE
    instances: Table  # INSTANCE_TYPE
    schedules: Table  # SCHEDULE_TYPE
    op_ptr: NDArray[np.int64]
    ops: NDArray[np.int64]
    planned: Table  # PLANNED_TYPE, messages of the schedules
    delay_s: NDArray[np.float64]
    bound_path: NDArray[np.int32]  # path of each message of a schedule on one communicator
    collective_steps: int  # steps that the collectives' rounds take up


@dataclass(frozen=True, eq=False)
class Replay:
    """Outcome of a replay, in tables; times in seconds from the start of the tasks."""

    makespan_s: float
    events: int
    delivered: int
    finish: NDArray[np.float64]  # [tasks], completion of each task's last record
    finish_bare: NDArray[np.float64]  # [tasks], the same without contention
    stuck: NDArray[np.int64]  # tasks whose program did not end
    messages: Table  # MESSAGE_TYPE[sends + pool], point-to-point messages in the order of the work's records
    parts: Table  # PART_TYPE
    instances: Table  # INSTANCE_TYPE
    instance_time: NDArray[np.float64]  # [instances, PARTS]
    steps: Table  # STEP_TYPE
    ports: Table  # PORT_TYPE


def run_replay(
    net: Network,
    work: Work,
    settings: Settings,
    *,
    background: Flows | None = None,
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Replay a workload over a network, whose port table then holds the ports' statistics.

    Parameters
    ----------
    background : flows that begin at time 0 and never end
    progress : called now and then with the number of messages delivered so far
    """
    from estimator.replay.loop_kernel import run_loop, start_streams

    tables = _new_tables(net, work, settings)
    if background is not None and background.paths.size:
        _extend_flight(tables, background.paths.size + int(tables["settings"]["burst_posts"][0]) + 1024)
        _grow(tables)
        addresses = _addresses(tables)
        start_streams(addresses.ctypes.data, background.paths, background.rates)
    while True:
        _grow(tables)
        addresses = _addresses(tables)
        if run_loop(addresses.ctypes.data, BUDGET) == DONE:
            return _result(tables)
        if progress is not None:
            progress(int(tables["counter"][DELIVERED]))


def _addresses(tables: TableSet) -> NDArray[np.int64]:
    """Where each table lies, in the order that the kernels know."""
    from estimator.replay.tables import NAMES

    return np.array([tables[name].ctypes.data for name in NAMES], np.int64)


def _new_tables(net: Network, work: Work, settings: Settings) -> TableSet:
    tasks, origins = work.task_ptr.size - 1, np.flatnonzero(work.rows["kind"] == layout.MESSAGE)
    counter = np.zeros(N_COUNTERS, np.int64)
    counter[[READY_FIRST, READY_LAST, FLOW_FIRST, DUE_FIRST, DUE_LAST]] = -1
    counter[N_STEPS] = work.collective_steps
    task_table = np.zeros(tasks, layout.TASK_TYPE)
    task_table["job"], task_table["burst"] = work.job, -1
    threads = np.zeros(tasks + work.parts.size, layout.THREAD_TYPE)
    threads["next_ready"] = threads["next_waiter"] = -1
    threads["pc"][:tasks] = work.task_ptr[:-1]
    parts = work.parts.copy()
    parts["entered"] = parts["left"] = parts["left_bare"] = np.inf
    parts["waiter"] = -1
    instances = work.instances.copy()
    instances["base"] = -1
    schedules = work.schedules.copy()
    schedules["free_block"] = -1
    jobs = int(work.job.max()) + 1 if work.job.size else 1
    tables: TableSet = {
        "ports": net.ports,
        "paths": net.paths,
        "path_ports": net.path_ports,
        "task_ptr": work.task_ptr,
        "rows": work.rows,
        "schedules": schedules,
        "op_ptr": work.op_ptr,
        "ops": work.ops,
        "planned": work.planned,
        "delay_s": work.delay_s,
        "bound_path": work.bound_path,
        "settings": _settings_table(net, work, settings),
        "counter": counter,
        "clock": np.zeros(3),
        "queue": np.zeros(1, layout.QUEUE_TYPE),
        "buckets": np.full(_bucket_count(tasks, net), -1, np.int32),
        "run": np.zeros(0, layout.HEAP_TYPE),
        "heap": np.zeros(0, layout.HEAP_TYPE),
        "events": np.zeros(0, layout.EVENT_TYPE),
        "lanes": np.full(2 * net.ports.size, -1, np.int32),
        "event_free": np.zeros(0, np.int32),
        "flight": np.zeros(0, layout.FLIGHT_TYPE),
        "flight_free": np.zeros(0, np.int32),
        "hops": np.zeros(0, layout.HOP_TYPE),
        "cells": np.zeros(0, layout.CELL_TYPE),
        "cell_free": np.zeros(0, np.int32),
        "threads": threads,
        "tasks": task_table,
        "parts": parts,
        "part_time": np.zeros((parts.size, PARTS)),
        "messages": np.zeros(0, layout.MESSAGE_TYPE),
        "pool_time": np.zeros((0, PARTS)),
        "pool": np.zeros(0, layout.POOL_TYPE),
        "instances": instances,
        "instance_time": np.zeros((instances.size, PARTS)),
        "steps": np.zeros(0, layout.STEP_TYPE),
        "bursts": np.zeros(jobs, layout.BURST_TYPE),
        "burst_step": np.zeros((jobs, 0), np.int64),
    }
    tables = {name: np.ascontiguousarray(table) for name, table in tables.items()}
    tables["queue"]["mask"] = len(tables["buckets"]) - 1
    tables["queue"]["bucket"], tables["queue"]["far"] = -1, -1
    tables["queue"]["per_tick"] = 1.0 / (BUCKET_S * layout.TICKS_PER_S)
    _extend_steps(tables, 2 * work.collective_steps)
    _extend_messages(tables, origins.size, 1)
    tables["messages"]["origin"][: origins.size] = origins
    _start_all(tables)
    return tables


def _bucket_count(tasks: int, net: Network) -> int:
    """Buckets of the calendar: about as many as there can be lanes and tasks with an event that waits."""
    waiting = 2 * len(net.ports) + tasks
    return 1 << int(np.clip(np.ceil(np.log2(waiting + 1)), *BUCKET_BITS))


def _settings_table(net: Network, work: Work, settings: Settings) -> Table:
    table = np.zeros(1, layout.SETTINGS_TYPE)
    for name, value in settings._asdict().items():
        table[name] = value
    programs = np.diff(work.op_ptr)
    table["tasks"] = work.task_ptr.size - 1
    table["sends"] = np.count_nonzero(work.rows["kind"] == layout.MESSAGE)
    table["longest"] = max(2, int(net.paths["hops"].max(initial=0)))
    table["burst_posts"] = max(int(programs.max(initial=0)), layout.TURN_POSTS) + 8
    table["collective_steps"] = work.collective_steps
    return table


def _start_all(tables: TableSet) -> None:
    """Make every task ready at time 0, and every participation that belongs to no task."""
    sends, tasks = int(tables["settings"]["sends"][0]), int(tables["settings"]["tasks"][0])
    parts, threads, instances, schedules = (tables[n] for n in ("parts", "threads", "instances", "schedules"))
    alone = np.flatnonzero(parts["task"] < 0)
    if alone.size:
        used = np.unique(parts["instance"][alone])
        sizes = schedules["messages"][instances["schedule"][used]]
        bases = np.concatenate([[0], np.cumsum(sizes)])
        instances["base"][used] = bases[:-1]
        _extend_messages(tables, sends, int(bases[-1]))
        tables["messages"]["origin"][sends:] = np.repeat(used, sizes)
        tables["counter"][POOL_USED] = bases[-1]
        first_op = schedules["thread"][instances["schedule"][parts["instance"][alone]]]
        threads["pc"][tasks + alone] = tables["op_ptr"][first_op + parts["thread"][alone]]
        parts["entered"][alone] = 0.0
    order = np.concatenate([np.arange(tasks), tasks + alone])
    if order.size:
        threads["next_ready"][order[:-1]] = order[1:]
        tables["counter"][READY_FIRST], tables["counter"][READY_LAST] = order[0], order[-1]


def _extended(old: NDArray[Any], count: int) -> NDArray[Any]:
    """A longer copy of a table, zeros at the end."""
    new = np.zeros((count, *old.shape[1:]), old.dtype)
    new[: len(old)] = old
    return new


def _extend_messages(tables: TableSet, sends: int, pool: int) -> None:
    before = len(tables["messages"])
    messages = _extended(tables["messages"], sends + pool)
    fresh = messages[before:]
    fresh["arrived"] = fresh["sent"] = np.inf
    fresh["recv_waiter"] = fresh["send_waiter"] = fresh["nic_next"] = -1
    tables["messages"] = messages
    tables["pool_time"] = _extended(tables["pool_time"], pool)
    tables["pool"] = _extended(tables["pool"], pool)
    tables["settings"]["pool_room"] = pool


def _extend_free(tables: TableSet, name: str, count: int, capacity: int) -> None:
    """Lengthen a list of free places by the new ones."""
    free, before = tables["counter"][count], len(tables[name])
    tables[name] = _extended(tables[name], capacity)
    tables[name][free : free + capacity - before] = np.arange(before, capacity)
    tables["counter"][count] += capacity - before


def _extend_events(tables: TableSet, capacity: int) -> None:
    _extend_free(tables, "event_free", N_EVENT_FREE, capacity)
    tables["events"] = _extended(tables["events"], capacity)
    tables["run"] = _extended(tables["run"], capacity)
    tables["heap"] = _extended(tables["heap"], capacity)


def _extend_flight(tables: TableSet, capacity: int) -> None:
    _extend_free(tables, "flight_free", N_SLOT_FREE, capacity)
    tables["flight"] = _extended(tables["flight"], capacity)
    tables["hops"] = _extended(tables["hops"], capacity * int(tables["settings"]["longest"][0]))
    tables["settings"]["flight_room"] = capacity


def _extend_cells(tables: TableSet, capacity: int) -> None:
    _extend_free(tables, "cell_free", N_CELL_FREE, capacity)
    tables["cells"] = _extended(tables["cells"], capacity)


def _extend_steps(tables: TableSet, capacity: int) -> None:
    before = len(tables["steps"])
    tables["steps"] = _extended(tables["steps"], capacity)
    fresh = tables["steps"][before:]
    fresh["start"], fresh["finish"] = np.inf, -np.inf
    fresh["port"] = fresh["burst"] = -1
    jobs, width = tables["burst_step"].shape
    wider = np.zeros((jobs, capacity), np.int64)
    wider[:, :width] = tables["burst_step"]
    tables["burst_step"] = wider
    tables["settings"]["step_room"] = capacity


def _grow(tables: TableSet) -> None:
    """Double whatever is nearly full (the conditions are those of the loop's has_room)."""
    counter, posts = tables["counter"], int(tables["settings"]["burst_posts"][0])
    if counter[NEED_POOL] > 0:
        pool = max(2 * len(tables["pool"]), int(counter[NEED_POOL]))
        _extend_messages(tables, int(tables["settings"]["sends"][0]), pool)
        counter[NEED_POOL] = 0
    if counter[N_SLOT_FREE] <= posts:
        _extend_flight(tables, 2 * len(tables["flight"]) + posts + 1024)
    flying = len(tables["flight"]) - int(counter[N_SLOT_FREE])
    if counter[N_EVENT_FREE] <= flying + 2 * posts + 16:
        _extend_events(tables, 2 * len(tables["events"]) + 2 * flying + 2 * posts + 4096)
    if int(tables["settings"]["model"][0]) == layout.CREDITS and counter[N_CELL_FREE] <= posts + 16:
        _extend_cells(tables, 2 * len(tables["cells"]) + posts + 1024)
    if counter[N_STEPS] + posts >= len(tables["steps"]):
        _extend_steps(tables, 2 * int(counter[N_STEPS]) + posts + 1024)


def _result(tables: TableSet) -> Replay:
    tasks = len(tables["tasks"])
    task_ptr, rows = tables["task_ptr"], tables["rows"]
    messages, parts, counter = tables["messages"], tables["parts"], tables["counter"]
    finish, bare = tables["threads"]["clock"][:tasks].copy(), tables["threads"]["bare"][:tasks].copy()
    with_records = np.flatnonzero(np.diff(task_ptr) > 0)
    last = task_ptr[with_records + 1] - 1
    kind, item = rows["kind"][last], rows["item"][last]
    for chosen, done, done_bare in (
        (kind == layout.MESSAGE, _at(messages["sent"], item), _at(messages["sent_bare"], item)),
        (kind == layout.COLLECTIVE, _at(parts["left"], item), _at(parts["left_bare"], item)),
    ):
        at = with_records[chosen]
        finish[at] = np.maximum(finish[at], done[chosen])
        bare[at] = np.maximum(bare[at], done_bare[chosen])
    left = parts["left"][np.isfinite(parts["left"])]
    ends = [finish[np.isfinite(finish)], left, tables["clock"][1:2]]
    return Replay(
        makespan_s=float(max((times.max() for times in ends if times.size), default=0.0)),
        events=int(counter[EVENTS]),
        delivered=int(counter[DELIVERED]),
        finish=finish,
        finish_bare=bare,
        stuck=np.flatnonzero(tables["tasks"]["ended"] == 0),
        messages=messages,
        parts=parts,
        instances=tables["instances"],
        instance_time=tables["instance_time"],
        steps=tables["steps"][: counter[N_STEPS]],
        ports=tables["ports"],
    )


def _at(column: NDArray[np.float64], index: NDArray[np.int32]) -> NDArray[np.float64]:
    """Column values by index, 0 where the column has no such place."""
    inside = (index >= 0) & (index < len(column))
    return np.where(inside, column[np.where(inside, index, 0)], 0.0) if len(column) else np.zeros(len(index))

"""Run the compiled replay loop: allocate its tables, let it run, grow what is full, read the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimator.replay import layout
from estimator.replay.layout import (
    COLLECTIVE_STEPS,
    DELIVERED,
    DONE,
    EVENTS,
    N_COUNTERS,
    N_EVENT_FREE,
    N_SLOT_FREE,
    N_STEPS,
    NEED_POOL,
    PARTS,
    POOL_USED,
    READY_FIRST,
    READY_LAST,
    Network,
    Settings,
    State,
    Work,
)

# Events between two looks at the progress callback.
BUDGET = 2_000_000


@dataclass(frozen=True, eq=False)
class Replay:
    """Outcome of a replay, in tables; times in seconds from the start of the tasks."""

    makespan_s: float
    events: int
    delivered: int
    finish: np.ndarray  # f8[tasks], completion of each task's last record
    finish_bare: np.ndarray  # f8[tasks], the same without contention
    stuck: np.ndarray  # i4: tasks whose program did not end
    messages: np.ndarray  # MESSAGE_TYPE[rows + pool]
    parts: np.ndarray  # PART_TYPE
    instances: np.ndarray  # INSTANCE_TYPE
    instance_time: np.ndarray  # f8[instances, PARTS]
    steps: np.ndarray  # STEP_TYPE
    ports: np.ndarray  # PORT_TYPE


def _extended(old: np.ndarray, count: int, fill: float = 0) -> np.ndarray:
    """A longer copy of a table."""
    new = np.full((count, *old.shape[1:]), fill, old.dtype) if fill else np.zeros((count, *old.shape[1:]), old.dtype)
    new[: len(old)] = old
    return new


def _with_messages(state: State, rows: int, pool: int) -> State:
    messages = _extended(state.messages, rows + pool)
    fresh = messages[len(state.messages) :]
    fresh["arrived"] = fresh["sent"] = np.inf
    fresh["recv_waiter"] = fresh["send_waiter"] = -1
    fresh["nic_next"] = -1
    return state._replace(
        messages=messages, pool_time=_extended(state.pool_time, pool), pool_next=_extended(state.pool_next, pool, -1)
    )


def _with_events(state: State, capacity: int) -> State:
    before, free = state.events.size, state.counter[N_EVENT_FREE]
    event_free = _extended(state.event_free, capacity)
    event_free[free : free + capacity - before] = np.arange(before, capacity)
    state.counter[N_EVENT_FREE] += capacity - before
    return state._replace(
        events=_extended(state.events, capacity), heap=_extended(state.heap, capacity), event_free=event_free
    )


def _with_flight(state: State, capacity: int, longest: int) -> State:
    before, free = state.flight.size, state.counter[N_SLOT_FREE]
    flight_free = _extended(state.flight_free, capacity)
    flight_free[free : free + capacity - before] = np.arange(before, capacity)
    state.counter[N_SLOT_FREE] += capacity - before
    return state._replace(
        flight=_extended(state.flight, capacity),
        hops=_extended(state.hops, capacity * longest),
        flight_free=flight_free,
    )


def _with_steps(state: State, capacity: int) -> State:
    steps = _extended(state.steps, capacity)
    fresh = steps[state.steps.size :]
    fresh["start"], fresh["finish"] = np.inf, -np.inf
    fresh["port"] = fresh["burst"] = -1
    burst_step = np.zeros((state.bursts.size, capacity), np.int64)
    burst_step[:, : state.burst_step.shape[1]] = state.burst_step
    return state._replace(steps=steps, burst_step=burst_step)


def _new_state(work: Work, parts: np.ndarray, instances: np.ndarray, jobs: np.ndarray) -> State:
    tasks = work.task_ptr.size - 1
    counter = np.zeros(N_COUNTERS, np.int64)
    counter[READY_FIRST] = counter[READY_LAST] = -1
    task_table = np.zeros(tasks, layout.TASK_TYPE)
    task_table["job"], task_table["burst"] = jobs, -1
    threads = np.zeros(tasks + parts.size, layout.THREAD_TYPE)
    threads["next_ready"] = threads["next_waiter"] = -1
    threads["pc"][:tasks] = work.task_ptr[:-1]
    parts = parts.copy()
    parts["entered"] = parts["left"] = parts["left_bare"] = np.inf
    parts["waiter"] = -1
    instances = instances.copy()
    instances["base"] = -1
    job_count = int(jobs.max()) + 1 if jobs.size else 1
    return State(
        counter=counter,
        clock=np.zeros(2),
        heap=np.zeros(0, layout.HEAP_TYPE),
        events=np.zeros(0, layout.EVENT_TYPE),
        event_free=np.zeros(0, np.int32),
        flight=np.zeros(0, layout.FLIGHT_TYPE),
        flight_free=np.zeros(0, np.int32),
        hops=np.zeros(0, layout.HOP_TYPE),
        threads=threads,
        tasks=task_table,
        parts=parts,
        part_time=np.zeros((parts.size, PARTS)),
        messages=np.zeros(0, layout.MESSAGE_TYPE),
        pool_time=np.zeros((0, PARTS)),
        pool_next=np.zeros(0, np.int64),
        instances=instances,
        instance_time=np.zeros((instances.size, PARTS)),
        steps=np.zeros(0, layout.STEP_TYPE),
        bursts=np.zeros(job_count, layout.BURST_TYPE),
        burst_step=np.zeros((job_count, 0), np.int64),
    )


def _grow(state: State, rows: int, longest: int, burst_posts: int) -> State:
    """Double whatever is nearly full (the conditions are those of the loop's has_room)."""
    counter = state.counter
    if counter[NEED_POOL] > 0:
        state = _with_messages(state, rows, max(2 * state.pool_next.size, int(counter[NEED_POOL])))
        counter[NEED_POOL] = 0
    if counter[N_SLOT_FREE] <= burst_posts:
        state = _with_flight(state, 2 * state.flight.size + burst_posts + 64, longest)
    flying = int(state.flight.size - counter[N_SLOT_FREE])
    if counter[N_EVENT_FREE] <= flying + 2 * burst_posts + 16:
        state = _with_events(state, 2 * state.events.size + flying + 2 * burst_posts + 64)
    if counter[N_STEPS] + burst_posts >= state.steps.size:
        state = _with_steps(state, 2 * int(counter[N_STEPS]) + burst_posts + 64)
    return state


def _start_all(state: State, work: Work) -> State:
    """Make every task ready at time 0, and every participation that belongs to no task."""
    rows = work.rows.size
    tasks = work.task_ptr.size - 1
    alone = np.flatnonzero(state.parts["task"] < 0)
    order = np.concatenate([np.arange(tasks), tasks + alone])
    if alone.size:
        used = np.unique(state.parts["instance"][alone])
        schedule = work.schedules[state.instances["schedule"][used]]
        bases = np.concatenate([[0], np.cumsum(schedule["messages"])])
        state.instances["base"][used] = bases[:-1]
        state = _with_messages(state, rows, int(bases[-1]))
        state.messages["instance"][rows:] = np.repeat(used, schedule["messages"])
        state.counter[POOL_USED] = bases[-1]
        own = work.schedules["thread"][state.instances["schedule"][state.parts["instance"][alone]]]
        state.threads["pc"][tasks + alone] = work.op_ptr[own + state.parts["thread"][alone]]
        state.parts["entered"][alone] = 0.0
    if order.size:
        state.threads["next_ready"][order[:-1]] = order[1:]
        state.counter[READY_FIRST], state.counter[READY_LAST] = order[0], order[-1]
    return state


def run_replay(
    net: Network,
    work: Work,
    parts: np.ndarray,
    instances: np.ndarray,
    jobs: np.ndarray,
    settings: Settings,
    *,
    collective_steps: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Replay a workload over a network. The tables given are not changed, except those of `net`.

    Parameters
    ----------
    parts : PART_TYPE, the participations (columns instance, thread, task)
    instances : INSTANCE_TYPE, the collectives (columns paths, step, schedule, staying)
    jobs : int[tasks], job of each task
    collective_steps : number of steps that the collectives' rounds take up
    progress : called now and then with the number of messages delivered so far
    """
    from estimator.replay.loop_kernel import run_loop

    rows = work.rows.size
    longest = max(2, int(net.paths["hops"].max()) if net.paths.size else 2)
    programs = np.diff(work.op_ptr)
    burst_posts = max(int(programs.max()) if programs.size else 0, layout.TURN_POSTS) + 8
    work = work._replace(schedules=work.schedules.copy())
    work.schedules["free_block"] = -1
    state = _new_state(work, parts, instances, jobs)
    state.counter[N_STEPS] = state.counter[COLLECTIVE_STEPS] = collective_steps
    state = _with_steps(_with_messages(state, rows, 1), 2 * collective_steps + burst_posts + 64)
    state = _start_all(state, work)
    while True:
        state = _grow(state, rows, longest, burst_posts)
        if run_loop(net, state, settings, work, longest, burst_posts, BUDGET) == DONE:
            break
        if progress is not None:
            progress(int(state.counter[DELIVERED]))
    return _result(net, state, work)


def _result(net: Network, state: State, work: Work) -> Replay:
    tasks = work.task_ptr.size - 1
    messages, parts = state.messages, state.parts
    finish, bare = state.threads["clock"][:tasks].copy(), state.threads["bare"][:tasks].copy()
    with_records = np.flatnonzero(np.diff(work.task_ptr) > 0)
    last = work.task_rows[work.task_ptr[with_records + 1] - 1]
    kind = work.rows["kind"][last]
    for chosen, done, done_bare in (
        (kind == layout.MESSAGE, messages["sent"][last], messages["sent_bare"][last]),
        (kind == layout.COLLECTIVE, *(parts[name][work.rows["part"][last]] for name in ("left", "left_bare"))),
    ):
        at = with_records[chosen]
        finish[at] = np.maximum(finish[at], done[chosen])
        bare[at] = np.maximum(bare[at], done_bare[chosen])
    left = parts["left"][np.isfinite(parts["left"])]
    ends = [finish[np.isfinite(finish)], left, state.clock[1:]]
    return Replay(
        makespan_s=float(max((part.max() for part in ends if part.size), default=0.0)),
        events=int(state.counter[EVENTS]),
        delivered=int(state.counter[DELIVERED]),
        finish=finish,
        finish_bare=bare,
        stuck=np.flatnonzero(state.tasks["ended"] == 0),
        messages=messages,
        parts=parts,
        instances=state.instances,
        instance_time=state.instance_time,
        steps=state.steps[: state.counter[N_STEPS]],
        ports=net.ports,
    )

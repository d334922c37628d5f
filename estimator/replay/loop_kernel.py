"""The event loop: one event or one ready thread at a time, until nothing is left to do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from estimator.replay.closed_kernel import on_sample, release
from estimator.replay.credit_kernel import inject_cells, on_cell, on_credit, on_free
from estimator.replay.fluid_kernel import refill
from estimator.replay.layout import (
    CREDITS,
    DONE,
    EVENTS,
    FLUID,
    GROW,
    N_CELL_FREE,
    N_EVENT_FREE,
    N_SLOT_FREE,
    N_STEPS,
    NEED_POOL,
    PORT,
    READY_FIRST,
    READY_LAST,
)
from estimator.replay.message_kernel import arrive_from_network, arrive_locally
from estimator.replay.port_kernel import (
    depart,
    inject,
    leave_buffer,
    on_head,
    on_pulse,
    on_rate,
    on_tail,
    ripple,
    start_stream,
)
from estimator.replay.queue_kernel import (
    CELL,
    CREDIT,
    DELIVER,
    DRAIN,
    FREE,
    HEAD,
    LOCAL,
    PULSE,
    RATE,
    REFILL,
    SAMPLE,
    TAIL,
    TASK,
    THREAD,
    has_event,
    pop,
    ripple_due,
)
from estimator.replay.tables import (
    Tables,
    bound_path_of,
    clock_of,
    counter_of,
    events_of,
    flight_free_of,
    flight_of,
    instances_of,
    messages_of,
    path_ports_of,
    paths_of,
    planned_of,
    ports_of,
    rows_of,
    schedules_of,
    settings_of,
    threads_of,
)
from estimator.replay.thread_kernel import run_part, run_task
from vef.compiled import kernel, kernel_part


@kernel_part
def start_next(t: Tables, index: int, now: float) -> None:
    """The port has done with its last message: start the next one posted there."""
    settings = settings_of(t)[0]
    port = ports_of(t)[index]
    port.nic_busy = 0
    msg = port.nic_first
    if msg < 0:
        return
    message = messages_of(t)[msg]
    port.nic_first = message.nic_next
    if port.nic_first < 0:
        port.nic_last = -1
    if msg < settings.sends:
        path = rows_of(t)[message.origin].path
        size = rows_of(t)[message.origin].size
    else:
        instance = instances_of(t)[message.origin]
        at = msg - settings.sends - instance.base
        path = bound_path_of(t)[instance.paths + at]
        size = planned_of(t)[schedules_of(t)[instance.schedule].message + at].size
    if settings.model == CREDITS:
        inject_cells(t, msg, path, size, message.posted, now)
    else:
        inject(t, msg, path, size, message.posted)


@kernel_part
def deliver(t: Tables, slot: int, now: float) -> None:
    """The last byte of a message is at its destination."""
    settings = settings_of(t)[0]
    message = flight_of(t)[slot]
    route = paths_of(t)[message.path]
    if settings.model in (FLUID, CREDITS):
        pass  # it left its ports with its last byte
    elif settings.model != PORT:
        release(t, slot)
    elif route.hops == 1:
        start_next(t, path_ports_of(t)[route.begin], now)
    else:
        depart(ports_of(t)[path_ports_of(t)[route.begin + route.hops - 1]])
        leave_buffer(t, path_ports_of(t)[route.begin + route.hops - 2], message.size)
    arrive_from_network(t, slot, now)
    message.stamp += 1
    flight_free_of(t)[counter_of(t)[N_SLOT_FREE]] = slot
    counter_of(t)[N_SLOT_FREE] += 1


@kernel_part
def has_room(t: Tables) -> bool:
    """Whether the tables take whatever one turn of the loop can add."""
    settings = settings_of(t)[0]
    counter = counter_of(t)
    burst_posts = settings.burst_posts
    flying = settings.flight_room - counter[N_SLOT_FREE]
    return (
        counter[NEED_POOL] == 0
        and counter[N_SLOT_FREE] > burst_posts
        and counter[N_EVENT_FREE] > flying + 2 * burst_posts + 16
        and (settings.model != CREDITS or counter[N_CELL_FREE] > burst_posts + 16)
        and counter[N_STEPS] + burst_posts < settings.step_room
    )


@kernel
def start_streams(t: Tables, paths: NDArray[np.int32], rates: NDArray[np.float64]) -> None:
    """Start the background flows."""
    for index in range(paths.size):
        start_stream(t, paths[index], rates[index])


@kernel
def run_loop(t: Tables, budget: int) -> int:
    """Run until done (DONE), until a table has to grow or `budget` events are over (GROW)."""
    settings = settings_of(t)[0]
    counter = counter_of(t)
    tasks = settings.tasks
    while budget > 0:
        if not has_room(t):
            return GROW
        thread = counter[READY_FIRST]
        if thread >= 0:
            counter[READY_FIRST] = threads_of(t)[thread].next_ready
            if counter[READY_FIRST] < 0:
                counter[READY_LAST] = -1
            if thread < tasks:
                run_task(t, thread, clock_of(t)[0], False)
            else:
                run_part(t, thread, clock_of(t)[0])
            continue
        due = ripple_due(t)
        if due < 0 and not has_event(t):
            return DONE
        budget -= 1
        counter[EVENTS] += 1
        if due >= 0:
            clock_of(t)[0] = ports_of(t)[due].due_time
            ripple(t, due, clock_of(t)[0])
            continue
        slot = pop(t)
        event = events_of(t)[slot]
        now = event.time
        kind = event.code & 15
        ref = event.code >> 4
        clock_of(t)[0] = now
        if kind == HEAD:
            first_hop = flight_of(t)[ref].head == 1 and flight_of(t)[ref].size < np.inf
            index = path_ports_of(t)[paths_of(t)[flight_of(t)[ref].path].begin]
            on_head(t, ref, now)
            if first_hop:
                start_next(t, index, now)
        elif kind == TAIL:
            on_tail(t, ref, now)
        elif kind == DELIVER:
            deliver(t, ref, now)
        elif kind == RATE:
            on_rate(t, ref, event.value, event.stamp, now)
        elif kind == DRAIN:
            if event.stamp == ports_of(t)[ref].version:
                ripple(t, ref, now)
        elif kind == TASK:
            run_task(t, ref, now, True)
        elif kind == THREAD:
            run_part(t, ref, now)
        elif kind == LOCAL:
            arrive_locally(t, ref, event.value, now)
        elif kind == SAMPLE:
            on_sample(t, ref)
        elif kind == PULSE:
            on_pulse(t, ref, event.value, now)
        elif kind == REFILL:
            refill(t, event.stamp, now)
        elif kind == CELL:
            on_cell(t, ref, now)
        elif kind == FREE:
            if on_free(t, ref, now):
                start_next(t, ref, now)
        elif kind == CREDIT:
            on_credit(t, ref, event.value, now)
    return GROW

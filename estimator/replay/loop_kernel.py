"""The event loop: one event or one ready thread at a time, until nothing is left to do."""

from __future__ import annotations

from estimator.replay.closed_kernel import on_sample, release
from estimator.replay.layout import (
    COLLECTIVE_STEPS,
    DONE,
    EVENTS,
    GROW,
    N_EVENT_FREE,
    N_HEAP,
    N_SLOT_FREE,
    N_STEPS,
    NEED_POOL,
    PORT,
    READY_FIRST,
    READY_LAST,
    Network,
    Settings,
    State,
    Work,
)
from estimator.replay.message_kernel import arrive_from_network, arrive_locally
from estimator.replay.port_kernel import depart, inject, on_head, on_rate, on_tail, ripple
from estimator.replay.queue_kernel import (
    DELIVER,
    DRAIN,
    HEAD,
    LOCAL,
    RATE,
    RIPPLE,
    SAMPLE,
    TAIL,
    TASK,
    THREAD,
    pop,
)
from estimator.replay.thread_kernel import run_part, run_task
from vef.compiled import kernel


@kernel
def start_next(net: Network, state: State, settings: Settings, work: Work, longest: int, index: int) -> None:
    """The head of the port's last message has left its first link: start the next one posted there."""
    port = net.ports[index]
    port.nic_busy = 0
    msg = port.nic_first
    if msg < 0:
        return
    message = state.messages[msg]
    port.nic_first = message.nic_next
    if port.nic_first < 0:
        port.nic_last = -1
    rows = work.rows.size
    if msg < rows:
        path = work.rows[msg].path
        size = work.rows[msg].size
    else:
        instance = state.instances[message.instance]
        at = msg - rows - instance.base
        path = work.bound_path[instance.paths + at]
        size = work.planned[work.schedules[instance.schedule].message + at].size
    inject(net, state, settings, longest, msg, path, size, message.posted)


@kernel
def deliver(
    net: Network, state: State, settings: Settings, work: Work, longest: int, slot: int, now: float
) -> None:
    """The last byte of a message is at its destination."""
    message = state.flight[slot]
    route = net.paths[message.path]
    if settings.model != PORT:
        release(net, state, slot)
    elif route.hops == 1:
        start_next(net, state, settings, work, longest, net.path_ports[route.begin])
    else:
        depart(net.ports[net.path_ports[route.begin + route.hops - 1]])
    arrive_from_network(net, state, settings, work, slot, now)
    message.stamp += 1
    state.flight_free[state.counter[N_SLOT_FREE]] = slot
    state.counter[N_SLOT_FREE] += 1


@kernel
def has_room(state: State, burst_posts: int) -> bool:
    """Whether the tables take whatever one turn of the loop can add."""
    counter = state.counter
    flying = state.flight.size - counter[N_SLOT_FREE]
    return (
        counter[NEED_POOL] == 0
        and counter[N_SLOT_FREE] > burst_posts
        and counter[N_EVENT_FREE] > flying + 2 * burst_posts + 16
        and counter[N_STEPS] + burst_posts < state.steps.size
        and counter[N_STEPS] - counter[COLLECTIVE_STEPS] + burst_posts < state.burst_step.shape[1]
    )


@kernel
def run_loop(
    net: Network, state: State, settings: Settings, work: Work, longest: int, burst_posts: int, budget: int
) -> int:
    """Run until done (DONE), until a table has to grow or `budget` events are over (GROW).

    `burst_posts`: the most messages that one thread posts without waiting.
    """
    counter = state.counter
    tasks = work.task_ptr.size - 1
    while budget > 0:
        if not has_room(state, burst_posts):
            return GROW
        thread = counter[READY_FIRST]
        if thread >= 0:
            counter[READY_FIRST] = state.threads[thread].next_ready
            if counter[READY_FIRST] < 0:
                counter[READY_LAST] = -1
            if thread < tasks:
                run_task(net, state, settings, work, longest, thread, state.clock[0], False)
            else:
                run_part(net, state, settings, work, longest, thread, state.clock[0])
            continue
        if counter[N_HEAP] == 0:
            return DONE
        budget -= 1
        counter[EVENTS] += 1
        slot = pop(state)
        event = state.events[slot]
        now = event.time
        kind = event.code & 15
        ref = event.code >> 4
        state.clock[0] = now
        if kind == HEAD:
            first_hop = state.flight[ref].head == 1
            index = net.path_ports[net.paths[state.flight[ref].path].begin]
            on_head(net, state, settings, longest, ref, now)
            if first_hop:
                start_next(net, state, settings, work, longest, index)
        elif kind == TAIL:
            on_tail(net, state, settings, longest, ref, now)
        elif kind == DELIVER:
            deliver(net, state, settings, work, longest, ref, now)
        elif kind == RIPPLE:
            ripple(net, state, settings, longest, ref, now)
        elif kind == RATE:
            on_rate(net, state, longest, ref, event.value, event.stamp, now)
        elif kind == DRAIN:
            if event.stamp == net.ports[ref].version:
                ripple(net, state, settings, longest, ref, now)
        elif kind == TASK:
            run_task(net, state, settings, work, longest, ref, now, True)
        elif kind == THREAD:
            run_part(net, state, settings, work, longest, ref, now)
        elif kind == LOCAL:
            arrive_locally(state, settings, work, ref, event.value, now)
        elif kind == SAMPLE:
            on_sample(net, state, settings, ref)
    return GROW

"""Life of one message: posted by a thread, carried by the network, accounted for when it arrives."""

from __future__ import annotations

import numpy as np

from estimator.replay.closed_kernel import post_closed
from estimator.replay.layout import (
    DELIVERED,
    OVERHEAD,
    PORT,
    QUEUEING,
    READY_FIRST,
    READY_LAST,
    SERIAL,
    SHARING,
    WIRE,
    Network,
    Settings,
    State,
    Work,
)
from estimator.replay.port_kernel import post_to_nic
from estimator.replay.queue_kernel import EARLY, LOCAL, push
from vef.compiled import kernel


@kernel
def make_ready(state: State, thread: int) -> None:
    """Put a thread at the end of the line of those that can go on."""
    counter = state.counter
    state.threads[thread].next_ready = -1
    if counter[READY_LAST] >= 0:
        state.threads[counter[READY_LAST]].next_ready = thread
    else:
        counter[READY_FIRST] = thread
    counter[READY_LAST] = thread


@kernel
def wake(state: State, thread: int) -> None:
    """Make all threads of a list of waiters ready, the longest waiting (at its end) first."""
    reverse = -1
    while thread >= 0:
        after = state.threads[thread].next_waiter
        state.threads[thread].next_waiter = reverse
        reverse = thread
        thread = after
    while reverse >= 0:
        make_ready(state, reverse)
        reverse = state.threads[reverse].next_waiter


@kernel
def lone_serialisation(net: Network, settings: Settings, path: int, size: float) -> float:
    """Serialisation of a message that meets nobody: its bytes at the slowest port, its first packet elsewhere."""
    route = net.paths[path]
    first = min(size, settings.packet_bytes)
    return first * route.packet_s_per_byte + (size - first) / route.rate


@kernel
def post(
    net: Network,
    state: State,
    settings: Settings,
    longest: int,
    msg: int,
    path: int,
    size: float,
    now: float,
    bare: float,
    step: int,
    source: int,
) -> None:
    """Hand a message to the network at time now (at `bare` in the network without contention)."""
    message = state.messages[msg]
    message.posted = now
    message.posted_bare = bare
    message.step = step
    message.arrived = np.inf
    message.sent = np.inf
    into = state.steps[step]
    into.messages += 1
    into.bytes += size
    into.start = min(into.start, now)
    if path < 0:
        lone = settings.overhead_s + settings.intra_latency_s + size / settings.intra_rate
        push(state, now + lone, LOCAL + 16 * msg, size, 0, EARLY)
    else:
        lone = settings.overhead_s + net.paths[path].latency + lone_serialisation(net, settings, path, size)
        if settings.model == PORT:
            post_to_nic(net, state, settings, longest, msg, path, size, now, source)
        else:
            post_closed(net, state, settings, msg, path, size, now)
    message.arrived_bare = bare + lone
    message.sent_bare = bare + lone
    if size <= settings.eager_limit_bytes:
        message.sent = now + settings.overhead_s
        message.sent_bare = bare + settings.overhead_s


@kernel
def arrive(
    state: State, settings: Settings, work: Work, msg: int, size: float, now: float, serial: float
) -> None:
    """A message is complete at its destination."""
    message = state.messages[msg]
    message.arrived = now
    if size > settings.eager_limit_bytes:
        message.sent = now
        waiter = message.send_waiter
        message.send_waiter = -1
        wake(state, waiter)
    waiter = message.recv_waiter
    message.recv_waiter = -1
    wake(state, waiter)
    step = state.steps[message.step]
    step.finish = max(step.finish, now)
    took = now - message.posted
    if took > step.slowest:
        step.slowest = took
        step.slowest_serial = serial
    state.clock[1] = max(state.clock[1], now)
    state.counter[DELIVERED] += 1
    if msg < work.rows.size:
        burst = state.bursts[step.job]
        burst.flying -= 1
        if burst.flying == 0:
            burst.current += 1
            burst.rounds = 0


@kernel
def arrive_from_network(
    net: Network, state: State, settings: Settings, work: Work, slot: int, now: float
) -> None:
    """Account for a message that the network delivers, then complete it."""
    message = state.flight[slot]
    serial = lone_serialisation(net, settings, message.path, message.size)
    wire = net.paths[message.path].latency
    lone = settings.overhead_s + wire + serial
    at = message.msg - work.rows.size
    if at >= 0:
        nic_wait = max(message.started - message.posted - settings.overhead_s, 0.0)
        extra = now - message.posted - lone - nic_wait
        queueing = min(message.waited, max(extra, 0.0))
        spent = state.pool_time[at]
        spent[OVERHEAD] += settings.overhead_s
        spent[WIRE] += wire
        spent[QUEUEING] += queueing
        if message.shared == 1:
            spent[SERIAL] += serial
            spent[SHARING] += extra - queueing + nic_wait
        else:
            spent[SERIAL] += serial + nic_wait
            spent[SHARING] += extra - queueing
    step = state.steps[state.messages[message.msg].step]
    step.flows = max(step.flows, 1)
    if message.rho > step.rho:
        step.rho = message.rho
        step.flows = message.rho_flows
        step.port = message.rho_port
        step.peak = message.rho_peak
        step.port_bytes = message.rho_bytes
    arrive(state, settings, work, message.msg, message.size, now, serial)


@kernel
def arrive_locally(state: State, settings: Settings, work: Work, msg: int, size: float, now: float) -> None:
    """Complete a message between two tasks of one host."""
    serial = size / settings.intra_rate
    at = msg - work.rows.size
    if at >= 0:
        spent = state.pool_time[at]
        spent[OVERHEAD] += settings.overhead_s
        spent[WIRE] += settings.intra_latency_s
        spent[SERIAL] += serial
    arrive(state, settings, work, msg, size, now, serial)

"""Life of one message: posted by a thread, carried by the network, accounted for when it arrives."""

from __future__ import annotations

import numpy as np

from estimator.replay.closed_kernel import post_closed
from estimator.replay.credit_kernel import inject_cells, note_pauses
from estimator.replay.fluid_kernel import post_fluid
from estimator.replay.layout import (
    CREDITS,
    DELIVERED,
    FLUID,
    OVERHEAD,
    PORT,
    QUEUEING,
    RANDOM_BOUND,
    RANDOM_MEAN,
    RANDOM_VARIANCE,
    READY_FIRST,
    READY_LAST,
    SERIAL,
    SHARING,
    WIRE,
)
from estimator.replay.overhead_kernel import overhead_of
from estimator.replay.port_kernel import inject, queue_at_nic
from estimator.replay.queue_kernel import EARLY, LOCAL, push
from estimator.replay.tables import (
    Tables,
    bursts_of,
    clock_of,
    counter_of,
    flight_of,
    messages_of,
    paths_of,
    pool_time_of,
    settings_of,
    steps_of,
    threads_of,
)
from vef.compiled import kernel_part


@kernel_part
def make_ready(t: Tables, thread: int) -> None:
    """Put a thread at the end of the line of those that can go on."""
    counter = counter_of(t)
    threads_of(t)[thread].next_ready = -1
    if counter[READY_LAST] >= 0:
        threads_of(t)[counter[READY_LAST]].next_ready = thread
    else:
        counter[READY_FIRST] = thread
    counter[READY_LAST] = thread


@kernel_part
def wake(t: Tables, thread: int) -> None:
    """Make all threads of a list of waiters ready, the longest waiting (at its end) first."""
    reverse = -1
    while thread >= 0:
        after = threads_of(t)[thread].next_waiter
        threads_of(t)[thread].next_waiter = reverse
        reverse = thread
        thread = after
    while reverse >= 0:
        make_ready(t, reverse)
        reverse = threads_of(t)[reverse].next_waiter


@kernel_part
def lone_serialisation(t: Tables, path: int, size: float) -> float:
    """Serialisation of a message that meets nobody: its bytes at the slowest port, its first packet elsewhere."""
    settings = settings_of(t)[0]
    route = paths_of(t)[path]
    first = min(size, settings.packet_bytes)
    return first * route.packet_s_per_byte + (size - first) / route.rate


@kernel_part
def post(
    t: Tables,
    msg: int,
    path: int,
    size: float,
    now: float,
    bare: float,
    step: int,
    source: int,
) -> None:
    """Hand a message to the network at time now (at `bare` in the network without contention)."""
    settings = settings_of(t)[0]
    message = messages_of(t)[msg]
    message.posted = now
    message.step = step
    message.arrived = np.inf
    message.sent = np.inf
    message.rendezvous = 1 if size > settings.eager_limit_bytes else 0
    into = steps_of(t)[step]
    into.messages += 1
    into.bytes += size
    into.start = min(into.start, now)
    # Within a host there is nothing to agree on with the other side's device.
    overhead = settings.overhead_s if path < 0 else overhead_of(t, size)
    if path < 0:
        lone = overhead + settings.intra_latency_s + size / settings.intra_rate
        push(t, now + lone, LOCAL + 16 * msg, size, 0, EARLY)
    else:
        lone = overhead + paths_of(t)[path].latency + lone_serialisation(t, path, size)
        if settings.model == PORT:
            if queue_at_nic(t, msg, path, size, now, source):
                inject(t, msg, path, size, now)
        elif settings.model == CREDITS:
            note_pauses(t, msg, path, now)
            if queue_at_nic(t, msg, path, size, now, source):
                inject_cells(t, msg, path, size, now, now)
        elif settings.model == FLUID:
            post_fluid(t, msg, path, size, now, source)
        else:
            post_closed(t, msg, path, size, now, source)
    message.arrived_bare = bare + lone
    message.sent_bare = bare + lone
    if size <= settings.eager_limit_bytes:
        message.sent = now + overhead
        message.sent_bare = bare + overhead


@kernel_part
def arrive(t: Tables, msg: int, size: float, now: float, serial: float) -> bool:
    """A message is complete at its destination; true when it is the slowest of its step."""
    settings = settings_of(t)[0]
    message = messages_of(t)[msg]
    message.arrived = now
    if size > settings.eager_limit_bytes:
        message.sent = now
        waiter = message.send_waiter
        message.send_waiter = -1
        wake(t, waiter)
    waiter = message.recv_waiter
    message.recv_waiter = -1
    wake(t, waiter)
    step = steps_of(t)[message.step]
    step.finish = max(step.finish, now)
    step.flows = max(step.flows, 1)
    took = now - message.posted
    slowest = took > step.slowest
    if slowest:
        step.slowest = took
        step.slowest_serial = serial
    clock_of(t)[1] = max(clock_of(t)[1], now)
    counter_of(t)[DELIVERED] += 1
    if msg < settings.sends:
        burst = bursts_of(t)[step.job]
        burst.flying -= 1
        if burst.flying == 0:
            burst.current += 1
            burst.rounds = 0
    return slowest


@kernel_part
def arrive_from_network(t: Tables, slot: int, now: float) -> None:
    """Account for a message that the network delivers, then complete it."""
    settings = settings_of(t)[0]
    message = flight_of(t)[slot]
    serial = lone_serialisation(t, message.path, message.size)
    wire = paths_of(t)[message.path].latency
    overhead = overhead_of(t, message.size)
    lone = overhead + wire + serial
    at = message.msg - settings.sends
    if at >= 0:
        nic_wait = max(message.started - message.posted - overhead, 0.0)
        extra = now - message.posted - lone - nic_wait
        queueing = min(message.waited, max(extra, 0.0))
        held = 0.0
        if settings.model == CREDITS:
            # What full buffers hold up is waiting too, its own bytes and those ahead of it at the host.
            queueing = min(message.waited + message.paused, max(extra, 0.0))
            held = min(message.nic_paused, nic_wait)
        spent = pool_time_of(t)
        spent[at, OVERHEAD] += overhead
        spent[at, WIRE] += wire
        spent[at, QUEUEING] += queueing + held
        spent[at, RANDOM_MEAN] += message.random_mean
        spent[at, RANDOM_VARIANCE] += message.random_variance
        spent[at, RANDOM_BOUND] += message.random_bound
        if message.shared == 1:
            spent[at, SERIAL] += serial
            spent[at, SHARING] += extra - queueing + nic_wait - held
        else:
            spent[at, SERIAL] += serial + nic_wait - held
            spent[at, SHARING] += extra - queueing
    step = steps_of(t)[messages_of(t)[message.msg].step]
    step.peak = max(step.peak, message.rho_peak)
    if settings.model == CREDITS:
        step.paused = max(step.paused, message.paused)
    if message.rho > step.rho:
        step.rho = message.rho
        step.flows = message.rho_flows
        step.port = message.rho_port
        step.port_bytes = message.rho_bytes
    elif message.rho_port == step.port:
        step.flows = max(step.flows, message.rho_flows)
        step.port_bytes = max(step.port_bytes, message.rho_bytes)
    if arrive(t, message.msg, message.size, now, serial):
        step.random_mean = message.random_mean
        step.random_variance = message.random_variance
        step.random_bound = message.random_bound


@kernel_part
def arrive_locally(t: Tables, msg: int, size: float, now: float) -> None:
    """Complete a message between two tasks of one host."""
    settings = settings_of(t)[0]
    serial = size / settings.intra_rate
    at = msg - settings.sends
    if at >= 0:
        spent = pool_time_of(t)
        spent[at, OVERHEAD] += settings.overhead_s
        spent[at, WIRE] += settings.intra_latency_s
        spent[at, SERIAL] += serial
    arrive(t, msg, size, now, serial)

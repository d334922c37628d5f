"""The port model: every output port is one FIFO served at its capacity.

A port's state is its backlog and the sum of the rates at which messages flow in; between events the backlog
changes at inflow - capacity, and whatever arrives leaves after the backlog that it finds. A message is followed
by two moments at each hop: when its first packet has wholly arrived (head) and when its last has (tail). While it
flows through a backlogged port, its share of the output is its share of the input; a change of the shares
reaches the next hop after the backlog it queues behind (ripple).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimator.replay.layout import (
    ABSENT,
    FLOWING,
    N_SLOT_FREE,
    PASSED,
    UNLIMITED_RATE,
    VERSION,
)
from estimator.replay.overhead_kernel import overhead_of
from estimator.replay.queue_kernel import (
    DELIVER,
    DRAIN,
    EARLY,
    HEAD,
    LATE,
    PULSE,
    RATE,
    TAIL,
    ask_ripple,
    push,
    push_behind,
)
from estimator.replay.tables import (
    Tables,
    counter_of,
    flight_free_of,
    flight_of,
    hops_of,
    messages_of,
    path_ports_of,
    paths_of,
    ports_of,
    settings_of,
)
from vef.compiled import kernel_part

# A backlog below this many bytes is an empty queue (rounding of sums of rates over time).
EMPTY_BYTES = 0.25


@kernel_part
def settle(port: Any, now: float) -> None:
    """Bring a port's backlog up to now."""
    elapsed = now - port.updated
    if elapsed > 0.0:
        port.ep_bytes += port.inflow * elapsed
        backlog = port.backlog + (port.inflow - port.rate) * elapsed
        port.backlog = backlog if backlog > EMPTY_BYTES else 0.0
        port.updated = now


@kernel_part
def is_backlogged(port: Any) -> bool:
    return port.backlog > EMPTY_BYTES or port.inflow > port.rate * (1.0 + 1e-9)


@kernel_part
def output_share(port: Any) -> float:
    """Output rate of a flow through the port over its input rate."""
    inflow = port.inflow + port.pulse
    return port.rate / inflow if is_backlogged(port) and inflow > 0.0 else 1.0


@kernel_part
def on_pulse(t: Tables, index: int, rate: float, now: float) -> None:
    """A one-packet message no longer counts in the port's output shares."""
    port = ports_of(t)[index]
    port.pulse = port.pulse - rate if port.pulse > rate * (1.0 + 1e-9) else 0.0
    mark(t, index, now)


@kernel_part
def mark(t: Tables, index: int, now: float) -> None:
    """Have the port's output shares looked at once all events of this instant are in."""
    port = ports_of(t)[index]
    if port.first >= 0 and port.dirty == 0:
        port.dirty = 1
        ask_ripple(t, index, now)


@kernel_part
def ripple(t: Tables, index: int, now: float) -> None:
    """Announce changed output rates to the next hop, where they arrive behind today's backlog."""
    settings = settings_of(t)[0]
    port = ports_of(t)[index]
    port.dirty = 0
    settle(port, now)
    share = output_share(port)
    wait = port.backlog / port.rate
    at = port.first
    while at >= 0:
        hop = hops_of(t)[at]
        out = hop.rate * share
        if abs(out - hop.out) > settings.ripple_tolerance * hop.out:
            hop.out = out
            message = flight_of(t)[at // settings.longest]
            first = min(message.size, settings.packet_bytes)
            reaches = now + wait + first / port.packet_rate + port.latency
            push_behind(t, 2 * index, reaches, RATE + 16 * (at + 1), out, message.stamp)
        at = hop.next
    if port.first >= 0 and port.backlog > EMPTY_BYTES and port.inflow < port.rate * (1.0 - 1e-9):
        counter_of(t)[VERSION] += 1
        port.version = counter_of(t)[VERSION]
        # At least one step of the clock later, or a long trace would stand still here.
        empty = max(now + port.backlog / (port.rate - port.inflow), now * (1.0 + 2.0**-51))
        push(t, empty, DRAIN + 16 * index, 0.0, port.version, LATE)


@kernel_part
def link_hop(t: Tables, port: Any, at: int) -> None:
    hop = hops_of(t)[at]
    hop.next = port.first
    hop.prev = -1
    if port.first >= 0:
        hops_of(t)[port.first].prev = at
    port.first = at


@kernel_part
def unlink_hop(t: Tables, port: Any, at: int) -> None:
    hop = hops_of(t)[at]
    if hop.prev >= 0:
        hops_of(t)[hop.prev].next = hop.next
    else:
        port.first = hop.next
    if hop.next >= 0:
        hops_of(t)[hop.next].prev = hop.prev


@kernel_part
def enter_episode(port: Any, ingress: int, before: Any, first_bit: float) -> None:
    """A message's head is at the port, from the port `before`: start or continue the port's busy period."""
    if port.members == port.streams and port.backlog <= EMPTY_BYTES:
        port.ep_start = first_bit
        port.ep_bytes = 0.0
        port.ep_source = ingress
        port.ep_merging = 1 if port.streams > 0 else 0
        port.ep_flows = 0
        port.ep_peak = 0.0
        port.ep_offered = 0.0
        port.ep_first = np.inf
        port.ep_last = -np.inf
        port.present = port.streams
        port.ep_instant = 0
    elif port.ep_source != ingress:
        port.ep_merging = 1
    if before.rate >= UNLIMITED_RATE:
        port.ep_instant = 1
    port.present += 1
    port.ep_flows = max(port.ep_flows, port.present)


@kernel_part
def offer(message: Any, port: Any, before: Any, first: float) -> None:
    """Add a message to what the port's busy period is offered, at the rate at which its source would push it."""
    if message.size == np.inf:
        return
    port.ep_offered += message.size
    came_at = before.packet_rate if before.rate < UNLIMITED_RATE else message.alone_rate
    port.ep_first = min(port.ep_first, message.alone - first / came_at)
    port.ep_last = max(port.ep_last, message.alone + (message.size - first) / message.alone_rate)
    message.alone += first / port.packet_rate + port.latency
    message.alone_rate = min(message.alone_rate, port.rate)


@kernel_part
def note_load(message: Any, port: Any, index: int, now: float) -> None:
    """Offered load of the port's busy period so far, kept with the message if it is its worst.

    Ports before this one may have slowed the messages down, so the load is the larger of what came in the time
    that it took, and of what would have come in the time that it would have taken with nobody in the way.
    """
    port.ep_peak = max(port.ep_peak, port.backlog)
    port.peak_backlog = max(port.peak_backlog, port.backlog)
    window = now - port.ep_start
    if port.ep_merging == 0 or window <= 0.0:
        return
    # Bytes that a relaying host adds itself come at no rate; only the time that they would take alone is one.
    rho = port.ep_bytes / (port.rate * window) if port.ep_instant == 0 else 0.0
    unhindered = port.ep_last - port.ep_first
    if unhindered > 0.0:
        rho = max(rho, port.ep_offered / (port.rate * unhindered))
    port.max_rho = max(port.max_rho, rho)
    message.rho_peak = max(message.rho_peak, port.ep_peak)
    if rho > message.rho:
        message.rho = rho
        message.rho_port = index
        message.rho_flows = port.ep_flows
        message.rho_bytes = port.ep_offered if port.streams == 0 else port.ep_bytes


@kernel_part
def depart(port: Any) -> None:
    """A message has wholly left the port."""
    if port.present > 0:
        port.present -= 1


@kernel_part
def leave_buffer(t: Tables, index: int, size: float) -> None:
    """A message has wholly left the buffer at the far end of a port's link."""
    port = ports_of(t)[index]
    port.held -= size


@kernel_part
def lay_hops(t: Tables, slot: int, path: int) -> None:
    """Make the message's hops ready."""
    route = paths_of(t)[path]
    flight_of(t)[slot].hops = route.hops
    base = slot * settings_of(t)[0].longest
    for at in range(route.hops):
        hop = hops_of(t)[base + at]
        hop.state = ABSENT
        hop.port = path_ports_of(t)[route.begin + at]


@kernel_part
def source_rate(t: Tables, path: int) -> float:
    """Rate at which the source of a path sends with nobody else there: that of its first port with a limit."""
    begin = paths_of(t)[path].begin
    rate = ports_of(t)[path_ports_of(t)[begin]].rate
    if rate >= UNLIMITED_RATE:
        rate = ports_of(t)[path_ports_of(t)[begin + 1]].rate
    return rate


@kernel_part
def take_slot(t: Tables, msg: int, path: int, size: float, posted: float) -> int:
    """A place for a message that enters the network."""
    counter_of(t)[N_SLOT_FREE] -= 1
    slot = flight_free_of(t)[counter_of(t)[N_SLOT_FREE]]
    message = flight_of(t)[slot]
    message.msg = msg
    message.path = path
    message.size = size
    message.posted = posted
    message.waited = 0.0
    message.random_mean = 0.0
    message.random_variance = 0.0
    message.random_bound = 0.0
    message.shared = 0
    message.follower = -1
    message.head = 1
    message.tail = 1
    message.stamp += 1
    message.rho = 0.0
    message.rho_port = -1
    message.rho_flows = 1
    message.rho_peak = 0.0
    message.rho_bytes = 0.0
    return slot


@kernel_part
def note_injection(port: Any, message: Any, index: int) -> None:
    """Offered load of an injection port on which messages of several tasks merge."""
    if port.ep_merging == 1 and port.updated > port.ep_start and port.rate < UNLIMITED_RATE:
        message.shared = 1
        message.rho = port.ep_bytes / (port.rate * (port.updated - port.ep_start))
        message.rho_port = index
        message.rho_flows = port.ep_flows
        message.rho_bytes = port.ep_bytes
        port.max_rho = max(port.max_rho, message.rho)


@kernel_part
def inject(t: Tables, msg: int, path: int, size: float, posted: float) -> None:
    """Start a message on its injection port, which is free or will be when it has left the one before."""
    settings = settings_of(t)[0]
    route = paths_of(t)[path]
    index = path_ports_of(t)[route.begin]
    port = ports_of(t)[index]
    slot = take_slot(t, msg, path, size, posted)
    message = flight_of(t)[slot]
    ready = posted + overhead_of(t, size)
    start = max(ready, port.nic_free)
    message.started = start
    port.nic_free = start + size / port.rate
    port.nic_busy = 1
    port.nic_slot = slot
    port.bytes += size
    note_injection(port, message, index)
    if route.hops == 1:
        push_behind(t, 2 * index + 1, port.nic_free + port.latency, DELIVER + 16 * slot, 0.0, 0)
        return
    lay_hops(t, slot, path)
    hops_of(t)[slot * settings.longest + 1].rate = port.rate
    first = min(size, settings.packet_bytes)
    message.alone = start + first / port.packet_rate + port.latency
    message.alone_rate = source_rate(t, path)
    push_behind(t, 2 * index, message.alone, HEAD + 16 * slot, 0.0, 0)


@kernel_part
def queue_at_nic(t: Tables, msg: int, path: int, size: float, posted: float, source: int) -> bool:
    """Put a message at the end of its host's injection queue; true when it is the port's next and may start."""
    port = ports_of(t)[path_ports_of(t)[paths_of(t)[path].begin]]
    ready = posted + overhead_of(t, size)
    if port.nic_busy == 0 and port.nic_free <= ready:
        port.ep_start = ready
        port.ep_bytes = 0.0
        port.ep_source = source
        port.ep_merging = 0
        port.ep_flows = 0
        port.updated = ready
    elif port.ep_source != source:
        port.ep_merging = 1
    port.ep_bytes += size
    port.ep_flows += 1
    port.updated = max(port.updated, ready + size / port.rate)
    if port.nic_busy == 0:
        return True
    messages_of(t)[msg].nic_next = -1
    if port.nic_last >= 0:
        messages_of(t)[port.nic_last].nic_next = msg
    else:
        port.nic_first = msg
    port.nic_last = msg
    return False


@kernel_part
def start_stream(t: Tables, path: int, rate: float) -> None:
    """Let an endless background flow of this rate begin at time 0."""
    longest = settings_of(t)[0].longest
    slot = take_slot(t, -1, path, np.inf, 0.0)
    route = paths_of(t)[path]
    lay_hops(t, slot, path)
    hops_of(t)[slot * longest + 1].rate = rate
    push(t, ports_of(t)[path_ports_of(t)[route.begin]].latency, HEAD + 16 * slot, 0.0, 0, EARLY)


@kernel_part
def wait_at_random(message: Any, port: Any, ingress: int, rest: float) -> float:
    """Mean wait behind random background at a port without a queue; what is random is kept with the message.

    The background that comes in beside the `rest` of the message is random too; its mean is in the sharing.
    """
    if port.random_ingress == ingress:
        return 0.0
    if port.random_spread > 0.0 and 0.0 < rest < np.inf:
        comes_in = rest / message.alone_rate
        message.random_mean += port.random_share * comes_in
        message.random_variance += port.random_spread * comes_in
        message.random_bound = np.inf
    message.random_mean += port.random_wait
    message.random_variance += port.random_variance
    message.random_bound += port.random_bound
    return port.random_wait


@kernel_part
def on_head(t: Tables, slot: int, now: float) -> None:
    """The first packet of a message has wholly arrived at the next port of its path."""
    settings = settings_of(t)[0]
    message = flight_of(t)[slot]
    at = message.head
    message.head = at + 1
    is_last = at + 1 == message.hops
    here = slot * settings.longest + at
    index = hops_of(t)[here].port
    ingress = hops_of(t)[here - 1].port
    port = ports_of(t)[index]
    before = ports_of(t)[ingress]
    size = message.size
    first = min(size, settings.packet_bytes)
    settle(port, now)
    enter_episode(port, ingress, before, now - first / before.packet_rate)
    offer(message, port, before, first)
    extra = wait_at_random(message, port, ingress, size - first) if port.backlog <= EMPTY_BYTES else 0.0
    wait = port.backlog / port.rate + extra
    message.waited += wait
    reaches = now + wait + first / port.packet_rate + port.latency
    if size < np.inf:
        before.held += size
        before.held_peak = max(before.held_peak, before.held)
    if size <= settings.packet_bytes:
        # One packet: head and tail are the same moment.
        message.tail = at + 1
        port.backlog += size
        port.ep_bytes += size
        port.bytes += size
        note_load(message, port, index, now)
        if at > 1:
            depart(before)
            leave_buffer(t, hops_of(t)[here - 2].port, size)
        push_behind(t, 2 * index, reaches, (DELIVER if is_last else HEAD) + 16 * slot, 0.0, 0)
        leaving = port.packet_rate
        if port.first >= 0 and size > 0.0:
            # It is all there already, but takes its part of the output for as long as it took to come in.
            came = hops_of(t)[here].rate
            port.pulse += came
            push(t, now + size / came, PULSE + 16 * index, came, 0, EARLY)
            mark(t, index, now)
            leaving = min(leaving, came * output_share(port))
        if not is_last:
            hops_of(t)[here + 1].rate = leaving
        return
    if at == 1 and size < np.inf:
        arrives = message.started + size / before.rate + before.latency
        push_behind(t, 2 * ingress + 1, arrives, TAIL + 16 * slot, 0.0, 0)
    hop = hops_of(t)[here]
    port.inflow += hop.rate
    port.members += 1
    port.streams += 1 if size == np.inf else 0
    hop.counted = 0.0
    hop.updated = now
    hop.extra = extra
    hop.state = FLOWING
    if is_backlogged(port):
        mark(t, index, now)
    if not is_last:
        link_hop(t, port, here)
        hop.out = hop.rate * output_share(port)
        hops_of(t)[here + 1].rate = hop.out
        push_behind(t, 2 * index, reaches, HEAD + 16 * slot, 0.0, 0)


@kernel_part
def is_followed(t: Tables, message: Any, at: int, index: int) -> bool:
    """Whether the next message of the same source comes right behind, through the same port."""
    if message.follower < 0:
        return False
    other = flight_of(t)[message.follower]
    same = other.stamp == message.follower_stamp and other.hops > at
    return same and hops_of(t)[message.follower * settings_of(t)[0].longest + at].port == index


@kernel_part
def on_tail(t: Tables, slot: int, now: float) -> None:
    """The last packet of a message has wholly arrived at a port."""
    settings = settings_of(t)[0]
    message = flight_of(t)[slot]
    at = message.tail
    message.tail = at + 1
    here = slot * settings.longest + at
    hop = hops_of(t)[here]
    index = hop.port
    port = ports_of(t)[index]
    settle(port, now)
    was_backlogged = is_backlogged(port)
    rest = message.size - hop.counted - hop.rate * (now - hop.updated)
    port.members -= 1
    port.inflow = port.inflow - hop.rate if port.members > 0 else 0.0
    port.backlog = max(port.backlog + rest, 0.0)
    port.ep_bytes += rest
    port.bytes += message.size
    hop.state = PASSED
    note_load(message, port, index, now)
    before = ports_of(t)[hops_of(t)[here - 1].port]
    if at > 1:
        depart(before)
        leave_buffer(t, hops_of(t)[here - 2].port, message.size)
    first = min(message.size, settings.packet_bytes)
    ahead = max(port.backlog - first, 0.0)
    leaves = now + ahead / port.rate + first / port.packet_rate + port.latency + hop.extra
    if at + 1 < message.hops:
        unlink_hop(t, port, here)
    if at == 1 and before.nic_busy == 1:
        message.follower = before.nic_slot
        message.follower_stamp = flight_of(t)[before.nic_slot].stamp
    if port.first >= 0 and is_followed(t, message, at, index):
        # Until the next head counts, so that shares do not jump between messages of one source.
        port.pulse += hop.rate
        push(t, now + first / hop.rate, PULSE + 16 * index, hop.rate, 0, EARLY)
    if at + 1 < message.hops:
        push_behind(t, 2 * index + 1, leaves, TAIL + 16 * slot, 0.0, 0)
    else:
        push_behind(t, 2 * index + 1, leaves, DELIVER + 16 * slot, 0.0, 0)
    if was_backlogged or is_backlogged(port):
        mark(t, index, now)


@kernel_part
def on_rate(t: Tables, at: int, rate_in: float, stamp: int, now: float) -> None:
    """A message's inflow into a port changes."""
    settings = settings_of(t)[0]
    slot = at // settings.longest
    message = flight_of(t)[slot]
    hop = hops_of(t)[at]
    if message.stamp != stamp or hop.state == PASSED:
        return
    if hop.state == FLOWING:
        index = hop.port
        port = ports_of(t)[index]
        settle(port, now)
        hop.counted += hop.rate * (now - hop.updated)
        hop.updated = now
        port.inflow += rate_in - hop.rate
        mark(t, index, now)
    hop.rate = rate_in

"""The port model: every output port is one FIFO served at its capacity.

A port's state is its backlog and the sum of the rates at which messages flow in; between events the backlog
changes at inflow - capacity, and whatever arrives leaves after the backlog that it finds. A message is followed
by two moments at each hop: when its first packet has wholly arrived (head) and when its last has (tail). While it
flows through a backlogged port, its share of the output is its share of the input; a change of the shares
reaches the next hop after the backlog it queues behind (ripple).
"""

from __future__ import annotations

from typing import Any

from estimator.replay.layout import (
    ABSENT,
    FLOWING,
    N_SLOT_FREE,
    PASSED,
    VERSION,
    Network,
    Settings,
    State,
)
from estimator.replay.queue_kernel import DELIVER, DRAIN, EARLY, HEAD, LATE, RATE, RIPPLE, TAIL, push
from vef.compiled import kernel

# A backlog below this many bytes is an empty queue (rounding of sums of rates over time).
EMPTY_BYTES = 0.25


@kernel
def settle(port: Any, now: float) -> None:
    """Bring a port's backlog up to now."""
    elapsed = now - port.updated
    if elapsed > 0.0:
        port.ep_bytes += port.inflow * elapsed
        backlog = port.backlog + (port.inflow - port.rate) * elapsed
        port.backlog = backlog if backlog > EMPTY_BYTES else 0.0
        port.updated = now


@kernel
def is_backlogged(port: Any) -> bool:
    return port.backlog > EMPTY_BYTES or port.inflow > port.rate * (1.0 + 1e-9)


@kernel
def mark(net: Network, state: State, index: int, now: float) -> None:
    """Have the port's output shares looked at once all events of this instant are in."""
    port = net.ports[index]
    if port.first >= 0 and port.dirty == 0:
        port.dirty = 1
        push(state, now, RIPPLE + 16 * index, 0.0, 0, LATE)


@kernel
def ripple(net: Network, state: State, settings: Settings, longest: int, index: int, now: float) -> None:
    """Announce changed output rates to the next hop, where they arrive behind today's backlog."""
    port = net.ports[index]
    port.dirty = 0
    settle(port, now)
    share = port.rate / port.inflow if is_backlogged(port) and port.inflow > 0.0 else 1.0
    wait = port.backlog / port.rate
    at = port.first
    while at >= 0:
        hop = state.hops[at]
        out = hop.rate * share
        if abs(out - hop.out) > settings.ripple_tolerance * hop.out:
            hop.out = out
            message = state.flight[at // longest]
            first = min(message.size, settings.packet_bytes)
            reaches = now + wait + first / port.packet_rate + port.latency
            push(state, reaches, RATE + 16 * (at + 1), out, message.stamp, EARLY)
        at = hop.next
    if port.first >= 0 and port.backlog > EMPTY_BYTES and port.inflow < port.rate * (1.0 - 1e-9):
        state.counter[VERSION] += 1
        port.version = state.counter[VERSION]
        empty = now + port.backlog / (port.rate - port.inflow)
        push(state, empty, DRAIN + 16 * index, 0.0, port.version, LATE)


@kernel
def link_hop(state: State, port: Any, at: int) -> None:
    hop = state.hops[at]
    hop.next = port.first
    hop.prev = -1
    if port.first >= 0:
        state.hops[port.first].prev = at
    port.first = at


@kernel
def unlink_hop(state: State, port: Any, at: int) -> None:
    hop = state.hops[at]
    if hop.prev >= 0:
        state.hops[hop.prev].next = hop.next
    else:
        port.first = hop.next
    if hop.next >= 0:
        state.hops[hop.next].prev = hop.prev


@kernel
def enter_episode(port: Any, ingress: int, first_bit: float) -> None:
    """A message's head is at the port: start or continue the port's busy period."""
    if port.members == 0 and port.backlog <= EMPTY_BYTES:
        port.ep_start = first_bit
        port.ep_bytes = 0.0
        port.ep_source = ingress
        port.ep_merging = 0
        port.ep_flows = 0
        port.ep_peak = 0.0
        port.present = 0
    elif port.ep_source != ingress:
        port.ep_merging = 1
    port.present += 1
    port.ep_flows = max(port.ep_flows, port.present)


@kernel
def note_load(message: Any, port: Any, index: int, now: float) -> None:
    """Offered load of the port's busy period so far, kept with the message if it is its worst."""
    port.ep_peak = max(port.ep_peak, port.backlog)
    port.peak_backlog = max(port.peak_backlog, port.backlog)
    window = now - port.ep_start
    if port.ep_merging == 0 or window <= 0.0:
        return
    rho = port.ep_bytes / (port.rate * window)
    port.max_rho = max(port.max_rho, rho)
    if rho > message.rho:
        message.rho = rho
        message.rho_port = index
        message.rho_flows = port.ep_flows
        message.rho_peak = port.ep_peak
        message.rho_bytes = port.ep_bytes


@kernel
def depart(port: Any) -> None:
    """A message has wholly left the port."""
    if port.present > 0:
        port.present -= 1


@kernel
def take_slot(state: State, msg: int, path: int, size: float, posted: float) -> int:
    """A place for a message that enters the network."""
    state.counter[N_SLOT_FREE] -= 1
    slot = state.flight_free[state.counter[N_SLOT_FREE]]
    message = state.flight[slot]
    message.msg = msg
    message.path = path
    message.size = size
    message.posted = posted
    message.waited = 0.0
    message.shared = 0
    message.head = 1
    message.tail = 1
    message.stamp += 1
    message.rho = 0.0
    message.rho_port = -1
    message.rho_flows = 1
    message.rho_peak = 0.0
    message.rho_bytes = 0.0
    return slot


@kernel
def inject(
    net: Network, state: State, settings: Settings, longest: int, msg: int, path: int, size: float, posted: float
) -> None:
    """Start a message on its injection port, which is free or will be when it has left the one before."""
    route = net.paths[path]
    index = net.path_ports[route.begin]
    port = net.ports[index]
    slot = take_slot(state, msg, path, size, posted)
    message = state.flight[slot]
    ready = posted + settings.overhead_s
    start = max(ready, port.nic_free)
    message.started = start
    port.nic_free = start + size / port.rate
    port.nic_busy = 1
    port.bytes += size
    port.updated = max(port.updated, ready + size / port.rate)
    if port.ep_merging == 1 and port.updated > port.ep_start:
        message.shared = 1
        message.rho = port.ep_bytes / (port.rate * (port.updated - port.ep_start))
        message.rho_port = index
        message.rho_flows = port.ep_flows
        message.rho_bytes = port.ep_bytes
        port.max_rho = max(port.max_rho, message.rho)
    if route.hops == 1:
        push(state, port.nic_free + port.latency, DELIVER + 16 * slot, 0.0, 0, EARLY)
        return
    for hop in range(route.hops):
        state.hops[slot * longest + hop].state = ABSENT
    state.hops[slot * longest + 1].rate = port.rate
    first = min(size, settings.packet_bytes)
    push(state, start + first / port.packet_rate + port.latency, HEAD + 16 * slot, 0.0, 0, EARLY)


@kernel
def post_to_nic(
    net: Network,
    state: State,
    settings: Settings,
    longest: int,
    msg: int,
    path: int,
    size: float,
    posted: float,
    source: int,
) -> None:
    """Put a message at the end of its host's injection queue."""
    port = net.ports[net.path_ports[net.paths[path].begin]]
    ready = posted + settings.overhead_s
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
    if port.nic_busy == 0:
        inject(net, state, settings, longest, msg, path, size, posted)
        return
    state.messages[msg].nic_next = -1
    if port.nic_last >= 0:
        state.messages[port.nic_last].nic_next = msg
    else:
        port.nic_first = msg
    port.nic_last = msg


@kernel
def on_head(net: Network, state: State, settings: Settings, longest: int, slot: int, now: float) -> None:
    """The first packet of a message has wholly arrived at the next port of its path."""
    message = state.flight[slot]
    route = net.paths[message.path]
    at = message.head
    message.head = at + 1
    is_last = at + 1 == route.hops
    index = net.path_ports[route.begin + at]
    ingress = net.path_ports[route.begin + at - 1]
    port = net.ports[index]
    before = net.ports[ingress]
    size = message.size
    first = min(size, settings.packet_bytes)
    settle(port, now)
    enter_episode(port, ingress, now - first / before.packet_rate)
    wait = port.backlog / port.rate
    message.waited += wait
    reaches = now + wait + first / port.packet_rate + port.latency
    if size <= settings.packet_bytes:
        # One packet: head and tail are the same moment.
        message.tail = at + 1
        was_backlogged = is_backlogged(port)
        port.backlog += size
        port.ep_bytes += size
        port.bytes += size
        note_load(message, port, index, now)
        if at > 1:
            depart(before)
        push(state, reaches, (DELIVER if is_last else HEAD) + 16 * slot, 0.0, 0, EARLY)
        if not was_backlogged:
            mark(net, state, index, now)
        return
    if at == 1:
        arrives = message.started + size / before.rate + before.latency
        push(state, arrives, TAIL + 16 * slot, 0.0, 0, EARLY)
    hop = state.hops[slot * longest + at]
    port.inflow += hop.rate
    port.members += 1
    hop.counted = 0.0
    hop.updated = now
    hop.state = FLOWING
    if is_backlogged(port):
        mark(net, state, index, now)
    if not is_last:
        link_hop(state, port, slot * longest + at)
        hop.out = hop.rate * port.rate / port.inflow if is_backlogged(port) else hop.rate
        state.hops[slot * longest + at + 1].rate = hop.out
        push(state, reaches, HEAD + 16 * slot, 0.0, 0, EARLY)


@kernel
def on_tail(net: Network, state: State, settings: Settings, longest: int, slot: int, now: float) -> None:
    """The last packet of a message has wholly arrived at a port."""
    message = state.flight[slot]
    route = net.paths[message.path]
    at = message.tail
    message.tail = at + 1
    index = net.path_ports[route.begin + at]
    port = net.ports[index]
    hop = state.hops[slot * longest + at]
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
    if at > 1:
        depart(net.ports[net.path_ports[route.begin + at - 1]])
    first = min(message.size, settings.packet_bytes)
    ahead = max(port.backlog - first, 0.0)
    leaves = now + ahead / port.rate + first / port.packet_rate + port.latency
    if at + 1 < route.hops:
        unlink_hop(state, port, slot * longest + at)
        push(state, leaves, TAIL + 16 * slot, 0.0, 0, EARLY)
    else:
        push(state, leaves, DELIVER + 16 * slot, 0.0, 0, EARLY)
    if was_backlogged or is_backlogged(port):
        mark(net, state, index, now)


@kernel
def on_rate(
    net: Network, state: State, longest: int, at: int, rate_in: float, stamp: int, now: float
) -> None:
    """A message's inflow into a port changes."""
    slot = at // longest
    message = state.flight[slot]
    hop = state.hops[at]
    if message.stamp != stamp or hop.state == PASSED:
        return
    if hop.state == FLOWING:
        index = net.path_ports[net.paths[message.path].begin + at - slot * longest]
        port = net.ports[index]
        settle(port, now)
        hop.counted += hop.rate * (now - hop.updated)
        hop.updated = now
        port.inflow += rate_in - hop.rate
        mark(net, state, index, now)
    hop.rate = rate_in

"""The fluid model: all messages in flight share the links max-min fairly, by progressive filling.

Whenever a message starts or ends, every rate is worked out anew: the most contended port gives its flows equal
shares, these are fixed, and so on with what is left. It is the reference for sharing without queues.
"""

from __future__ import annotations

import numpy as np

from estimator.replay.closed_kernel import note_flows, register, release, startup
from estimator.replay.layout import FLOW_FIRST, REFILL_DUE, VERSION
from estimator.replay.queue_kernel import DELIVER, EARLY, LATE, REFILL, push
from estimator.replay.tables import (
    Tables,
    clock_of,
    counter_of,
    flight_of,
    path_ports_of,
    paths_of,
    ports_of,
)
from vef.compiled import kernel_part

# A flow with less than this left is through (rounding of rates over time).
DONE_BYTES = 1e-3

# Of a time, as a share of it; what a flow sends in less is rounding, too.
ROUNDING = 2.0**-50


@kernel_part
def post_fluid(t: Tables, msg: int, path: int, size: float, now: float, source: int) -> None:
    """Add a flow; the rates follow once the instant is complete."""
    counter = counter_of(t)
    slot = register(t, msg, path, size, now, source)
    message = flight_of(t)[slot]
    message.left_bytes = size
    message.speed = 0.0
    message.prev = -1
    message.next = counter[FLOW_FIRST]
    if message.next >= 0:
        flight_of(t)[message.next].prev = slot
    counter[FLOW_FIRST] = slot
    ask_refill(t, now)


@kernel_part
def ask_refill(t: Tables, now: float) -> None:
    counter = counter_of(t)
    if counter[REFILL_DUE] == 0:
        counter[REFILL_DUE] = 1
        counter[VERSION] += 1
        push(t, now, REFILL, 0.0, counter[VERSION], LATE)


@kernel_part
def end_flow(t: Tables, slot: int, now: float) -> None:
    """A flow has sent its last byte: it is delivered after its start-up latency."""
    message = flight_of(t)[slot]
    if message.prev >= 0:
        flight_of(t)[message.prev].next = message.next
    else:
        counter_of(t)[FLOW_FIRST] = message.next
    if message.next >= 0:
        flight_of(t)[message.next].prev = message.prev
    release(t, slot)
    push(t, now + startup(t, message.path, message.size), DELIVER + 16 * slot, 0.0, 0, EARLY)


@kernel_part
def refill(t: Tables, stamp: int, now: float) -> None:
    """Work out every rate anew, and when the next flow ends."""
    counter = counter_of(t)
    if stamp != counter[VERSION]:
        return
    counter[REFILL_DUE] = 0
    flight = flight_of(t)
    elapsed = now - clock_of(t)[2]
    clock_of(t)[2] = now
    slot = counter[FLOW_FIRST]
    while slot >= 0:
        message = flight[slot]
        after = message.next
        message.left_bytes -= message.speed * elapsed
        if message.left_bytes <= max(DONE_BYTES, message.speed * now * ROUNDING):
            end_flow(t, slot, now)
        slot = after
    share_links(t)
    soonest = np.inf
    slot = counter[FLOW_FIRST]
    while slot >= 0:
        soonest = min(soonest, flight[slot].left_bytes / flight[slot].speed)
        slot = flight[slot].next
    if soonest < np.inf:
        counter[VERSION] += 1
        push(t, now + soonest, REFILL, 0.0, counter[VERSION], LATE)


@kernel_part
def share_links(t: Tables) -> None:
    """Progressive filling; a port's `backlog` is the capacity left, its `ep_flows` the flows not yet fixed."""
    counter = counter_of(t)
    flight = flight_of(t)
    slot = counter[FLOW_FIRST]
    unfixed = 0
    while slot >= 0:
        message = flight[slot]
        message.speed = 0.0
        unfixed += 1
        route = paths_of(t)[message.path]
        for at in range(route.begin, route.begin + route.hops):
            index = path_ports_of(t)[at]
            port = ports_of(t)[index]
            port.backlog = port.rate - port.inflow
            port.ep_flows = port.flows - port.streams
            if port.flows > 1:
                note_flows(message, port, index)
        slot = message.next
    while unfixed > 0:
        least = np.inf
        slot = counter[FLOW_FIRST]
        while slot >= 0:
            least = min(least, fair_share(t, slot)) if flight[slot].speed == 0.0 else least
            slot = flight[slot].next
        slot = counter[FLOW_FIRST]
        while slot >= 0:
            message = flight[slot]
            if message.speed == 0.0 and fair_share(t, slot) <= least * (1.0 + 1e-12):
                message.speed = least
                unfixed -= 1
                route = paths_of(t)[message.path]
                for at in range(route.begin, route.begin + route.hops):
                    port = ports_of(t)[path_ports_of(t)[at]]
                    port.backlog = max(port.backlog - least, 0.0)
                    port.ep_flows -= 1
            slot = message.next


@kernel_part
def fair_share(t: Tables, slot: int) -> float:
    """Smallest equal share on a flow's path."""
    route = paths_of(t)[flight_of(t)[slot].path]
    share = np.inf
    for at in range(route.begin, route.begin + route.hops):
        port = ports_of(t)[path_ports_of(t)[at]]
        share = min(share, port.backlog / max(1, port.ep_flows))
    return share

"""Event queue of the replay loop: a binary heap whose ties keep the order of insertion.

Events that leave a port in order share one place in it (lanes); the ripples of an instant are a list of their own.
"""

from __future__ import annotations

import numpy as np

from estimator.replay.layout import DUE_FIRST, DUE_LAST, N_EVENT_FREE, N_HEAP, SEQUENCE
from estimator.replay.tables import (
    Tables,
    counter_of,
    event_free_of,
    events_of,
    heap_of,
    lanes_of,
    ports_of,
)
from vef.compiled import kernel_part

# Events closer than this (0.11 ps) count as simultaneous, so that rounding never decides a tie.
TICKS_PER_S = 2.0**43

# Kinds of event; code = kind + 16 * reference.
(
    TASK, THREAD, HEAD, TAIL, RATE, DELIVER, RIPPLE, LOCAL, SAMPLE, DRAIN, REFILL, PULSE, CELL, FREE, CREDIT,
) = range(15)  # fmt: skip

EARLY, LATE = 0, 1 << 62  # added to the order of insertion


# Of an entry's tag: where its event lies, below its place in the order of insertion.
SLOT_BITS = 26
SLOT_MASK = (1 << SLOT_BITS) - 1


@kernel_part
def ticks(time: float) -> float:
    return np.floor(time * TICKS_PER_S + 0.5)  # a float: the ticks of a million seconds do not fit an i8


@kernel_part
def new_event(t: Tables, time: float, code: int, value: float, stamp: int, late: int) -> int:
    """A free slot with the event in it."""
    counter = counter_of(t)
    counter[N_EVENT_FREE] -= 1
    slot = event_free_of(t)[counter[N_EVENT_FREE]]
    event = events_of(t)[slot]
    event.time = time
    event.code = code
    event.value = value
    event.stamp = stamp
    event.tag = late + (counter[SEQUENCE] << SLOT_BITS) + slot
    event.lane = -1
    counter[SEQUENCE] += 1
    return slot


@kernel_part
def rise(t: Tables, at: int, key: float, tag: int) -> None:
    """Put an entry at a free place of the heap or above it."""
    heap = heap_of(t)
    while at > 0:
        up = (at - 1) >> 1
        if heap[up].key < key or (heap[up].key == key and heap[up].tag < tag):
            break
        heap[at].key = heap[up].key
        heap[at].tag = heap[up].tag
        at = up
    heap[at].key = key
    heap[at].tag = tag


@kernel_part
def push(t: Tables, time: float, code: int, value: float, stamp: int, late: int) -> None:
    """Add an event; a `late` one comes after all others of its instant."""
    slot = new_event(t, time, code, value, stamp, late)
    counter = counter_of(t)
    at = counter[N_HEAP]
    counter[N_HEAP] = at + 1
    rise(t, at, ticks(time), events_of(t)[slot].tag)


@kernel_part
def push_behind(t: Tables, lane: int, time: float, code: int, value: float, stamp: int) -> None:
    """Add an event to a lane, a queue of events of which only the first is in the heap.

    What leaves a port leaves in order, so a port with a long backlog needs one place in the heap and not thousands.
    An event that is before the lane's last goes into the heap by itself.
    """
    last = lanes_of(t)[lane]
    if last >= 0 and events_of(t)[last].time > time:
        push(t, time, code, value, stamp, EARLY)
        return
    slot = new_event(t, time, code, value, stamp, EARLY)
    event = events_of(t)[slot]
    event.lane = lane
    event.next = -1
    lanes_of(t)[lane] = slot
    if last >= 0:
        events_of(t)[last].next = slot
        return
    counter = counter_of(t)
    at = counter[N_HEAP]
    counter[N_HEAP] = at + 1
    rise(t, at, ticks(time), event.tag)


@kernel_part
def pop(t: Tables) -> int:
    """Remove the earliest event; its slot stays readable until the next push."""
    counter = counter_of(t)
    heap = heap_of(t)
    events = events_of(t)
    slot = heap[0].tag & SLOT_MASK
    event_free_of(t)[counter[N_EVENT_FREE]] = slot
    counter[N_EVENT_FREE] += 1
    n = counter[N_HEAP]
    lane = events[slot].lane
    follower = -1
    if lane >= 0:
        follower = events[slot].next
        if follower < 0:
            lanes_of(t)[lane] = -1
    if follower >= 0:
        key = ticks(events[follower].time)
        tag = events[follower].tag
    else:
        n -= 1
        counter[N_HEAP] = n
        key = heap[n].key
        tag = heap[n].tag
    # The hole sinks to the bottom along the smaller children, where the entry mostly belongs.
    at = 0
    down = 1
    while down + 1 < n:
        right = heap[down + 1]
        left = heap[down]
        down += (right.key < left.key) | ((right.key == left.key) & (right.tag < left.tag))
        heap[at].key = heap[down].key
        heap[at].tag = heap[down].tag
        at = down
        down = 2 * at + 1
    if down < n:
        heap[at].key = heap[down].key
        heap[at].tag = heap[down].tag
        at = down
    rise(t, at, key, tag)
    return slot


@kernel_part
def ripple_due(t: Tables) -> int:
    """The port whose ripple is next before all events, or -1."""
    counter = counter_of(t)
    index = counter[DUE_FIRST]
    if index < 0:
        return -1
    port = ports_of(t)[index]
    if counter[N_HEAP] > 0:
        first = heap_of(t)[0]
        key = ticks(port.due_time)
        if first.key < key or (first.key == key and first.tag < port.due_tag):
            return -1
    counter[DUE_FIRST] = port.due_next
    if port.due_next < 0:
        counter[DUE_LAST] = -1
    return index


@kernel_part
def ask_ripple(t: Tables, index: int, now: float) -> None:
    """Have a port's ripple done after all other events of this instant."""
    counter = counter_of(t)
    port = ports_of(t)[index]
    port.due_time = now
    port.due_tag = LATE + (counter[SEQUENCE] << SLOT_BITS)
    port.due_next = -1
    counter[SEQUENCE] += 1
    if counter[DUE_LAST] >= 0:
        ports_of(t)[counter[DUE_LAST]].due_next = index
    else:
        counter[DUE_FIRST] = index
    counter[DUE_LAST] = index

"""Event queue of the replay loop: a calendar of buckets, whose ties keep the order of insertion.

Time is cut into buckets of equal width. The calendar holds as many of them as it has places, from the current one on
(its window); what comes after is in one list, the far list, until the window is used up. The events of the current
bucket are sorted once (the run); what comes into that bucket later goes into a binary heap. The width follows the
rate of events, so that a bucket has a few, and adding and taking an event cost the same however many wait.

Events that leave a port in order share one place in it (lanes); the ripples of an instant are a list of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimator.replay.layout import DUE_FIRST, DUE_LAST, N_EVENT_FREE, SEQUENCE, TICKS_PER_S
from estimator.replay.tables import (
    Tables,
    buckets_of,
    counter_of,
    event_free_of,
    events_of,
    heap_of,
    lanes_of,
    ports_of,
    queue_of,
    run_of,
)
from vef.compiled import kernel_part

# Kinds of event; code = kind + 16 * reference.
(
    TASK, THREAD, HEAD, TAIL, RATE, DELIVER, RIPPLE, LOCAL, SAMPLE, DRAIN, REFILL, PULSE, CELL, FREE, CREDIT,
) = range(15)  # fmt: skip

EARLY, LATE = 0, 1 << 62  # added to the order of insertion


# Of an entry's tag: where its event lies, below its place in the order of insertion.
SLOT_BITS = 26
SLOT_MASK = (1 << SLOT_BITS) - 1

# Events that a bucket is made for, and after how many, per bucket of the window, the width is looked at again.
EVENTS_PER_BUCKET = 2.0
MOST_EVENTS_PER_BUCKET = 4

# Places that an event may move while a bucket is sorted; further, and it goes into the heap.
MOST_SHIFTS = 32


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
def is_before(one: Any, key: float, tag: int) -> bool:
    return (one.key < key) | ((one.key == key) & (one.tag < tag))


@kernel_part
def rise(t: Tables, at: int, key: float, tag: int) -> None:
    """Put an entry at a free place of the heap or above it."""
    heap = heap_of(t)
    while at > 0:
        up = (at - 1) >> 1
        if is_before(heap[up], key, tag):
            break
        heap[at].key = heap[up].key
        heap[at].tag = heap[up].tag
        at = up
    heap[at].key = key
    heap[at].tag = tag


@kernel_part
def heap_push(t: Tables, key: float, tag: int) -> None:
    queue = queue_of(t)[0]
    at = queue.heap
    queue.heap = at + 1
    rise(t, at, key, tag)


@kernel_part
def heap_pop(t: Tables) -> None:
    """Remove the heap's first entry."""
    queue = queue_of(t)[0]
    heap = heap_of(t)
    n = queue.heap - 1
    queue.heap = n
    # The hole sinks to the bottom along the smaller children, where the last entry mostly belongs.
    at = 0
    down = 1
    while down + 1 < n:
        left = heap[down]
        down += is_before(heap[down + 1], left.key, left.tag)
        heap[at].key = heap[down].key
        heap[at].tag = heap[down].tag
        at = down
        down = 2 * at + 1
    if down < n:
        heap[at].key = heap[down].key
        heap[at].tag = heap[down].tag
        at = down
    rise(t, at, heap[n].key, heap[n].tag)


@kernel_part
def bucket_of(t: Tables, key: float) -> int:
    # Beyond the largest i8 there is no order among buckets any more; nothing is expected there before all else.
    return int(min(key * queue_of(t)[0].per_tick, 9e18))


@kernel_part
def place(t: Tables, slot: int) -> None:
    """Put an event where its time belongs."""
    queue = queue_of(t)[0]
    event = events_of(t)[slot]
    key = ticks(event.time)
    bucket = bucket_of(t, key)
    if bucket <= queue.bucket:
        heap_push(t, key, event.tag)
    elif bucket < queue.window_end:
        at = bucket & queue.mask
        event.link = buckets_of(t)[at]
        buckets_of(t)[at] = slot
    else:
        event.link = queue.far
        queue.far = slot


@kernel_part
def push(t: Tables, time: float, code: int, value: float, stamp: int, late: int) -> None:
    """Add an event; a `late` one comes after all others of its instant."""
    place(t, new_event(t, time, code, value, stamp, late))


@kernel_part
def push_behind(t: Tables, lane: int, time: float, code: int, value: float, stamp: int) -> None:
    """Add an event to a lane, a queue of events of which only the first is in the calendar.

    What leaves a port leaves in order, so a port with a long backlog needs one place in it and not thousands.
    An event that is before the lane's last goes into the calendar by itself.
    """
    last = lanes_of(t)[lane]
    slot = new_event(t, time, code, value, stamp, EARLY)
    if last >= 0 and events_of(t)[last].time > time:
        place(t, slot)
        return
    event = events_of(t)[slot]
    event.lane = lane
    event.next = -1
    lanes_of(t)[lane] = slot
    if last >= 0:
        events_of(t)[last].next = slot
    else:
        place(t, slot)


@kernel_part
def sort_bucket(t: Tables, slot: int) -> None:
    """Make the run, latest first, of a bucket's events, which come latest added first."""
    queue = queue_of(t)[0]
    run = run_of(t)
    n = 0
    while slot >= 0:
        event = events_of(t)[slot]
        key = ticks(event.time)
        tag = event.tag
        slot = event.link
        if n >= MOST_SHIFTS and is_before(run[n - MOST_SHIFTS], key, tag):
            heap_push(t, key, tag)
            continue
        at = n
        while at > 0 and is_before(run[at - 1], key, tag):
            run[at].key = run[at - 1].key
            run[at].tag = run[at - 1].tag
            at -= 1
        run[at].key = key
        run[at].tag = tag
        n += 1
    queue.run = n


@kernel_part
def put_off(t: Tables, slot: int) -> None:
    events_of(t)[slot].link = queue_of(t)[0].far
    queue_of(t)[0].far = slot


@kernel_part
def close_window(t: Tables) -> None:
    """Put all events into the far list."""
    queue = queue_of(t)[0]
    for at in range(queue.heap):
        put_off(t, heap_of(t)[at].tag & SLOT_MASK)
    for at in range(queue.run):
        put_off(t, run_of(t)[at].tag & SLOT_MASK)
    queue.heap = 0
    queue.run = 0
    for bucket in range(queue.bucket + 1, queue.window_end):
        slot = buckets_of(t)[bucket & queue.mask]
        buckets_of(t)[bucket & queue.mask] = -1
        while slot >= 0:
            after = events_of(t)[slot].link
            put_off(t, slot)
            slot = after


@kernel_part
def open_window(t: Tables) -> None:
    """With all events in the far list: suit the width to the rate of events, and begin at the first of them."""
    queue = queue_of(t)[0]
    passed = queue.bucket + 1 - (queue.window_end - queue.mask - 1)
    if queue.taken > 0:
        change = queue.taken / (EVENTS_PER_BUCKET * max(passed, 1))
        # Not wider by more than that at once: a pause says nothing of what comes after it. No bucket below one tick.
        queue.per_tick = min(queue.per_tick * max(change, 1.0 / 64.0), 1.0)
    queue.taken = 0
    first = np.inf
    slot = queue.far
    while slot >= 0:
        first = min(first, events_of(t)[slot].time)
        slot = events_of(t)[slot].link
    queue.bucket = bucket_of(t, ticks(first)) - 1
    queue.window_end = queue.bucket + 1 + queue.mask + 1
    slot = queue.far
    queue.far = -1
    while slot >= 0:
        after = events_of(t)[slot].link
        place(t, slot)
        slot = after


@kernel_part
def has_event(t: Tables) -> bool:
    """Whether any event is left; if so, the first is in the run or the heap."""
    queue = queue_of(t)[0]
    while queue.run == 0 and queue.heap == 0:
        if queue.bucket + 1 >= queue.window_end:
            if queue.far < 0:
                return False
            open_window(t)
        queue.bucket += 1
        slot = buckets_of(t)[queue.bucket & queue.mask]
        if slot >= 0:
            buckets_of(t)[queue.bucket & queue.mask] = -1
            sort_bucket(t, slot)
    return True


@kernel_part
def is_run_first(t: Tables) -> bool:
    """Whether the earliest event is the run's first, and not the heap's."""
    queue = queue_of(t)[0]
    if queue.run == 0 or queue.heap == 0:
        return bool(queue.run > 0)
    last = run_of(t)[queue.run - 1]
    return bool(is_before(last, heap_of(t)[0].key, heap_of(t)[0].tag))


@kernel_part
def pop(t: Tables) -> int:
    """Remove the earliest event, which `has_event` has found; its slot stays readable until the next push."""
    counter = counter_of(t)
    queue = queue_of(t)[0]
    if is_run_first(t):
        queue.run -= 1
        slot = run_of(t)[queue.run].tag & SLOT_MASK
    else:
        slot = heap_of(t)[0].tag & SLOT_MASK
        heap_pop(t)
    event_free_of(t)[counter[N_EVENT_FREE]] = slot
    counter[N_EVENT_FREE] += 1
    lane = events_of(t)[slot].lane
    if lane >= 0:
        follower = events_of(t)[slot].next
        if follower >= 0:
            place(t, follower)
        else:
            lanes_of(t)[lane] = -1
    queue.taken += 1
    if queue.taken > MOST_EVENTS_PER_BUCKET * queue.mask:
        close_window(t)
        open_window(t)
    return slot


@kernel_part
def ripple_due(t: Tables) -> int:
    """The port whose ripple is next before all events, or -1."""
    counter = counter_of(t)
    index = counter[DUE_FIRST]
    if index < 0:
        return -1
    port = ports_of(t)[index]
    if has_event(t):
        key = ticks(port.due_time)
        if is_run_first(t):
            if is_before(run_of(t)[queue_of(t)[0].run - 1], key, port.due_tag):
                return -1
        elif is_before(heap_of(t)[0], key, port.due_tag):
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

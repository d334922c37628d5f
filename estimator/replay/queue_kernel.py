"""Event queue of the replay loop: a binary heap whose ties keep the order of insertion."""

from __future__ import annotations

import numpy as np

from estimator.replay.layout import N_EVENT_FREE, N_HEAP, SEQUENCE
from estimator.replay.tables import (
    Tables,
    counter_of,
    event_free_of,
    events_of,
    heap_of,
)
from vef.compiled import kernel

# Events closer than this (0.11 ps) count as simultaneous, so that rounding never decides a tie.
TICKS_PER_S = 2.0**43

# Kinds of event; code = kind + 16 * reference.
(
    TASK, THREAD, HEAD, TAIL, RATE, DELIVER, RIPPLE, LOCAL, SAMPLE, DRAIN, REFILL, PULSE, CELL, FREE, CREDIT,
) = range(15)  # fmt: skip

EARLY, LATE = 0, 1 << 62  # added to the order of insertion


@kernel
def push(t: Tables, time: float, code: int, value: float, stamp: int, late: int) -> None:
    """Add an event; a `late` one comes after all others of its instant."""
    counter = counter_of(t)
    heap = heap_of(t)
    counter[N_EVENT_FREE] -= 1
    slot = event_free_of(t)[counter[N_EVENT_FREE]]
    event = events_of(t)[slot]
    event.time = time
    event.code = code
    event.value = value
    event.stamp = stamp
    key = np.floor(time * TICKS_PER_S + 0.5)  # a float: the ticks of a million seconds do not fit an i8
    seq = counter[SEQUENCE] + late
    at = counter[N_HEAP]
    counter[N_HEAP] = at + 1
    while at > 0:
        up = (at - 1) >> 1
        if heap[up].key < key or (heap[up].key == key and heap[up].seq < seq):
            break
        heap[at].key = heap[up].key
        heap[at].seq = heap[up].seq
        heap[at].slot = heap[up].slot
        at = up
    heap[at].key = key
    heap[at].seq = seq
    heap[at].slot = slot
    counter[SEQUENCE] += 1


@kernel
def pop(t: Tables) -> int:
    """Remove the earliest event; its slot stays readable until the next push."""
    counter = counter_of(t)
    heap = heap_of(t)
    result = heap[0].slot
    event_free_of(t)[counter[N_EVENT_FREE]] = result
    counter[N_EVENT_FREE] += 1
    n = counter[N_HEAP] - 1
    counter[N_HEAP] = n
    key = heap[n].key
    seq = heap[n].seq
    slot = heap[n].slot
    at = 0
    while True:
        down = 2 * at + 1
        if down >= n:
            break
        right = down + 1
        if right < n and (
            heap[right].key < heap[down].key
            or (heap[right].key == heap[down].key and heap[right].seq < heap[down].seq)
        ):
            down = right
        if heap[down].key > key or (heap[down].key == key and heap[down].seq > seq):
            break
        heap[at].key = heap[down].key
        heap[at].seq = heap[down].seq
        heap[at].slot = heap[down].slot
        at = down
    heap[at].key = key
    heap[at].seq = seq
    heap[at].slot = slot
    return result

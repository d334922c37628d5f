"""The event queue against one sorted list, and the patterns of steps against sets of pairs."""

from __future__ import annotations

from collections import Counter

import numba
import numpy as np
import pytest

from estimator.patterns import ALL_TO_ALL, INCAST, POINT_TO_POINT, RING, classify
from estimator.replay import layout, queue_kernel, tables

PORTS, CAPACITY, BUCKETS = 4, 4096, 16
EARLY_EVENT, LATE_EVENT, IN_LANE, RIPPLE, TAKE = range(5)

push, push_behind = queue_kernel.push, queue_kernel.push_behind
has_event, pop = queue_kernel.has_event, queue_kernel.pop
ask_ripple, ripple_due = queue_kernel.ask_ripple, queue_kernel.ripple_due
EARLY, LATE = queue_kernel.EARLY, queue_kernel.LATE
events_of, ports_of = tables.events_of, tables.ports_of


@numba.njit
def play(t, kinds, places, delays, taken):  # type: ignore[no-untyped-def]
    """Do as told, times counted from the last event taken; what was added as step i is taken as i."""
    count = 0
    now = 0.0
    asked = np.full(4, -1)
    for step in range(kinds.size):
        kind = kinds[step]
        if kind == EARLY_EVENT:
            push(t, now + delays[step], step, 0.0, 0, EARLY)
        elif kind == LATE_EVENT:
            push(t, now + delays[step], step, 0.0, 0, LATE)
        elif kind == IN_LANE:
            push_behind(t, places[step], now + delays[step], step, 0.0, 0)
        elif kind == RIPPLE:
            asked[places[step]] = step
            ask_ripple(t, places[step], now)
        else:
            due = ripple_due(t)
            if due >= 0:
                now = ports_of(t)[due].due_time
                taken[count] = asked[due]
            else:
                has_event(t)
                slot = pop(t)
                now = events_of(t)[slot].time
                taken[count] = events_of(t)[slot].code
            count += 1
    return count


def play_by_sorting(kinds: list[int], delays: list[float]) -> list[int]:
    """The same with a list in which the least is looked for."""
    waiting: list[tuple[float, int, int, float]] = []
    found = []
    now = 0.0
    for step, (kind, delay) in enumerate(zip(kinds, delays, strict=True)):
        if kind == TAKE:
            least = min(waiting)
            waiting.remove(least)
            now = least[3]
            found.append(least[2])
        else:
            time = now if kind == RIPPLE else now + delay
            ticks = np.floor(time * layout.TICKS_PER_S + 0.5)
            waiting.append((ticks, (kind in (LATE_EVENT, RIPPLE)) * 10**9 + step, step, time))
    return found


def fresh_tables() -> dict[str, np.ndarray]:
    empty = dict.fromkeys(tables.NAMES, np.zeros(1, np.int64))
    counter = np.zeros(layout.N_COUNTERS, np.int64)
    counter[[layout.DUE_FIRST, layout.DUE_LAST]] = -1
    counter[layout.N_EVENT_FREE] = CAPACITY
    queue = np.zeros(1, layout.QUEUE_TYPE)
    queue["mask"] = BUCKETS - 1
    queue["bucket"] = queue["far"] = -1
    queue["per_tick"] = 1.0 / (1e-7 * layout.TICKS_PER_S)
    return {
        **empty,
        "counter": counter,
        "queue": queue,
        "buckets": np.full(BUCKETS, -1, np.int32),
        "run": np.zeros(CAPACITY, layout.HEAP_TYPE),
        "heap": np.zeros(CAPACITY, layout.HEAP_TYPE),
        "events": np.zeros(CAPACITY, layout.EVENT_TYPE),
        "event_free": np.arange(CAPACITY, dtype=np.int32),
        "lanes": np.full(2 * PORTS, -1, np.int32),
        "ports": np.zeros(PORTS, layout.PORT_TYPE),
    }


@pytest.mark.parametrize("seed", range(20))
def test_events_come_in_the_order_of_one_sorted_list(seed: int) -> None:
    draw = np.random.default_rng(seed)
    kinds: list[int] = []
    asked: set[int] = set()
    places = draw.integers(0, PORTS, CAPACITY)
    waiting = 0
    for step in range(CAPACITY):
        kind = int(draw.choice([EARLY_EVENT, LATE_EVENT, IN_LANE, RIPPLE, TAKE], p=[0.2, 0.05, 0.25, 0.05, 0.45]))
        # One ripple of a port at a time, none asked for again before all are done.
        if kind == RIPPLE and (int(places[step]) in asked or waiting == 0):
            kind = IN_LANE
        if kind == TAKE and waiting == 0:
            kind = EARLY_EVENT
        if kind == RIPPLE:
            asked.add(int(places[step]))
        waiting += -1 if kind == TAKE else 1
        if waiting == 0:
            asked.clear()
        kinds.append(kind)
    # Few different delays, so that many events are at the same time, lanes get some out of order, and some come long
    # after the calendar's window.
    delays = draw.choice([0.0, 1e-9, 2e-9, 5e-9, 1e-6, 1e-3], CAPACITY)
    made = fresh_tables()
    addresses = np.array([made[name].ctypes.data for name in tables.NAMES], np.int64)
    taken = np.zeros(CAPACITY, np.int64)
    count = play(addresses.ctypes.data, np.array(kinds), places, delays, taken)
    assert taken[:count].tolist() == play_by_sorting(kinds, delays.tolist())
    assert count > CAPACITY / 3


def pattern_by_sets(pairs: set[tuple[int, int]], ranks: int) -> int:
    """The rules of `classify` in words of sets."""
    pairs = {(a, b) for a, b in pairs if a != b}
    sources, targets = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    members = len(sources | targets)
    most = max(targets.values(), default=0)
    if most >= 3 and 2 * most > len(pairs):
        return INCAST
    if members >= 3 and len(pairs) >= 0.8 * members * (members - 1):
        return ALL_TO_ALL
    near = all(min((b - a) % ranks, (a - b) % ranks) <= max(1, ranks / 8) for a, b in pairs)
    if len(pairs) >= 3 and len(sources) == len(targets) == len(pairs) and near:
        return RING
    return POINT_TO_POINT


@pytest.mark.parametrize("seed", range(40))
def test_patterns_follow_their_rules(seed: int) -> None:
    draw = np.random.default_rng(seed)
    groups, ranks, count = int(draw.integers(1, 6)), int(draw.integers(1, 20)), int(draw.integers(0, 200))
    group, src = draw.integers(0, groups, count), draw.integers(0, ranks, count)
    dst = {
        0: draw.integers(0, ranks, count),
        1: (src + 1 + group) % ranks,
        2: group % ranks,
        3: (src + draw.integers(0, 2, count)) % ranks,
    }[seed % 4]
    found = classify(group, src, dst, np.full(groups, ranks), groups)
    for own in range(groups):
        mine = group == own
        pairs = set(zip(src[mine].tolist(), dst[mine].tolist(), strict=True))
        assert found[own] == pattern_by_sets(pairs, ranks)

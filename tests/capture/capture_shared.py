"""What traces say about messages."""

from __future__ import annotations

from collections import defaultdict

from vef import MESSAGE, Trace


def messages_by_pair(trace: Trace) -> dict[tuple[int, int], tuple[int, int]]:
    """(from, to) → (messages, bytes)."""
    pairs: dict[tuple[int, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    rows = trace.kind == MESSAGE
    for task, peer, size in zip(
        trace.task[rows].tolist(), trace.peer[rows].tolist(), trace.send_bytes[rows].tolist(), strict=True
    ):
        number, total = pairs[task, peer]
        pairs[task, peer] = (number + 1, total + size)
    return dict(pairs)


def receive_order(trace: Trace, task: int) -> list[tuple[int, int]]:
    """(source, bytes) of the messages that records of a task depend on receiving, as they are first named."""
    rows = [row for row in range(len(trace)) if trace.task[row] == task and trace.dep[row] & 3 == 2]
    messages = dict.fromkeys(int(trace.dep_row[row]) for row in rows)
    return [(int(trace.task[row]), int(trace.send_bytes[row])) for row in messages]

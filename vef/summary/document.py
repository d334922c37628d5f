"""A summary as a document of plain values: base units (seconds, bytes), fixed names, the same for the same input."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from vef.documents import tool_version
from vef.records import COLLECTIVE, MESSAGE, PSEUDO, Op
from vef.summary.critical import CriticalPath
from vef.summary.summary import Summary
from vef.summary.traffic import add_up, heat_map

SCHEMA_VERSION = 1

# Rows of what could be as long as the trace: largest pairs, longest stretches of the critical path.
LISTED = 100

HEAT_CELLS = 16
DEPENDENCIES = ("start", "send", "receive", "collective")
WAYS = ("start", "message", "collective")
TASK_FIELDS = (
    "task", "records", "compute_s", "wait_s", "finish_s", "compute_share", "messages_sent", "bytes_sent",
    "destinations", "messages_received", "bytes_received", "sources", "collectives",
)  # fmt: skip


def document(summary: Summary) -> dict[str, Any]:
    """The whole summary; `vef/schemas/summary.schema.json` describes the fields."""
    trace = summary.trace
    tasks = task_rows(summary)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "congest", "version": tool_version()},
        "trace": {
            "path": trace.path,
            "sha256": trace.sha256,
            "tasks": trace.tasks,
            "records": len(trace),
            "clock_s": trace.header.clock_ps / 1e12,
            "only_send": trace.header.only_send,
        },
        "records": records(summary),
        "messages": messages(summary),
        "sizes": size_rows(summary),
        "ideal": ideal(summary),
        "balance": balance(summary),
        "critical_path": path_totals(summary),
        "heat_map": _heat_map(summary),
        "collectives": collective_rows(summary),
        "communicators": communicator_rows(summary),
        "tasks": tasks,
        "pairs": pair_rows(summary),
        "path_tasks": path_tasks(summary),
        "path_stretches": path_stretches(summary),
        "warnings": [
            {"code": problem.code, "message": problem.render(), "line": problem.line} for problem in trace.warnings
        ],
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def records(summary: Summary) -> dict[str, Any]:
    """Records by kind and by what they depend on."""
    trace = summary.trace
    kinds = np.bincount(trace.kind, minlength=3).tolist()
    dependencies = np.bincount(trace.dep & 3, minlength=4).tolist()
    return {
        "messages": kinds[MESSAGE],
        "pseudo": kinds[PSEUDO],
        "collective": kinds[COLLECTIVE],
        "dependencies": dict(zip(DEPENDENCIES, dependencies, strict=True)),
    }


def messages(summary: Summary) -> dict[str, Any]:
    """Real messages: those that carry traffic, pseudo-records left out."""
    sizes, pairs, trace = summary.sizes, summary.pairs, summary.trace
    eager, rendezvous = sum(sizes.eager_messages), sum(sizes.rendezvous_messages)
    total = sum(sizes.eager_bytes) + sum(sizes.rendezvous_bytes)
    largest = int(trace.send_bytes.max(initial=0, where=trace.kind == MESSAGE))
    return {
        "messages": eager + rendezvous,
        "bytes": total,
        "mean_bytes": _share(total, eager + rendezvous),
        "largest_bytes": largest,
        "zero_byte_messages": sizes.eager_messages[0] if sizes.most_bytes[:1] == [0] else 0,
        "to_self": sizes.to_self,
        "never_received": sizes.never_received,
        "received_again": sizes.received_again,
        "pairs": len(pairs),
        "eager_limit_bytes": summary.eager_limit_bytes,
        "eager_messages": eager,
        "eager_bytes": sum(sizes.eager_bytes),
        "rendezvous_messages": rendezvous,
        "rendezvous_bytes": sum(sizes.rendezvous_bytes),
    }


def size_rows(summary: Summary) -> list[dict[str, Any]]:
    """Histogram of message sizes; classes without messages between others are listed too."""
    sizes = summary.sizes
    columns = (
        sizes.most_bytes, sizes.eager_messages, sizes.rendezvous_messages, sizes.eager_bytes, sizes.rendezvous_bytes,
    )  # fmt: skip
    return [
        {
            "above_bytes": most // 2 if most > 1 else most - 1,
            "most_bytes": most,
            "messages": eager + rendezvous,
            "bytes": eager_bytes + rendezvous_bytes,
            "eager_messages": eager,
            "rendezvous_messages": rendezvous,
            "eager_bytes": eager_bytes,
            "rendezvous_bytes": rendezvous_bytes,
        }
        for most, eager, rendezvous, eager_bytes, rendezvous_bytes in zip(*columns, strict=True)
    ]


def _tick_s(summary: Summary) -> float:
    return summary.trace.header.clock_ps / 1e12


def _seconds(summary: Summary, ticks: int) -> float:
    """Seconds of a number of ticks, rounded once."""
    return ticks * summary.trace.header.clock_ps / 1e12


def ideal(summary: Summary) -> dict[str, Any]:
    """Run on a network without latency or limit of bandwidth, and what the tasks generate per second of it."""
    makespan_s = _seconds(summary, summary.makespan_ticks)
    of_messages = sum(summary.sizes.eager_bytes) + sum(summary.sizes.rendezvous_bytes)
    of_collectives = sum(group.sent_bytes for group in summary.collectives)
    return {
        "makespan_s": makespan_s,
        "makespan_ticks": summary.makespan_ticks,
        "compute_s": _seconds(summary, sum(summary.compute_ticks.tolist())),
        "wait_s": _seconds(summary, sum((summary.finish_ticks - summary.compute_ticks).tolist())),
        "message_bytes": of_messages,
        "collective_bytes": of_collectives,
        "message_bytes_per_s": _share(of_messages, makespan_s),
        "collective_bytes_per_s": _share(of_collectives, makespan_s),
    }


def balance(summary: Summary) -> dict[str, Any]:
    """How evenly the tasks compute and send.

    Load balance is mean over largest compute time, dependency efficiency is largest compute time over the makespan
    on an ideal network; their product is the share of the makespan that the mean task computes. These are the
    load balance and serialisation efficiency of the POP metrics (https://pop-coe.eu/node/69).
    """
    ticks, tasks = summary.compute_ticks.tolist(), summary.trace.tasks
    most, mean = max(ticks, default=0), sum(ticks) / tasks
    sent = add_up(summary.pairs.source, summary.pairs.size_bytes, tasks).tolist()
    mean_sent = sum(sent) / tasks
    return {
        "compute_min_s": _seconds(summary, min(ticks, default=0)),
        "compute_mean_s": mean * _tick_s(summary),
        "compute_max_s": _seconds(summary, most),
        "compute_max_task": ticks.index(most),
        "load_balance": _share(mean, most),
        "dependency_efficiency": _share(most, summary.makespan_ticks),
        "compute_share": _share(mean, summary.makespan_ticks),
        "bytes_sent_max_over_mean": _share(max(sent), mean_sent),
    }


def collective_rows(summary: Summary) -> list[dict[str, Any]]:
    """Groups of collectives alike in operation, communicator and size, by the bytes they are given."""
    return [
        {
            "op": group.op.label,
            "communicator": group.communicator,
            "ranks": group.ranks,
            "bytes": group.size_bytes,
            "count": group.count,
            "sent_bytes": group.sent_bytes,
            "waited_s": group.waited_s,
            "first_line": group.first_line,
        }
        for group in summary.collectives
    ]


def communicator_rows(summary: Summary) -> list[dict[str, Any]]:
    """Communicators in the order of the file, and what is called on them."""
    communicators = summary.trace.communicators
    used = np.bincount(summary.trace.collectives.communicator, minlength=len(communicators)).tolist()
    sent: Counter[int] = Counter()
    for group in summary.collectives:
        sent[group.communicator] += group.sent_bytes
    return [
        {
            "communicator": number,
            "ranks": communicators.size(index),
            "members": ranges(communicators.members(index).tolist()),
            "collectives": used[index],
            "sent_bytes": sent[number],
        }
        for index, number in enumerate(communicators.ids.tolist())
    ]


def ranges(numbers: Sequence[int]) -> str:
    """Write numbers in their order, runs of even steps short: ``0-3``, ``0-12:4`` (every fourth), ``5,1,2``."""
    parts, at = [], 0
    while at < len(numbers):
        step = numbers[at + 1] - numbers[at] if at + 1 < len(numbers) else 0
        end = at
        while end + 1 < len(numbers) and numbers[end + 1] - numbers[end] == step > 0:
            end += 1
        if end - at < 2:
            parts.append(str(numbers[at]))
            at += 1
            continue
        parts.append(f"{numbers[at]}-{numbers[end]}" + (f":{step}" if step > 1 else ""))
        at = end + 1
    return ",".join(parts)


def task_rows(summary: Summary) -> list[dict[str, Any]]:
    """One row per task."""
    trace, pairs, tasks = summary.trace, summary.pairs, summary.trace.tasks
    entries = np.bincount(trace.task[trace.kind == COLLECTIVE], minlength=tasks)
    columns = (
        range(tasks),
        np.diff(trace.task_ptr).tolist(),
        (_seconds(summary, ticks) for ticks in summary.compute_ticks.tolist()),
        (_seconds(summary, ticks) for ticks in (summary.finish_ticks - summary.compute_ticks).tolist()),
        (_seconds(summary, ticks) for ticks in summary.finish_ticks.tolist()),
        (_share(ticks, summary.makespan_ticks) for ticks in summary.compute_ticks.tolist()),
        add_up(pairs.source, pairs.messages, tasks).tolist(),
        add_up(pairs.source, pairs.size_bytes, tasks).tolist(),
        np.diff(pairs.ptr).tolist(),
        add_up(pairs.destination, pairs.messages, tasks).tolist(),
        add_up(pairs.destination, pairs.size_bytes, tasks).tolist(),
        np.bincount(pairs.destination, minlength=tasks).tolist(),
        entries.tolist(),
    )
    return [dict(zip(TASK_FIELDS, row, strict=True)) for row in zip(*columns, strict=True)]


def pair_rows(summary: Summary) -> list[dict[str, Any]]:
    """The pairs of tasks with the most bytes."""
    pairs = summary.pairs
    size = pairs.size_bytes.astype(np.float64)
    chosen = np.arange(len(pairs))
    if len(pairs) > LISTED:
        # Those above the bound, and of those at it the first.
        bound = np.partition(size, -LISTED)[-LISTED]
        chosen = np.concatenate((np.flatnonzero(size > bound), np.flatnonzero(size == bound)))[:LISTED]
    chosen = chosen[np.lexsort((chosen, -pairs.messages[chosen], -size[chosen]))]
    return [
        {
            "source": int(pairs.source[at]),
            "destination": int(pairs.destination[at]),
            "messages": int(pairs.messages[at]),
            "bytes": int(pairs.size_bytes[at]),
        }
        for at in chosen.tolist()
    ]


def _heat_map(summary: Summary) -> dict[str, Any]:
    block, size_bytes = heat_map(summary.pairs, summary.trace.tasks, HEAT_CELLS)
    return {"tasks_per_cell": block, "bytes": size_bytes}


def _crossings(path: CriticalPath, way: str) -> Any:
    """Stretches that the path enters so."""
    return np.flatnonzero(path.way == WAYS.index(way))


def path_totals(summary: Summary) -> dict[str, Any]:
    """What the critical path consists of."""
    path, trace = summary.path, summary.trace
    by_message, by_collective = _crossings(path, "message"), _crossings(path, "collective")
    sent = trace.send_bytes[path.last_row[by_message - 1]] if len(by_message) else np.zeros(0, np.int64)
    left = path.last_row[by_collective - 1] if len(by_collective) else np.zeros(0, np.int32)
    ops = np.bincount(trace.op[left], minlength=len(Op)).tolist()
    return {
        "compute_s": _seconds(summary, int((path.end_ticks - path.begin_ticks).sum())),
        "records": int(path.records.sum()),
        "stretches": len(path),
        "tasks": len(np.unique(path.task)),
        "messages": len(by_message),
        "message_bytes": int(add_up(np.zeros(len(sent), np.int8), sent, 1)[0]),
        "collectives": len(by_collective),
        "collectives_by_op": {op.label: ops[op] for op in Op if ops[op]},
    }


def path_tasks(summary: Summary) -> list[dict[str, Any]]:
    """Tasks on the critical path, by their compute time on it."""
    path, trace = summary.path, summary.trace
    ticks = add_up(path.task, path.end_ticks - path.begin_ticks, trace.tasks).tolist()
    stretches = np.bincount(path.task, minlength=trace.tasks).tolist()
    records_of = add_up(path.task, path.records, trace.tasks).tolist()
    # What the path leaves a task by is what it enters the next stretch by.
    left_by = np.append(path.way[1:], 0)[: len(path)]
    leaving = [np.bincount(path.task[left_by == way], minlength=trace.tasks).tolist() for way in range(len(WAYS))]
    found = [
        {
            "task": task,
            "compute_s": _seconds(summary, ticks[task]),
            "share": _share(ticks[task], summary.makespan_ticks),
            "stretches": stretches[task],
            "records": records_of[task],
            "messages": leaving[WAYS.index("message")][task],
            "collectives": leaving[WAYS.index("collective")][task],
        }
        for task in range(trace.tasks)
        if stretches[task]
    ]
    return sorted(found, key=lambda row: -ticks[row["task"]])


def path_stretches(summary: Summary) -> list[dict[str, Any]]:
    """The longest stretches of the critical path, with their lines of the file and what comes after."""
    path, trace = summary.path, summary.trace
    order = np.argsort(path.begin_ticks - path.end_ticks, kind="stable")[:LISTED]
    found = []
    for at in order.tolist():
        last_row = int(path.last_row[at])
        after = WAYS[int(path.way[at + 1])] if at + 1 < len(path) else "end"
        to_task = int(path.task[at + 1]) if at + 1 < len(path) else None
        name = None
        if after == "collective":
            name = f"G{trace.id[last_row]} {Op(int(trace.op[last_row])).label}"
        elif after == "message":
            name = str(trace.id[last_row])
        found.append(
            {
                "task": int(path.task[at]),
                "begin_s": _seconds(summary, int(path.begin_ticks[at])),
                "compute_s": _seconds(summary, int(path.end_ticks[at] - path.begin_ticks[at])),
                "share": _share(int(path.end_ticks[at] - path.begin_ticks[at]), summary.makespan_ticks),
                "first_line": trace.line(int(path.first_row[at])),
                "last_line": trace.line(last_row),
                "records": int(path.records[at]),
                "after": after,
                "after_id": name,
                "to_task": to_task,
            }
        )
    return found


def render_csv(document: dict[str, Any]) -> str:
    """Lines ``section,row,field,value``: all that the JSON has, `row` counting from 0 in sections with several."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("section", "row", "field", "value"))
    for section, content in document.items():
        if isinstance(content, list):
            for number, row in enumerate(content):
                writer.writerows((section, number, field, value) for field, value in _flat(row))
        elif isinstance(content, dict):
            writer.writerows((section, "", field, value) for field, value in _flat(content))
        else:
            writer.writerow((section, "", "", content))
    return out.getvalue()


def _flat(row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for field, value in row.items():
        if isinstance(value, dict):
            yield from ((f"{field}.{inner}", found) for inner, found in _flat(value))
        elif isinstance(value, list):
            yield field, ";".join(" ".join(map(str, line)) for line in value)
        else:
            yield field, value


def schema_text() -> str:
    """The JSON Schema (draft 2020-12) of a summary."""
    return files("vef").joinpath("schemas/summary.schema.json").read_text(encoding="utf-8")

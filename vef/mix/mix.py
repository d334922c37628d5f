"""From a raw capture to a trace: the records of VEF3, in the order and with the ids that VEF-Prospector gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vef.build import build_trace
from vef.ideal import ideal_replay
from vef.mix.events import Call, Capture, CaptureError
from vef.mix.flat import FINALIZE, Flat, flatten
from vef.mix.groups import Groups, group
from vef.mix.matching import Matches, match
from vef.mix.report import warnings_of
from vef.records import MAX_RECORDS, Trace

AT_START, AFTER_SEND, AFTER_RECEIVE, AFTER_COLLECTIVE = 0, 1, 2, 3
REAL = 4  # the flag of messages
MESSAGE, COLLECTIVE, PSEUDO, MARK = 0, 1, 2, 3  # MARK: the task goes on here although a collective is under way


@dataclass(frozen=True, eq=False)
class Mixed:
    """A trace made of a raw capture.

    Attributes
    ----------
    trace : Trace
        Checked as a trace that is read, and played to its end.
    ideal_makespan_s : float
        Seconds on an ideal network.
    warnings : tuple of str
        What was left out, replaced or assumed, with counts.
    """

    trace: Trace
    ideal_makespan_s: float
    warnings: tuple[str, ...]


def mix_capture(capture: Capture) -> Mixed:
    """Make the trace.

    Sends are messages, blocking receives and waits pseudo-records, each task's records are chained; see the format.
    A non-blocking collective is a record at its call and a pseudo-record with the same dependency, time 0, from where
    the task goes on; its wait is a pseudo-record whose successor depends on the collective. Reduce_scatter becomes an
    AlltoAll with totals, Scan and Exscan messages from each rank to the next.

    Raises
    ------
    CaptureError
        When the ranks do not fit together.
    InvalidTrace
        When the trace would not end: tasks wait for each other.
    """
    flat = flatten(capture)
    if len(flat) == 0:
        raise CaptureError(f"{capture.path}: found no MPI call in any file; expected the capture of a run")
    matches = match(flat)
    groups = group(flat, capture)
    records = _records(flat, matches, groups)
    if len(records.row) > MAX_RECORDS:
        raise CaptureError(f"{capture.path}: found {len(records.row)} records; expected at most {MAX_RECORDS}")
    warnings = warnings_of(capture, flat, matches, groups)
    numbers, communicators = _communicators(flat, groups)
    columns = _columns(flat, groups, records, numbers, len(matches.sent))
    del flat, matches, groups, records  # memory peaks next
    trace = build_trace(communicators, path=capture.path, **columns)
    del columns
    return Mixed(trace, ideal_replay(trace).makespan_s, warnings)


@dataclass(frozen=True, eq=False)
class _Records:
    """Records in program order, rank after rank.

    `then` and `on` are the kind of dependency that the record gives to its successor, and on what: a message or a
    collective by number; kind 0 leaves it as it was.
    """

    row: NDArray[np.int64]
    kind: NDArray[np.uint8]
    then: NDArray[np.uint8]
    on: NDArray[np.int32]


def _records(flat: Flat, matches: Matches, groups: Groups) -> _Records:
    call = flat.call
    waiting = np.isin(call, (Call.RECV, Call.PROBE, Call.MPROBE)) & (matches.message >= 0)
    received = np.flatnonzero(waiting)
    finalized = np.flatnonzero(call == FINALIZE)
    begun = groups.rows[~flat.blocking[groups.rows]]
    wait_rows, wait_then, wait_on = _waits(flat, matches, groups)
    parts = (
        (matches.sent, MESSAGE, AFTER_SEND, matches.message[matches.sent]),
        (received, PSEUDO, AFTER_RECEIVE, matches.message[received]),
        (
            groups.rows,
            COLLECTIVE,
            np.where(flat.blocking[groups.rows], AFTER_COLLECTIVE, AT_START),
            groups.number[groups.rows],
        ),
        (begun, MARK, AT_START, groups.number[begun]),
        (wait_rows, PSEUDO, wait_then, wait_on),
        (finalized, PSEUDO, AT_START, np.full(len(finalized), -1)),
    )
    row = np.concatenate([part[0] for part in parts])
    kind = np.concatenate([np.full(len(part[0]), part[1], np.uint8) for part in parts])
    then = np.concatenate([np.broadcast_to(np.uint8(part[2]), len(part[0])) for part in parts])
    on = np.concatenate([np.asarray(part[3], np.int32) for part in parts])
    order = np.argsort(row, kind="stable")
    return _Records(row[order], kind[order], then[order], on[order])


def _waits(
    flat: Flat, matches: Matches, groups: Groups
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int32]]:
    """Return row, kind and object of what waits wait for.

    That is each receive and collective; where there is none, the last send.
    """
    begin_call = flat.call[flat.done_begin]
    message, number = matches.message[flat.done_begin], groups.number[flat.done_begin]
    send = begin_call == Call.ISEND
    useful = (message >= 0) | (number >= 0)
    row = flat.done_row[useful]
    then = np.where(send, AFTER_SEND, np.where(number >= 0, AFTER_COLLECTIVE, AFTER_RECEIVE))[useful]
    on = np.where(number >= 0, number, message)[useful]
    other = np.zeros(len(flat), bool)
    other[row[then != AFTER_SEND]] = True
    last = np.ones(len(row), bool)
    last[:-1] = row[1:] != row[:-1]
    kept = (then != AFTER_SEND) | (last & ~other[row])
    return row[kept], then[kept].astype(np.uint8), on[kept]


def _columns(
    flat: Flat, groups: Groups, records: _Records, numbers: NDArray[np.int64], messages: int
) -> dict[str, Any]:
    """Return the columns of `build_trace`, in file order.

    Parameters
    ----------
    numbers : int64 (communicators of the capture,)
        Of each in the trace.
    messages : int
        How many there are.
    """
    row = records.row
    rank = flat.rank[row]
    new_rank = np.ones(len(row), bool)
    new_rank[1:] = rank[1:] != rank[:-1]
    before = np.concatenate(([0], flat.work_ns[row[:-1]])) if len(row) else flat.work_ns[:0]
    time = flat.work_ns[row] - np.where(new_rank, 0, before)
    dep, on = _dependencies(records, new_rank)

    # File order: start on the task's own clock; then whose previous call began first; then by rank.
    order = np.lexsort((flat.before_ns[row], flat.start_ns[row]))
    kind, object_ = records.kind[order], records.on[order]
    message_ids, own_ids = _message_ids(kind, records.then[order], object_, messages)
    group_ids = _first_seen(object_[kind == COLLECTIVE], int(groups.number.max(initial=-1)) + 1)
    collective = kind == COLLECTIVE
    message = kind == MESSAGE
    row, dep, on, rank = row[order], dep[order], on[order], rank[order]
    place = np.searchsorted(groups.rows, row[collective])

    def by_kind(dtype: Any, of_message: Any, of_collective: NDArray, of_pseudo: Any) -> NDArray[Any]:
        values = np.empty(len(row), dtype)
        values[:] = of_pseudo
        values[message], values[collective] = of_message, of_collective
        return values

    dep_id = np.where(dep == AFTER_COLLECTIVE, _take(group_ids, on), _take(message_ids, on))
    del on
    return {
        "id": by_kind(np.int64, message_ids[object_[message]], group_ids[object_[collective]], own_ids),
        "task": rank,
        "peer": by_kind(np.int32, flat.peer[row[message]], numbers[flat.comm[row[collective]]], rank),
        "op": by_kind(np.int8, -1, groups.op[place], -1),
        "send_bytes": by_kind(np.int64, flat.bytes[row[message]], groups.send_bytes[place], 0),
        "recv_bytes": by_kind(np.int64, 0, groups.recv_bytes[place], 0),
        "dep": (dep + REAL * message).astype(np.uint8),
        "time": time[order],
        "dep_id": dep_id,
    }


def _dependencies(records: _Records, new_rank: NDArray[np.bool_]) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return kind and object of each record's dependency: what the nearest record before it gives."""
    at = np.arange(len(records.row))
    given = np.maximum.accumulate(np.where(records.then > 0, at, -1)) if len(at) else at
    giver = np.concatenate(([-1], given[:-1])) if len(at) else at
    first = np.maximum.accumulate(np.where(new_rank, at, 0)) if len(at) else at
    there = giver >= first
    giver = np.maximum(giver, 0)
    dep = np.where(there, records.then[giver], np.uint8(AT_START))
    return dep, np.where(there, records.on[giver], np.int32(-1))


def _message_ids(
    kind: NDArray[np.uint8], then: NDArray[np.uint8], on: NDArray[np.int32], messages: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number messages and pseudo-records in file order; a receive numbers its message before itself.

    Returns
    -------
    ids of messages by number, and the id of each record (of pseudo-records only meant).
    """
    records = len(kind)
    needs = np.full((records, 2), -1, np.int64)
    names = (kind == MESSAGE) | ((kind == PSEUDO) & (then == AFTER_RECEIVE))
    needs[names, 0] = on[names]
    pseudo = np.flatnonzero(kind >= PSEUDO)
    needs[pseudo, 1] = messages + pseudo
    flat = needs.ravel()
    ids = _first_seen(flat[flat >= 0], messages + records)
    return ids[:messages], ids[messages:]


def _first_seen(values: NDArray, count: int) -> NDArray[np.int64]:
    """Return for each number below `count` its place in the order of first appearance, -1 if it never appears."""
    first = np.full(count, -1, np.int64)
    # Of several places the last assignment stays: the earliest place.
    first[values[::-1]] = np.arange(len(values))[::-1]
    seen = np.flatnonzero(first >= 0)
    ids = np.full(count, -1, np.int64)
    ids[seen[np.argsort(first[seen])]] = np.arange(len(seen))
    return ids


def _take(values: NDArray[np.int64], at: NDArray[np.int32]) -> NDArray[np.int64]:
    return values[np.clip(at, 0, len(values) - 1)] if len(values) else np.full(len(at), -1, np.int64)


def _communicators(flat: Flat, groups: Groups) -> tuple[NDArray[np.int64], dict[int, tuple[int, ...]]]:
    """Return the number of each communicator in the trace, and the members by number.

    Communicators of one task are left out unless a collective uses them.
    """
    used = np.zeros(len(flat.communicators), bool)
    used[flat.comm[groups.rows]] = True
    numbers = np.full(len(flat.communicators), -1, np.int64)
    kept: dict[int, tuple[int, ...]] = {}
    for at, members in enumerate(flat.communicators):
        if at == 0 or used[at] or (len(members) > 1 and not flat.inter[at]):
            numbers[at] = len(kept)
            kept[len(kept)] = members
    return numbers, kept

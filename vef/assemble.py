"""From filled columns to a `Trace`: resolve every reference and check what spans several lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vef import _codes
from vef.checks import check_count, check_total_time, warn_oddities
from vef.communicators import CommunicatorTable, by_task, index_of
from vef.explain import Damage, Explainer
from vef.problems import MAX_PROBLEMS, ProblemLog
from vef.records import COLLECTIVE, Collectives, Communicators, Header, LineMap, Trace

ROOM = 64 * MAX_PROBLEMS
Members = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
MAX_DOUBTFUL_TASKS = 1 << 24  # tables per task are made only for a number that C0 confirms, or a small one


def assemble(
    header: Header,
    table: CommunicatorTable,
    columns: dict[str, NDArray[Any]],
    line_map: LineMap,
    log: ProblemLog,
    damage: Damage,
    header_line: int = 1,
) -> Trace | None:
    """Check everything that spans several lines and resolve the references.

    Parameters
    ----------
    header : Header
    table : CommunicatorTable
    columns : dict
        The filled columns of `vef.columns.Columns`; changed in place and used by the result.
    line_map : LineMap
    log : ProblemLog
        Takes what is wrong; what it holds already counts too.
    damage : Damage
        What reading had to leave out.
    header_line : int

    Returns
    -------
    Trace or None
        None when `log` holds a fatal problem. `path`, `sha256` and `warnings` are left empty.
    """
    from vef import _tables

    sound = table.check(header.tasks, log)
    check_count(len(table.ids) + table.unreadable, header.communicators, "communicators", header_line, log)
    kind, task, peer = columns["kind"], columns["task"], columns["peer"]
    local = int(np.count_nonzero(kind == COLLECTIVE))
    if not damage.unnamed:
        check_count(len(kind) - local + damage.p2p, header.p2p_records, "p2p records", header_line, log)
        check_count(local + damage.local, header.local_collectives, "local collectives", header_line, log)
    check_total_time(columns["time"], line_map.line, log)
    if not sound and (table.unreadable or not all(table.members) or not table.members):
        return None  # every collective record would be reported
    if not sound and header.tasks > MAX_DOUBTFUL_TASKS:
        return None

    communicators = table.build()
    map_communicators(columns, communicators, line_map.line, log)
    members = (communicators.ptr, communicators.tasks, *by_task(communicators))
    ids, dep_ids, messages, groups = dense_names(columns)
    duplicates = np.empty(ROOM, np.int32)
    found = _tables.index_messages(kind, ids, messages, duplicates)
    collectives, collective, bad = group_collectives(columns, ids, groups, local, members)
    if not damage.unnamed:
        unread = damage.collectives.difference(collectives.gid.tolist()) if damage.collectives else ()
        total = len(collectives) + len(unread)
        check_count(total, header.global_collectives, "global collectives", header_line, log)

    dep_row = dep_ids if dep_ids.dtype == np.int32 else np.empty(len(kind), np.int32)
    error_rows, error_codes = np.empty(ROOM, np.int32), np.empty(ROOM, np.int8)
    errors = _tables.resolve_dependencies(
        kind, task, peer, columns["dep"], dep_ids, collective, messages, groups, bad, collectives.ptr,
        collectives.rows, collectives.communicator, *members, np.full(header.tasks, -1, np.int32),
        dep_row, error_rows, error_codes,
    )  # fmt: skip

    explain = Explainer(header, columns, communicators, collectives, line_map.line, damage, log)
    explain.duplicate_messages(duplicates[: min(found, ROOM)], found)
    explain.collectives(np.flatnonzero(bad), bad)
    explain.dependencies(error_rows[: min(errors, ROOM)], error_codes, errors, dep_ids, dep_row, messages)
    if log.fatal:
        return None
    warn_oddities(header, columns, line_map.line, log)
    del messages, groups  # memory peaks here

    task_ptr, task_rows = np.zeros(header.tasks + 1, np.int64), np.empty(len(kind), np.int32)
    _tables.program_order(task, task_ptr, task_rows)
    return Trace(
        path="",
        sha256="",
        header=header,
        communicators=communicators,
        collectives=collectives,
        kind=kind,
        id=columns["id"],
        task=task,
        peer=peer,
        op=columns["op"],
        send_bytes=columns["send_bytes"],
        recv_bytes=columns["recv_bytes"],
        dep=columns["dep"],
        time=columns["time"],
        dep_row=dep_row,
        collective=collective,
        task_ptr=task_ptr,
        task_rows=task_rows,
        line_map=line_map,
    )


def group_collectives(
    columns: dict[str, NDArray[Any]],
    ids: NDArray[np.int32],
    groups: NDArray[np.int32],
    local: int,
    members: Members,
) -> tuple[Collectives, NDArray[np.int32], NDArray[np.uint8]]:
    """Gather the records of each collective, order them by communicator rank and deduce roots.

    Parameters
    ----------
    columns : dict
    ids, groups : int32
        Of `dense_names`; `groups` is filled.
    local : int
        Number of collective records.
    members : tuple
        ``ptr`` and ``tasks`` of the communicators and what `by_task` gives.

    Returns
    -------
    collectives : Collectives
        Those with a bit in `bad` keep file order.
    collective : int32 (records,)
        The column of `Trace`.
    bad : uint8 (collectives,)
        Bits of `vef._codes`.
    """
    from vef import _tables

    kind, peer, op = columns["kind"], columns["peer"], columns["op"]
    collective = np.empty(len(kind), np.int32)
    first_row, count = np.empty(local, np.int32), np.empty(local, np.int64)
    bad = np.empty(local, np.uint8)
    total = _tables.index_collectives(kind, ids, peer, op, groups, collective, first_row, count, bad)
    first_row, count, bad = first_row[:total].copy(), count[:total].copy(), bad[:total].copy()

    communicator = peer[first_row]
    sizes = np.diff(members[0])
    due = np.where(communicator >= 0, sizes[communicator], count)
    bad[count != due] |= _codes.INCOMPLETE
    ptr = np.zeros(total + 1, np.int64)
    np.cumsum(count, out=ptr[1:])
    rows, root = np.empty(local, np.int32), np.empty(total, np.int32)
    _tables.place_participants(
        collective, columns["task"], peer, op, columns["send_bytes"], columns["recv_bytes"],
        first_row, ptr, *members, rows, root, bad, np.empty(int(sizes.max()), np.int32),
    )  # fmt: skip
    gid = columns["id"][first_row].astype(np.int64)
    return Collectives(gid, op[first_row], communicator, root, ptr, rows), collective, bad


def map_communicators(
    columns: dict[str, NDArray[Any]],
    communicators: Communicators,
    line_of: Callable[[int], int],
    log: ProblemLog,
) -> None:
    """Replace communicator numbers in `peer` by indices, in place; report numbers that do not exist."""
    kind, peer = columns["kind"], columns["peer"]
    count = len(communicators)
    if np.array_equal(communicators.ids, np.arange(count)) and (not len(peer) or peer.max() < count):
        return
    rows = np.flatnonzero(kind == COLLECTIVE)
    numbers = peer[rows]
    indices = index_of(communicators, numbers)
    peer[rows] = indices
    known = set(communicators.ids.tolist())
    for at in np.flatnonzero(indices < 0).tolist():
        number = int(numbers[at])
        if number == 0:
            continue  # a missing C0 is reported once
        expected = f"one of the {len(known)} of the file"
        log.error(line_of(int(rows[at])), "unknown-communicator", f"communicator C{number}", expected)


def dense_names(
    columns: dict[str, NDArray[Any]],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the id columns as numbers small enough for tables, and empty tables for both id spaces.

    Returns
    -------
    ids, dep_ids : int32
        The columns themselves when they will do.
    messages, groups : int32
        Tables of -1, to be filled by id.
    """
    kind, ids, dep_ids = columns["kind"], columns["id"], columns["dep_id"]
    limit = int(ids.max()) + 1 if len(ids) else 0
    groups = kind == COLLECTIVE
    sizes = [limit, int(ids[groups].max(initial=-1)) + 1]
    if limit > 4 * len(ids) + 1024:
        ids, dep_ids = ids.copy(), dep_ids.copy()
        for group, (own, named) in enumerate(
            (
                (~groups, np.isin(columns["dep"] & 3, (1, 2))),
                (groups, columns["dep"] & 3 == 3),
            )
        ):
            names = np.unique(ids[own])
            ids[own] = np.searchsorted(names, ids[own])
            at = np.searchsorted(names, dep_ids[named])
            known = np.append(names, -1)[at] == dep_ids[named]
            dep_ids[named] = np.where(known, at, len(names))
            sizes[group] = len(names)
        ids, dep_ids = ids.astype(np.int32), dep_ids.astype(np.int32)
    return ids, dep_ids, np.full(sizes[0], -1, np.int32), np.full(sizes[1], -1, np.int32)

"""Compiled passes over the columns that resolve references. Import it only when a trace is read."""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from vef._codes import (
    ALIEN,
    DISAGREES,
    INCOMPLETE,
    IS_PSEUDO,
    NO_COMMUNICATOR,
    NO_ROOT,
    NOT_MEMBER,
    NOT_RECEIVER,
    NOT_SENDER,
    TWICE,
    TWO_ROOTS,
    UNKNOWN_COLLECTIVE,
    UNKNOWN_MESSAGE,
)
from vef.compiled import kernel


@kernel
def index_messages(kind, ident, table, duplicates):
    """Fill ``table[message id] = row``; rows that define an id again go to `duplicates`.

    Returns the number of duplicates, which may exceed the room for them.
    """
    found = 0
    for row in range(kind.shape[0]):
        if kind[row] == 2:
            continue
        if table[ident[row]] >= 0:
            if found < duplicates.shape[0]:
                duplicates[found] = row
            found += 1
        else:
            table[ident[row]] = row
    return found


@kernel
def index_collectives(kind, ident, peer, op, table, collective, first_row, count, bad):
    """Number the collectives by first appearance, count their records and compare op and communicator.

    Returns the number of collectives.
    """
    total = 0
    for row in range(kind.shape[0]):
        if kind[row] != 2:
            collective[row] = -1
            continue
        index = table[ident[row]]
        if index < 0:
            index = total
            table[ident[row]] = index
            first_row[index] = row
            count[index] = 0
            bad[index] = 0
            total += 1
        collective[row] = index
        count[index] += 1
        first = first_row[index]
        if peer[row] < 0:
            bad[index] |= NO_COMMUNICATOR
        elif peer[row] != peer[first] or op[row] != op[first]:
            bad[index] |= DISAGREES
    return total


@kernel
def rank_in(task, begin, end, members, sorted_members, sorted_ranks):
    """Return the rank of `task` in the communicator ``members[begin:end]``, -1 when it is not in it."""
    guess = task - members[begin]
    if 0 <= guess < end - begin and members[begin + guess] == task:
        return guess
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if sorted_members[middle] < task:
            low = middle + 1
        else:
            high = middle
    if low < end and sorted_members[low] == task:
        return sorted_ranks[low]
    return -1


@kernel
def place_participants(
    collective, task, peer, op, send_bytes, recv_bytes, first_row, ptr,
    comm_ptr, members, sorted_members, sorted_ranks, rows, root, bad, by_rank,
):  # fmt: skip
    """Order the records of each collective by communicator rank and deduce its root.

    Collectives with a bit in `bad` keep file order in `rows`. `by_rank` is scratch as long as
    the largest communicator.
    """
    total = ptr.shape[0] - 1
    fill = ptr[:-1].copy()
    for row in range(collective.shape[0]):
        index = collective[row]
        if index >= 0:
            rows[fill[index]] = row
            fill[index] += 1
    for index in range(total):
        root[index] = -1
        if bad[index] != 0:
            continue
        communicator = peer[first_row[index]]
        begin, end = comm_ptr[communicator], comm_ptr[communicator + 1]
        size = end - begin
        by_rank[:size] = -1
        for at in range(ptr[index], ptr[index + 1]):
            row = rows[at]
            rank = rank_in(task[row], begin, end, members, sorted_members, sorted_ranks)
            if rank < 0:
                bad[index] |= ALIEN
            elif by_rank[rank] >= 0:
                bad[index] |= TWICE
            else:
                by_rank[rank] = row
        for rank in range(size):
            if by_rank[rank] < 0:
                bad[index] |= INCOMPLETE
        if bad[index] != 0:
            continue
        for rank in range(size):
            rows[ptr[index] + rank] = by_rank[rank]

        operation = op[by_rank[0]]
        if operation == 0 or operation == 4 or operation == 1 or operation == 3:
            from_root = operation == 0 or operation == 4
            roots = 0
            others = 0
            found = 0
            for rank in range(size):
                row = by_rank[rank]
                marks_root = send_bytes[row] if from_root else recv_bytes[row]
                marks_other = recv_bytes[row] if from_root else send_bytes[row]
                if marks_root > 0:
                    roots += 1
                    found = rank
                elif marks_other > 0:
                    others += 1
            if roots > 1:
                bad[index] |= TWO_ROOTS
            elif roots == 0 and others > 0 and size > 1:
                bad[index] |= NO_ROOT
            else:
                root[index] = found


@kernel
def resolve_dependencies(
    kind, task, peer, dep, dep_id, collective, message_table, collective_table, bad, coll_ptr, rows,
    coll_comm, comm_ptr, members, sorted_members, sorted_ranks, last, dep_row, error_rows, error_codes,
):  # fmt: skip
    """Turn dependency ids into rows; `dep_row` may be `dep_id` itself.

    A row with an error keeps its id and goes to `error_rows` with a code. Dependencies on
    collectives that are `bad` become -1. `last` is scratch of -1 per task.

    Returns the number of errors, which may exceed the room for them.
    """
    errors = 0
    for row in range(kind.shape[0]):
        wanted = dep[row] & 3
        if wanted == 0:
            dep_row[row] = -1
            if kind[row] == 2:
                last[task[row]] = row
            continue
        name = dep_id[row]
        code = 0
        target = -1
        if wanted == 3:
            index = -1
            if name < collective_table.shape[0]:
                index = collective_table[name]
            if index < 0:
                code = UNKNOWN_COLLECTIVE
            elif bad[index] == 0:
                target = last[task[row]]
                if target < 0 or collective[target] != index:
                    communicator = coll_comm[index]
                    begin, end = comm_ptr[communicator], comm_ptr[communicator + 1]
                    rank = rank_in(task[row], begin, end, members, sorted_members, sorted_ranks)
                    if rank < 0:
                        code = NOT_MEMBER
                    else:
                        target = rows[coll_ptr[index] + rank]
        else:
            if name < message_table.shape[0]:
                target = message_table[name]
            if target < 0:
                code = UNKNOWN_MESSAGE
            elif kind[target] != 0:
                code = IS_PSEUDO
            elif wanted == 1 and task[target] != task[row]:
                code = NOT_SENDER
            elif wanted == 2 and peer[target] != task[row]:
                code = NOT_RECEIVER
        if code == 0:
            dep_row[row] = target
        else:
            if errors < error_rows.shape[0]:
                error_rows[errors] = row
                error_codes[errors] = code
            errors += 1
        if kind[row] == 2:
            last[task[row]] = row
    return errors


@kernel
def program_order(task, task_ptr, task_rows):
    """Fill the rows of each task in file order; `task_ptr` has a zero per task and one more."""
    tasks = task_ptr.shape[0] - 1
    for row in range(task.shape[0]):
        task_ptr[task[row] + 1] += 1
    for t in range(tasks):
        task_ptr[t + 1] += task_ptr[t]
    fill = np.empty(tasks, np.int64)
    for t in range(tasks):
        fill[t] = task_ptr[t]
    for row in range(task.shape[0]):
        task_rows[fill[task[row]]] = row
        fill[task[row]] += 1

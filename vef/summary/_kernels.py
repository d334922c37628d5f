"""The compiled passes of a summary; each is linear in the number of records."""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from vef.compiled import kernel

# How the critical path comes into a stretch.
FROM_START, BY_MESSAGE, BY_COLLECTIVE = 0, 1, 2


@kernel
def message_sizes(kind, task, peer, send_bytes, dep, dep_row, eager_limit, counts, low, high, receives):
    """Count messages by size and by how often they are received.

    Parameters
    ----------
    counts, low, high : int64 (2, 65)
        Filled, eager and rendezvous: messages, and the low 32 bits and the rest of their bytes, of size 0
        (column 0), 1 (column 1), and above 2**(i - 2) up to 2**(i - 1).
    receives : uint8 (records,)
        Filled: receive dependencies on each record, at most 2.

    Returns
    -------
    to_self, never, again : int
        Messages to the sender itself, never received, received more than once.
    """
    to_self = 0
    for row in range(kind.shape[0]):
        if dep[row] & 3 == 2 and receives[dep_row[row]] < 2:
            receives[dep_row[row]] += 1
        if kind[row] != 0:
            continue
        size = send_bytes[row]
        column = 0
        if size > 0:
            column = 1
            rest = size - 1
            while rest > 0:
                rest >>= 1
                column += 1
        line = 0 if size <= eager_limit else 1
        counts[line, column] += 1
        low[line, column] += size & 0xFFFFFFFF
        high[line, column] += size >> 32
        if task[row] == peer[row]:
            to_self += 1
    never = 0
    again = 0
    for row in range(kind.shape[0]):
        if kind[row] == 0:
            if receives[row] == 0:
                never += 1
            elif receives[row] > 1:
                again += 1
    return to_self, never, again


@kernel
def count_destinations(kind, peer, task_ptr, task_rows, destinations):
    """Fill how many different tasks each task sends to."""
    tasks = task_ptr.shape[0] - 1
    seen = np.full(tasks, -1, np.int32)
    for t in range(tasks):
        destinations[t] = 0
        for at in range(task_ptr[t], task_ptr[t + 1]):
            row = task_rows[at]
            if kind[row] == 0 and seen[peer[row]] != t:
                seen[peer[row]] = t
                destinations[t] += 1


@kernel
def fill_pairs(kind, peer, values, task_ptr, task_rows, pair_ptr, destination, messages, sums):
    """Fill the pairs of each task, by destination: number of messages, and the sum of their `values`."""
    tasks = task_ptr.shape[0] - 1
    slot = np.full(tasks, -1, np.int64)
    for t in range(tasks):
        begin = pair_ptr[t]
        end = begin
        for at in range(task_ptr[t], task_ptr[t + 1]):
            row = task_rows[at]
            other = peer[row]
            if kind[row] == 0 and slot[other] < begin:
                slot[other] = end
                destination[end] = other
                end += 1
        destination[begin:end].sort()
        for pair in range(begin, end):
            slot[destination[pair]] = pair
            messages[pair] = 0
            sums[pair] = 0
        for at in range(task_ptr[t], task_ptr[t + 1]):
            row = task_rows[at]
            if kind[row] == 0:
                messages[slot[peer[row]]] += 1
                sums[slot[peer[row]]] += values[row]


@kernel
def left_at(operation, own, release, is_root):
    """Return when a member leaves a collective that it enters at `own`; see `vef.ideal.ideal_replay`."""
    if operation == 0 or operation == 4:
        return max(own, release)
    if (operation == 1 or operation == 3) and not is_root:
        return own
    return release


@kernel
def collective_sizes(op, ptr, rows, send_bytes, recv_bytes, values, size, sums):
    """Fill the size of each collective (see `vef.summary.collectives`) and the sum of its members' `values`."""
    for index in range(op.shape[0]):
        operation = op[index]
        members = ptr[index + 1] - ptr[index]
        most = 0
        total = 0
        for at in range(ptr[index], ptr[index + 1]):
            row = rows[at]
            own = send_bytes[row]
            if operation == 4:
                own = recv_bytes[row]
            elif operation == 7 and recv_bytes[row] == 1:
                own = own // members
            most = max(most, own)
            total += values[row]
        size[index] = most
        sums[index] = total


@kernel
def collective_waits(op, root, ptr, rows, start, release, waited):
    """Fill the ticks that all members of each collective together wait in it for others."""
    for index in range(op.shape[0]):
        total = 0.0
        root_at = ptr[index] + root[index]
        for at in range(ptr[index], ptr[index + 1]):
            own = start[rows[at]]
            total += left_at(op[index], own, release[index], at == root_at) - own
        waited[index] = total


@kernel
def own_times(kind, task, dep, dep_row, collective, start, op, root, ptr, rows, release, last, own):
    """Fill the ticks of each task in which it computes; in the others it waits. `last` is scratch of -1 per task."""
    for row in range(kind.shape[0]):
        t = task[row]
        begin = 0
        target = dep_row[row]
        if target >= 0:
            begin = start[target]
            if dep[row] & 3 == 3:
                index = collective[target]
                is_root = rows[ptr[index] + max(root[index], 0)] == target
                begin = left_at(op[index], begin, release[index], is_root)
        if last[t] >= 0:
            begin = max(begin, start[last[t]])
        own[t] += start[row] - begin
        last[t] = row


@kernel
def row_place(task_ptr, task_rows, t, row, high):
    """Return the index of `row` of task `t` in `task_rows`, searched from `high` back in steps that double."""
    step = 1
    low = high
    while task_rows[low] > row:
        high = low - 1
        low = max(low - step, task_ptr[t])
        step *= 2
    while low < high:
        middle = (low + high) // 2
        if task_rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def releasing(index, op, root, ptr, rows, start, release):
    """Return the row of the participation that lets the others leave."""
    if op[index] == 0 or op[index] == 4:
        return rows[ptr[index] + root[index]]
    for at in range(ptr[index], ptr[index + 1]):
        if start[rows[at]] == release[index]:
            return rows[at]
    return rows[ptr[index]]


@kernel
def walk_back(
    row, kind, task, dep, time, dep_row, collective, task_ptr, task_rows,
    start, op, root, ptr, rows, release, way, first, last, begin, records,
):  # fmt: skip
    """Follow what each record had to wait for, from `row` back to time 0.

    A stretch is a part of the path in one task. The arrays are filled from the end of the path backwards, as far
    as there is room: how the stretch is entered, its first and last row, the tick it begins at, its records.

    Returns
    -------
    stretches : int
    """
    found = 0
    room = way.shape[0]
    # The path comes back to a task only at records before those it has seen there.
    left = task_ptr[1:] - 1
    t = task[row]
    at = row_place(task_ptr, task_rows, t, row, left[t])
    end_row = row
    visited = 1
    while True:
        row = task_rows[at]
        target = dep_row[row]
        done = 0
        if target >= 0:
            done = start[target]
            if dep[row] & 3 == 3:
                index = collective[target]
                is_root = rows[ptr[index] + max(root[index], 0)] == target
                done = left_at(op[index], done, release[index], is_root)
        if at > task_ptr[t]:
            previous = task_rows[at - 1]
            ready = done if kind[previous] == 1 else done + time[row]
            if start[previous] >= ready:
                at -= 1
                visited += 1
                continue
        how = FROM_START
        if target >= 0:
            how = BY_MESSAGE
            if dep[row] & 3 == 3:
                how = BY_COLLECTIVE
                if start[target] < done:
                    target = releasing(collective[target], op, root, ptr, rows, start, release)
            if task[target] == t:
                at = row_place(task_ptr, task_rows, t, target, at)
                visited += 1
                continue
        if found < room:
            way[found] = how
            first[found] = row
            last[found] = end_row
            begin[found] = done
            records[found] = visited
        found += 1
        if how == FROM_START:
            return found
        left[t] = at
        t = task[target]
        at = row_place(task_ptr, task_rows, t, target, left[t])
        end_row = target
        visited = 1

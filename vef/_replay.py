"""The compiled replay on an ideal network, shared by `vef.ideal` and `vef.cycles`."""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from vef.compiled import kernel


@kernel
def leaving(row, index, start, op, root, ptr, rows, release, entered):
    """Return when the participation at `row`, which has started, is done; -1 for not yet."""
    operation = op[index]
    if operation == 0 or operation == 4:
        return max(start[row], release[index]) if release[index] >= 0 else -1
    if (operation == 1 or operation == 3) and row != rows[ptr[index] + root[index]]:
        return start[row]
    if entered[index] < ptr[index + 1] - ptr[index]:
        return -1
    return release[index]


@kernel
def replay(
    kind, task, peer, dep, time, dep_row, collective, task_ptr, task_rows,
    op, root, ptr, rows, scale, start, release, entered, position, blocked_on, leave,
):  # fmt: skip
    """Play every record that can be played, each task as far as it comes.

    Parameters
    ----------
    start : int64 (records,)
        Filled: tick at which each record starts, -1 for never.
    release : int64 (collectives,)
        Filled: start of the root (broadcast, scatter) or of the last to enter (all others).
    entered : int32 (collectives,)
        Filled: participations that have started.
    position : int64 (tasks,)
        Filled: index into `task_rows` of the first record of each task not played.
    blocked_on : int32 (tasks,)
        Filled: row that the task waits for, -1 for none.
    leave : int64 (tasks,)
        Filled: tick at which the last record played of each task is done.

    Returns
    -------
    played : int
        Number of records played.
    """
    tasks = task_ptr.shape[0] - 1
    start[:] = -1
    release[:] = -1
    entered[:] = 0
    stack = np.empty(tasks, np.int32)
    queued = np.ones(tasks, np.bool_)
    for t in range(tasks):
        stack[t] = tasks - 1 - t
        position[t] = task_ptr[t]
        blocked_on[t] = -1
    depth = tasks
    played = 0
    while depth > 0:
        depth -= 1
        t = stack[depth]
        queued[t] = False
        blocked_on[t] = -1
        at = position[t]
        while at < task_ptr[t + 1]:
            row = task_rows[at]
            done = 0
            target = dep_row[row]
            if target >= 0:
                if start[target] < 0:
                    blocked_on[t] = target
                    break
                done = start[target]
                if dep[row] & 3 == 3:
                    done = leaving(target, collective[target], start, op, root, ptr, rows, release, entered)
                    if done < 0:
                        blocked_on[t] = target
                        break
            ticks = time[row]
            if scale != 1.0:
                ticks = np.int64(np.rint(ticks * scale))
            previous = -1
            if at > task_ptr[t]:
                previous = task_rows[at - 1]
            if previous < 0:
                start[row] = done + ticks
            elif kind[previous] == 1:
                start[row] = max(start[previous], done) + ticks
            else:
                start[row] = max(start[previous], done + ticks)
            at += 1
            played += 1

            index = collective[row]
            if index < 0:
                other = peer[row]
                if kind[row] == 0 and blocked_on[other] == row and not queued[other]:
                    stack[depth] = other
                    depth += 1
                    queued[other] = True
                continue
            entered[index] += 1
            operation = op[index]
            size = ptr[index + 1] - ptr[index]
            root_row = -1
            if root[index] >= 0:
                root_row = rows[ptr[index] + root[index]]
            from_root = operation == 0 or operation == 4
            if not from_root or row == root_row:
                release[index] = max(release[index], start[row])
            if (from_root and row == root_row) or (not from_root and entered[index] == size):
                for j in range(ptr[index], ptr[index + 1]):
                    other = task[rows[j]]
                    if blocked_on[other] == rows[j] and not queued[other]:
                        stack[depth] = other
                        depth += 1
                        queued[other] = True
        position[t] = at
    for t in range(tasks):
        leave[t] = 0
        if position[t] > task_ptr[t]:
            row = task_rows[position[t] - 1]
            leave[t] = start[row]
            if collective[row] >= 0:
                leave[t] = leaving(row, collective[row], start, op, root, ptr, rows, release, entered)
    return played

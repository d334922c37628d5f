"""Compiled loops over schedules: group operations by rank, compute rounds. Imported on first use only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vef.compiled import kernel

__all__ = ["group_by_rank", "message_rounds"]


@kernel
def group_by_rank(
    codes: NDArray[np.int32],
    src: NDArray[np.int32],
    dst: NDArray[np.int32],
    op_ptr: NDArray[np.int64],
    ops: NDArray[np.int64],
) -> None:
    """Stable counting sort of operation codes by the rank that executes them.

    Parameters
    ----------
    codes : shape (k,), `message * 4 + kind` in program order over all ranks
    src, dst : shape (m,), ranks of each message
    op_ptr : shape (ranks + 1,), zeros; filled with the start of each rank's program
    ops : shape (k,), filled with the sorted codes
    """
    for code in codes:
        message = code >> 2
        rank = dst[message] if code & 3 == 2 else src[message]
        op_ptr[rank + 1] += 1
    for rank in range(op_ptr.size - 1):
        op_ptr[rank + 1] += op_ptr[rank]
    cursor = op_ptr[:-1].copy()
    for code in codes:
        message = code >> 2
        rank = dst[message] if code & 3 == 2 else src[message]
        ops[cursor[rank]] = code
        cursor[rank] += 1


@kernel
def message_rounds(
    dst: NDArray[np.int32],
    op_ptr: NDArray[np.int64],
    ops: NDArray[np.int64],
    rounds: NDArray[np.int32],
) -> int:
    """Execute all programs in dependency order and number the rounds.

    Parameters
    ----------
    dst : shape (m,), receiver of each message
    op_ptr, ops : the programs, as in `Schedule`
    rounds : shape (m,), filled with -1; receives each message's round

    Returns
    -------
    int
        Operations executed; fewer than `ops.size` means a deadlock.
    """
    ranks = op_ptr.size - 1
    position = op_ptr[:-1].copy()
    level = np.zeros(ranks, np.int32)
    blocked_on = np.full(ranks, -1, np.int64)
    stack = np.empty(ranks, np.int64)
    for rank in range(ranks):
        stack[rank] = ranks - 1 - rank
    top = ranks
    done = 0
    while top > 0:
        top -= 1
        rank = stack[top]
        at = position[rank]
        end = op_ptr[rank + 1]
        now = level[rank]
        while at < end:
            code = ops[at]
            message = code >> 2
            if code & 3 == 0:
                rounds[message] = now
                receiver = dst[message]
                if blocked_on[receiver] == message:
                    blocked_on[receiver] = -1
                    stack[top] = receiver
                    top += 1
            else:
                if rounds[message] < 0:
                    blocked_on[rank] = message
                    break
                if rounds[message] >= now:
                    now = rounds[message] + 1
            at += 1
        done += at - position[rank]
        position[rank] = at
        level[rank] = now
    return done

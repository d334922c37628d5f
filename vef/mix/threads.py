"""The calls of several threads of a rank as one program."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vef.mix.events import FIRST_COLLECTIVE, NONE, Call

Columns = dict[str, NDArray[Any]]


def one_program(calls: Columns, completions: Columns) -> tuple[Columns, Columns]:
    """Order what threads did so that the program can be played.

    While a thread waits, others go on, which a program of one thread cannot say with blocking calls. So a blocking
    receive or collective becomes a non-blocking one and its wait. What begins stands where it began, what is waited
    for where the wait ended: a message begins before any receive of it ends, so that no circle of waits can arise.
    Time in which any thread waits is not computing.

    Parameters
    ----------
    calls, completions : dict of numpy arrays
        Columns as of `Calls` and `Completions`.
    """
    call, start = calls["call"], calls["start_ns"]
    split = np.flatnonzero((call == Call.RECV) | ((call >= FIRST_COLLECTIVE) & (calls["request"] == NONE)))
    fresh = int(max(calls["request"].max(initial=0), completions["request"].max(initial=0))) + 1
    begun = {name: values.copy() for name, values in calls.items()}
    begun["call"][call == Call.RECV] = Call.IRECV
    begun["request"][split] = fresh + np.arange(len(split))
    begun["end_ns"][split] = start[split]
    waits = {name: values[split] for name, values in calls.items()}
    waits.update(
        call=np.full(len(split), Call.WAIT, np.uint8), request=np.full(len(split), NONE, np.int64),
        root=np.full(len(split), NONE, np.int32), bytes=np.zeros(len(split), np.int64),
        comm=np.zeros(len(split), np.int64), hidden_ns=np.zeros(len(split), np.int64),
    )  # fmt: skip
    merged = {name: np.concatenate([begun[name], waits[name]]) for name in begun}
    is_wait = np.isin(merged["call"], (Call.WAIT, Call.PROBE, Call.MPROBE))
    moment = np.where(is_wait, merged["end_ns"], merged["start_ns"])
    order = np.lexsort((is_wait, moment))
    merged = {name: values[order] for name, values in merged.items()}
    moment = moment[order]
    before = np.concatenate([merged["start_ns"][:1], moment[:-1]])
    after = np.concatenate([moment[1:], merged["end_ns"][-1:]])
    merged["start_ns"] = np.where(is_wait[order], np.maximum(merged["start_ns"], before), moment)
    merged["end_ns"] = np.maximum(merged["start_ns"], np.minimum(merged["end_ns"], after))
    idle = merged["start_ns"] - np.concatenate([merged["start_ns"][:1], merged["end_ns"][:-1]])
    merged["hidden_ns"] = np.clip(merged["hidden_ns"], 0, np.maximum(idle, 0))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    added = {
        "row": len(call) + np.arange(len(split)), "request": begun["request"][split], "peer": calls["peer"][split],
        "tag": calls["tag"][split],
    }  # fmt: skip
    done = {name: np.concatenate([completions[name], added[name]]) for name in completions}
    done["row"] = place[done["row"]]
    by_row = np.argsort(done["row"], kind="stable")
    return merged, {name: values[by_row] for name, values in done.items()}

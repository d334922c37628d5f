"""Make a trace from arrays, with the same checks as reading one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vef.assemble import assemble
from vef.columns import DTYPES, INT32_MAX
from vef.communicators import CommunicatorTable
from vef.explain import Damage
from vef.problems import InvalidTrace, ProblemLog
from vef.records import COLLECTIVE, MESSAGE, PSEUDO, Header, LineMap, Trace

INT64_MAX = 2**63 - 1


def build_trace(
    communicators: Mapping[int, Sequence[int]],
    *,
    id: ArrayLike,
    task: ArrayLike,
    peer: ArrayLike,
    op: ArrayLike,
    send_bytes: ArrayLike,
    recv_bytes: ArrayLike,
    dep: ArrayLike,
    time: ArrayLike,
    dep_id: ArrayLike,
    clock_ps: int = 1000,
    only_send: bool = False,
    prospector: bool = True,
    magic: str = "VEF3",
    path: str = "<memory>",
) -> Trace:
    """Make a trace from columns, one entry per record in file order.

    Parameters
    ----------
    communicators : mapping of int to sequence of int
        World ranks in communicator rank order by communicator number; 0 holds all tasks.
    id : array of int
        Message id or number of the collective.
    task : array of int
        Source, or participant.
    peer : array of int
        Destination, or number of the communicator.
    op : array of int
        An `Op`, -1 for point-to-point records (pseudo-records are told by the rule of the format).
    send_bytes, recv_bytes : array of int
        Size and 0, or the two sizes of a participation.
    dep : array of int
        0 to 7.
    time : array of int
        Ticks.
    dep_id : array of int
        Message id for kinds 1 and 2, number of the collective for kind 3, ignored for kind 0.
    clock_ps, only_send, prospector, magic : see `Header`
    path : str
        Name for messages.

    Raises
    ------
    InvalidTrace
        With every problem; lines are those the trace would have in a file.
    """
    given = {
        "id": id,
        "task": task,
        "peer": peer,
        "op": op,
        "send_bytes": send_bytes,
        "recv_bytes": recv_bytes,
        "dep": dep,
        "time": time,
        "dep_id": dep_id,
    }
    wide = {name: np.asarray(values, np.int64) for name, values in given.items()}
    is_collective = wide["op"] >= 0
    wide["dep_id"] = np.where(wide["dep"] & 3 == 0, 1, wide["dep_id"])
    looks_pseudo = (wide["task"] == wide["peer"]) & (wide["send_bytes"] == 0) & (wide["dep"] < 4)
    wide["kind"] = np.where(is_collective, COLLECTIVE, np.where(looks_pseudo, PSEUDO, MESSAGE))

    tasks = len(communicators.get(0, ()))
    log = ProblemLog()
    line_map = LineMap(1 + len(communicators), np.empty(0, np.int64))
    _check_ranges(wide, is_collective, tasks, line_map, log)
    table = CommunicatorTable()
    for line, (number, members) in enumerate(communicators.items(), 2):
        if len(members) == 0 or len(set(members)) < len(members) or not all(0 <= m < tasks for m in members):
            found = f"members {list(members)[:8]} of C{number}"
            log.error(line, "communicator", found, "different tasks, at least one")
        table.add(number, list(members), line)
    if log.fatal:
        raise InvalidTrace(path, log.finish())

    local = int(np.count_nonzero(is_collective))
    header = Header(
        magic=magic,
        tasks=tasks,
        p2p_records=len(is_collective) - local,
        communicators=len(communicators),
        global_collectives=len(np.unique(wide["id"][is_collective])),
        local_collectives=local,
        only_send=only_send,
        clock_ps=clock_ps,
        prospector=prospector,
    )
    trace = assemble(header, table, _narrow(wide), line_map, log, Damage())
    if trace is None:
        raise InvalidTrace(path, log.finish())
    return replace(trace, path=path, warnings=log.warnings())


def _check_ranges(
    wide: Mapping[str, NDArray[np.int64]],
    is_collective: NDArray[np.bool_],
    tasks: int,
    line_map: LineMap,
    log: ProblemLog,
) -> None:
    peers = np.where(is_collective, INT32_MAX, tasks - 1)
    limits: tuple[tuple[str, int, Any], ...] = (
        ("id", 0, INT64_MAX),
        ("task", 0, tasks - 1),
        ("peer", 0, peers),
        ("op", -1, 7),
        ("send_bytes", 0, INT64_MAX),
        ("recv_bytes", 0, INT64_MAX),
        ("dep", 0, 7),
        ("time", 0, INT64_MAX),
        ("dep_id", 0, INT64_MAX),
    )
    for name, least, most in limits:
        values = wide[name]
        for row in np.flatnonzero((values < least) | (values > most)).tolist():
            highest = int(most[row]) if isinstance(most, np.ndarray) else most
            log.error(line_map.line(row), "out-of-range", f"{name} {values[row]}", f"{least} to {highest}")


def _narrow(wide: Mapping[str, NDArray[np.int64]]) -> dict[str, NDArray[Any]]:
    dtypes: dict[str, Any] = dict(DTYPES)
    if max(wide["id"].max(initial=0), wide["dep_id"].max(initial=0)) > INT32_MAX:
        dtypes["id"] = dtypes["dep_id"] = np.int64
    return {name: wide[name].astype(dtype) for name, dtype in dtypes.items()}

"""From a collective as a trace records it (operation, bytes in and out of every member) to messages."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .call import OPERATIONS, CallError, version_number
from .expand import Expansion, expand_call
from .registry import find

__all__ = ["TRACE_OPERATIONS", "ExpansionCache", "cache_key", "check_forced", "expand_trace_collective"]

TRACE_OPERATIONS = (
    "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "barrier", "alltoall",
)  # fmt: skip
"""Names of the collective operations of a VEF trace, in the order of their numbers."""

_TRACE_NAMES = {"broadcast": "bcast"}
_REDUCTION_ELEMENT_BYTES = 4


class ExpansionCache:
    """Remember expansions, because a trace repeats few distinct collectives very often.

    The least recently used ones are dropped when their schedules together hold more than `most_bytes`.
    Safe to share between threads.
    """

    def __init__(self, most_bytes: int = 256 << 20) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0
        self._entries: OrderedDict[tuple[object, ...], Expansion] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: tuple[object, ...]) -> Expansion | None:
        """The remembered expansion of a key, if any."""
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def put(self, key: tuple[object, ...], expansion: Expansion) -> None:
        """Remember an expansion, unless it alone would fill the cache."""
        size = expansion.schedule.nbytes
        with self._lock:
            if size > self._most_bytes or key in self._entries:
                return
            self._entries[key] = expansion
            self._held_bytes += size
            while self._held_bytes > self._most_bytes:
                _, dropped = self._entries.popitem(last=False)
                self._held_bytes -= dropped.schedule.nbytes


_CACHE = ExpansionCache()


def cache_key(
    op: str,
    send_bytes: NDArray[np.int64],
    recv_bytes: NDArray[np.int64],
    root: int,
    forced: Mapping[str, str] | None,
    version: str,
) -> tuple[object, ...]:
    """Key under which collectives with the same messages are the same; arguments as below."""
    rules = tuple(sorted(forced.items())) if forced else ()
    return op, send_bytes.size, root, _compact(send_bytes), _compact(recv_bytes), rules, version


def expand_trace_collective(
    op: str,
    send_bytes: ArrayLike,
    recv_bytes: ArrayLike,
    root: int = -1,
    *,
    forced: Mapping[str, str] | None = None,
    version: str = "5.0",
    cache: ExpansionCache | None = None,
) -> Expansion:
    """Messages of a collective of a VEF trace.

    The operation is the v-variant if the members' sizes differ (gatherv, scatterv, allgatherv, alltoallv),
    and alltoallv if an AlltoAll gives totals (recv = 1). Where members disagree on a size that must be
    equal, the largest is taken and the reason says so. A trace has no element size: reductions are taken
    to have elements of 4 bytes where the size is a multiple of 4, otherwise of 1 byte; everything else
    moves bytes.

    Parameters
    ----------
    op : one of `TRACE_OPERATIONS`
    send_bytes, recv_bytes : shape (n,), bytes as in the trace, by communicator rank; for AlltoAll
        recv = 0 means send bytes to each member, recv = 1 send bytes in total over all members
    root : communicator rank, -1 = none (taken as 0 where one is needed)
    forced : algorithm by operation ("broadcast" and "bcast" alike), e.g. {"allreduce": "ring"};
        operations not named, or named "default", follow Open MPI's fixed decision
    version : Open MPI series
    cache : where to remember expansions, None = one for the process

    Raises
    ------
    UnknownAlgorithm
        A forced algorithm does not exist.
    CallError
        Unknown operation, sizes of different shapes, or a root that is no member.
    """
    send = np.asarray(send_bytes, np.int64)
    recv = np.asarray(recv_bytes, np.int64)
    if send.shape != recv.shape or send.ndim != 1 or not send.size:
        raise CallError(f"{op}: send sizes of shape {send.shape}, receive sizes of shape {recv.shape}")
    store = _CACHE if cache is None else cache
    key = cache_key(op, send, recv, root, forced, version)
    found = store.get(key)
    if found is None:
        found = _expand(op, send, recv, root, forced or {}, version)
        store.put(key, found)
    return found


def _expand(
    op: str,
    send: NDArray[np.int64],
    recv: NDArray[np.int64],
    root: int,
    forced: Mapping[str, str],
    version: str,
) -> Expansion:
    at = max(root, 0)
    check_forced(forced, version)
    if op not in TRACE_OPERATIONS:
        raise CallError(f"unknown trace collective {op!r}: known are {', '.join(TRACE_OPERATIONS)}")
    if at >= send.size:
        raise CallError(f"{op}: root {root} is not a rank of a communicator of {send.size}")
    mpi_op, sizes, note = _interpret(op, send, recv, at)
    element_bytes = 1
    if mpi_op in ("reduce", "allreduce") and int(sizes) % _REDUCTION_ELEMENT_BYTES == 0:
        element_bytes = _REDUCTION_ELEMENT_BYTES
    wanted = _wanted(mpi_op, forced)
    if mpi_op != op and wanted == "default" and _wanted(op, forced) != "default":
        note += f", which the algorithm forced for {op} does not concern"
    made = expand_call(mpi_op, wanted, send.size, sizes=sizes, root=at, element_bytes=element_bytes, version=version)
    if not note:
        return made
    return Expansion(made.schedule, made.op, made.algorithm, made.id, f"{made.reason}; {note}", made.bytes)


def check_forced(forced: Mapping[str, str], version: str = "5.0") -> None:
    """Check that every forced algorithm exists, before any collective is expanded.

    Raises
    ------
    CallError
        Unknown operation or version.
    UnknownAlgorithm
        The operation has no such algorithm in this version.
    """
    number = version_number(version)
    for op, wanted in forced.items():
        mpi_op = _TRACE_NAMES.get(op, op)
        if mpi_op not in OPERATIONS:
            raise CallError(f"cannot force an algorithm for {op!r}: known are {', '.join(OPERATIONS)}")
        if wanted != "default":
            find(mpi_op, wanted, number)


def _wanted(mpi_op: str, forced: Mapping[str, str]) -> str:
    for name, wanted in forced.items():
        if _TRACE_NAMES.get(name, name) == mpi_op:
            return wanted
    return "default"


def _interpret(
    op: str, send: NDArray[np.int64], recv: NDArray[np.int64], root: int
) -> tuple[str, NDArray[np.int64], str]:
    """MPI operation, its sizes, and what was odd about them."""
    others = np.arange(send.size) != root
    if op == "broadcast":
        size, note = _agreed(np.where(others, recv, send))
        return "bcast", size, note
    if op == "reduce":
        size, note = _agreed(np.where(others, send, recv))
        return "reduce", size, note
    if op == "allreduce":
        size, note = _agreed(np.concatenate((send, recv)))
        return "allreduce", size, note
    if op == "barrier":
        return "barrier", np.zeros((), np.int64), ""
    if op == "alltoall":
        return _interpret_alltoall(send, recv)
    if op == "gather":
        # A root that gathers in place records no block of its own.
        blocks = np.where(others, send, np.maximum(send, recv - send[others].sum()))
    elif op == "scatter":
        blocks = np.where(others, recv, np.maximum(recv, send - recv[others].sum()))
    else:
        blocks = send
    if (blocks == blocks[0]).all():
        return op, blocks[0], ""
    return f"{op}v", blocks, f"blocks differ, {int(blocks.min())} to {int(blocks.max())} B: {op}v"


def _interpret_alltoall(send: NDArray[np.int64], recv: NDArray[np.int64]) -> tuple[str, NDArray[np.int64], str]:
    n = send.size
    in_total = recv == 1
    if not in_total.any():
        if (send == send[0]).all():
            return "alltoall", send[0], ""
        matrix = np.broadcast_to(send[:, None], (n, n))
        return "alltoallv", matrix, f"blocks differ, {int(send.min())} to {int(send.max())} B: alltoallv"
    if in_total.all():
        return "alltoallv", send, "totals per task, split over all: alltoallv"
    small, larger = np.divmod(send[:, None], n)
    split = small + (np.arange(n) < larger)
    matrix = np.where(in_total[:, None], split, send[:, None])
    return "alltoallv", matrix, "some tasks give totals, split over all: alltoallv"


def _agreed(sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], str]:
    largest = sizes.max()
    if (sizes == largest).all():
        return largest, ""
    return largest, f"tasks disagree on the size, {int(sizes.min())} to {int(largest)} B: took the largest"


def _compact(sizes: NDArray[np.int64]) -> int | bytes:
    first = int(sizes[0])
    return first if (sizes == first).all() else sizes.tobytes()

"""The message schedule of one collective call, and the builder that assembles it from whole arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["BLOCKING", "SEND", "WAIT_RECV", "WAIT_SEND", "Builder", "Schedule", "ScheduleError"]

SEND = 0
WAIT_SEND = 1
WAIT_RECV = 2
BLOCKING = 3
"""Builder shorthand: a SEND directly followed by its WAIT_SEND. Never occurs in a finished schedule."""

Ids = NDArray[np.int32]
_MOST_MESSAGES = 1 << 29


class ScheduleError(ValueError):
    """A schedule is too large, or its programs cannot all run to their end."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """Messages of one collective call and, for every rank, the program that sends and awaits them.

    A rank executes its program in order. `SEND` posts message i (the rank is its source) and goes on at
    once; `WAIT_SEND` waits for the completion of that own send; `WAIT_RECV` waits for the arrival of
    message i (the rank is its destination). Every message is awaited exactly once by each side. Receives
    are posted without a trace: only the place where the program waits for them matters here.

    Attributes
    ----------
    ranks : communicator size
    src, dst : int32, shape (m,), communicator ranks
    size_bytes : int64, shape (m,), MPI payload without protocol headers
    round : int32, shape (m,); 0 if the sender awaited nothing before it, else one more than the largest
        round among the messages it had received or completed sending by then
    op_ptr : int64, shape (ranks + 1,); the program of rank r is `ops[op_ptr[r]:op_ptr[r + 1]]`
    ops : int64, shape (3 m,), each `message * 4 + kind`
    """

    ranks: int
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    size_bytes: NDArray[np.int64]
    round: NDArray[np.int32]
    op_ptr: NDArray[np.int64]
    ops: NDArray[np.int64]

    @property
    def messages(self) -> int:
        """Number of messages."""
        return int(self.src.size)

    @property
    def rounds(self) -> int:
        """Number of rounds: the largest round plus one, 0 without messages."""
        return int(self.round.max()) + 1 if self.round.size else 0

    @property
    def payload_bytes(self) -> int:
        """Sum of all message sizes, messages of a rank to itself included."""
        return int(self.size_bytes.sum())

    @property
    def nbytes(self) -> int:
        """Memory held by the columns, in bytes."""
        columns = (self.src, self.dst, self.size_bytes, self.round, self.op_ptr, self.ops)
        return sum(column.nbytes for column in columns)

    def program(self, rank: int) -> NDArray[np.int64]:
        """Operation codes of one rank, in order."""
        return self.ops[self.op_ptr[rank] : self.op_ptr[rank + 1]]


class Builder:
    """Collect messages and operations of all ranks, then group them into a `Schedule`.

    The program order of a rank is the order of the calls that mention it and, within a call, the order of
    the array elements (row by row for two-dimensional ones, all parts of a row before the next row).

    Parameters
    ----------
    ranks : communicator size

    Attributes
    ----------
    notes : remarks of the algorithms for people, such as what ran inside
    """

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.notes: list[str] = []
        self._messages = 0
        self._src: list[NDArray[np.int32]] = []
        self._dst: list[NDArray[np.int32]] = []
        self._bytes: list[NDArray[np.int64]] = []
        self._codes: list[Ids] = []

    def add(self, src: ArrayLike, dst: ArrayLike, size_bytes: ArrayLike) -> Ids:
        """Create messages without placing any operation; arguments broadcast against each other.

        Returns
        -------
        int32 ids in the broadcast shape
        """
        src_, dst_, bytes_ = np.broadcast_arrays(
            np.asarray(src, np.int32), np.asarray(dst, np.int32), np.asarray(size_bytes, np.int64)
        )
        first = self._messages
        self._messages += src_.size
        if self._messages > _MOST_MESSAGES:
            raise ScheduleError(f"more than {_MOST_MESSAGES:,} messages in one collective call")
        ids = np.arange(first, self._messages, dtype=np.int32).reshape(src_.shape)
        self._src.append(src_.reshape(-1))
        self._dst.append(dst_.reshape(-1))
        self._bytes.append(bytes_.reshape(-1))
        return ids

    def emit(self, *parts: tuple[int, Ids]) -> None:
        """Append operations: for each row of the id arrays, every part in turn.

        Parameters
        ----------
        parts : pairs (kind, ids); ids of shape (e,), or (steps, e) with the same number of steps in all
            parts. Kind is SEND, WAIT_SEND, WAIT_RECV or BLOCKING.
        """
        rows = []
        for kind, ids in parts:
            codes = np.atleast_2d(ids) * 4
            if kind == BLOCKING:
                pairs = codes[:, :, None] + np.array([SEND, WAIT_SEND], np.int32)
                codes = pairs.reshape(codes.shape[0], -1)
            else:
                codes += kind
            rows.append(codes)
        joined = rows[0] if len(rows) == 1 else np.concatenate(rows, axis=1)
        self._codes.append(joined.reshape(-1))

    def send(self, src: ArrayLike, dst: ArrayLike, size_bytes: ArrayLike) -> Ids:
        """Create messages and post them."""
        ids = self.add(src, dst, size_bytes)
        self.emit((SEND, ids))
        return ids

    def wait_send(self, ids: Ids) -> None:
        """Each sender waits for the completion of its message."""
        self.emit((WAIT_SEND, ids))

    def wait_recv(self, ids: Ids) -> None:
        """Each receiver waits for the arrival of its message."""
        self.emit((WAIT_RECV, ids))

    def blocking(self, src: ArrayLike, dst: ArrayLike, size_bytes: ArrayLike) -> Ids:
        """Blocking sends that the receivers await right away."""
        ids = self.add(src, dst, size_bytes)
        self.emit((BLOCKING, ids), (WAIT_RECV, ids))
        return ids

    def exchange(self, src: ArrayLike, dst: ArrayLike, size_bytes: ArrayLike) -> Ids:
        """Steps in which a rank sends at most once and receives at most once, receive posted first.

        Each step is a blocking send, then the wait for the receive. Sizes of shape (steps, e) make several
        steps between the same or (with src, dst of that shape) changing partners.
        """
        return self.blocking(src, dst, size_bytes)

    def finish(self) -> Schedule:
        """Group the operations by rank and number the rounds.

        Raises
        ------
        ScheduleError
            If the programs deadlock.
        """
        src = _joined(self._src, np.int32)
        dst = _joined(self._dst, np.int32)
        sizes = _joined(self._bytes, np.int64)
        codes = _joined(self._codes, np.int32)
        op_ptr = np.zeros(self.ranks + 1, np.int64)
        rounds = np.full(src.size, -1, np.int32)
        ops = np.empty(codes.size, np.int64)
        if codes.size:
            # The compiler is loaded only when there is something to compile for.
            from .kernels import group_by_rank, message_rounds

            group_by_rank(codes, src, dst, op_ptr, ops)
            done = message_rounds(dst, op_ptr, ops, rounds)
            if done != ops.size:
                raise ScheduleError(f"deadlock: {done} of {ops.size} operations could run")
        for column in (src, dst, sizes, rounds, op_ptr, ops):
            column.flags.writeable = False
        return Schedule(self.ranks, src, dst, sizes, rounds, op_ptr, ops)


def _joined(chunks: list[NDArray], dtype: type) -> NDArray:
    # A copy in every case: broadcast views are not writable and would keep kernels from one signature.
    return np.concatenate(chunks).astype(dtype, copy=False) if chunks else np.empty(0, dtype)

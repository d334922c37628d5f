"""Which receive gets which send, by the order that MPI guarantees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vef.mix.events import Call
from vef.mix.flat import Flat


@dataclass(frozen=True, eq=False)
class Matches:
    """The messages of a capture.

    Attributes
    ----------
    sent : int64 (messages,)
        Row of each send, ascending.
    message : int32 (rows,)
        Number of the message that a row sends, receives, has posted a receive for or has probed; -1 for none.
    unreceived, unsent, open : int
        Sends without a receive, receives without a send, and receives of which nobody saw from where they got
        something.
    examples : dict of str to int
        For the first two, a row.
    """

    sent: NDArray[np.int64]
    message: NDArray[np.int32]
    unreceived: int
    unsent: int
    open: int
    examples: dict[str, int]


def match(flat: Flat) -> Matches:
    """Match sends and receives.

    On one communicator, messages from one rank to another with the same tag are received in the order in which they
    were sent, by the receives in the order in which they were posted: the nth send meets the nth receive.
    A matched probe posts the receive; a plain probe sees the message that the next such receive gets.
    """
    call, known = flat.call, flat.peer >= 0
    sent = np.flatnonzero(known & ((call == Call.SEND) | (call == Call.ISEND)))
    receiving = (call == Call.RECV) | (call == Call.IRECV) | (call == Call.MPROBE)
    received = np.flatnonzero(known & receiving & (flat.tag != -1))
    probed = np.flatnonzero(known & (call == Call.PROBE))
    left_open = int((receiving & ((flat.peer == -1) | (known & (flat.tag == -1)))).sum())
    message = np.full(len(flat), -1, np.int32)
    message[sent] = np.arange(len(sent), dtype=np.int32)

    rows = np.concatenate((sent, received, probed))
    tasks, tags = len(flat.ptr) - 1, 1 << 32
    source = flat.rank[rows].astype(np.int64)
    target = flat.peer[rows].astype(np.int64)
    source[len(sent) :], target[len(sent) :] = target[len(sent) :], source[len(sent) :].copy()
    ways = source * tasks + target
    names = flat.comm[rows].astype(np.int64) * tags + flat.tag[rows]
    del source, target
    order = np.lexsort((names, ways))
    ways, names = ways[order], names[order]
    new = np.ones(len(order), bool)
    new[1:] = (ways[1:] != ways[:-1]) | (names[1:] != names[:-1])
    del ways, names
    channel = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    kind = np.zeros(len(order), np.int8)
    kind[order >= len(sent)] = 1
    kind[order >= len(sent) + len(received)] = 2
    sends = np.bincount(channel[kind == 0], minlength=len(first))

    at = np.flatnonzero(kind == 1)
    turn = at - (first + sends)[channel[at]]
    matched = turn < sends[channel[at]]
    got = order[first[channel[at[matched]]] + turn[matched]]
    message[rows[order[at[matched]]]] = got
    examples = {}
    taken = np.zeros(len(sent), bool)
    taken[got] = True
    if not taken.all():
        examples["send"] = int(sent[np.argmin(taken)])
    if not matched.all():
        examples["receive"] = int(rows[order[at[np.argmin(matched)]]])

    if len(probed):
        _probes(message, rows, order, channel, at, np.flatnonzero(kind == 2), len(flat))
    return Matches(sent, message, int((~taken).sum()), int((~matched).sum()), left_open, examples)


def _probes(
    message: NDArray[np.int32],
    rows: NDArray[np.int64],
    order: NDArray[np.int64],
    channel: NDArray[np.int64],
    receives: NDArray[np.int64],
    probes: NDArray[np.int64],
    total: int,
) -> None:
    """Give each probe the message of the next receive on its channel."""
    keys = channel[receives] * (total + 1) + rows[order[receives]]
    wanted = channel[probes] * (total + 1) + rows[order[probes]]
    next_one = np.searchsorted(keys, wanted)
    there = np.flatnonzero(next_one < len(keys))
    there = there[channel[receives[next_one[there]]] == channel[probes[there]]]
    message[rows[order[probes[there]]]] = message[rows[order[receives[next_one[there]]]]]

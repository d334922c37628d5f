"""Finite buffers of a lossless network: whether they can fill, and the replay with credits when they do.

Most workloads never fill a buffer, and then the port model with unlimited ones is exact and much cheaper. So that
one runs first, and what its queues reach tells whether credits would have held anybody up.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.replay import layout
from estimator.replay.engine import Flows, Replay, Settings, Work, run_replay
from estimator.replay.network import Network

# Cells that a replay with credits cuts its messages into, times the links that they cross: a few seconds.
MOST_CELL_HOPS = 10_000_000

# With the largest cells that is exceeded by so much at the most; more is not replayed with credits.
MOST_EXCESS = 4.0

# A buffer is divided into at least so many cells, or held-up flows would not interleave as packets do.
LEAST_CELLS_PER_BUFFER = 16

# Up to this many pairs of ports, a table over all pairs is quicker than sorting those that follow each other.
DENSE_PAIRS = 1 << 26


class BackPressure(StrEnum):
    """What became of buffers that fill."""

    NONE = "none"  # no buffer fills
    MODELLED = "modelled"  # replayed with credits
    MISSING = "not modelled"  # buffers fill, and what follows is not in the result


class BufferedReplay(NamedTuple):
    """A replay, the network with its statistics, and what became of its buffers."""

    network: Network
    replay: Replay
    back_pressure: BackPressure


def replay_with_buffers(
    net: Network, work: Work, settings: Settings, buffer_bytes: float, *, lossless: bool = True, **more: Any
) -> BufferedReplay:
    """Replay by the port model, and once more with credits if buffers of that size would fill.

    Parameters
    ----------
    net : ports at rest; the port table is changed
    buffer_bytes : buffer at the far end of each link between switches or from a host, may be inf
    lossless : a full buffer stops its sender; else packets are lost, which is not modelled
    more : background flows and progress, as for `run_replay`

    Notes
    -----
    Where the routes of the network depend on each other in a circle (a torus without virtual channels), credits
    could lock up; such a network keeps its unlimited buffers, and so does a run of too many cells.
    """
    at_rest = net.ports.copy()
    replay = run_replay(net, work, settings, **more)
    if settings.model != layout.PORT or not np.isfinite(buffer_bytes):
        return BufferedReplay(net, replay, BackPressure.NONE)
    first, second = successions(net)
    if not can_fill(net, first, second, buffer_bytes, settings.mtu_bytes):
        return BufferedReplay(net, replay, BackPressure.NONE)
    cell, excess = cell_size(net, work, buffer_bytes, settings.mtu_bytes)
    if not lossless or excess > MOST_EXCESS or is_cyclic(len(net.ports), first, second):
        return BufferedReplay(net, replay, BackPressure.MISSING)
    finite = Network(at_rest, net.paths, net.path_ports)
    held_up = replay_with_credits(finite, work, settings, buffer_bytes, cell, **more)
    if not finite.ports["paused"].any():
        return BufferedReplay(net, replay, BackPressure.NONE)
    return BufferedReplay(finite, held_up, BackPressure.MODELLED)


def replay_with_credits(
    net: Network,
    work: Work,
    settings: Settings,
    buffer_bytes: float,
    cell_bytes: float,
    *,
    background: Flows | None = None,
    **more: Any,
) -> Replay:
    """Replay in cells with credits. Background flows only take their rate away."""
    ports = net.ports
    first, _ = successions(net)
    bundled = np.maximum(ports["rate"][first] / ports["packet_rate"][first], 1.0)
    limited = ports["rate"][first] < layout.UNLIMITED_RATE
    ports["credit"][first] = np.where(limited, buffer_bytes * bundled, np.inf)
    if background is not None:
        for path, rate in zip(background.paths.tolist(), background.rates.tolist(), strict=True):
            begin, hops = int(net.paths["begin"][path]), int(net.paths["hops"][path])
            ports["inflow"][net.path_ports[begin : begin + hops]] += rate
    return run_replay(net, work, settings._replace(model=layout.CREDITS, cell_bytes=cell_bytes), **more)


def successions(net: Network) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of ports that follow each other on a route, each pair once, as two columns."""
    here, there = net.path_ports[:-1].astype(np.int64), net.path_ports[1:].astype(np.int64)
    inside = np.ones(len(net.path_ports), bool)
    inside[net.paths["begin"] + net.paths["hops"] - 1] = False
    pairs = here[inside[:-1]] * len(net.ports) + there[inside[:-1]]
    if len(net.ports) ** 2 <= DENSE_PAIRS:
        seen = np.zeros(len(net.ports) ** 2, bool)
        seen[pairs] = True
        pairs = np.flatnonzero(seen)
    else:
        pairs = np.unique(pairs)
    return pairs // len(net.ports), pairs % len(net.ports)


def can_fill(
    net: Network, first: NDArray[np.int64], second: NDArray[np.int64], buffer_bytes: float, mtu_bytes: float
) -> bool:
    """Whether a buffer could hold up its sender, going by the queues of a replay with unlimited ones.

    A buffer holds no more than what waits at all ports that its link leads to, nor more than the messages that are
    at least in part in it, and with either a packet in service, and what is on its way while credits return (rate
    times twice the latency).
    """
    ports = net.ports
    behind = np.bincount(first, ports["peak_backlog"][second], minlength=len(ports))
    if not ports["streams"].any():
        behind = np.minimum(behind, ports["held_peak"])
    loop = 2.0 * ports["latency"] * ports["rate"] + 2.0 * mtu_bytes
    limited = ports["rate"][first] < layout.UNLIMITED_RATE
    return bool((behind + loop > buffer_bytes)[first[limited]].any())


def is_cyclic(count: int, first: NDArray[np.int64], second: NDArray[np.int64]) -> bool:
    """Whether waiting for each other can go round in a circle among ports (Dally and Seitz 1987)."""
    waits = np.ones(len(first), bool)
    while True:
        entered = np.zeros(count, bool)
        entered[second[waits]] = True
        free = waits & ~entered[first]
        if not free.any():
            return bool(waits.any())
        waits &= ~free


def cell_size(net: Network, work: Work, buffer_bytes: float, mtu_bytes: float) -> tuple[float, float]:
    """Bytes of a cell (one packet, or as many as keep the replay short), and cells times links over what is short."""
    sends = work.rows["kind"] == layout.MESSAGE
    uses = np.bincount(work.instances["schedule"], minlength=len(work.schedules))
    planned = np.repeat(uses, work.schedules["messages"])
    sizes = np.concatenate([work.rows["size"][sends], work.planned["size"][: len(planned)]])
    counts = np.concatenate([np.ones(int(sends.sum())), planned])
    hops = float(net.paths["hops"].mean()) if len(net.paths) else 0.0
    cell = mtu_bytes
    while True:
        excess = float((np.ceil(sizes / cell) * counts).sum()) * hops / MOST_CELL_HOPS
        if excess <= 1.0 or 2.0 * cell * LEAST_CELLS_PER_BUFFER > buffer_bytes:
            return cell, excess
        cell *= 2.0

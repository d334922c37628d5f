"""Finite buffers with credits: messages cross the network as cells, and a port sends only what the next buffer takes.

Every link has a buffer at its far end. A port that starts a cell takes its bytes from the buffer's credit; they come
back when the cell has left the next port, one link latency later. The cells of a port are one FIFO, so the first
one that has no credit holds up those behind it (head-of-line blocking), and a full buffer fills the buffers before
it (tree saturation). With cells of one packet this is a packet-level simulation of the ports; a larger cell is a
train of packets: the next port may start it when its first packet is there, and ends it no earlier than its last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimator.replay.layout import N_CELL_FREE
from estimator.replay.overhead_kernel import overhead_of
from estimator.replay.port_kernel import (
    depart,
    enter_episode,
    note_injection,
    note_load,
    offer,
    source_rate,
    take_slot,
    wait_at_random,
)
from estimator.replay.queue_kernel import CELL, CREDIT, DELIVER, EARLY, FREE, push, push_behind
from estimator.replay.tables import (
    Tables,
    cell_free_of,
    cells_of,
    counter_of,
    flight_of,
    hops_of,
    path_ports_of,
    paths_of,
    pool_of,
    ports_of,
    settings_of,
)
from vef.compiled import kernel_part


@kernel_part
def take_cell(t: Tables, slot: int, size: float) -> int:
    """A cell of a message, on its injection port."""
    counter_of(t)[N_CELL_FREE] -= 1
    index = cell_free_of(t)[counter_of(t)[N_CELL_FREE]]
    cell = cells_of(t)[index]
    cell.slot = slot
    cell.hop = 0
    cell.size = size
    cell.next = -1
    return index


@kernel_part
def give_back(t: Tables, index: int) -> None:
    cell_free_of(t)[counter_of(t)[N_CELL_FREE]] = index
    counter_of(t)[N_CELL_FREE] += 1


@kernel_part
def paused_so_far(port: Any, now: float) -> float:
    """Time that the port's next cell has had no credit, up to now."""
    return port.paused + (now - port.blocked_since if port.blocked == 1 else 0.0)


@kernel_part
def note_pauses(t: Tables, msg: int, path: int, now: float) -> None:
    """Keep with a posted message of a collective how long its injection port had been held up by then."""
    pooled = msg - settings_of(t)[0].sends
    if pooled >= 0:
        port = ports_of(t)[path_ports_of(t)[paths_of(t)[path].begin]]
        pool_of(t)[pooled].paused = paused_so_far(port, now)


@kernel_part
def inject_cells(t: Tables, msg: int, path: int, size: float, posted: float, now: float) -> None:
    """Make a message the one that its injection port sends now."""
    index = path_ports_of(t)[paths_of(t)[path].begin]
    port = ports_of(t)[index]
    slot = take_slot(t, msg, path, size, posted)
    message = flight_of(t)[slot]
    message.left_bytes = size
    message.paused = 0.0
    message.held = 0
    pooled = msg - settings_of(t)[0].sends
    message.nic_paused = paused_so_far(port, now) - pool_of(t)[pooled].paused if pooled >= 0 else 0.0
    for hop in range(paths_of(t)[path].hops):
        passed = hops_of(t)[slot * settings_of(t)[0].longest + hop]
        passed.updated = 0.0
        passed.counted = 0.0
    message.started = max(posted + overhead_of(t, size), now)
    message.alone_rate = source_rate(t, path)
    port.nic_busy = 1
    port.nic_slot = slot
    port.bytes += size
    note_injection(port, message, index)
    if message.started > now:
        port.nic_early = 1
        push(t, message.started, FREE + 16 * index, 0.0, 0, EARLY)
    else:
        serve(t, index, now)


@kernel_part
def next_size(t: Tables, port: Any) -> float:
    """Bytes of the cell that the port would send next, -1 for none."""
    if port.nic_busy == 1:
        # Not by the time: of events of one instant, a later one may have a time that is a rounding earlier.
        if port.nic_early == 1:
            return -1.0
        return min(flight_of(t)[port.nic_slot].left_bytes, settings_of(t)[0].cell_bytes)
    if port.cell_first >= 0:
        return cells_of(t)[port.cell_first].size
    return -1.0


@kernel_part
def next_cell(t: Tables, port: Any, size: float, now: float) -> int:
    """Take that cell: cut from the message in injection, or the first that waits."""
    if port.nic_busy == 1:
        index = take_cell(t, port.nic_slot, size)
        message = flight_of(t)[port.nic_slot]
        cell = cells_of(t)[index]
        cell.is_first = 1 if message.left_bytes == message.size else 0
        message.left_bytes -= size
        cell.is_last = 1 if message.left_bytes <= 0.0 else 0
        cell.reached = now
        cell.tail = now
        return index
    index = port.cell_first
    port.cell_first = cells_of(t)[index].next
    if port.cell_first < 0:
        port.cell_last = -1
    return index


@kernel_part
def hold(t: Tables, port: Any, now: float) -> None:
    """The port's next cell has no credit."""
    port.blocked = 1
    port.blocked_since = now
    slot = port.nic_slot if port.nic_busy == 1 else cells_of(t)[port.cell_first].slot
    message = flight_of(t)[slot]
    if message.held == 0:
        message.held_since = now
    message.held += 1


@kernel_part
def let_go(port: Any, message: Any, now: float) -> None:
    """It has credit again; cells of a message that wait at several ports at once wait once."""
    port.blocked = 0
    port.paused += max(now - port.blocked_since, 0.0)
    message.held -= 1
    if message.held == 0:
        message.paused += max(now - message.held_since, 0.0)


@kernel_part
def serve(t: Tables, index: int, now: float) -> None:
    """Start the port's next cell, if there is one, the port is idle and the next buffer has room."""
    port = ports_of(t)[index]
    if port.sending == 1:
        return
    size = next_size(t, port)
    if size < 0.0:
        return
    if port.credit < size:
        if port.blocked == 0:
            hold(t, port, now)
        return
    at = next_cell(t, port, size, now)
    cell = cells_of(t)[at]
    if port.blocked == 1:
        let_go(port, flight_of(t)[cell.slot], now)
    port.credit -= size
    transmit(t, at, index, now)


@kernel_part
def transmit(t: Tables, at: int, index: int, now: float) -> None:
    """Put a cell on the link."""
    packet = settings_of(t)[0].packet_bytes
    port = ports_of(t)[index]
    cell = cells_of(t)[at]
    message = flight_of(t)[cell.slot]
    route = paths_of(t)[message.path]
    size = cell.size
    first = min(size, packet)
    rate = max(port.rate - port.inflow, 1e-9 * port.rate)
    ends = max(now + size / rate, cell.tail + first / rate)
    slower = first / port.packet_rate - first / port.rate
    head = now + first / rate + slower + port.latency
    tail = ends + slower + port.latency
    if port.packet_rate < port.rate:
        # Over a bundle a short packet could overtake those before it; the cells of a message stay in order.
        hop = hops_of(t)[cell.slot * settings_of(t)[0].longest + cell.hop]
        head = max(head, hop.updated)
        tail = max(tail, hop.counted)
        hop.updated = head
        hop.counted = tail
    if cell.is_first == 1:
        message.waited += now - cell.reached
        if cell.hop == 0:
            message.alone = now + first / port.packet_rate + port.latency
    port.sending = 1
    port.send_bytes = size
    port.send_last = cell.is_last
    port.send_from = path_ports_of(t)[route.begin + cell.hop - 1] if cell.hop > 0 else -1
    push(t, ends, FREE + 16 * index, 0.0, 0, EARLY)
    cell.hop += 1
    if cell.hop < route.hops:
        cell.tail = tail
        push_behind(t, 2 * index, head, CELL + 16 * at, 0.0, 0)
        return
    if cell.is_last == 1:
        push(t, tail + message.random_mean, DELIVER + 16 * cell.slot, 0.0, 0, EARLY)
    if port.credit < np.inf:
        # A host that relays for others takes what is for itself at once.
        push(t, tail + port.latency, CREDIT + 16 * index, size, 0, EARLY)
    give_back(t, at)


@kernel_part
def on_cell(t: Tables, at: int, now: float) -> None:
    """The first packet of a cell has wholly arrived at the next port of its path."""
    cell = cells_of(t)[at]
    message = flight_of(t)[cell.slot]
    route = paths_of(t)[message.path]
    index = path_ports_of(t)[route.begin + cell.hop]
    ingress = path_ports_of(t)[route.begin + cell.hop - 1]
    port = ports_of(t)[index]
    if cell.is_first == 1:
        before = ports_of(t)[ingress]
        first = min(message.size, settings_of(t)[0].packet_bytes)
        enter_episode(port, ingress, before, now - first / before.packet_rate)
        offer(message, port, before, first)
        port.members += 1
        if port.backlog <= 0.0:
            message.waited += wait_at_random(message, port, ingress, 0.0)
    port.backlog += cell.size
    port.ep_bytes += cell.size
    port.bytes += cell.size
    port.updated = max(port.updated, now, cell.tail)
    if cell.is_first == 1 or cell.is_last == 1:
        # Up to the last of the bytes that are counted, which may be another message's.
        note_load(message, port, index, port.updated)
    cell.reached = now
    cell.next = -1
    if port.cell_last >= 0:
        cells_of(t)[port.cell_last].next = at
    else:
        port.cell_first = at
    port.cell_last = at
    serve(t, index, now)


@kernel_part
def on_credit(t: Tables, index: int, size: float, now: float) -> None:
    """The buffer at the far end has room for that many more bytes."""
    ports_of(t)[index].credit += size
    serve(t, index, now)


@kernel_part
def on_free(t: Tables, index: int, now: float) -> bool:
    """The port's cell has left, or its next message is ready; true when a whole message has left its host."""
    port = ports_of(t)[index]
    if port.nic_early == 1:
        port.nic_early = 0
        serve(t, index, now)
        return False
    port.sending = 0
    if port.send_from >= 0:
        port.backlog = max(port.backlog - port.send_bytes, 0.0)
        if port.send_last == 1:
            port.members -= 1
            depart(port)
        before = ports_of(t)[port.send_from]
        if before.credit < np.inf:
            reaches = now + before.latency
            push_behind(t, 2 * port.send_from + 1, reaches, CREDIT + 16 * port.send_from, port.send_bytes, 0)
    elif port.send_last == 1:
        port.nic_busy = 0
        port.nic_free = now
        return True
    serve(t, index, now)
    return False

"""Closed-form models: a message's latency from what is in flight across its ports when it is posted.

All messages of one instant are registered before the first of them is looked at, so that the members of a
synchronised burst see each other.
"""

from __future__ import annotations

from typing import Any

from estimator.replay.layout import ALPHA_BETA, EMPIRICAL, QUEUE
from estimator.replay.overhead_kernel import overhead_of
from estimator.replay.port_kernel import source_rate, take_slot
from estimator.replay.queue_kernel import DELIVER, EARLY, LATE, SAMPLE, push
from estimator.replay.tables import (
    Tables,
    flight_of,
    path_ports_of,
    paths_of,
    ports_of,
    settings_of,
)
from vef.compiled import kernel_part


@kernel_part
def register(t: Tables, msg: int, path: int, size: float, now: float, source: int) -> int:
    """Put a message on the ports of its path, and note at which of them flows of several inputs merge."""
    slot = take_slot(t, msg, path, size, now)
    flight_of(t)[slot].started = now + overhead_of(t, size)
    route = paths_of(t)[path]
    own_rate = source_rate(t, path)
    ingress = source
    for at in range(route.begin, route.begin + route.hops):
        port = ports_of(t)[path_ports_of(t)[at]]
        if port.flows == 0:
            port.ep_source = ingress
            port.ep_merging = 0
        elif port.ep_source != ingress:
            port.ep_merging = 1
        ingress = path_ports_of(t)[at]
        port.flows += 1
        port.offered += own_rate if size > 0.0 else 0.0
        port.demand += min(own_rate, port.rate) if size > 0.0 else 0.0
        port.ep_bytes += size
        port.bytes += size
    return slot


@kernel_part
def release(t: Tables, slot: int) -> None:
    """Take a message off the ports of its path."""
    message = flight_of(t)[slot]
    route = paths_of(t)[message.path]
    own_rate = source_rate(t, message.path)
    for at in range(route.begin, route.begin + route.hops):
        port = ports_of(t)[path_ports_of(t)[at]]
        port.flows -= 1
        if message.size > 0.0:
            port.offered -= own_rate
            port.demand -= min(own_rate, port.rate)
        port.offered = port.offered if port.flows > 0 else 0.0
        port.demand = port.demand if port.flows > 0 else 0.0
        port.ep_bytes = port.ep_bytes - message.size if port.flows > 0 else 0.0


@kernel_part
def note_flows(message: Any, port: Any, index: int) -> float:
    """Offered load of a port that several flows share; if they merge there, kept with the message as its worst."""
    rho = port.offered / port.rate
    if port.ep_merging == 0:
        return rho
    port.max_rho = max(port.max_rho, rho)
    if rho > message.rho:
        message.rho = rho
        message.rho_port = index
        message.rho_flows = port.flows
        message.rho_bytes = port.ep_bytes
    return rho


@kernel_part
def startup(t: Tables, path: int, size: float) -> float:
    """α of a message: overhead, wires and switches, and its first packet at all ports but the slowest."""
    settings = settings_of(t)[0]
    route = paths_of(t)[path]
    first = min(size, settings.packet_bytes)
    return overhead_of(t, size) + route.latency + first * (route.packet_s_per_byte - 1.0 / route.rate)


@kernel_part
def queue_wait(t: Tables, rho: float, service_s: float, most_s: float) -> float:
    """Mean wait at a port of load rho (Kingman), bounded by the work that is there."""
    settings = settings_of(t)[0]
    if rho >= 1.0:
        return most_s
    cv_sq = settings.arrival_cv_sq + settings.service_cv_sq
    return min(rho / (1.0 - rho) * 0.5 * cv_sq * service_s, most_s)


@kernel_part
def on_sample(t: Tables, slot: int) -> None:
    """Latency of a message from the flows and the load that it meets."""
    settings = settings_of(t)[0]
    message = flight_of(t)[slot]
    route = paths_of(t)[message.path]
    size = message.size
    own_rate = source_rate(t, message.path)
    alpha = startup(t, message.path, size)
    lone = size / route.rate
    transfer = lone
    factor = 1.0
    wait = 0.0
    for at in range(route.begin, route.begin + route.hops):
        index = path_ports_of(t)[at]
        port = ports_of(t)[index]
        if port.flows < 2:
            continue
        rho = note_flows(message, port, index)
        # F flows on a link that carries C of them at the full speed that they can have there.
        stretch = max(1.0, port.demand / port.rate)
        alone = size / min(own_rate, port.rate)
        transfer = max(transfer, alone * stretch)
        others = rho * (1.0 - 1.0 / port.flows)
        factor = max(factor, stretch**settings.flow_exponent * (1.0 + others) ** settings.load_exponent)
        # Sharing and waiting together are at most the others' bytes there.
        most = max((port.ep_bytes - size) / port.rate - alone * (stretch - 1.0), 0.0)
        wait += queue_wait(t, rho, min(settings.mtu_bytes, size) / port.packet_rate, most)
    latency = alpha + transfer
    if settings.model == ALPHA_BETA:
        latency = alpha + lone
    elif settings.model == EMPIRICAL:
        latency = max(latency, (alpha + lone) * factor)
    elif settings.model == QUEUE:
        message.waited = settings.wait_factor * wait
        latency += message.waited
    push(t, message.posted + latency, DELIVER + 16 * slot, 0.0, 0, EARLY)


@kernel_part
def post_closed(t: Tables, msg: int, path: int, size: float, now: float, source: int) -> None:
    """Register the message; its latency is settled once the instant is complete."""
    slot = register(t, msg, path, size, now, source)
    push(t, now, SAMPLE + 16 * slot, 0.0, 0, LATE)

"""Closed-form models: a message's latency from what is in flight across its ports when it is posted.

All messages of one instant are registered before the first of them is looked at, so that the members of a
synchronised burst see each other.
"""

from __future__ import annotations

from estimator.replay.layout import ALPHA_BETA, EMPIRICAL, QUEUE, Network, Settings, State
from estimator.replay.port_kernel import take_slot
from estimator.replay.queue_kernel import DELIVER, EARLY, LATE, SAMPLE, push
from vef.compiled import kernel


@kernel
def post_closed(
    net: Network, state: State, settings: Settings, msg: int, path: int, size: float, now: float
) -> None:
    """Register the message on its ports; its latency is settled once the instant is complete."""
    slot = take_slot(state, msg, path, size, now)
    state.flight[slot].started = now + settings.overhead_s
    route = net.paths[path]
    own_rate = net.ports[net.path_ports[route.begin]].rate
    for at in range(route.begin, route.begin + route.hops):
        port = net.ports[net.path_ports[at]]
        port.flows += 1
        port.offered += own_rate
        port.ep_bytes += size
        port.bytes += size
    push(state, now, SAMPLE + 16 * slot, 0.0, 0, LATE)


@kernel
def queue_wait(settings: Settings, rho: float, service_s: float, most_s: float) -> float:
    """Mean wait at a port of load rho (Kingman), bounded by the work that is there."""
    if rho >= 1.0:
        return most_s
    cv_sq = settings.arrival_cv_sq + settings.service_cv_sq
    return min(rho / (1.0 - rho) * 0.5 * cv_sq * service_s, most_s)


@kernel
def on_sample(net: Network, state: State, settings: Settings, slot: int) -> None:
    """Latency of a message from the flows and the load that it meets."""
    message = state.flight[slot]
    route = net.paths[message.path]
    size = message.size
    own_rate = net.ports[net.path_ports[route.begin]].rate
    first = min(size, settings.packet_bytes)
    alpha = settings.overhead_s + route.latency + first * (route.packet_s_per_byte - 1.0 / route.rate)
    transfer = size / route.rate
    wait = 0.0
    for at in range(route.begin, route.begin + route.hops):
        index = net.path_ports[at]
        port = net.ports[index]
        if port.flows < 2:
            continue
        rho = port.offered / port.rate
        port.max_rho = max(port.max_rho, rho)
        if rho > message.rho:
            message.rho = rho
            message.rho_port = index
            message.rho_flows = port.flows
            message.rho_bytes = port.ep_bytes
        if settings.model == ALPHA_BETA or settings.model == EMPIRICAL:
            continue
        # F flows of own_rate on a link that carries C = rate / own_rate of them at full speed.
        transfer = max(transfer, size / min(own_rate, port.rate) * max(1.0, rho))
        if settings.model == QUEUE:
            most = max(port.ep_bytes - size, 0.0) / port.rate
            wait += queue_wait(settings, rho, min(settings.mtu_bytes, size) / port.packet_rate, most)
    latency = alpha + transfer + settings.wait_factor * wait
    if settings.model == EMPIRICAL:
        latency = (alpha + transfer) * max(1.0, message.rho) ** settings.empirical_exponent
    message.waited = settings.wait_factor * wait
    push(state, message.posted + latency, DELIVER + 16 * slot, 0.0, 0, EARLY)


@kernel
def release(net: Network, state: State, slot: int) -> None:
    """The message is delivered: take it off its ports."""
    message = state.flight[slot]
    route = net.paths[message.path]
    own_rate = net.ports[net.path_ports[route.begin]].rate
    for at in range(route.begin, route.begin + route.hops):
        port = net.ports[net.path_ports[at]]
        port.flows -= 1
        port.offered = port.offered - own_rate if port.flows > 0 else 0.0
        port.ep_bytes = port.ep_bytes - message.size if port.flows > 0 else 0.0

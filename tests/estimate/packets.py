"""A plain packet-level simulation with credits, for comparison: slow, and meant to be read.

Egress FIFOs, a buffer at the far end of each link into a switch, and one credit per byte of it, which returns one
link latency after the packet has left the switch.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import count, pairwise
from typing import Any, NamedTuple

Link = tuple[int, int]


class Packet(NamedTuple):
    message: int
    route: list[Link]
    hop: int
    size: int


def simulate(scenario: Mapping[str, Any]) -> list[float]:
    """Arrival of each message of a scenario (the format of `estimator.scenario`, no dependencies), in ns."""
    rate: dict[Link, float] = {}
    latency: dict[Link, float] = {}
    for link in scenario["topology"]["links"]:
        for ends in ((link["a"], link["b"]), (link["b"], link["a"])):
            rate[ends], latency[ends] = link["gbps"] / 8, link["latency_ns"]
    routes = {(path[0], path[-1]): list(pairwise(path)) for path in scenario["routing"]["paths"]}
    buffer = scenario["params"]["ingress_buffer_bytes_per_link"]
    last = {route[-1] for route in routes.values()}
    credit = {link: float("inf") if link in last else buffer for link in rate}
    queue: dict[Link, deque[Packet]] = {link: deque() for link in rate}
    sending: dict[Link, bool] = dict.fromkeys(rate, False)
    missing = [message["bytes"] for message in scenario["messages"]]
    arrived = [0.0] * len(missing)
    order, events = count(), []

    def later(time: float, kind: str, *what: Any) -> None:
        heapq.heappush(events, (round(time, 4), next(order), kind, what))

    def serve(link: Link, now: float) -> None:
        if sending[link] or not queue[link] or credit[link] < queue[link][0].size:
            return
        packet = queue[link].popleft()
        credit[link] -= packet.size
        sending[link] = True
        sent = now + packet.size / rate[link]
        later(sent, "sent", link, packet)
        later(sent + latency[link], "arrived", packet)

    for index, message in enumerate(scenario["messages"]):
        later(message["ready"], "posted", index)
    while events:
        now, _, kind, what = heapq.heappop(events)
        if kind == "posted":
            message = scenario["messages"][what[0]]
            route, left = routes[message["src"], message["dst"]], message["bytes"]
            while left > 0:
                size = min(left, scenario["mtu_bytes"])
                queue[route[0]].append(Packet(what[0], route, 0, size))
                left -= size
            serve(route[0], now)
        elif kind == "sent":
            link, packet = what
            sending[link] = False
            if packet.hop > 0:
                before = packet.route[packet.hop - 1]
                later(now + latency[before], "credit", before, packet.size)
            serve(link, now)
        elif kind == "credit":
            link, size = what
            credit[link] += size
            serve(link, now)
        else:
            (packet,) = what
            if packet.hop + 1 == len(packet.route):
                missing[packet.message] -= packet.size
                arrived[packet.message] = now
                continue
            packet = packet._replace(hop=packet.hop + 1)
            link = packet.route[packet.hop]
            queue[link].append(packet)
            serve(link, now)
    assert not any(missing)
    return arrived


def leaf_spine(hosts: int, spines: int, messages: Sequence[Mapping[str, Any]], buffer: int) -> dict[str, Any]:
    """A scenario on two leaves of `hosts` hosts each; leaf to leaf over spine (source + destination) mod spines."""
    leaves, first_spine = (2 * hosts, 2 * hosts + 1), 2 * hosts + 2
    links = [{"a": h, "b": leaves[h // hosts], "gbps": 100, "latency_ns": 400} for h in range(2 * hosts)]
    links += [
        {"a": leaf, "b": first_spine + s, "gbps": 100, "latency_ns": 600} for leaf in leaves for s in range(spines)
    ]
    paths = []
    for src, dst in sorted({(m["src"], m["dst"]) for m in messages}):
        near, far = leaves[src // hosts], leaves[dst // hosts]
        middle = [near] if near == far else [near, first_spine + (src + dst) % spines, far]
        paths.append([src, *middle, dst])
    return {
        "topology": {"links": links},
        "mtu_bytes": 4096,
        "params": {"ingress_buffer_bytes_per_link": buffer},
        "routing": {"paths": paths},
        "messages": messages,
    }

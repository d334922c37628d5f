"""Scenarios of other simulators: messages with dependencies on a given network with given routes, and the outcome.

A scenario is a JSON file (plain or gzip): `topology.links` [{a, b, gbps, latency_ns}], full duplex; `mtu_bytes`;
`alpha_ns`, software overhead per message; `params.ingress_buffer_bytes_per_link`, the buffer at the far end of each
link where credits or pauses keep it from overflowing (default: unlimited); `routing.paths`, node lists, one per pair
of hosts; `messages` [{id, src, dst, bytes, ready | deps + delay_ns}]; `result`, the simulator's answer:
`makespan_ns`, `mean_latency_ns` and `messages.finish_ns` by message. Times in ns, rates in 10⁹ bit/s.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.background import Stream, with_streams
from estimator.estimate import MODELS, RIPPLE_TOLERANCE
from estimator.formulas import ModelParameters, regime_codes
from estimator.replay import layout
from estimator.replay.buffers import replay_with_buffers
from estimator.replay.engine import Settings, Work
from estimator.replay.network import network_of
from estimator.steps import RANDOM, surplus_p99

NANOSECOND = 1e-9
BYTES_PER_S_PER_GBPS = 1e9 / 8

# A probe is sent when the background fills its paths.
PROBE_AT_NS = 100_000


class ScenarioError(ValueError):
    """A file that is not a scenario, or one that asks for something that is not modelled."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """A scenario, ready to run any number of times.

    Attributes
    ----------
    name, family : str
    links : the rows of `topology.links`
    paths : ports of each route, CSR
    work : the messages as a workload; message i is message i of the file
    overhead_s, packet_bytes : float
    streams : background traffic, one per path
    own_rho : load of the scenario's own traffic, where it is random
    buffer_bytes : buffer at the far end of each link, inf for one that never fills
    reference : `result` of the file, may be empty
    """

    name: str
    family: str
    rate: NDArray[np.float64]
    latency: NDArray[np.float64]
    path_ptr: NDArray[np.int64]
    path_ports: NDArray[np.int32]
    work: Work
    overhead_s: float
    packet_bytes: float
    streams: tuple[Stream, ...]
    own_rho: float
    buffer_bytes: float
    reference: Mapping[str, Any]

    @property
    def messages(self) -> int:
        """Number of messages."""
        return int(self.work.planned.size)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the model says of a scenario; times in seconds.

    Attributes
    ----------
    posted_s, arrived_s : float64[messages]
    makespan_s, mean_latency_s : float
    latency_p99_s : latency of the slowest message that 99 in 100 runs do not exceed, from its random waits
    run_g5 : whether a step is marked
    """

    posted_s: NDArray[np.float64]
    arrived_s: NDArray[np.float64]
    makespan_s: float
    mean_latency_s: float
    latency_p99_s: float
    run_g5: bool


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario.

    Raises
    ------
    ScenarioError
        What is missing or wrong in the file.
    """
    file = Path(path)
    try:
        data = file.read_bytes()
        content = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        return _read(file.name.split(".")[0], content)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ScenarioError(f"{path}: not a scenario: {type(error).__name__} {error}") from error


def _read(name: str, content: Mapping[str, Any]) -> Scenario:
    port_of: dict[tuple[int, int], int] = {}
    rate: list[float] = []
    latency: list[float] = []
    for link in content["topology"]["links"]:
        for ends in ((link["a"], link["b"]), (link["b"], link["a"])):
            port_of[ends] = len(rate)
            rate.append(link["gbps"] * BYTES_PER_S_PER_GBPS)
            latency.append(link["latency_ns"] * NANOSECOND)
    nodes = list(content["routing"]["paths"])
    if not content["messages"]:
        nodes.append(content["params"]["probe"]["path"])
    route_of = {(path[0], path[-1]): index for index, path in enumerate(nodes)}
    hops = [port_of[ends] for path in nodes for ends in pairwise(path)]
    messages = content["messages"] or _probe(content)
    return Scenario(
        name=content.get("name", name),
        family=content.get("family", ""),
        rate=np.array(rate),
        latency=np.array(latency),
        path_ptr=np.cumsum([0, *(len(path) - 1 for path in nodes)]),
        path_ports=np.array(hops, np.int32),
        work=_messages_as_work(messages, route_of),
        overhead_s=content.get("alpha_ns", 0) * NANOSECOND,
        packet_bytes=float(content["mtu_bytes"]),
        streams=tuple(stream for entry in content.get("background", ()) for stream in _streams(entry, port_of)),
        own_rho=content.get("params", {}).get("probe", {}).get("load", 0.0),
        buffer_bytes=float(content.get("params", {}).get("ingress_buffer_bytes_per_link", np.inf)),
        reference=content.get("result", {}),
    )


def _probe(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """One message that stands for many at random times."""
    probe = content["params"]["probe"]
    return [{"id": 0, "src": probe["src"], "dst": probe["dst"], "bytes": probe["bytes"], "ready": PROBE_AT_NS}]


def _streams(entry: Mapping[str, Any], port_of: Mapping[tuple[int, int], int]) -> list[Stream]:
    """Background sources: `load` of `ref_gbps` in all, in equal parts over `paths`."""
    rate = entry["load"] * entry["ref_gbps"] * BYTES_PER_S_PER_GBPS / len(entry["paths"])
    return [
        Stream(
            ports=np.array([port_of[ends] for ends in pairwise(path)], np.int32),
            rate=rate,
            unit_bytes=float(entry["bytes"]),
            cv_sq=float(entry.get("ca2", 1.0)),
            burst=int(entry.get("burst", 0)),
            peak=float(entry.get("peak", np.inf)),
        )
        for path in entry["paths"]
    ]


def _messages_as_work(messages: list[Mapping[str, Any]], route_of: Mapping[tuple[int, int], int]) -> Work:
    """One thread per message: wait for what it depends on, then for its delay, then post it."""
    index_of = {message["id"]: index for index, message in enumerate(messages)}
    ops: list[int] = []
    op_ptr = [0]
    delays: list[float] = []
    for index, message in enumerate(messages):
        ops.extend(index_of[other] * 4 + layout.WAIT_RECV for other in message.get("deps", ()))
        delay = message.get("ready", message.get("delay_ns", 0))
        if delay:
            ops.append(len(delays) * 4 + layout.DELAY)
            delays.append(delay * NANOSECOND)
        ops.append(index * 4 + layout.SEND)
        op_ptr.append(len(ops))
    count = len(messages)
    parts = np.zeros(count, layout.PART_TYPE)
    parts["thread"], parts["task"] = np.arange(count), -1
    instances = np.zeros(1, layout.INSTANCE_TYPE)
    instances["staying"] = count
    schedules = np.zeros(1, layout.SCHEDULE_TYPE)
    schedules["messages"] = count
    planned = np.zeros(count, layout.PLANNED_TYPE)
    planned["size"] = [message["bytes"] for message in messages]
    return Work(
        task_ptr=np.zeros(1, np.int64),
        job=np.zeros(0, np.int64),
        rows=np.zeros(0, layout.ROW_TYPE),
        parts=parts,
        instances=instances,
        schedules=schedules,
        op_ptr=np.array(op_ptr, np.int64),
        ops=np.array(ops, np.int64),
        planned=planned,
        delay_s=np.array(delays or [0.0]),
        bound_path=np.array([route_of[m["src"], m["dst"]] for m in messages], np.int32),
        collective_steps=1,
    )


def run_scenario(scenario: Scenario, model: str = "segmented", parameters: ModelParameters | None = None) -> Outcome:
    """Run a model on a scenario.

    Raises
    ------
    ScenarioError
        When it has no messages.
    """
    if not scenario.messages:
        raise ScenarioError(f"{scenario.name}: no messages")
    if scenario.buffer_bytes < scenario.packet_bytes:
        raise ScenarioError(f"{scenario.name}: ingress_buffer_bytes_per_link is smaller than a packet (mtu_bytes)")
    parameters = parameters or ModelParameters()
    settings = Settings(
        model=MODELS[model],
        packet_bytes=scenario.packet_bytes,
        overhead_s=scenario.overhead_s,
        eager_limit_bytes=np.inf,
        intra_rate=np.inf,
        intra_latency_s=0.0,
        ripple_tolerance=RIPPLE_TOLERANCE,
        mtu_bytes=scenario.packet_bytes,
        arrival_cv_sq=parameters.arrival_cv_sq,
        service_cv_sq=parameters.service_cv_sq,
        wait_factor=parameters.multihop_safety_factor,
    )
    own = network_of(scenario.rate, scenario.rate, scenario.latency, scenario.path_ptr, scenario.path_ports)
    network, flows = with_streams(own, scenario.streams, as_flows=model == "segmented", own_rho=scenario.own_rho)
    replay = replay_with_buffers(
        network,
        scenario.work,
        settings,
        scenario.buffer_bytes,
        background=flows,
    ).replay
    posted, arrived = replay.messages["posted"], replay.messages["arrived"]
    rho = replay.steps["rho"]
    paused = replay.steps["paused"] > 0.0
    return Outcome(
        posted_s=posted,
        arrived_s=arrived,
        makespan_s=float(arrived.max() - posted.min()),
        mean_latency_s=float((arrived - posted).mean()),
        latency_p99_s=float((arrived - posted).max() + surplus_p99(*(replay.steps[name] for name in RANDOM))[0]),
        run_g5=bool(((regime_codes(rho, parameters) == 2) | paused).any()),
    )

"""Small networks, small traces, and how the tests of the estimate run them.

Every network has 100 Gb/s links (12.5 GB/s) of 400 ns at a host and 600 ns between switches, an overhead of 500 ns,
packets of 4096 B, and copies within a host at 100 GB/s after 300 ns, unless a test says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from estimator.estimate import Estimate, Options, estimate
from estimator.topology import Fabric, load_topology
from vef import Op, Trace
from vef.build import build_trace

RATE = 12.5e9
HOST_S, SWITCH_S, OVERHEAD_S = 400e-9, 600e-9, 500e-9
MTU = 4096
INTRA_RATE, INTRA_S = 100e9, 300e-9
NS = 1e-9
MIB = 1 << 20

_TIMES = "switch_latency=600ns,host.latency=400ns,host.overhead=500ns"
_COMMON = f"rate=100Gb/s,{_TIMES}"
SINGLE = f"single-switch:hosts=16,{_COMMON}"
FAT_TREE = f"fat-tree:k=4,{_COMMON}"
LEAF_SPINE = f"leaf-spine:leaves=4,hosts=4,spines=4,{_COMMON}"
TAPERED = f"leaf-spine:leaves=4,hosts=4,spines=1,{_COMMON}"
DRAGONFLY = f"dragonfly:a=4,p=2,h=2,{_COMMON}"
TORUS = f"torus:4x4,{_COMMON}"
MESH = f"mesh:4x4,{_COMMON}"
RAIL = f"rail-optimized:nodes=4,gpus=4,{_COMMON}"
RAIL_SPINES = f"rail-optimized:nodes=4,gpus=4,spines=2,{_COMMON}"

MODELS = ("segmented", "alpha-beta", "static", "fluid", "mm1", "md1", "mg1", "kingman", "empirical")

Send = tuple[int, int, int] | tuple[int, int, int, int]  # source, destination, bytes, start in ns


@cache
def network(text: str) -> Fabric:
    """A network, built once."""
    return load_topology(text)


def rated(kind: str, rate: str = "100Gb/s", more: str = "") -> str:
    """A shorthand with the tests' latencies at another rate."""
    return f"{kind},rate={rate},{_TIMES}" + (f",{more}" if more else "")


def sends(tasks: int, messages: Sequence[Send], path: str = "<sends>") -> Trace:
    """A trace in which every message starts by itself, in the order given where one task sends several."""
    starts = [message[3] if len(message) > 3 else 0 for message in messages]
    count = len(messages)
    return build_trace(
        {0: range(tasks)},
        id=np.arange(count),
        task=[message[0] for message in messages],
        peer=[message[1] for message in messages],
        op=np.full(count, -1),
        send_bytes=[message[2] for message in messages],
        recv_bytes=np.zeros(count, int),
        dep=np.full(count, 4),
        time=starts,
        dep_id=np.full(count, -1),
        path=path,
    )


def incast(sources: int, size: int, tasks: int | None = None) -> Trace:
    """Tasks 1 to `sources` send to task 0 at once."""
    return sends(tasks or sources + 1, [(task, 0, size) for task in range(1, sources + 1)])


def collective(op: Op, tasks: int, send: int, receive: int, count: int = 1) -> Trace:
    """All tasks call a collective of equal sizes `count` times, one after the other."""
    rows = tasks * count
    call = np.repeat(np.arange(count), tasks)
    return build_trace(
        {0: range(tasks)},
        id=call,
        task=np.tile(np.arange(tasks), count),
        peer=np.zeros(rows, int),
        op=np.full(rows, int(op)),
        send_bytes=np.full(rows, send),
        recv_bytes=np.full(rows, receive),
        dep=np.where(call > 0, 3, 0),
        time=np.zeros(rows, int),
        dep_id=call - 1,
        path="<collective>",
    )


def allreduce(tasks: int, size: int, count: int = 1) -> Trace:
    """An allreduce of `size` bytes, `count` times."""
    return collective(Op.ALLREDUCE, tasks, size, size, count)


def run(traces: Trace | Sequence[Trace], topology: str | Fabric, **options: object) -> Estimate:
    """Estimate one or several traces."""
    fabric = network(topology) if isinstance(topology, str) else topology
    jobs = [traces] if isinstance(traces, Trace) else list(traces)
    return estimate(jobs, fabric, Options(**options))  # type: ignore[arg-type]


def arrivals(result: Estimate) -> np.ndarray:
    """Arrival of every point-to-point message, in the order of the records."""
    return _by_record(result, "arrived")


def posts(result: Estimate) -> np.ndarray:
    """Start of every point-to-point message, in the order of the records."""
    return _by_record(result, "posted")


def _by_record(result: Estimate, column: str) -> np.ndarray:
    """A column of the messages for each record of the traces, inf for what is no message."""
    rows, found = result.workload.work.rows, np.full(len(result.workload.work.rows), np.inf)
    order = np.concatenate(
        [t.task_rows + first for t, first in zip(result.workload.traces, result.workload.row_ptr, strict=False)]
    )
    sent = rows["kind"] == 0
    found[order[sent]] = result.replay.messages[column][rows["item"][sent]]
    return found


def latencies(result: Estimate) -> np.ndarray:
    """Latency of every point-to-point message, in the order of the records."""
    return arrivals(result) - posts(result)


def lone_s(size: int, hops: int, wires_s: float, *, cut_through: bool = False, rate: float = RATE) -> float:
    """Latency of a message that meets nobody on equal links: α + M/B."""
    per_hop = 0.0 if cut_through else min(size, MTU) / rate
    return OVERHEAD_S + wires_s + size / rate + (hops - 1) * per_hop


def wires_s(hops: int) -> float:
    """Sum of the latencies of a path of `hops` links, two of them at hosts."""
    return 2 * HOST_S + (hops - 2) * SWITCH_S


def from_yaml(text: str, folder: Path) -> Fabric:
    """A network from the text of a topology file, with the tests' latencies added."""
    file = folder / "topology.yaml"
    common = "rate: 100Gb/s\nswitch_latency: 600ns\nhost: {latency: 400ns, overhead: 500ns}\n"
    file.write_text(common + text, encoding="utf-8")
    return load_topology(str(file))

"""Traffic of others on the same links: a steady inflow at the ports, and the random wait behind its packets.

The inflow is an endless flow in the port model, so it shares a saturated port and thins out behind it. What it
adds at random is the wait of an arrival that finds the port otherwise empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.formulas.random_wait import Wait, observed_wait
from estimator.replay.engine import Flows
from estimator.replay.network import Network, with_more_routes
from estimator.topology import Background, ConfigError, Fabric, routes
from estimator.traffic_matrix import read_matrix
from estimator.units import UnitError, parse_size


@dataclass(frozen=True, eq=False)
class Stream:
    """Background traffic along one path.

    Attributes
    ----------
    ports : int32[hops], from the injection port on
    rate : float, bytes/s
    unit_bytes : float, what its arrivals bring, a packet or a message
    cv_sq : float, squared coefficient of variation of the times between arrivals
    burst : int, 0 for random arrivals; n for n units at once every period
    peak : float, rate while it is on, in multiples of the port's; inf for batches at one instant
    """

    ports: NDArray[np.int32]
    rate: float
    unit_bytes: float
    cv_sq: float = 1.0
    burst: int = 0
    peak: float = np.inf


WAITS = ("random_wait", "random_variance", "random_bound", "random_share", "random_spread")


def add_random_waits(ports: NDArray[np.void], streams: Sequence[Stream], own_rho: float = 0.0) -> None:
    """Put on each port the random wait that merging there adds to the waits of the links that feed it.

    W(ρ) − Σ (ρ_i/ρ) W(ρ_i) over the ingress links i, with W the wait of a single queue: a tree of equal links waits
    in all as one queue at its root (Morrison 1978; Modiano et al. 1996), so a single ingress adds nothing. The
    variances are taken apart in the same way. Whoever comes by another link than a single ingress finds one packet of
    it in service, a share ρ of the time: mean ρ τ / 2. The share s of a process that one link carries has
    c² = 1 + s (c²−1), as by random splitting (Whitt 1983). An injection port has none, and none is given where the
    background alone saturates a port (then it queues anyway).

    Parameters
    ----------
    ports : PORT_TYPE
    own_rho : load of the observed traffic itself, if it is random too
    """
    load: dict[int, dict[int, float]] = {}
    shape: dict[int, Stream] = {}
    for stream in streams:
        for ingress, port in zip(stream.ports[:-1].tolist(), stream.ports[1:].tolist(), strict=True):
            feeding = load.setdefault(port, {})
            feeding[ingress] = feeding.get(ingress, 0.0) + stream.rate / ports["rate"][port]
            shape[port] = stream
    for port, feeding in load.items():
        rho, stream = sum(feeding.values()), shape[port]
        if rho >= 1.0:
            continue
        unit_s = stream.unit_bytes / ports["rate"][port]
        if len(feeding) == 1:
            (ports["random_ingress"][port],) = feeding
            wait = Wait(rho * unit_s / 2.0, rho * unit_s**2 * (1.0 / 3.0 - rho / 4.0), unit_s, rho, 0.0)
            add_wait(ports, port, wait)
            continue
        together = observed_wait(rho, unit_s, stream.cv_sq, stream.burst, stream.peak, own_rho)
        alone = np.zeros(2)
        for own in feeding.values():
            share = own / rho
            cv_sq = 1.0 + share * (stream.cv_sq - 1.0)
            before = observed_wait(own, unit_s, cv_sq, round(share * stream.burst), stream.peak)
            alone += share * np.array(before[:2])
        mean, variance = np.maximum(together[:2] - alone, 0.0)
        if mean > 0.0:
            add_wait(ports, port, together._replace(mean_s=mean, variance_s2=variance))


def with_streams(
    net: Network, streams: Sequence[Stream], *, as_flows: bool, own_rho: float = 0.0
) -> tuple[Network, Flows]:
    """Put streams on a network: their random waits, and themselves as flows for the replay or as a constant load.

    Returns
    -------
    The network, whose further routes are the streams', and the flows (none for a constant load).
    """
    add_random_waits(net.ports, streams, own_rho)
    if not as_flows:
        add_constant_load(net.ports, streams)
        streams = ()
    paths = np.arange(len(net.paths), len(net.paths) + len(streams), dtype=np.int32)
    rates = np.array([stream.rate for stream in streams])
    return with_more_routes(net, [stream.ports for stream in streams]), Flows(paths, rates)


def add_wait(ports: NDArray[np.void], port: int, wait: Wait) -> None:
    """Give a port a random wait more; waits of independent causes add up."""
    for column, value in zip(WAITS, wait, strict=True):
        ports[column][port] += value


def add_constant_load(ports: NDArray[np.void], streams: Sequence[Stream]) -> None:
    """Background as models without endless flows take it: a constant load on every link of its path."""
    for stream in streams:
        for column in ("offered", "demand", "inflow"):
            ports[column][stream.ports] += stream.rate
        for column in ("flows", "streams", "members"):
            ports[column][stream.ports] += 1


def parse_background(text: str) -> Background:
    """Read `PORTS=RHO[,NAME=VALUE…]`, such as `leaf*->spine*=0.3,cv_sq=4`, or the name of a traffic matrix file.

    Raises
    ------
    ConfigError
        When there is no load, or not one from 0 to below 1, or a name or value that is not known.
    """
    if "=" not in text and Path(text).suffix == ".csv":
        return Background(matrix=text)
    head, *more = text.split(",")
    ports, _, rho = head.rpartition("=")
    try:
        load = float(rho)
    except ValueError:
        load = -1.0
    if not ports or not 0.0 <= load < 1.0:
        raise ConfigError(
            "--background",
            None,
            f"background '{text}'",
            "PORTS=RHO with 0 <= RHO < 1, or a traffic matrix FILE.csv",
            "for example leaf*->spine*=0.3",
        )
    return replace(Background(ports=ports, rho=load), **dict(_shape_of(item, text) for item in more))


def _shape_of(item: str, text: str) -> tuple[str, Any]:
    """Read one `NAME=VALUE` of a background."""
    name, _, value = item.partition("=")
    readers: dict[str, Callable[[str], Any]] = {"message": parse_size, "cv_sq": float, "burst": int, "peak": float}
    reader = readers.get(name.strip())
    try:
        read = reader(value.strip()) if reader else -1
    except (ValueError, UnitError):
        read = -1
    # Only a peak may be without limit: then a burst is there all at once.
    if not read >= 0 or (read <= 1.0 if name.strip() == "peak" else read == np.inf):
        raise ConfigError(
            "--background",
            None,
            f"'{item}' in background '{text}'",
            "message=SIZE, cv_sq=NUMBER, burst=COUNT or peak=NUMBER above 1",
            "for example leaf*->spine*=0.3,message=64KiB,cv_sq=4",
        )
    return {"message": "message_bytes"}.get(name.strip(), name.strip()), read


def matching_ports(fabric: Fabric, pattern: str) -> NDArray[np.int64]:
    """Ports whose name matches a pattern (`*`, `?`; `->` for `→`), or all of a level such as `leaf-spine`.

    Raises
    ------
    ConfigError
        When there is none.
    """
    wanted = pattern.replace("->", "→")
    found = np.flatnonzero(fabric.port_level == wanted)
    if not found.size:
        found = np.array([i for i, name in enumerate(fabric.port_names()) if fnmatchcase(name, wanted)], np.int64)
    if not found.size:
        raise ConfigError(
            "background", None, f"'{pattern}', which no port of {fabric.source or fabric.name} is called",
            f"a pattern of port names such as {fabric.port_name(0)}, or a level",
            f"levels here: {', '.join(fabric.level_names)}",
        )  # fmt: skip
    return found


def add_steady_background(
    ports: NDArray[np.void], fabric: Fabric, entries: Sequence[Background], mtu_bytes: int, arrival_cv_sq: float
) -> None:
    """Put background traffic on ports of a replay's port table.

    Parameters
    ----------
    ports : PORT_TYPE, at rest
    arrival_cv_sq : c_a² of an entry that gives none
    """
    for entry in entries:
        if entry.matrix or entry.rho == 0.0:
            continue
        chosen = matching_ports(fabric, entry.ports)
        rate = ports["rate"][chosen]
        cv_sq = arrival_cv_sq if entry.cv_sq is None else entry.cv_sq
        unit_s = (entry.message_bytes or mtu_bytes) / rate
        ports["inflow"][chosen] += entry.rho * rate
        full = chosen[ports["inflow"][chosen] >= rate]
        if full.size:
            raise ConfigError(
                "--background",
                None,
                f"a load of {ports['inflow'][full[0]] / ports['rate'][full[0]]:g} in all on "
                f"{fabric.port_name(int(full[0]))}",
                "less than 1 on every port",
                "several entries on one port add up",
            )
        for column in ("offered", "demand"):
            ports[column][chosen] += entry.rho * rate
        for column in ("members", "streams", "flows"):
            ports[column][chosen] += 1
        for port, own_unit_s in zip(chosen.tolist(), unit_s.tolist(), strict=True):
            add_wait(ports, port, observed_wait(entry.rho, own_unit_s, cv_sq, entry.burst, entry.peak))


def streams_of(fabric: Fabric, entries: Sequence[Background], mtu_bytes: int, arrival_cv_sq: float) -> list[Stream]:
    """Flows of the entries that give a traffic matrix, along the routes of the fabric.

    Raises
    ------
    ConfigError
        A file that is no traffic matrix of this fabric, or one that asks a port for more than it can carry.
    """
    found = []
    for entry in entries:
        if not entry.matrix:
            continue
        matrix = read_matrix(entry.matrix, fabric)
        routed = routes(fabric, matrix.source, matrix.destination, None, None)
        for index, rate in enumerate(matrix.rate.tolist()):
            found.append(
                Stream(
                    ports=routed.ports[routed.ptr[index] : routed.ptr[index + 1]],
                    rate=rate,
                    unit_bytes=float(entry.message_bytes or mtu_bytes),
                    cv_sq=arrival_cv_sq if entry.cv_sq is None else entry.cv_sq,
                    burst=entry.burst,
                    peak=entry.peak,
                )
            )
        load = sum_by_port(found, fabric.port_count) / fabric.rate
        worst = int(np.argmax(load))
        if load[worst] >= 1.0:
            raise ConfigError(
                entry.matrix, None, f"{load[worst]:.2f} times the capacity at {fabric.port_name(worst)}",
                "less than every port can carry", "make the rates smaller",
            )  # fmt: skip
    return found


def sum_by_port(streams: Sequence[Stream], ports: int) -> NDArray[np.float64]:
    """Background rate at each port, bytes/s."""
    total = np.zeros(ports)
    for stream in streams:
        np.add.at(total, stream.ports, stream.rate)
    return total

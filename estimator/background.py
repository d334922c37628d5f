"""Traffic of others on the same links: a steady inflow at the ports, and the random wait behind its packets.

The inflow is an endless flow in the port model, so it shares a saturated port and thins out behind it. What it
adds at random is the mean wait of an arrival that finds the port otherwise empty, `random_wait_s`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from estimator.topology import Background, ConfigError, Fabric


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


def observed_wait_s(
    rho: float, unit_s: float, cv_sq: float = 1.0, burst: int = 0, peak: float = np.inf, own_rho: float = 0.0
) -> float:
    """Mean wait of a random arrival at a port whose background has load rho, in seconds.

    Random arrivals: (ρ (1 + (c²−1) p) + ρ_own) τ / (2 (1 − ρ − ρ_own)). With p = 1 this is M^[X]/D/1 as an arrival
    from outside sees it (Pollaczek–Khinchine with batches; c² = 1 is M/D/1). Bursts that arrive at `peak` = h times
    the port's rate, not at one instant, count p = (h−1)/(h−ρ): the mean content of a fluid queue with one
    exponential on/off source, E[V] = ρ T_on (h−1)(h−ρ)/(h(1−ρ)), and c² = 1 + 2 h T_on/τ (1−ρ/h)² of its arrivals.
    Periodic bursts of n units: the time average of the work, ρ n τ / 2 (exact for ρ < 1).

    Parameters
    ----------
    rho : load of the background, below 1
    unit_s : time that the port serves one unit, τ
    own_rho : load of the observer's own traffic, where that is random too
    """
    if burst:
        return rho * burst * unit_s / 2.0
    total = min(rho + own_rho, 0.99)
    spread = 1.0 if np.isinf(peak) else (peak - 1.0) / (peak - rho)
    return (rho * (1.0 + (cv_sq - 1.0) * spread) + own_rho) * unit_s / (2.0 * (1.0 - total))


def random_waits(rate: NDArray[np.float64], streams: Sequence[Stream], own_rho: float = 0.0) -> NDArray[np.float64]:
    """Random wait at every port, s: what merging there adds to the waits of the links that feed it.

    B(ρ) − Σ (ρ_i/ρ) B(ρ_i) over the ingress links i, with B the wait of a single queue: a tree of equal links waits
    in all as one queue at its root (Morrison 1978; Modiano et al. 1996), so a single ingress adds nothing. The share
    s of a process that one link carries has c² = 1 + s (c²−1), as by random splitting (Whitt 1983). An
    injection port has none, and none is given where the background alone saturates a port (then it queues anyway).

    Parameters
    ----------
    rate : float64[ports], bytes/s
    own_rho : load of the observed traffic itself, if it is random too
    """
    waits = np.zeros(len(rate))
    load: dict[int, dict[int, float]] = {}
    shape: dict[int, Stream] = {}
    for stream in streams:
        for ingress, port in zip(stream.ports[:-1].tolist(), stream.ports[1:].tolist(), strict=True):
            feeding = load.setdefault(port, {})
            feeding[ingress] = feeding.get(ingress, 0.0) + stream.rate / rate[port]
            shape[port] = stream
    for port, feeding in load.items():
        rho, stream = sum(feeding.values()), shape[port]
        if rho >= 1.0:
            continue
        unit_s = stream.unit_bytes / rate[port]
        alone = 0.0
        for own in feeding.values():
            share = own / rho
            cv_sq = 1.0 + share * (stream.cv_sq - 1.0)
            alone += share * observed_wait_s(own, unit_s, cv_sq, round(share * stream.burst), stream.peak)
        together = observed_wait_s(rho, unit_s, stream.cv_sq, stream.burst, stream.peak, own_rho)
        waits[port] = max(together - alone, 0.0)
    return waits


def parse_background(text: str) -> Background:
    """Read `PORTS=RHO`, such as `leaf*->spine*=0.3`.

    Raises
    ------
    ConfigError
        When there is no load, or not one from 0 to below 1.
    """
    ports, _, rho = text.rpartition("=")
    try:
        load = float(rho)
    except ValueError:
        load = -1.0
    if not ports or not 0.0 <= load < 1.0:
        raise ConfigError(
            "--background",
            None,
            f"background '{text}'",
            "PORTS=RHO with 0 <= RHO < 1",
            "for example leaf*->spine*=0.3",
        )
    return Background(ports, load)


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
            fabric.source or fabric.name, None, f"background on '{pattern}', which no port is called",
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
        if entry.rho == 0.0:
            continue
        chosen = matching_ports(fabric, entry.ports)
        rate = ports["rate"][chosen]
        cv_sq = arrival_cv_sq if entry.cv_sq is None else entry.cv_sq
        unit_s = (entry.message_bytes or mtu_bytes) / rate
        ports["inflow"][chosen] += entry.rho * rate
        for column in ("offered", "demand"):
            ports[column][chosen] += entry.rho * rate
        for column in ("members", "streams", "flows"):
            ports[column][chosen] += 1
        ports["random_wait"][chosen] += observed_wait_s(entry.rho, 1.0, cv_sq) * unit_s

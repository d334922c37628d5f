"""From measurement files to fitted parameters: reads, fits, and tells what speaks for and against the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimator.calibrate.contention import MOST_RANKS, Contention, fit_contention
from estimator.calibrate.fit import TOP, PointToPoint, fit_point_to_point, plateau
from estimator.calibrate.measurements import BANDWIDTH, COLLECTIVES, POINT_TO_POINT, MeasurementError, Series
from estimator.calibrate.reading import read_measurements
from estimator.calibrate.route import Route, assumed_topology, route_on
from estimator.calibrate.write import yaml_text
from estimator.topology import load_topology
from estimator.topology.tree import parse_yaml

# A residual above it is told.
POOR = 0.1

# Relative difference up to which a topology's rate is the fitted one, which is written with six digits.
_SAME_RATE = 1e-4


@dataclass(frozen=True)
class Setup:
    """How it was measured.

    Attributes
    ----------
    topo : file or shorthand; None = a network with default latencies and `hops` links between two hosts
    between : two hosts of the topology, the ends of the point-to-point measurements; None = the first two
    hops : links between them where there is no topology
    ranks : ranks of the collectives by file, or under "" for all files that do not tell
    ranks_per_node : tasks on each host of the topology
    openmpi : series whose decision picks the algorithms
    """

    topo: str | None = None
    between: tuple[str, str] | None = None
    hops: int = 2
    ranks: Mapping[str, int] | None = None
    ranks_per_node: int = 1
    openmpi: str = "5.0"


@dataclass(frozen=True, eq=False)
class Calibration:
    """Result of `calibrate`; `estimator.calibrate.report` writes it out."""

    sources: tuple[str, ...]
    route: Route
    fitted: PointToPoint
    contention: Contention
    yaml: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def calibrate(paths: Sequence[str], setup: Setup | None = None) -> Calibration:
    """Fit the parameters that the measurements in files tell.

    Raises
    ------
    MeasurementError
        For a file that cannot be read as measurements, or measurements from which nothing can be fitted.
    estimator.topology.ConfigError
        For a topology or hosts that do not exist.
    OSError
        For a file that cannot be read.
    """
    setup = setup or Setup()
    series, notes = _read(paths, setup)
    most = max((one.ranks for one in series if one.ranks and one.ranks <= MOST_RANKS), default=2)
    topo = setup.topo or assumed_topology(setup.hops, -(-most // setup.ranks_per_node))
    fabric = load_topology(topo)
    route = route_on(fabric, setup.between)
    if setup.topo is None:
        notes.append(
            f"no --topo given: {setup.hops} links with default latencies, {route.latency_s * 1e9:.4g} ns in all, are "
            "taken to be between the measured ranks"
        )
    within = [one for one in series if one.hosts == 1]
    notes += [f"{one.place}: {one.title} ran within one host, so it tells nothing of the network" for one in within]
    between = [one for one in series if one.hosts != 1]
    single = [one for one in between if one.operation in POINT_TO_POINT]
    collectives = [one for one in between if one.operation in COLLECTIVES]
    if not any(one.is_rate or one.operation == "latency" for one in single):
        bus = [_bus(one, setup.ranks_per_node) for one in collectives if one.bus_factor]
        if bus:
            single += bus
            notes.append(
                "the rate is fitted to the bus bandwidth of collectives, shared by the links of a machine's hosts"
            )
    fitted = fit_point_to_point(single, route)
    warnings = [*fitted.warnings]
    under = yaml_text(fitted, Contention(), paths, route.text)
    contention = Contention()
    if collectives:
        whole = load_topology(topo, under=parse_yaml(under, "calibration")) if under else fabric
        contention = fit_contention(collectives, whole, setup.ranks_per_node, setup.openmpi)
    text = yaml_text(fitted, contention, paths, route.text)
    notes += [*fitted.notes, *contention.notes]
    if not text:
        reasons = "; ".join(notes) or "no latencies, bandwidths or collectives"
        raise MeasurementError(", ".join(paths), None, "nothing that can be fitted", "osu_latency or osu_bw", reasons)
    warnings += [*_poor(fitted), *_poor_collectives(contention)]
    if setup.topo is not None and under:
        warnings += _overruled(setup.topo, under, fitted)
    return Calibration(tuple(paths), route, fitted, contention, text, tuple(notes), tuple(warnings))


def _read(paths: Sequence[str], setup: Setup) -> tuple[list[Series], list[str]]:
    series: list[Series] = []
    notes: list[str] = []
    given = dict(setup.ranks or {})
    for name in given:
        if name and name not in paths:
            raise MeasurementError("--ranks", None, f"'{name}'", "one of the files: " + ", ".join(paths))
    for path in dict.fromkeys(paths):
        found, said = read_measurements(path)
        for one in found:
            ranks = given.get(path, one.ranks or given.get(""))
            series.append(replace(one, ranks=ranks))
        notes += said
    return series, notes


def _bus(one: Series, ranks_per_node: int) -> Series:
    """A collective of nccl-tests as a bandwidth: the bytes of its definition of bus bandwidth, by host link.

    A ring over n machines of g GPUs crosses between machines on g links at a time, so each carries 1/g of the bus
    bandwidth; with `ranks_per_node` of the GPUs on one host of the topology, the host's link carries that much more.
    """
    assert one.bus_factor is not None
    links = max(1.0, (one.ranks or 1) / (one.hosts or one.ranks or 1) / ranks_per_node)
    carried = np.maximum(1, np.round(one.size_bytes * one.bus_factor / links)).astype(np.int64)
    return replace(one, operation=BANDWIDTH, size_bytes=carried, title=f"{one.title}, bytes on a host's link")


def _poor(fitted: PointToPoint) -> list[str]:
    warnings = []
    for one in fitted.residuals:
        judged = one.used & plateau(one.series, TOP) if one.series.is_rate else one.used
        off = np.flatnonzero(judged & (np.abs(one.error) > POOR))
        if off.size:
            worst = int(off[np.abs(one.error[off]).argmax()])
            warnings.append(
                f"{one.series.path}:{one.series.lines[worst]}: the model is off by {one.error[worst]:+.0%} at "
                f"{one.series.size_bytes[worst]} bytes; {off.size} of {int(judged.sum())} sizes of "
                f"{one.series.title} are off by more than {POOR:.0%}"
            )
    return warnings


def _poor_collectives(contention: Contention) -> list[str]:
    if contention.flow_exponent is None:
        return []
    warnings = []
    for one in contention.points:
        error = one.empirical_s / one.measured_s - 1.0
        off = np.flatnonzero(np.abs(error) > POOR)
        if off.size:
            worst = int(off[np.abs(error[off]).argmax()])
            warnings.append(
                f"{one.series.path}:{one.lines[worst]}: the empirical model is off by {error[worst]:+.0%} at "
                f"{one.size_bytes[worst]} bytes; {off.size} of {error.size} sizes of {one.series.title} are off by "
                f"more than {POOR:.0%} (a power of the flows multiplies the start-up latency too)"
            )
    return warnings


def _overruled(topo: str, under: str, fitted: PointToPoint) -> list[str]:
    """Fitted keys that the topology gives itself, and which therefore win."""
    after = load_topology(topo, under=parse_yaml(under, "calibration"))
    keys = []
    if fitted.rate:
        host = (after.port_from < after.host_count) | (after.port_to < after.host_count)
        if not np.isclose(after.rate[host], fitted.rate.value, rtol=_SAME_RATE).any():
            keys.append("host.nic")
    if fitted.overhead_s and not np.isclose(
        after.host_overhead_s, fitted.overhead_s.value, rtol=_SAME_RATE, atol=1e-13
    ):
        keys.append("host.overhead")
    limit = fitted.eager_limit
    if limit and after.parameters.get("eager_limit_bytes") != f"{limit.value}B":
        keys.append("parameters.eager_limit_bytes")
    return [f"{topo} gives {key} itself, which wins over an included file" for key in keys]

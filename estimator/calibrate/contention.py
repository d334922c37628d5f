"""Exponents of the `empirical` model from collectives: the replay's own times are fitted to the measured ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimator.calibrate.fit import Fitted
from estimator.calibrate.measurements import F64, Series
from estimator.estimate import Estimate, Options, estimate
from estimator.formulas.parameters import MOST_EXPONENT
from estimator.topology import Fabric
from vef import Op, Trace, build_trace

# The tools give the mean over the ranks; for these it is the time until the last is done as well.
USABLE = {"alltoall": Op.ALLTOALL, "allreduce": Op.ALLREDUCE, "allgather": Op.ALLGATHER}
# NCCL's algorithms for large messages, by the names of the replay.
NCCL_ALGORITHMS = {"alltoall": "linear", "allreduce": "ring", "allgather": "ring"}
# Sizes of one series that are replayed, spread over its range.
MOST_SIZES = 8
MOST_RANKS = 1024
MOST_MESSAGES = 300_000
FEWEST_POINTS = 3
# A point says something about an exponent if its time grows by this much per unit of the exponent.
SENSITIVE = 0.05
# Exponents are told apart if their effects are less alike than this (cosine).
ALIKE = 0.99
_STEP = 0.1
_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class CollectivePoints:
    """Measured collectives of one series and what three models make of them, s."""

    series: Series
    size_bytes: np.ndarray
    lines: np.ndarray
    measured_s: F64
    alpha_beta_s: F64
    empirical_s: F64
    segmented_s: F64
    algorithm: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Contention:
    """Exponents (None where nothing tells them) and the points they were fitted to."""

    flow_exponent: Fitted | None = None
    load_exponent: Fitted | None = None
    points: tuple[CollectivePoints, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Point:
    trace: Trace
    forced: Mapping[str, str]
    measured_s: float


def fit_contention(
    series: Sequence[Series], fabric: Fabric, ranks_per_node: int = 1, openmpi: str = "5.0"
) -> Contention:
    """Fit a and b of f = max(1, F/C)^a · (1 + ρ(F-1)/F)^b.

    Every measured collective is replayed on the fabric with the `empirical` model; Gauss-Newton steps on the relative
    errors of its end find the exponents. Where both act alike on all points (F and ρ grow together), b stays zero.

    Parameters
    ----------
    series : sequence of Series
        Collectives; others are left out with a note.
    fabric : Fabric
        With the fitted host parameters in it.
    ranks_per_node : tasks on each host
    openmpi : series whose decision picks the algorithms of OSU and CSV measurements

    Returns
    -------
    Contention
        Without exponents where the model sees no flows that share a port.

    Notes
    -----
    Validity: the network, placement and algorithms measured. Checked: tests/calibrate/test_contention.
    """
    chosen, notes = _usable(series, fabric, ranks_per_node)
    points = [point for one in chosen for point in _points(one)]
    if not points:
        return Contention(notes=tuple(notes))

    def times(model: str, flow: float = 1.0, load: float = 0.0) -> F64:
        parameters = {"empirical_flow_exponent": repr(float(flow)), "empirical_load_exponent": repr(float(load))}
        return np.array([_replay(p, fabric, ranks_per_node, openmpi, model, parameters).makespan_s for p in points])

    measured = np.array([point.measured_s for point in points])
    flow, load, errors, told = _gauss_newton(times, measured)
    if not told:
        notes.append("no collective in which flows share a port in the model, so the empirical exponents stay")
    elif measured.size < FEWEST_POINTS:
        told = ()
        flow, load = 1.0, 0.0
        notes.append(f"{measured.size} collective measurements; the empirical exponents need {FEWEST_POINTS} or more")
    elif "load" not in told:
        notes.append("flows and load grow together in these collectives, so only the flow exponent is fitted")
    alpha_beta, empirical = times("alpha-beta"), times("empirical", flow, load)
    segmented = [_replay(p, fabric, ranks_per_node, openmpi, "segmented", {}) for p in points]
    found, at = [], 0
    for one in chosen:
        rows = _picked(one)
        own = slice(at, at + rows.size)
        at += rows.size
        found.append(
            CollectivePoints(
                one,
                one.size_bytes[rows],
                one.lines[rows],
                measured[own],
                alpha_beta[own],
                empirical[own],
                np.array([result.makespan_s for result in segmented[own]]),
                tuple(result.workload.calls[0].expansion.algorithm for result in segmented[own]),
            )
        )
    return Contention(
        flow_exponent=Fitted(flow, errors[0]) if told else None,
        load_exponent=Fitted(load, errors[1]) if told else None,
        points=tuple(found),
        notes=tuple(notes),
    )


def _usable(series: Sequence[Series], fabric: Fabric, ranks_per_node: int) -> tuple[list[Series], list[str]]:
    chosen, notes = [], []
    for one in series:
        if one.operation not in USABLE:
            why = "its mean over the ranks is not the time until the last is done"
        elif one.ranks is None:
            why = "how many ranks took part is not known; give --ranks, or keep the command line in the file"
        elif one.ranks < 2 or one.hosts == 1:
            why = "it did not leave one host"
        elif one.tool == "nccl" and one.hosts != one.ranks:
            why = "several GPUs of a machine form several rings, which the replay does not have"
        elif one.ranks > fabric.host_count * ranks_per_node:
            why = f"{one.ranks} ranks do not fit on {fabric.host_count} hosts with {ranks_per_node} each"
        elif one.ranks > MOST_RANKS or (one.operation == "alltoall" and one.ranks * one.ranks > MOST_MESSAGES):
            why = f"{one.ranks} ranks are too many to replay it again and again"
        elif not (one.size_bytes > 0).any():
            why = "it has no bytes"
        else:
            chosen.append(one)
            continue
        notes.append(f"{one.place}: {one.title} is not used for the empirical factor: {why}")
    return chosen, notes


def _picked(one: Series) -> np.ndarray:
    """Rows to replay: all, or some spread over the range of sizes."""
    rows = np.flatnonzero(one.size_bytes > 0)
    rows = rows[np.argsort(one.size_bytes[rows], kind="stable")]
    if rows.size > MOST_SIZES:
        rows = rows[np.round(np.linspace(0, rows.size - 1, MOST_SIZES)).astype(int)]
    return rows


def _points(one: Series) -> list[_Point]:
    assert one.ranks is not None
    forced = {one.operation: NCCL_ALGORITHMS[one.operation]} if one.tool == "nccl" else {}
    found = []
    for row in _picked(one):
        size = int(one.size_bytes[row])
        # nccl-tests give the whole buffer of a rank where the MPI benchmarks give a block.
        if one.tool == "nccl" and one.operation in ("alltoall", "allgather"):
            size = max(1, size // one.ranks)
        found.append(
            _Point(_collective(USABLE[one.operation], one.ranks, size, one.path), forced, float(one.time_s[row]))
        )
    return found


def _collective(op: Op, ranks: int, size: int, path: str) -> Trace:
    """A trace of one call, which all enter at once."""
    return build_trace(
        {0: range(ranks)},
        id=np.zeros(ranks, int), task=np.arange(ranks), peer=np.zeros(ranks, int), op=np.full(ranks, int(op)),
        send_bytes=np.full(ranks, size), recv_bytes=np.full(ranks, 0 if op == Op.ALLTOALL else size),
        dep=np.zeros(ranks, int), time=np.zeros(ranks, int), dep_id=np.full(ranks, -1), path=path,
    )  # fmt: skip


def _replay(
    point: _Point, fabric: Fabric, ranks_per_node: int, openmpi: str, model: str, parameters: Mapping[str, str]
) -> Estimate:
    options = Options(
        model=model,
        ranks_per_node=ranks_per_node,
        collectives=point.forced,
        openmpi=openmpi,
        parameters=parameters,
    )
    return estimate([point.trace], fabric, options)


def _gauss_newton(
    times: Callable[[str, float, float], F64], measured: F64
) -> tuple[float, float, tuple[float, float], tuple[str, ...]]:
    """Exponents, their standard errors, and the names of those that the points tell ("flow", "load")."""
    exponents = np.array([1.0, 0.0])
    free: list[int] = []
    slope = np.zeros((measured.size, 2))
    now = np.log(times("empirical", *exponents))
    for _ in range(_ROUNDS):
        for column in (0, 1):
            moved = exponents.copy()
            moved[column] += _STEP
            slope[:, column] = (np.log(times("empirical", *moved)) - now) / _STEP
        free = _told(slope)
        if not free:
            return 1.0, 0.0, (0.0, 0.0), ()
        target = np.log(measured) - now
        step = np.zeros(2)
        step[free] = np.linalg.lstsq(slope[:, free], target, rcond=None)[0]
        before, cost = exponents, float((target**2).sum())
        # Steps are halved while they make it worse; the model has kinks where static sharing is slower.
        for halving in range(6):
            exponents = np.clip(before + step * 0.5**halving, 0.0, MOST_EXPONENT)
            now = np.log(times("empirical", *exponents))
            if float(((np.log(measured) - now) ** 2).sum()) <= cost:
                break
        if np.abs(exponents - before).max() < 1e-4:
            break
    residual = np.log(measured) - now
    errors = np.zeros(2)
    if measured.size > len(free):
        scatter = float((residual**2).sum()) / (measured.size - len(free))
        inverse = np.linalg.pinv(slope[:, free].T @ slope[:, free])
        errors[free] = np.sqrt(np.diag(inverse) * scatter)
    names = tuple(("flow", "load")[column] for column in free)
    return float(exponents[0]), float(exponents[1]), (float(errors[0]), float(errors[1])), names


def _told(slope: F64) -> list[int]:
    """Exponents that change the times, the second only where it acts unlike the first."""
    free = [column for column in (0, 1) if np.abs(slope[:, column]).max() > SENSITIVE]
    if len(free) == 2:
        norms = np.linalg.norm(slope, axis=0)
        if abs(slope[:, 0] @ slope[:, 1]) > ALIKE * norms[0] * norms[1]:
            free = [0]
    return free

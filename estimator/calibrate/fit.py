"""Software overhead, bandwidth, copy and rendezvous costs and the eager limit, from point-to-point measurements.

The model of one message is the one of the replay: T = o + M·c + network up to the eager limit and T = o + r + network
above it, where network = wires and switches + the bytes at the hosts' rate β, first packets included (`Route`). It is
linear in o, c, r and 1/β, so for each eager limit in question there is one least-squares solution on relative errors;
all limits between measured sizes are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.calibrate.measurements import (
    BANDWIDTH,
    BIBANDWIDTH,
    F64,
    LATENCY,
    MULTI_BANDWIDTH,
    MULTI_LATENCY,
    MeasurementError,
    Series,
)
from estimator.calibrate.robust import Solution, solve
from estimator.calibrate.route import Route

FEWEST_SIZES = 4
FEWEST_PER_PROTOCOL = 3
# Below it, steps in the latency come from inlining, not from the rendezvous.
SMALLEST_EAGER_LIMIT = 256
# Residuals of this size have their cause in the rounding of what the tools print.
SMALLEST_SCALE = 1e-3
# Bandwidths of at least this share of the highest are taken as limited by bytes, not by messages.
PLATEAU = 0.5
# From this share on, the model should give the bandwidth itself; below, messages cost time that it does not know.
TOP = 0.9
# A latency that falls by more than this from a size to a larger one is told.
NOTICEABLE_FALL = 0.05

OVERHEAD, PACE, COPY, RENDEZVOUS, GAPS = 0, 1, 2, 3, 4
IS_LATENCY, WITHOUT_GAP = -1, -2
# Natural logarithm of the odds that make a further parameter worth having (BIC difference of 6, "strong").
STRONG = 3.0


@dataclass(frozen=True)
class Fitted:
    """A value and its standard error, SI units."""

    value: float
    error: float


@dataclass(frozen=True)
class EagerLimit:
    """Largest size known to be eager, and the range in which the limit may lie: low <= limit < high, bytes."""

    value: int
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Residuals:
    """Measured and modelled times of one series, s; `used` = what the parameters were fitted to."""

    series: Series
    model_s: F64
    used: NDArray[np.bool_]

    @property
    def error(self) -> F64:
        """Relative error of what was measured, time or bandwidth: model / measured - 1."""
        ratio = self.model_s / self.series.time_s
        return np.asarray((1.0 / ratio if self.series.is_rate else ratio) - 1.0)


@dataclass(frozen=True, eq=False)
class PointToPoint:
    """What was found; None = not to be had from these measurements.

    Attributes
    ----------
    overhead_s, rendezvous_s : s
    alpha_s : start-up latency of an eager message, overhead and the route's latency, s
    rate : bytes/s at the hosts
    copy_s_per_byte : of eager messages
    eager_limit : bytes
    residuals : one per series used
    notes : what was assumed or could not be found
    warnings : what speaks against the result
    """

    overhead_s: Fitted | None = None
    alpha_s: Fitted | None = None
    rate: Fitted | None = None
    copy_s_per_byte: Fitted | None = None
    rendezvous_s: Fitted | None = None
    eager_limit: EagerLimit | None = None
    residuals: tuple[Residuals, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Latencies and plateau bandwidths, one after the other."""

    size: NDArray[np.int64]
    total_s: F64
    own_s: F64  # without what the network adds whatever the hosts do
    gap: NDArray[np.int64]  # column of a bandwidth's time between messages, or one of the two below
    paced: F64

    @property
    def is_latency(self) -> NDArray[np.bool_]:
        return np.asarray(self.gap == IS_LATENCY)

    def design(self, limit: float | None, with_copy: bool) -> F64:
        """Columns overhead, 1/β, copy, rendezvous, and the time between messages of each bandwidth series."""
        latency = self.is_latency
        gaps = int(self.gap.max(initial=-1)) + 1
        columns = np.zeros((self.size.size, GAPS + max(gaps, 0)))
        columns[latency, OVERHEAD] = 1.0
        columns[:, PACE] = self.paced
        if limit is not None:
            above = self.size > limit
            columns[latency & above, RENDEZVOUS] = 1.0
            if with_copy:
                columns[latency & ~above, COPY] = self.size[latency & ~above]
        for number in range(gaps):
            columns[self.gap == number, GAPS + number] = 1.0
        return np.asarray(columns / self.total_s[:, None])


def fit_point_to_point(series: Sequence[Series], route: Route) -> PointToPoint:
    """Fit what the series tell.

    Parameters
    ----------
    series : sequence of Series
        Of operations `POINT_TO_POINT`; latencies of several pairs and bidirectional bandwidths count only where the
        plain ones are missing.
    route : Route
        Of the measured messages.

    Raises
    ------
    MeasurementError
        For too few sizes, or latencies that are shorter than the route's.
    """
    latencies, bandwidths, notes = _chosen(series)
    if not latencies and not bandwidths:
        return PointToPoint(notes=tuple(notes))
    for one in latencies:
        _check_count(one)
    rows = _rows(latencies, bandwidths, route)
    best, limit, with_copy, scale = _search(rows)
    values = best.values
    errors = np.sqrt(np.diag(best.covariance))
    found = _identified(rows, best, limit)
    warnings = _falls(latencies)
    if "overhead" in found and values[OVERHEAD] < 0:
        if values[OVERHEAD] < -2 * errors[OVERHEAD] - 1e-12:
            raise MeasurementError(
                latencies[0].path, latencies[0].line,
                f"a start-up latency of {(values[OVERHEAD] + route.latency_s) * 1e9:.4g} ns",
                f"more than the {route.latency_s * 1e9:.4g} ns of wires and switches ({route.text})",
                "give the topology with --topo, with latencies as they are (host.latency, switch_latency)",
            )  # fmt: skip
        values[OVERHEAD] = 0.0
    if "rate" in found and 1.0 / values[PACE] > route.inner_rate * 1.01:
        warnings.append(
            f"the fitted rate of {8e-9 / values[PACE]:.4g} Gb/s is more than the {8e-9 * route.inner_rate:.4g} Gb/s "
            f"of the links between switches on {route.text}; the model will stay below the measurement"
        )
    # What is not fitted keeps the topology's value, so the residuals are those that a run will have.
    overhead_s = float(values[OVERHEAD]) if "overhead" in found else route.overhead_s
    pace = float(values[PACE]) if "rate" in found else 1.0 / route.host_rate
    model = _Model(overhead_s, pace, float(values[COPY]), float(values[RENDEZVOUS]), limit, route)
    residuals = [_residuals(one, model, one in latencies or one in bandwidths) for one in series]
    notes += _missing(found, latencies, bandwidths)
    if latencies and "overhead" in found and limit is None:
        notes.append("no step between eager and rendezvous messages found, so the eager limit stays as it is")
    rate = Fitted(1.0 / values[PACE], errors[PACE] / values[PACE] ** 2) if "rate" in found else None
    overhead = Fitted(float(values[OVERHEAD]), float(errors[OVERHEAD])) if "overhead" in found else None
    split = limit is not None
    return PointToPoint(
        overhead_s=overhead,
        alpha_s=Fitted(overhead.value + route.latency_s, overhead.error) if overhead else None,
        rate=rate,
        copy_s_per_byte=Fitted(float(values[COPY]), float(errors[COPY])) if split and with_copy else None,
        rendezvous_s=Fitted(float(values[RENDEZVOUS]), float(errors[RENDEZVOUS])) if split else None,
        eager_limit=_limit_range(rows, limit, with_copy, scale, best.cost) if limit is not None else None,
        residuals=tuple(residuals),
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _chosen(series: Sequence[Series]) -> tuple[list[Series], list[Series], list[str]]:
    by_kind: dict[str, list[Series]] = {}
    for one in series:
        by_kind.setdefault(one.operation, []).append(one)
    notes = []
    latencies = by_kind.get(LATENCY, [])
    if not latencies and MULTI_LATENCY in by_kind:
        latencies = by_kind[MULTI_LATENCY]
        notes.append("latencies of several pairs at once are taken as those of one; osu_latency would be better")
    bandwidths = by_kind.get(BANDWIDTH, [])
    if not bandwidths and MULTI_BANDWIDTH in by_kind:
        bandwidths = by_kind[MULTI_BANDWIDTH]
        notes.append("the bandwidth of all pairs together is taken as that of one host: they must join two hosts")
    if not bandwidths and BIBANDWIDTH in by_kind:
        bandwidths = by_kind[BIBANDWIDTH]
        notes.append("half of the bidirectional bandwidth is taken as that of one direction")
    return latencies, bandwidths, notes


def _check_count(one: Series) -> None:
    sizes = np.unique(one.size_bytes).size
    if sizes < FEWEST_SIZES:
        raise MeasurementError(
            one.path, one.line, f"{sizes} size{'s' * (sizes > 1)} in {one.title}",
            f"at least {FEWEST_SIZES}, from some bytes to a megabyte or more",
            f"{2 * FEWEST_PER_PROTOCOL} or more tell the eager limit",
        )  # fmt: skip


def _rows(latencies: Sequence[Series], bandwidths: Sequence[Series], route: Route) -> _Rows:
    sizes, totals, own, gaps, paced = [], [], [], [], []
    for one in latencies:
        sizes.append(one.size_bytes)
        totals.append(one.time_s)
        own.append(one.time_s - route.fixed_s(one.size_bytes))
        gaps.append(np.full(one.size_bytes.size, IS_LATENCY))
        paced.append(route.paced_bytes(one.size_bytes))
    columns = 0
    for one in bandwidths:
        flat = plateau(one)
        sizes.append(one.size_bytes[flat])
        totals.append(one.time_s[flat])
        own.append(one.time_s[flat])
        # Two rows cannot tell the time between messages from that of the bytes.
        has_gap = np.unique(one.size_bytes[flat]).size > 2
        gaps.append(np.full(int(flat.sum()), columns if has_gap else WITHOUT_GAP))
        columns += has_gap
        paced.append(one.size_bytes[flat].astype(np.float64))
    return _Rows(*(np.concatenate(parts) for parts in (sizes, totals, own, gaps, paced)))


def plateau(one: Series, share: float = PLATEAU) -> NDArray[np.bool_]:
    """Rows of a bandwidth series at which bytes, not messages, are the limit."""
    rate = one.size_bytes / one.time_s
    return np.asarray(rate >= share * rate.max())


def _search(rows: _Rows) -> tuple[Solution, int | None, bool, float]:
    """The best solution over all eager limits: solution, limit, whether copies are told, scale of the errors."""
    latency_sizes = np.unique(rows.size[rows.is_latency])
    limits = [
        int(limit)
        for limit in latency_sizes[FEWEST_PER_PROTOCOL - 1 : -FEWEST_PER_PROTOCOL]
        if limit >= SMALLEST_EAGER_LIMIT
    ]
    # The most flexible form tells how much the measurements scatter.
    plain = [_solve(rows, limit, True, np.inf) for limit in limits] or [_solve(rows, None, False, np.inf)]
    flexible = min(plain, key=lambda one: float((one.residual**2).sum()))
    freedom = max(1, rows.size.size - _count(flexible))
    spread = 1.4826 * float(np.median(np.abs(flexible.residual))) * np.sqrt(rows.size.size / freedom)
    scale = max(spread, SMALLEST_SCALE)
    best, chosen, with_copy = _solve(rows, None, False, scale), None, False
    for limit in limits:
        for copied in (False, True):
            tried = _solve(rows, limit, copied, scale)
            # The limit itself is a parameter too.
            more = _count(tried) + 1 - _count(best) - (chosen is not None)
            worth = best.cost - tried.cost - 0.5 * more * np.log(rows.size.size)
            if worth > (0.0 if chosen is not None else STRONG):
                best, chosen, with_copy = tried, limit, copied
    return best, chosen, with_copy, scale


def _solve(rows: _Rows, limit: int | None, with_copy: bool, scale: float) -> Solution:
    design = rows.design(limit, with_copy)
    not_negative = np.ones(design.shape[1], bool)
    not_negative[OVERHEAD] = False
    return solve(design, rows.own_s / rows.total_s, scale, not_negative)


def _count(solution: Solution) -> int:
    return int(np.count_nonzero(solution.values))


def _limit_range(rows: _Rows, limit: int, with_copy: bool, scale: float, cost: float) -> EagerLimit:
    """The limits that explain the measurements nearly as well (95 %, likelihood ratio), to the next size measured."""
    sizes = np.unique(rows.size[rows.is_latency])
    low = high = int(np.flatnonzero(sizes == limit)[0])
    while low > 0 and _solve(rows, int(sizes[low - 1]), with_copy, scale).cost - cost < 2.0:
        low -= 1
    while high < sizes.size - 2 and _solve(rows, int(sizes[high + 1]), with_copy, scale).cost - cost < 2.0:
        high += 1
    return EagerLimit(limit, int(sizes[low]), int(sizes[high + 1]))


def _identified(rows: _Rows, best: Solution, limit: int | None) -> set[str]:
    """Which of overhead and rate the measurements tell: each must make up half of the time of some row."""
    found = set()
    pace = best.values[PACE]
    bytes_share = rows.paced * pace / rows.total_s
    latency = rows.is_latency
    if pace > 0 and (bytes_share >= 0.5).any():
        found.add("rate")
    eager = latency & (rows.size <= limit) if limit is not None else latency
    if eager.any() and bytes_share[eager].min() <= 0.5:
        found.add("overhead")
    return found


def _missing(found: set[str], latencies: Sequence[Series], bandwidths: Sequence[Series]) -> list[str]:
    notes = []
    if "overhead" not in found:
        why = "latencies of messages of some bytes (osu_latency from 1 byte)"
        notes.append(f"overhead not fitted: that needs {why}")
    if "rate" not in found:
        largest = max(int(one.size_bytes.max()) for one in (*latencies, *bandwidths))
        notes.append(
            f"rate not fitted: at {largest} bytes, the largest, bytes are less than half of the time; "
            "measure up to a megabyte or more, or add osu_bw"
        )
    return notes


def _falls(latencies: Sequence[Series]) -> list[str]:
    """Where a larger message is quicker than a smaller one, and where a size occurs twice."""
    warnings = []
    for one in latencies:
        order = np.argsort(one.size_bytes, kind="stable")
        size, time, line = one.size_bytes[order], one.time_s[order], one.lines[order]
        again = np.flatnonzero(np.diff(size) == 0)
        if again.size:
            place = f"{one.path}:{line[again[0] + 1]}"
            warnings.append(f"{place}: size {size[again[0]]} is there more than once; all count")
        fall = np.flatnonzero((time[1:] < time[:-1] * (1 - NOTICEABLE_FALL)) & (np.diff(size) > 0))
        if fall.size:
            at = int(fall[0])
            more = f" (and {fall.size - 1} more such)" if fall.size > 1 else ""
            warnings.append(
                f"{one.path}:{line[at + 1]}: {size[at + 1]} bytes take {time[at + 1] * 1e6:.4g} us, less than the "
                f"{time[at] * 1e6:.4g} us of {size[at]} bytes{more}; the model never falls with the size"
            )
    return warnings


@dataclass(frozen=True)
class _Model:
    """What the replay makes of the parameters."""

    overhead_s: float
    pace: float  # s/byte at the hosts
    copy: float
    rendezvous_s: float
    limit: int | None
    route: Route

    def latency_s(self, size: NDArray[np.int64]) -> F64:
        eager = size <= (np.inf if self.limit is None else self.limit)
        protocol = np.where(eager, self.copy * size, self.rendezvous_s)
        # Where inner links are slower, theirs is the pace of the message's bytes.
        rest = size - np.minimum(size, self.route.packet_bytes)
        slower = max(1.0 / self.route.inner_rate - self.pace, 0.0) * rest
        network = self.route.fixed_s(size) + self.pace * self.route.paced_bytes(size) + slower
        return np.asarray(self.overhead_s + protocol + network)

    def per_message_s(self, size: NDArray[np.int64]) -> F64:
        """A host sends the messages of a window back to back."""
        return np.asarray(max(self.pace, 1.0 / self.route.inner_rate) * size, np.float64)


def _residuals(one: Series, model: _Model, is_used: bool) -> Residuals:
    if one.is_rate:
        return Residuals(one, model.per_message_s(one.size_bytes), plateau(one) & is_used)
    return Residuals(one, model.latency_s(one.size_bytes), np.full(one.size_bytes.size, is_used))

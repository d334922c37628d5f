"""What a replay says of each step: its load, its regime, its pattern, and whether to run G5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.formulas import REGIMES, ModelParameters, regime_codes
from estimator.formulas.random_wait import quantile
from estimator.formulas.saturation import usable_buffer
from estimator.formulas.values import Values, as_array
from estimator.patterns import classify
from estimator.replay.buffers import BackPressure
from estimator.replay.engine import Replay
from estimator.units import format_rate, format_size, format_time
from estimator.workload import Workload

CONGESTED = REGIMES.index("congested")

# Columns of the random waits in the tables of steps.
RANDOM = ("random_mean", "random_variance", "random_bound")

# A step that takes so much longer in one run of a hundred is marked; it is then the chance that decides.
UNSTEADY_SHARE = 0.5

UNMARKED, INFORMATIONAL, LIKELY_WRONG = range(3)
SEVERITIES = (None, "informational", "likely wrong")


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps with traffic, one entry each.

    Attributes
    ----------
    collective : int64, collective operation of the workload, -1 = point-to-point
    job, round : int32
    messages : int64
    bytes, start_s, finish_s : float64
    rho : float64, offered load of the worst port where inputs merge, 0 if none do
    port : int32, that port, -1 if none
    flows : int32, messages that share it
    utilisation : float64, carried load there; of a step without merging, of its slowest message's path
    peak_bytes : float64, largest backlog of any port where its messages merge with others
    burst_bytes : float64, all that the busy period of the worst port brought
    latency_p99_s : float64, latency that 99 in 100 runs do not exceed, going by its slowest message's random waits
    paused_s : float64, longest time that a full buffer held up one of its messages
    regime, pattern, severity : int8
    """

    collective: NDArray[np.int64]
    job: NDArray[np.int32]
    round: NDArray[np.int32]
    messages: NDArray[np.int64]
    bytes: NDArray[np.float64]
    start_s: NDArray[np.float64]
    finish_s: NDArray[np.float64]
    rho: NDArray[np.float64]
    port: NDArray[np.int32]
    flows: NDArray[np.int32]
    utilisation: NDArray[np.float64]
    peak_bytes: NDArray[np.float64]
    burst_bytes: NDArray[np.float64]
    latency_p99_s: NDArray[np.float64]
    paused_s: NDArray[np.float64]
    regime: NDArray[np.int8]
    pattern: NDArray[np.int8]
    severity: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.rho)

    @property
    def run_g5(self) -> NDArray[np.bool_]:
        """Steps to hand to packet-level simulation."""
        return self.severity > UNMARKED


def read_steps(
    workload: Workload, replay: Replay, parameters: ModelParameters, back_pressure: BackPressure
) -> Steps:
    """Collect the steps of a replay, in the order in which they begin."""
    table = replay.steps
    collective = np.full(table.size, -1, np.int64)
    round_ = table["round"].copy()
    first = replay.instances["step"]
    if workload.work.collective_steps:
        collective[: workload.work.collective_steps] = np.repeat(
            np.arange(len(first)), np.diff(np.append(first, workload.work.collective_steps))
        )
        owner = collective[: workload.work.collective_steps]
        round_[: workload.work.collective_steps] = np.arange(workload.work.collective_steps) - first[owner]
    job = table["job"].copy()
    if workload.work.collective_steps:
        job[: workload.work.collective_steps] = np.searchsorted(workload.collective_ptr, owner, side="right") - 1
    pattern = _patterns(workload, replay, collective, round_)
    chosen = np.flatnonzero((table["messages"] > 0) & np.isfinite(table["finish"]))
    chosen = chosen[np.argsort(table["start"][chosen], kind="stable")]
    table = table[chosen]
    merging = table["port"] >= 0
    alone = np.divide(table["slowest_serial"], table["slowest"], out=np.zeros(table.size), where=table["slowest"] > 0)
    rho = table["rho"]
    regime = regime_codes(rho, parameters).astype(np.int8)
    latency = table["finish"] - table["start"]
    surplus = surplus_p99(*(table[name] for name in RANDOM))
    unsure = (regime == CONGESTED) | (table["paused"] > 0.0) | (surplus > UNSTEADY_SHARE * latency)
    severity = np.where(unsure, INFORMATIONAL, UNMARKED)
    if back_pressure != BackPressure.MODELLED:
        severity = np.where(table["peak"] > buffer_of(parameters), LIKELY_WRONG, severity)
    return Steps(
        collective=collective[chosen],
        job=job[chosen],
        round=round_[chosen],
        messages=table["messages"],
        bytes=table["bytes"],
        start_s=table["start"],
        finish_s=table["finish"],
        rho=rho,
        port=table["port"],
        flows=table["flows"],
        utilisation=np.where(merging, np.minimum(rho, 1.0), alone),
        peak_bytes=table["peak"],
        burst_bytes=table["port_bytes"],
        latency_p99_s=latency + surplus,
        paused_s=table["paused"],
        regime=regime,
        pattern=pattern[chosen],
        severity=severity.astype(np.int8),
    )


def _patterns(
    workload: Workload, replay: Replay, collective: NDArray[np.int64], round_: NDArray[np.int32]
) -> NDArray[np.int8]:
    """Pattern of every step: once per round of each schedule, and per burst of point-to-point messages."""
    pattern = np.zeros(len(collective), np.int8)
    count = workload.work.collective_steps
    if count:
        by_schedule: dict[int, NDArray[np.int8]] = {}
        for call in workload.calls:
            schedule = call.expansion.schedule
            if call.schedule not in by_schedule and schedule.src.size:
                rounds = int(schedule.round.max()) + 1
                ranks = np.full(rounds, schedule.ranks)
                by_schedule[call.schedule] = classify(schedule.round, schedule.src, schedule.dst, ranks, rounds)
        offsets = np.zeros(len(workload.work.schedules) + 1, np.int64)
        for index, found in by_schedule.items():
            offsets[index + 1] = len(found)
        starts = np.cumsum(offsets)
        joined = np.concatenate([by_schedule.get(i, np.zeros(0, np.int8)) for i in range(len(offsets) - 1)])
        schedule_of = replay.instances["schedule"][collective[:count]]
        pattern[:count] = joined[starts[schedule_of] + round_[:count]]
    rows = workload.work.rows
    sends = np.flatnonzero(rows["kind"] == 0)
    if sends.size:
        job = np.searchsorted(workload.row_ptr, sends, side="right") - 1
        of_trace = [t.task_rows[t.kind[t.task_rows] == 0] for t in workload.traces]
        src = np.concatenate([t.task[own] for t, own in zip(workload.traces, of_trace, strict=True)])
        dst = np.concatenate([t.peer[own] for t, own in zip(workload.traces, of_trace, strict=True)])
        step = replay.messages["step"][: sends.size] - count
        groups = len(collective) - count
        ranks = np.ones(groups, np.int64)
        ranks[step] = np.diff(workload.task_ptr)[job]
        pattern[count:] = classify(step, src, dst, ranks, groups)
    return pattern


def surplus_p99(mean_s: Values, variance_s2: Values, bound_s: Values) -> NDArray[np.float64]:
    """How much later than on average 99 in 100 runs are through at the most, s, from the random waits on the way."""
    mean = as_array(mean_s)
    return as_array(quantile(mean, variance_s2, bound_s, 0.99)) - mean if mean.any() else np.zeros_like(mean)


def buffer_of(parameters: ModelParameters) -> float:
    """Bytes that queue at a port before its senders are stopped or packets are lost."""
    return float(usable_buffer(parameters.fabric, parameters.buffer_size_bytes))


def reasons(steps: Steps, index: int, port_name: str, port_rate: float, parameters: ModelParameters) -> list[str]:
    """Why a step is marked, in words with numbers; empty for one that is not."""
    if steps.severity[index] == UNMARKED:
        return []
    found = []
    rho, flows = float(steps.rho[index]), int(steps.flows[index])
    if steps.port[index] >= 0:
        burst_s = float(steps.burst_bytes[index]) / port_rate
        text = (
            f"{flows} flows merge at {port_name} (ρ {rho:.2f} of {format_rate(port_rate)}); "
            f"the burst of {format_size(float(steps.burst_bytes[index]))} lasts {format_time(burst_s)}"
        )
        if steps.peak_bytes[index] > 0:
            # The largest backlog may be at another port than the one with the highest load.
            text += f"; the longest queue on its way is {format_size(float(steps.peak_bytes[index]))}"
        found.append(text)
    buffer = buffer_of(parameters)
    if steps.paused_s[index] > 0.0:
        found.append(
            f"buffers of {format_size(buffer)} fill: a message is held up for {format_time(steps.paused_s[index])}, "
            f"{HELD_UP[parameters.fabric]}"
        )
    elif steps.severity[index] == LIKELY_WRONG:
        here = rho > 1.0 and float(steps.burst_bytes[index]) > float(steps.peak_bytes[index])
        fills = f" in {format_time(buffer / ((rho - 1.0) * port_rate))}" if here else ""
        found.append(f"a port buffer of {format_size(buffer)} fills{fills}; {NOT_MODELLED[parameters.fabric]}")
    latency, p99 = float(steps.finish_s[index] - steps.start_s[index]), float(steps.latency_p99_s[index])
    if p99 - latency > UNSTEADY_SHARE * latency:
        found.append(f"random background: {format_time(latency)} on average, {format_time(p99)} in one of 100 runs")
    return found


# What a replay with credits stands for.
HELD_UP = {
    "infiniband": "as credits do it",
    "roce": "as PFC does it with a pause at half of the buffer, no headroom and no hysteresis",
}

NOT_MODELLED = {
    "infiniband": "then credits stop the senders, and flows that only cross the paused ports slow down too",
    "roce": "then PFC pauses whole links, unrelated flows on them included",
    "tcp": "then packets are lost, and a time-out costs at least 200 ms",
}

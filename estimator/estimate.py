"""The main job: traces and a fabric in, latency per collective and marked steps out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from estimator.background import add_steady_background, streams_of, with_streams
from estimator.collectives import check_forced
from estimator.formulas import ModelParameters
from estimator.formulas.saturation import usable_buffer
from estimator.placement import place
from estimator.replay import layout
from estimator.replay.buffers import BackPressure, replay_with_buffers
from estimator.replay.engine import Replay, Settings
from estimator.steps import Steps, read_steps
from estimator.topology import Background, Fabric
from estimator.units import format_size
from estimator.workload import IDEAL, Workload, build_workload
from vef import IdealReplay, Trace, ideal_replay

if TYPE_CHECKING:
    from estimator.hash_spread import HashSpread

# Every model a user can choose, and how the replay works it out.
MODELS = {
    "segmented": layout.PORT,
    "alpha-beta": layout.ALPHA_BETA,
    "static": layout.STATIC,
    "fluid": layout.FLUID,
    "mm1": layout.QUEUE,
    "md1": layout.QUEUE,
    "mg1": layout.QUEUE,
    "kingman": layout.QUEUE,
    "empirical": layout.EMPIRICAL,
}

# Share of a change in a message's rate below which the next hop is not told.
RIPPLE_TOLERANCE = 0.03


class EstimateError(Exception):
    """The inputs are good one by one, but no estimate can be made of them; says why and what to do."""


@dataclass(frozen=True)
class Options:
    """How to estimate; the names are those of the command line.

    Attributes
    ----------
    model : a key of `MODELS`
    placement : block, round-robin, random:SEED or a file
    ranks_per_node : tasks per host
    routing, seed : override the topology's
    collectives : algorithm by operation, such as {"allreduce": "ring"}
    openmpi : series whose fixed decision and algorithms hold
    compute_scale : factor on all compute times
    parameters : values by name, overriding the defaults and the topology's
    background : traffic of others on ports, besides the topology's own
    """

    model: str = "segmented"
    placement: str = "block"
    ranks_per_node: int = 1
    routing: str | None = None
    seed: int | None = None
    collectives: Mapping[str, str] = field(default_factory=dict)
    openmpi: str = "5.0"
    compute_scale: float = 1.0
    parameters: Mapping[str, str] = field(default_factory=dict)
    background: tuple[Background, ...] = ()


@dataclass(frozen=True, eq=False)
class Estimate:
    """Result of `estimate`, in tables; `estimator.document` writes it out."""

    options: Options
    parameters: ModelParameters
    fabric: Fabric
    workload: Workload
    replay: Replay
    steps: Steps
    ideal: tuple[IdealReplay, ...]
    back_pressure: BackPressure
    hashes: HashSpread | None = None

    @property
    def makespan_s(self) -> float:
        """Time until the last task is done and the last message has arrived."""
        if self.fabric.kind == IDEAL:
            return self.ideal_makespan_s
        return self.replay.makespan_s

    @property
    def ideal_makespan_s(self) -> float:
        """The same on a network without latency or limit of bandwidth."""
        return max(result.makespan_s for result in self.ideal)

    @property
    def communication_s(self) -> float:
        """Mean over the tasks of the time that they do not compute."""
        return _mean_rest(self.replay.finish, self.workload.compute_s)

    @property
    def communication_alpha_beta_s(self) -> float:
        """The same without contention."""
        return _mean_rest(self.replay.finish_bare, self.workload.compute_s)


def _mean_rest(finish: NDArray[np.float64], compute: NDArray[np.float64]) -> float:
    return float(np.maximum(finish - compute, 0.0).mean()) if finish.size else 0.0


def estimate(
    traces: Sequence[Trace],
    fabric: Fabric,
    options: Options | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Replay traces that start together and share a fabric.

    Parameters
    ----------
    traces : one job each
    progress : called now and then with messages delivered and messages in all

    Raises
    ------
    vef.InvalidTrace
        A trace that cannot be replayed to its end, with who waits for what.
    estimator.topology.ConfigError
        A placement or routing that does not fit the fabric.
    estimator.collectives.CallError
        A forced collective algorithm that does not exist (UnknownAlgorithm is one).
    estimator.formulas.ParameterError
        A parameter's name or value.
    EstimateError
        An unknown model, a factor on compute times out of range, a buffer that no packet fits into, or a replay that
        gets stuck inside collectives.
    """
    options = options or Options()
    if options.model not in MODELS:
        raise EstimateError(f"unknown model {options.model!r}; known are {', '.join(MODELS)}")
    check_forced(options.collectives, options.openmpi)
    parameters = parameters_for(fabric, options.parameters)
    _check_buffer(fabric, parameters, options.model)
    try:
        ideal = tuple(ideal_replay(trace, options.compute_scale) for trace in traces)
    except ValueError as error:
        raise EstimateError(str(error)) from error
    tasks = [trace.header.tasks for trace in traces]
    if fabric.kind == IDEAL:
        host_of = np.arange(sum(tasks), dtype=np.int32)
    else:
        host_of = place(tasks, fabric, options.placement, options.ranks_per_node)
    workload = build_workload(
        traces,
        fabric,
        host_of,
        routing=options.routing,
        seed=options.seed,
        forced=options.collectives,
        version=options.openmpi,
        compute_scale=options.compute_scale,
    )
    background = fabric.background + options.background
    shape = (workload.fabric, background, parameters.mtu_bytes, parameters.arrival_cv_sq)
    add_steady_background(workload.network.ports, *shape)
    network, flows = with_streams(workload.network, streams_of(*shape), as_flows=options.model == "segmented")
    total = message_count(workload)
    buffered = replay_with_buffers(
        network,
        workload.work,
        replay_settings(options.model, workload.fabric, parameters),
        buffer_bytes=float(usable_buffer(parameters.fabric, parameters.buffer_size_bytes)),
        lossless=parameters.fabric != "tcp",
        background=flows,
        progress=None if progress is None else lambda delivered: progress(delivered, total),
    )
    replay, workload = buffered.replay, dataclasses.replace(workload, network=buffered.network)
    if replay.stuck.size:
        raise EstimateError(_describe_stuck(workload, replay))
    steps = read_steps(workload, replay, parameters, buffered.back_pressure)
    return Estimate(options, parameters, workload.fabric, workload, replay, steps, ideal, buffered.back_pressure)


def parameters_for(fabric: Fabric, overrides: Mapping[str, str]) -> ModelParameters:
    """Model parameters: the defaults, what the topology says, then what the user sets by name."""
    own = ModelParameters(buffer_size_bytes=fabric.buffer_bytes, mtu_bytes=fabric.mtu_bytes)
    return own.replaced(fabric=fabric.fabric).replaced(**{**fabric.parameters, **overrides})


def _check_buffer(fabric: Fabric, parameters: ModelParameters, model: str) -> None:
    """A lossless network never sends a packet for which the next buffer has no room."""
    usable = float(usable_buffer(parameters.fabric, parameters.buffer_size_bytes))
    if fabric.kind == IDEAL or model != "segmented" or parameters.fabric == "tcp" or usable >= parameters.mtu_bytes:
        return
    share = "" if parameters.fabric != "roce" else f" ({format_size(usable)} of it before roce pauses)"
    raise EstimateError(
        f"buffer: found {format_size(parameters.buffer_size_bytes)}{share}; expected room for a packet of "
        f"{format_size(parameters.mtu_bytes)}, or none is ever sent; give a larger buffer_size_bytes or a smaller "
        "mtu_bytes"
    )


def message_count(workload: Workload) -> int:
    """Messages between tasks, collectives' messages included."""
    in_calls = np.array([call.expansion.schedule.src.size for call in workload.calls] or [0])
    sends = int((workload.work.rows["kind"] == layout.MESSAGE).sum())
    return sends + int(in_calls[workload.call_of].sum())


def replay_settings(model: str, fabric: Fabric, parameters: ModelParameters) -> Settings:
    """Scalars of the replay for a model on a fabric."""
    arrival_cv_sq, service_cv_sq = {
        "mm1": (1.0, 1.0),
        "md1": (1.0, 0.0),
        "mg1": (1.0, parameters.service_cv_sq),
    }.get(model, (parameters.arrival_cv_sq, parameters.service_cv_sq))
    ideal = fabric.kind == IDEAL
    return Settings(
        model=MODELS[model],
        packet_bytes=float(parameters.mtu_bytes) if fabric.switching == "store-and-forward" else 0.0,
        overhead_s=0.0 if ideal else fabric.host_overhead_s,
        eager_limit_bytes=np.inf if ideal else float(parameters.eager_limit_bytes),
        intra_rate=np.inf if ideal else fabric.intra_node_rate,
        intra_latency_s=0.0 if ideal else fabric.intra_node_latency_s,
        ripple_tolerance=RIPPLE_TOLERANCE,
        mtu_bytes=float(parameters.mtu_bytes),
        arrival_cv_sq=arrival_cv_sq,
        service_cv_sq=service_cv_sq,
        wait_factor=parameters.multihop_safety_factor,
        flow_exponent=parameters.empirical_flow_exponent,
        load_exponent=parameters.empirical_load_exponent,
        copy_s_per_byte=0.0 if ideal else 1.0 / fabric.host_copy_rate,
        rendezvous_s=0.0 if ideal else fabric.host_rendezvous_s,
    )


def _describe_stuck(workload: Workload, replay: Replay) -> str:
    """Say which tasks wait inside which collectives."""
    inside = np.flatnonzero(np.isfinite(replay.parts["entered"]) & ~np.isfinite(replay.parts["left"]))
    texts = []
    for part in inside[:5]:
        instance = int(replay.parts["instance"][part])
        job = int(np.searchsorted(workload.collective_ptr, instance, side="right") - 1)
        trace = workload.traces[job]
        gid = trace.collectives.gid[instance - workload.collective_ptr[job]]
        algorithm = workload.calls[workload.call_of[instance]].expansion.algorithm
        task = int(replay.parts["task"][part] - workload.task_ptr[job])
        texts.append(f"task {task} of {trace.path} inside G{gid} ({algorithm})")
    more = f" and {inside.size - 5} more" if inside.size > 5 else ""
    return (
        f"the replay is stuck: {replay.stuck.size} tasks cannot end; waiting: {', '.join(texts)}{more}. "
        "A task leaves such a collective only after others have entered it; "
        "try another algorithm for it with --collective."
    )

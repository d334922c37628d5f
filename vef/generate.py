"""Small sample traces of common communication patterns, the same every time.

``python -m vef.generate OUT_DIR`` writes them all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from vef.program import Program
from vef.records import Op, Trace
from vef.write import write_trace

KIB = 1024


def ring(
    tasks: int = 16, steps: int = 30, size_bytes: int = 64 * KIB, compute_ns: int = 20_000, seed: int = 1
) -> Trace:
    """Every task sends to its right and receives from its left, `steps` times."""
    program, jitter = Program(tasks), _Jitter(seed)
    for _ in range(steps):
        sent = [program.send(t, (t + 1) % tasks, size_bytes, jitter(compute_ns)) for t in range(tasks)]
        for t in range(tasks):
            program.receive(t, sent[(t - 1) % tasks])
    program.finish()
    return program.trace("ring")


def incast(
    senders: int = 31, rounds: int = 10, size_bytes: int = 64 * KIB, compute_ns: int = 50_000, seed: int = 2
) -> Trace:
    """All others send to task 0 at about the same time; a barrier ends each round."""
    tasks = senders + 1
    program, jitter = Program(tasks), _Jitter(seed)
    for _ in range(rounds):
        sent = [program.send(t, 0, size_bytes, jitter(compute_ns)) for t in range(1, tasks)]
        program.receive(0, *sent)
        _barrier(program, tasks)
    program.finish()
    return program.trace("incast")


def alltoall_skew(
    tasks: int = 16,
    rounds: int = 40,
    size_bytes: int = 16 * KIB,
    compute_ns: int = 100_000,
    skew: float = 0.5,
    point_to_point: bool = False,
    seed: int = 3,
) -> Trace:
    """All-to-all exchanges that the tasks enter at uneven times.

    Parameters
    ----------
    size_bytes : int
        To each other task.
    skew : float
        Spread of the compute times as a share of `compute_ns`.
    point_to_point : bool
        Messages instead of the collective.
    """
    program, jitter = Program(tasks), _Jitter(seed, skew)
    for _ in range(rounds):
        compute = [jitter(compute_ns) for _ in range(tasks)]
        if not point_to_point:
            program.collective(Op.ALLTOALL, [size_bytes] * tasks, [0] * tasks, compute)
            continue
        sent: dict[tuple[int, int], int] = {}
        for t in range(tasks):
            for step in range(1, tasks):
                peer = (t + step) % tasks
                sent[t, peer] = program.send(t, peer, size_bytes, compute[t] if step == 1 else 0)
        for t in range(tasks):
            program.receive(t, *(sent[(t - step) % tasks, t] for step in range(1, tasks)))
    program.finish()
    return program.trace("alltoall-skew")


def pipeline(
    stages: int = 8,
    microbatches: int = 24,
    activation_bytes: int = 512 * KIB,
    compute_ns: int = 200_000,
    spread: float = 0.1,
    seed: int = 4,
) -> Trace:
    """A training pipeline: all microbatches forward through the stages, then all back at twice the cost."""
    program, jitter = Program(stages), _Jitter(seed, spread)
    for direction in (1, -1):
        order = list(range(stages))[::direction]
        for _ in range(microbatches):
            arriving = -1
            for place, stage in enumerate(order):
                if place:
                    program.receive(stage, arriving)
                if place + 1 < stages:
                    compute = jitter(compute_ns if direction > 0 else 2 * compute_ns)
                    arriving = program.send(stage, order[place + 1], activation_bytes, compute)
    _barrier(program, stages)
    program.finish()
    return program.trace("pipeline")


def halo(
    shape: tuple[int, int, int] = (3, 3, 3),
    iterations: int = 4,
    face_bytes: int = 32 * KIB,
    compute_ns: int = 300_000,
    seed: int = 5,
) -> Trace:
    """A periodic 3-D grid: six non-blocking sends, a wait for six receives, then an allreduce each step."""
    nx, ny, nz = shape
    tasks = nx * ny * nz
    program, jitter = Program(tasks), _Jitter(seed, 0.2)

    def neighbours(task: int) -> list[int]:
        x, y, z = task % nx, task // nx % ny, task // (nx * ny)
        moves = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))
        return [(x + i) % nx + nx * ((y + j) % ny) + nx * ny * ((z + k) % nz) for i, j, k in moves]

    around = [neighbours(task) for task in range(tasks)]
    for _ in range(iterations):
        sent: dict[tuple[int, int], int] = {}
        for task in range(tasks):
            for way, peer in enumerate(around[task]):
                sent[task, way] = program.send(task, peer, face_bytes, 0 if way else jitter(compute_ns))
        for task in range(tasks):
            program.receive(task, *(sent[peer, way ^ 1] for way, peer in enumerate(around[task])))
        compute = [jitter(compute_ns // 10) for _ in range(tasks)]
        program.collective(Op.ALLREDUCE, [8] * tasks, [8] * tasks, compute)
    program.finish()
    return program.trace("halo")


def training_step(
    replicas: int = 4,
    shards: int = 4,
    layers: int = 12,
    activation_bytes: int = 256 * KIB,
    gradient_bytes: int = 2048 * KIB,
    compute_ns: int = 400_000,
    seed: int = 6,
) -> Trace:
    """One step of tensor- and data-parallel training.

    Forward, every layer ends with an allreduce of activations among the shards of a replica;
    backward, with an allreduce of gradients among the replicas of a shard. A barrier ends the step.
    """
    tasks = replicas * shards
    groups = {1 + r: range(r * shards, (r + 1) * shards) for r in range(replicas)}
    groups |= {1 + replicas + s: range(s, tasks, shards) for s in range(shards)}
    program, jitter = Program(tasks, groups), _Jitter(seed, 0.1)
    for first, count, size, work in (
        (1, replicas, activation_bytes, compute_ns),
        (1 + replicas, shards, gradient_bytes, 2 * compute_ns),
    ):
        for _ in range(layers):
            for number in range(first, first + count):
                members = len(groups[number])
                compute = [jitter(work) for _ in range(members)]
                program.collective(Op.ALLREDUCE, [size] * members, [size] * members, compute, number)
    _barrier(program, tasks)
    program.finish()
    return program.trace("training-step")


SAMPLES: dict[str, Callable[[], Trace]] = {
    "ring": ring,
    "incast": incast,
    "alltoall-skew": alltoall_skew,
    "pipeline": pipeline,
    "halo": halo,
    "training-step": training_step,
}


class _Jitter:
    """Compute times spread evenly by a share around a mean."""

    def __init__(self, seed: int, share: float = 0.2) -> None:
        self._random = Random(seed)
        self._share = share

    def __call__(self, mean_ns: int) -> int:
        return int(mean_ns * (1 + self._share * (2 * self._random.random() - 1)))


def _barrier(program: Program, tasks: int) -> None:
    program.collective(Op.BARRIER, [0] * tasks, [0] * tasks, [0] * tasks)


def main(arguments: Sequence[str]) -> int:
    """Write every sample trace into the folder that is the only argument."""
    if len(arguments) != 1:
        print("usage: python -m vef.generate OUT_DIR", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in SAMPLES.items():
        write_trace(make(), folder / f"{name}.vef")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

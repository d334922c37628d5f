"""Inputs of the speed benchmark, as VEF text; the same every time.

    python benchmarks/workloads.py NAME RANKS AMOUNT FILE

NAME is a key of `MAKERS`, AMOUNT is as there. Prints the records and bytes written, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
import numpy as np

KIB = 1024
FIELDS = 7  # id, source, destination, bytes, dependency, time, its id

Chunks = Iterator[bytes]


@numba.njit
def digits(values: np.ndarray) -> np.ndarray:
    """The text of rows of non-negative numbers (a negative one is -1), a line each."""
    text = np.empty(values.size * 21, np.uint8)
    at = 0
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            value = values[row, column]
            if value < 0:
                text[at] = 45
                at += 1
                value = -value
            length = 1
            rest = value
            while rest >= 10:
                rest //= 10
                length += 1
            for place in range(at + length - 1, at - 1, -1):
                text[place] = 48 + value % 10
                value //= 10
            at += length
            text[at] = 32
            at += 1
        text[at - 1] = 10
    return text[:at]


def head(ranks: int, p2p: int, operations: int) -> bytes:
    """Header and the communicator of all."""
    members = " ".join(map(str, range(ranks)))
    return f"VEF3 {ranks} {p2p} 1 {operations} {operations * ranks} 0 1000\nC0 {members}\n".encode()


def collectives(ranks: int, operation: int, sizes: list[int], received: bool, compute_ns: int) -> Chunks:
    """One collective of all after another, with compute times of about `compute_ns` between them."""
    yield head(ranks, 0, len(sizes))
    draw = np.random.default_rng(1)
    for number, size in enumerate(sizes):
        time = draw.integers(0, compute_ns + 1, ranks)
        after = f"3 {{}} G{number - 1}" if number else "0 {} -1"
        fixed = f"G{number} C0 {operation} {{}} {size} {size if received else 0} {after}\n"
        yield "".join(fixed.format(rank, int(time[rank])) for rank in range(ranks)).encode()


def alltoall(ranks: int, amount: int) -> Chunks:
    """`amount` all-to-alls of 64 KiB to each."""
    return collectives(ranks, 7, [64 * KIB] * amount, False, 1000)


def ring(ranks: int, amount: int) -> Chunks:
    """`amount` allreduces of 16 MiB."""
    return collectives(ranks, 2, [16 * KIB * KIB] * amount, True, 1000)


def allreduce(ranks: int, amount: int) -> Chunks:
    """`amount` allreduces, of 8 B and 1 MiB by turns, with 100 µs of compute."""
    return collectives(ranks, 2, [8, KIB * KIB] * (amount // 2), True, 100_000)


def halo(ranks: int, amount: int) -> Chunks:
    """A periodic 3-D grid: six sends of 64 KiB, six receives, then compute, `amount` times."""
    side = round(ranks ** (1 / 3))
    x, y, z = np.unravel_index(np.arange(ranks), (side, side, side))
    shifts = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    to = [((x + a) % side * side + (y + b) % side) * side + (z + c) % side for a, b, c in shifts]
    draw = np.random.default_rng(2)
    rank = np.arange(ranks)
    each = 2 * len(shifts)
    yield head(ranks, ranks * each * amount, 0)
    for turn in range(amount):
        base = (turn * ranks + rank) * each  # first id of each rank in this turn
        records = np.empty((ranks, each, FIELDS), np.int64)
        compute = draw.integers(20_000, 40_000, ranks)
        sent = [base + index for index in range(len(shifts))]
        # What goes to one side comes to a rank from its neighbour on the opposite side.
        received = [(turn * ranks + to[index ^ 1]) * each + index for index in range(len(shifts))]
        last = received[-1] - ranks * each
        for index, peer in enumerate(to):
            dep, after = (5, sent[index - 1]) if index else (6, last) if turn else (4, np.int64(-1))
            time = 0 if index else compute
            columns = np.broadcast_arrays(sent[index], rank, peer, 64 * KIB, dep, time, after)
            records[:, index] = np.stack(columns, 1)
            dep, after = (2, received[index - 1]) if index else (1, sent[-1])
            columns = np.broadcast_arrays(sent[index] + len(shifts), rank, rank, 0, dep, 0, after)
            records[:, len(shifts) + index] = np.stack(columns, 1)
        yield digits(records.reshape(-1, FIELDS)).tobytes()


def random_pairs(ranks: int, amount: int) -> Chunks:
    """`amount` messages of 64 KiB between random pairs; each waits for what its sender last sent or received."""
    draw = np.random.default_rng(3)
    source = draw.integers(0, ranks, amount)
    peer = (source + draw.integers(1, ranks, amount)) % ranks
    time = draw.integers(0, 2_000, amount)
    dep, after = chain(source, peer, ranks)
    yield head(ranks, amount, 0)
    columns = (np.arange(amount), source, peer, np.full(amount, 64 * KIB), dep, time, after)
    yield digits(np.stack(columns, 1)).tobytes()


@numba.njit
def chain(source: np.ndarray, peer: np.ndarray, ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """Dependency of each message on the last that its sender took part in."""
    last = np.full(ranks, -1, np.int64)
    dep, after = np.empty(source.size, np.int64), np.empty(source.size, np.int64)
    for message in range(source.size):
        before = last[source[message]]
        after[message] = before
        dep[message] = 4 if before < 0 else (5 if source[before] == source[message] else 6)
        last[source[message]] = last[peer[message]] = message
    return dep, after


MAKERS: dict[str, Callable[[int, int], Chunks]] = {
    "alltoall": alltoall,
    "ring": ring,
    "allreduce": allreduce,
    "halo": halo,
    "random": random_pairs,
}


def main() -> None:
    name, ranks, amount, target = sys.argv[1:]
    lines = size = 0
    with Path(target).open("wb") as file:
        for chunk in MAKERS[name](int(ranks), int(amount)):
            lines += chunk.count(b"\n")
            size += file.write(chunk)
    json.dump({"records": lines - 2, "bytes": size}, sys.stdout)


if __name__ == "__main__":
    main()

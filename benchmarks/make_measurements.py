"""Write the example measurements of `sample_traces/measurements`: made up, in the layout of the real tools.

    python benchmarks/make_measurements.py [FOLDER]

One switch with 100 Gb/s links of 300 ns that carry 97 Gb/s of payload, 450 ns of software, eager messages up to 8 KiB
copied at 9 GB/s, 1.3 µs for the rendezvous of larger ones, 1 % noise. An all-to-all takes 15 % more than its bytes
need on the wire. NCCL has two machines of eight GPUs, each with its own 400 Gb/s NIC.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "sample_traces" / "measurements"

OVERHEAD_S, WIRES_S, RATE, COPY = 450e-9, 600e-9, 97e9 / 8, 9e9
EAGER, RENDEZVOUS_S, MTU = 8192, 1.3e-6, 4096
NOISE = 0.01
GPUS, MACHINES, STEP_S, BUS = 8, 2, 9e-6, 8 * 48.5e9


def one_way_s(size: int) -> float:
    """Latency of a message."""
    protocol_s = size / COPY if size <= EAGER else RENDEZVOUS_S
    return OVERHEAD_S + WIRES_S + protocol_s + (size + min(size, MTU)) / RATE


def alltoall_s(ranks: int, size: int) -> float:
    """An all-to-all of blocks of a size."""
    return 1.15 * (one_way_s(size) + (ranks - 2) * size / RATE)


def files() -> dict[str, str]:
    """Text by file name."""
    noise = np.random.default_rng(2026)

    def noisy(value: float) -> float:
        return float(value * (1 + NOISE * noise.standard_normal()))

    sizes = [1 << power for power in range(23)]
    latency = [f"{size:<10d}{noisy(one_way_s(size)) * 1e6:>20.2f}" for size in sizes]
    bandwidth = [f"{size:<10d}{noisy(size / (size / RATE + 90e-9)) * 1e-6:>20.2f}" for size in sizes]
    return {
        "osu_latency.txt": _lines("# OSU MPI Latency Test v7.3", "# Size          Latency (us)", latency),
        "osu_bw.txt": _lines("# OSU MPI Bandwidth Test v7.3", "# Size      Bandwidth (MB/s)", bandwidth),
        "osu_alltoall_16.txt": _alltoall(16, noisy),
        "osu_alltoall_32.txt": _alltoall(32, noisy),
        "all_reduce_perf.txt": _all_reduce(noisy),
        "pingpong.csv": "size_bytes,latency_us\n" + "".join(f"{s},{one_way_s(s) * 1e6:.3f}\n" for s in sizes[::2]),
    }


def _lines(title: str, columns: str, rows: Iterable[str]) -> str:
    return "\n".join([title, "# Datatype: MPI_CHAR.", columns, *rows]) + "\n"


def _alltoall(ranks: int, noisy: Callable[[float], float]) -> str:
    rows = []
    for power in range(18, 23):
        mean_us = noisy(alltoall_s(ranks, 1 << power)) * 1e6
        rows.append(f"{1 << power:<10d}{mean_us:>16.2f}{mean_us * 0.97:>18.2f}{mean_us * 1.02:>18.2f}{100:>12d}")
    columns = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
    command = f"$ mpirun -np {ranks} --map-by node ./osu_alltoall -f -m 262144:4194304\n\n"
    return command + _lines("# OSU MPI All-to-All Personalized Exchange Latency Test v7.3", columns, rows)


_COLUMNS = f"{'time':>9}{'algbw':>8}{'busbw':>8}{'#wrong':>7}"
_UNITS = f"{'(us)':>9}{'(GB/s)':>8}{'(GB/s)':>8}{'':>7}"


def _all_reduce(noisy: Callable[[float], float]) -> str:
    ranks = GPUS * MACHINES
    factor = 2 * (ranks - 1) / ranks
    lines = [
        "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 4(factor) warmup iters: 5 iters: 20 "
        "agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
        *(
            f"#  Rank {rank:2d} Group  0 Pid  {4000 + rank} on   node{rank // GPUS} device {rank % GPUS:2d} "
            f"[0x{16 + rank:02x}] GPU"
            for rank in range(ranks)
        ),
        "#",
        f"#{'out-of-place':>74}{'in-place':>31}",
        f"#{'size':>11}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}" + 2 * _COLUMNS,
        f"#{'(B)':>11}{'(elements)':>14}{'':>26}" + 2 * _UNITS,
    ]
    for power in range(20, 31, 2):
        size = 1 << power
        row = f"{size:>12d}{size // 4:>14d}{'float':>10}{'sum':>8}{-1:>8d}"
        for _ in range(2):
            time_s = noisy(STEP_S * 2 * (ranks - 1) / 4 + factor * size / BUS)
            rate = size / time_s * 1e-9
            row += f"{time_s * 1e6:>9.1f}{rate:>8.2f}{rate * factor:>8.2f}{0:>7d}"
        lines.append(row)
    lines += [
        "# Out of bounds values : 0 OK",
        "#",
        "# Collective test concluded: all_reduce_perf",
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")

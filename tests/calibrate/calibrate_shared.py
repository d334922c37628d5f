"""Measurements made up from known parameters, and text in the layouts of the tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from estimator.calibrate.measurements import Series
from estimator.calibrate.route import Route

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces" / "measurements"
MTU, WIRES_S = 4096, 600e-9
# One switch: two links of 300 ns.
ROUTE = Route("one switch", WIRES_S)
SIZES = np.array([1 << power for power in range(23)])


@dataclass(frozen=True)
class Truth:
    """Parameters of a machine, SI units."""

    overhead_s: float = 450e-9
    rate: float = 12e9
    copy_s_per_byte: float = 1 / 9e9
    rendezvous_s: float = 1.3e-6
    eager_limit: int = 8192

    def latency_s(self, size: np.ndarray) -> np.ndarray:
        """Latency over one store-and-forward switch, by the definition in docs/model.md."""
        protocol = np.where(size <= self.eager_limit, size * self.copy_s_per_byte, self.rendezvous_s)
        return self.overhead_s + WIRES_S + protocol + (size + np.minimum(size, MTU)) / self.rate


def series(
    operation: str, sizes: Sequence[int] | np.ndarray, times_s: np.ndarray, path: str = "made.txt", **more: object
) -> Series:
    """A series as if read from lines 3, 4 … of a file."""
    size = np.asarray(sizes, np.int64)
    lines = np.arange(size.size, dtype=np.int64) + 3
    return Series(path, 1, "osu", operation, operation, size, np.asarray(times_s, float), lines, **more)  # type: ignore[arg-type]


def osu_text(title: str, columns: str, rows: Iterable[Sequence[object]]) -> str:
    """Output of an OSU micro-benchmark."""
    return "\n".join([f"# OSU {title} v7.3", columns, *("".join(f"{x!s:<20}" for x in row) for row in rows)]) + "\n"


def osu_latency_text(truth: Truth, sizes: np.ndarray = SIZES) -> str:
    """osu_latency with as many digits as it takes."""
    rows = [(size, f"{time * 1e6:.6f}") for size, time in zip(sizes, truth.latency_s(sizes), strict=True)]
    return osu_text("MPI Latency Test", "# Size          Latency (us)", rows)

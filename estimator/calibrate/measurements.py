"""Measurements as they come out of a file: one series per test, SI units, with the lines they were read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from estimator.topology.errors import ConfigError

F64: TypeAlias = NDArray[np.float64]
I64: TypeAlias = NDArray[np.int64]

# What a series can be used for.
LATENCY, MULTI_LATENCY = "latency", "multi-latency"
BANDWIDTH, BIBANDWIDTH, MULTI_BANDWIDTH = "bandwidth", "bibandwidth", "multi-bandwidth"
POINT_TO_POINT = (LATENCY, MULTI_LATENCY, BANDWIDTH, BIBANDWIDTH, MULTI_BANDWIDTH)
COLLECTIVES = ("alltoall", "allreduce", "allgather", "bcast", "reduce", "gather", "scatter", "reduce_scatter")
OPERATIONS = (*POINT_TO_POINT, *COLLECTIVES)

Tool: TypeAlias = Literal["osu", "nccl", "csv"]

# No machine sends more at once; a longer number is no size.
LARGEST_SIZE = 1 << 50
LONGEST_S = 1e6


class MeasurementError(ConfigError):
    """A measurement file that cannot be used, or measurements from which nothing can be fitted."""


@dataclass(frozen=True, eq=False)
class Series:
    """One test at several message sizes.

    Attributes
    ----------
    path : str
    line : int
        Line of its title or header, from 1.
    tool : str
        ``osu``, ``nccl`` or ``csv``.
    operation : str
        One of `OPERATIONS`.
    title : str
        What the tool calls the test.
    size_bytes : int64[n]
        Message size; for collectives as `measure` of the tool says, see `per_rank_bytes`.
    time_s : float64[n]
        One-way latency, time of a collective, or for bandwidths the time per message (of all pairs together).
    lines : int64[n]
        Where each row stands.
    ranks, hosts : int or None
        How many took part, if the file says so.
    pairs : int
        Pairs that sent at once.
    bus_factor : float or None
        Bytes that a rank's link carries per byte of the size (nccl-tests: busbw / algbw).
    """

    path: str
    line: int
    tool: Tool
    operation: str
    title: str
    size_bytes: I64
    time_s: F64
    lines: I64
    ranks: int | None = None
    hosts: int | None = None
    pairs: int = 1
    bus_factor: float | None = None

    @property
    def is_rate(self) -> bool:
        """Whether a bandwidth was measured."""
        return BANDWIDTH in self.operation

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.path}:{self.line}"


def checked_size(text: str, path: str, line: int) -> int:
    """Read a size in whole bytes; zero is allowed.

    Raises
    ------
    MeasurementError
        For anything else.
    """
    expected = "a message size in whole bytes"
    if not (text.isascii() and text.isdigit()):
        raise MeasurementError(path, line, f"'{text}'", expected, _number_hint(text))
    size = int(text) if len(text) < 20 else LARGEST_SIZE + 1
    if size > LARGEST_SIZE:
        raise MeasurementError(path, line, f"'{text}'", f"{expected}, at most {LARGEST_SIZE}")
    return size


def checked_value(text: str, what: str, path: str, line: int, *, zero: bool = False) -> float:
    """Read a measured value, finite and greater than zero (or zero, where that is allowed).

    Raises
    ------
    MeasurementError
        For anything else.
    """
    expected = f"{what}, {'zero or more' if zero else 'greater than zero'}"
    try:
        # Python's float takes more than a tool prints: underscores, other digits, nan.
        value = float(text) if text.isascii() and "_" not in text else float("nan")
    except ValueError:
        raise MeasurementError(path, line, f"'{text}'", expected, _number_hint(text)) from None
    if not (np.isfinite(value) and (value > 0 or (zero and value == 0))):
        raise MeasurementError(path, line, f"'{text}'", expected, "take the line out if the test failed there")
    return value


def _number_hint(text: str) -> str:
    if text.count(",") == 1 and text.replace(",", "").isdigit():
        return "numbers are read with a decimal point; run the benchmark with LC_ALL=C"
    return ""

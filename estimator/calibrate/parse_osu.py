"""Text output of the OSU micro-benchmarks: a title, a line that names the columns, rows."""

from __future__ import annotations

import re

import numpy as np

from estimator.calibrate.measurements import (
    BANDWIDTH,
    BIBANDWIDTH,
    LATENCY,
    MULTI_BANDWIDTH,
    MULTI_LATENCY,
    MeasurementError,
    Series,
    checked_size,
    checked_value,
)

TITLE = re.compile(r"#\s*OSU\s+(?P<title>.*?)\s*(?:v\d[\w.]*)?\s*$")
_PAIRS = re.compile(r"#\s*\[\s*pairs:\s*(\d{1,9})\s*\]")
_UNIT = re.compile(r"\(?\s*(?:us|ns|ms|s|[kKMGT]i?[Bb]/s|[kKMGT]i?[Bb]ps)\s*\)?$")

# What follows "MPI" (and "-CUDA", "-ROCM") in the title, in this order.
_TESTS = (
    (r"Multi(?:-pair)?\s+Latency", MULTI_LATENCY),
    (r"Latency Test", LATENCY),
    (r"Bi-?Directional Bandwidth", BIBANDWIDTH),
    (r"Multiple Bandwidth / Message Rate", MULTI_BANDWIDTH),
    (r"Bandwidth Test", BANDWIDTH),
    (r"All-to-All Personalized Exchange", "alltoall"),
    (r"All-?reduce", "allreduce"),
    (r"All-?gather Latency", "allgather"),
    (r"Broadcast Latency", "bcast"),
    (r"Reduce_scatter", "reduce_scatter"),
    (r"Reduce Latency", "reduce"),
    (r"Gather Latency", "gather"),
    (r"Scatter Latency", "scatter"),
)


def operation_of(title: str) -> str | None:
    """What a test measures; None for those that are of no use here (one-sided, non-blocking, barrier …)."""
    name = re.sub(r"^MPI(?:-\w+)?\s+", "", title)
    return next((operation for pattern, operation in _TESTS if re.match(pattern, name, re.IGNORECASE)), None)


class OsuBlock:
    """The lines of one test, fed one by one."""

    def __init__(self, path: str, line: int, title: str, ranks: int | None) -> None:
        self.path, self.line, self.title, self.ranks = path, line, title, ranks
        self.operation = operation_of(title)
        self.pairs = 1
        self.size_at = self.value_at = -1
        self.columns = 0
        self.is_rate = False
        self.rows: list[tuple[int, float, int]] = []

    def feed(self, line: int, text: str) -> None:
        """Take a line: pairs, column names, a row; anything else is noise of the job.

        Raises
        ------
        MeasurementError
            For a row or a unit that the tool does not print.
        """
        if self.operation is None:
            return
        if pairs := _PAIRS.match(text):
            self.pairs = max(1, int(pairs[1]))
        elif text.startswith("#"):
            self._name_columns(line, text)
        elif re.match(r"[+-]?\d+([.,]\d+)?(\s|$)", text):
            self._add_row(line, text.split())

    def _name_columns(self, line: int, text: str) -> None:
        names = [name for name in re.split(r"\s{2,}|\t", text.lstrip("# ").strip()) if name]
        if not names or names[0].lower() != "size":
            return
        kinds = [_UNIT.sub("", name).strip().lower() if name.lower() != "mb/s" else "bandwidth" for name in names]
        wanted = ("latency", "avg latency") if self.operation not in _RATES else ("bandwidth",)
        at = next((i for i, kind in enumerate(kinds) if kind in wanted), None)
        if at is None:
            raise MeasurementError(
                self.path, line, f"columns {', '.join(names)}", f"a column {' or '.join(wanted)} of {self.title}"
            )
        self.is_rate = self.operation in _RATES
        unit = "MB/s" if self.is_rate else "us"
        if unit not in re.split(r"[\s()]+|latency", names[at], flags=re.IGNORECASE):
            raise MeasurementError(
                self.path, line, f"the column '{names[at]}'", f"{unit}, as the benchmark prints it",
                "convert to CSV to give other units (docs/calibrate.md)",
            )  # fmt: skip
        self.size_at, self.value_at, self.columns = 0, at, len(names)

    def _add_row(self, line: int, fields: list[str]) -> None:
        if not self.columns:
            raise MeasurementError(
                self.path, line, f"'{' '.join(fields)}'", "first a line '# Size  …' that names the columns"
            )
        if len(fields) != self.columns:
            found = f"{len(fields)} values in '{' '.join(fields)}'"
            raise MeasurementError(self.path, line, found, f"{self.columns}, one for each column of {self.title}")
        size = checked_size(fields[self.size_at], self.path, line)
        what = "a bandwidth in MB/s" if self.is_rate else "a latency in us"
        value = checked_value(fields[self.value_at], what, self.path, line, zero=self.is_rate)
        if not self.is_rate:
            self.rows.append((size, value * 1e-6, line))
        elif value and size:
            # A slow small message prints as 0.00 MB/s; it says nothing about the bandwidth.
            per_direction = value / 2 if self.operation == BIBANDWIDTH else value
            self.rows.append((size, size / (per_direction * 1e6), line))

    def finish(self) -> Series:
        """The series.

        Raises
        ------
        MeasurementError
            When the test has no rows.
        """
        assert self.operation is not None
        if not self.rows:
            raise MeasurementError(
                self.path, self.line, f"{self.title} without rows", "rows of size and result", "was the job cut off?"
            )
        sizes, times, lines = zip(*self.rows, strict=True)
        return Series(
            self.path, self.line, "osu", self.operation, self.title,
            np.array(sizes, np.int64), np.array(times, np.float64), np.array(lines, np.int64),
            ranks=self.ranks, pairs=self.pairs,
        )  # fmt: skip


_RATES = (BANDWIDTH, BIBANDWIDTH, MULTI_BANDWIDTH)

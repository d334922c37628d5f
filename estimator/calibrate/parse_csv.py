"""Measurements as CSV: `size_bytes`, one column of results whose name has the unit, and if need be `op`, `ranks`."""

from __future__ import annotations

import csv

import numpy as np

from estimator.calibrate.measurements import (
    BANDWIDTH,
    BIBANDWIDTH,
    LATENCY,
    OPERATIONS,
    MeasurementError,
    Series,
    checked_size,
    checked_value,
)
from estimator.topology.errors import nearest

_TIMES = {"latency_s": 1.0, "latency_ms": 1e-3, "latency_us": 1e-6, "latency_ns": 1e-9}
_RATES = {
    "bandwidth_MB_s": 1e6, "bandwidth_GB_s": 1e9, "bandwidth_Mb_s": 1e6 / 8, "bandwidth_Gb_s": 1e9 / 8,
}  # fmt: skip
_OTHER = ("size_bytes", "op", "ranks", "hosts")
COLUMNS = (*_OTHER, *_TIMES, *_RATES)
_DELIMITERS = ",;\t"
_ALIASES = {"bw": BANDWIDTH, "bibw": BIBANDWIDTH, "broadcast": "bcast"}


def is_csv(lines: list[str]) -> bool:
    """Whether the first line that is no comment names columns."""
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    names = [name.strip().strip('"') for name in first.replace(";", ",").replace("\t", ",").split(",")]
    return any(name.lower().startswith(("size", "latency_", "bandwidth_")) for name in names) and len(names) > 1


def parse_csv(path: str, lines: list[str], ranks: int | None = None) -> list[Series]:
    """Series of a CSV file, one for each operation and number of ranks.

    Raises
    ------
    MeasurementError
        For columns, operations or values that are not known.
    """
    content = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    head_line, head = content[0]
    delimiter = max(_DELIMITERS, key=head.count)
    names = [name.strip() for name in next(csv.reader([head], delimiter=delimiter))]
    value_name = _check_columns(path, head_line, names)
    groups: dict[tuple[str, int | None, int | None], list[tuple[int, float, int]]] = {}
    for line, text in content[1:]:
        fields = [field.strip() for field in next(csv.reader([text], delimiter=delimiter))]
        if len(fields) != len(names):
            hint = "a comma is taken to separate columns; write decimals with a point" if delimiter == "," else ""
            raise MeasurementError(path, line, f"{len(fields)} values", f"{len(names)}, as in line {head_line}", hint)
        row = dict(zip(names, fields, strict=True))
        key, values = _row(path, line, row, value_name, ranks)
        groups.setdefault(key, []).append(values)
    if not groups:
        raise MeasurementError(path, head_line, "a header without rows", "rows of sizes and results")
    found = []
    for (operation, count, hosts), rows in groups.items():
        sizes, times, numbers = zip(*rows, strict=True)
        columns = np.array(sizes, np.int64), np.array(times, np.float64), np.array(numbers, np.int64)
        found.append(Series(path, head_line, "csv", operation, operation, *columns, ranks=count, hosts=hosts))
    return found


def _check_columns(path: str, line: int, names: list[str]) -> str:
    """The name of the column with the results."""
    for name in names:
        if name not in COLUMNS:
            raise MeasurementError(
                path, line, f"the column '{name}'", f"columns out of {', '.join(COLUMNS)}", nearest(name, COLUMNS)
            )
        if names.count(name) > 1:
            raise MeasurementError(path, line, f"the column '{name}' twice", "every column once")
    values = [name for name in names if name in _TIMES or name in _RATES]
    if "size_bytes" not in names or len(values) != 1:
        raise MeasurementError(
            path, line, f"columns {', '.join(names)}", "size_bytes and one of " + ", ".join([*_TIMES, *_RATES])
        )
    return values[0]


def _row(
    path: str, line: int, row: dict[str, str], value_name: str, ranks: int | None
) -> tuple[tuple[str, int | None, int | None], tuple[int, float, int]]:
    size = checked_size(row["size_bytes"], path, line)
    value = checked_value(row[value_name], value_name, path, line)
    default = LATENCY if value_name in _TIMES else BANDWIDTH
    operation = row.get("op", "").lower() or default
    operation = _ALIASES.get(operation, operation)
    if operation not in OPERATIONS:
        raise MeasurementError(path, line, f"op '{row['op']}'", "one of " + ", ".join(OPERATIONS))
    if value_name in _TIMES:
        if BANDWIDTH in operation:
            raise MeasurementError(path, line, f"op '{operation}' with {value_name}", "a column bandwidth_…")
        time_s = value * _TIMES[value_name]
    else:
        if BANDWIDTH not in operation:
            raise MeasurementError(path, line, f"op '{operation}' with {value_name}", "a column latency_…")
        if size == 0:
            raise MeasurementError(path, line, "size 0", "a size greater than zero for a bandwidth")
        time_s = size / (value * _RATES[value_name] / (2 if operation == BIBANDWIDTH else 1))
    counts = []
    for name, default_count in (("ranks", ranks), ("hosts", None)):
        text = row.get(name, "")
        count = checked_size(text, path, line) if text else default_count
        if count is not None and count < 1:
            raise MeasurementError(path, line, f"{name} '{text}'", "at least 1")
        counts.append(count)
    return (operation, counts[0], counts[1]), (size, time_s, line)

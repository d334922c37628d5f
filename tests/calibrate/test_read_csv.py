"""CSV: units in the names of the columns, operations and ranks by row, delimiters."""

from __future__ import annotations

import pytest

from estimator.calibrate.reading import read_measurements


def read(tmp_path, text: str):
    path = tmp_path / "in.csv"
    path.write_text(text)
    return read_measurements(str(path))[0]


@pytest.mark.parametrize(
    ("column", "value", "operation", "time_s"),
    [
        ("latency_s", "2e-6", "latency", 2e-6),
        ("latency_ms", "0.002", "latency", 2e-6),
        ("latency_us", "2", "latency", 2e-6),
        ("latency_ns", "2000", "latency", 2e-6),
        ("bandwidth_MB_s", "500", "bandwidth", 2e-6),
        ("bandwidth_GB_s", "0.5", "bandwidth", 2e-6),
        ("bandwidth_Mb_s", "4000", "bandwidth", 2e-6),
        ("bandwidth_Gb_s", "4", "bandwidth", 2e-6),
    ],
)
def test_units(tmp_path, column: str, value: str, operation: str, time_s: float) -> None:
    [one] = read(tmp_path, f"size_bytes,{column}\n1000,{value}\n")
    assert one.operation == operation
    assert one.time_s == pytest.approx([time_s], rel=1e-12)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_one_series_for_each_operation_and_number_of_ranks(tmp_path, delimiter: str) -> None:
    rows = [
        "op,ranks,size_bytes,latency_us",
        "latency,,8,1",
        "alltoall,16,8,20",
        "alltoall,32,8,40",
        "alltoall,16,64,22",
    ]
    found = read(tmp_path, "# measured by hand\n" + "\n".join(rows).replace(",", delimiter) + "\n")
    assert [(one.operation, one.ranks, one.size_bytes.tolist(), one.lines.tolist()) for one in found] == [
        ("latency", None, [8], [3]),
        ("alltoall", 16, [8, 64], [4, 6]),
        ("alltoall", 32, [8], [5]),
    ]


def test_both_directions_are_halved(tmp_path) -> None:
    [one] = read(tmp_path, "size_bytes,op,bandwidth_GB_s\n1000,bibw,2\n")
    assert one.time_s == pytest.approx([1e-6])

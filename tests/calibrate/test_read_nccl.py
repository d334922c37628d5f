"""nccl-tests: layouts of several versions, ranks and hosts, and what is told from the numbers alone."""

from __future__ import annotations

import pytest

from estimator.calibrate.measurements import MeasurementError
from estimator.calibrate.reading import read_measurements

DEVICES = "#\n# Using devices\n" + "".join(
    f"#  Rank {rank:2d} Group  0 Pid 77 on  node{rank // 4} device {rank % 4} [0x10] GPU\n" for rank in range(8)
)
STARTED = "# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n"
ENDED = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 45.8\n"


def columns(*names: str) -> str:
    """The two lines that name the columns of the message and, twice, those of the result."""
    units = {"size": "(B)", "count": "(elements)", "time": "(us)", "algbw": "(GB/s)", "busbw": "(GB/s)"}
    heads = (" ".join(f"{name:>10}" for name in names), " ".join(f"{units.get(name, ''):>10}" for name in names))
    return "".join(f"#{head.rstrip()}\n" for head in heads)


def row(*values: object) -> str:
    """A row of results."""
    return " ".join(f"{value!s:>10}" for value in values) + "\n"


OLD, NEW = ("time", "algbw", "busbw", "error"), ("time", "algbw", "busbw", "#wrong")
V20 = (
    f"{STARTED}{DEVICES}#{'out-of-place':>60}{'in-place':>40}\n"
    + columns("size", "count", "type", "redop", *OLD, *OLD)
    + row(33554432, 8388608, "float", "sum", "1000.0", 33.55, 58.72, "N/A", "1100.0", "30.50", 53.38, "N/A")
    + ENDED
)
V213 = (
    STARTED
    + DEVICES
    + columns("size", "count", "type", "redop", "root", *NEW, *NEW)
    + row(0, 0, "float", "sum", -1, "5.70", "0.00", "0.00", 0, "5.54", "0.00", "0.00", 0)
    + row(33554432, 8388608, "float", "sum", -1, "1000.0", 33.55, 58.72, 0, "1100.0", "30.50", 53.38, 0)
    + ENDED
)
V217 = (
    "# nccl-tests version 2.17.2 nccl-headers=22807 nccl-library=22807\n"
    "# Collective test starting: all_gather_perf\n"
    + STARTED
    + DEVICES
    + columns("size", "count", "type", "redop", "root", *NEW, *NEW)
    + "node0:77:91 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P\n"
    + row(33554432, 1048576, "float", "none", -1, "1000.0", 33.55, 29.36, 0, "1100.0", "30.50", 26.69, 0)
    + ENDED
    + "# Collective test concluded: all_gather_perf\n"
)


def read(tmp_path, text: str, name: str = "out.txt"):
    path = tmp_path / name
    path.write_text(text)
    return read_measurements(str(path))[0]


@pytest.mark.parametrize(
    ("text", "operation", "factor"),
    [(V20, "allreduce", 2 * 7 / 8), (V213, "allreduce", 2 * 7 / 8), (V217, "allgather", 7 / 8)],
    ids=["2.0", "2.13", "2.17"],
)
def test_layouts(tmp_path, text: str, operation: str, factor: float) -> None:
    """The out-of-place time counts, and the factor of the bus bandwidth is that of nccl-tests' definition."""
    [one] = read(tmp_path, text)
    assert (one.tool, one.operation, one.ranks, one.hosts) == ("nccl", operation, 8, 2)
    assert one.size_bytes.tolist() == [33554432]
    assert one.time_s == pytest.approx([1e-3])
    assert one.bus_factor == pytest.approx(factor, rel=1e-3)


def test_the_name_of_the_test_is_found_where_it_stands(tmp_path) -> None:
    unnamed = V217.replace("# Collective test starting: all_gather_perf\n", "").replace(
        "concluded: all_gather_perf", ""
    )
    assert read(tmp_path, unnamed, "alltoall_perf.txt")[0].operation == "alltoall"
    started = "$ mpirun -np 8 ./build/sendrecv_perf -b 8 -e 64M -f 2\n" + unnamed
    assert read(tmp_path, started)[0].operation == "latency"
    with pytest.raises(MeasurementError, match=r"all_gather_perf\.txt"):
        read(tmp_path, unnamed)


def test_what_reduces_is_told_from_its_bus_bandwidth(tmp_path) -> None:
    assert read(tmp_path, V213)[0].operation == "allreduce"
    half = V213.replace("58.72", "29.36").replace("53.38", "26.69")
    assert read(tmp_path, half)[0].operation == "reduce_scatter"


def test_runs_one_after_the_other_in_one_log(tmp_path) -> None:
    found = read(tmp_path, V217 + V213 + "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1  1.0\n")
    assert [(one.tool, one.operation) for one in found] == [
        ("nccl", "allgather"),
        ("nccl", "allreduce"),
        ("osu", "latency"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (V213.replace("(us)", "(ms)"), r":13: found units .*expected \(us\) and \(GB/s\)"),
        (V213.replace(row(0, "5.54").rstrip(), row("5.54").rstrip()), ":14: found 12 values"),
        (V213.replace("1000.0", "-5.0"), ":15: found '-5.0'"),
        (STARTED + "#  bytes             N    type      op     time  algbw  busbw      res\n", ":2: found .*1.x"),
    ],
)
def test_damage_is_told_with_its_line(tmp_path, text: str, message: str) -> None:
    with pytest.raises(MeasurementError, match=message):
        read(tmp_path, text)

"""OSU micro-benchmarks: the layouts of several versions and options, alone and in logs."""

from __future__ import annotations

import numpy as np
import pytest

from estimator.calibrate.reading import read_measurements


def read(tmp_path, text: str, name: str = "out.txt"):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return read_measurements(str(path))


@pytest.mark.parametrize(
    ("text", "operation", "sizes", "times_us"),
    [
        (
            "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0   0.91\n1   0.95\n",
            "latency", [0, 1], [0.91, 0.95],
        ),
        (
            "# OSU MPI-CUDA Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
            "1                       3.25\n",
            "latency", [1], [3.25],
        ),
        (
            "# OSU MPI Multi Latency Test v5.9\n# Size          Latency (us)\n8    1.5\n",
            "multi-latency", [8], [1.5],
        ),
        # 2000 MB/s: 1000 bytes take half a microsecond.
        ("# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n1000   2000.00\n", "bandwidth", [1000], [0.5]),
        # Both directions together.
        (
            "# OSU MPI Bi-Directional Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1000   4000.00\n",
            "bibandwidth", [1000], [0.5],
        ),
        (
            "# OSU MPI Multiple Bandwidth / Message Rate Test v5.7.1\n# [ pairs: 4 ] [ window size: 64 ]\n"
            "# Size                  MB/s        Messages/s\n1000     10000.00       10000000.00\n",
            "multi-bandwidth", [1000], [0.1],
        ),
        (
            "# OSU MPI All-to-All Personalized Exchange Latency Test v7.5\n# Datatype: MPI_CHAR.\n"
            "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations  P50 Tail Lat(us)  "
            "P90 Tail Lat(us)  P99 Tail Lat(us)\n"
            "4096                  467.38            460.43            474.05        1000            407.18"
            "            584.22            634.30\n",
            "alltoall", [4096], [467.38],
        ),
        ("# OSU MPI Allreduce Latency Test v5.6.2\n# Size       Avg Latency(us)\n4   2.5\n", "allreduce", [4], [2.5]),
        ("# OSU MPI Allgather Latency Test v5.6.2\n# Size       Avg Latency(us)\n4   2.5\n", "allgather", [4], [2.5]),
        ("# OSU MPI Broadcast Latency Test v5.6.2\n# Size       Avg Latency(us)\n4   2.5\n", "bcast", [4], [2.5]),
        ("# OSU MPI Reduce_scatter Latency Test v5\n# Size  Avg Latency(us)\n4  2.5\n", "reduce_scatter", [4], [2.5]),
        ("# OSU MPI Reduce Latency Test v5.6.2\n# Size       Avg Latency(us)\n4   2.5\n", "reduce", [4], [2.5]),
    ],
)  # fmt: skip
def test_layouts(tmp_path, text: str, operation: str, sizes: list[int], times_us: list[float]) -> None:
    [one], notes = read(tmp_path, text)
    assert (one.tool, one.operation, one.size_bytes.tolist(), notes) == ("osu", operation, sizes, [])
    assert one.time_s == pytest.approx(np.array(times_us) * 1e-6, rel=1e-12)
    assert one.lines[0] == len(text.splitlines()) - len(sizes) + 1


def test_a_log_holds_several_tests_and_noise(tmp_path) -> None:
    text = (
        "+ module load openmpi\n"
        "2026-01-01 10:00:00 start\n"
        "mpirun -np 2 ./osu_latency\n"
        "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1  1.0\n"
        "[host:123] a warning of a library\n"
        "12:00:01 still running\n"
        "2  1.1\n"
        "\n"
        "srun --ntasks=64 --label ./osu_alltoall\n"
        "# OSU MPI All-to-All Personalized Exchange Latency Test v7.3\n# Size       Avg Latency(us)\n8  90\n"
        "srun ./osu_allgather\n"
        "# OSU MPI Allgather Latency Test v7.3\n# Size       Avg Latency(us)\n8  10\n"
    )
    found, notes = read(tmp_path, text)
    assert [(one.operation, one.ranks, one.size_bytes.tolist()) for one in found] == [
        ("latency", 2, [1, 2]),
        ("alltoall", 64, [8]),
        ("allgather", None, [8]),
    ]
    assert [one.line for one in found] == [4, 12, 16]
    assert notes == []


def test_tests_without_use_are_noted(tmp_path) -> None:
    text = (
        "# OSU MPI_Put Latency Test v7.3\n# Size          Latency (us)\n1  1.0\n"
        "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1  1.0\n"
        "# OSU MPI Non-blocking All-to-All Latency Test v7.3\n# Size  Overall(us)  Compute(us)\n1  1.0  1.0\n"
    )
    found, notes = read(tmp_path, text)
    assert [one.operation for one in found] == ["latency"]
    assert [note.partition(": ")[2] for note in notes] == [
        "MPI_Put Latency Test is not used",
        "MPI Non-blocking All-to-All Latency Test is not used",
    ]


PLAIN = "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1  1.0\n8  1.25\n"


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.encode("utf-16"),
        "".join(f"[1,0]<stdout>:{line}\n" for line in PLAIN.splitlines()).encode(),
        "".join(f"0: {line}\n" for line in PLAIN.splitlines()).encode(),
    ],
    ids=["crlf", "bom", "utf-16", "tagged by mpirun", "labelled by srun"],
)
def test_the_same_rows_however_the_output_was_kept(tmp_path, content: bytes) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(content)
    [one], _ = read_measurements(str(path))
    assert one.size_bytes.tolist() == [1, 8]
    assert one.time_s == pytest.approx([1e-6, 1.25e-6])


def test_ranks_may_be_said_in_a_comment(tmp_path) -> None:
    text = "# ranks: 48\n# OSU MPI Allreduce Latency Test v5.6.2\n# Size       Avg Latency(us)\n4   2.5\n"
    [one], _ = read(tmp_path, text)
    assert one.ranks == 48


def test_bandwidths_printed_as_zero_say_nothing(tmp_path) -> None:
    text = "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n1  0.00\n1000   2000.00\n"
    [one], _ = read(tmp_path, text)
    assert one.size_bytes.tolist() == [1000]

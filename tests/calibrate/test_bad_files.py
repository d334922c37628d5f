"""Files that are no measurements, or damaged ones: place, what was found, what would do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.calibrate.measurements import MeasurementError
from estimator.calibrate.reading import read_measurements

HEAD = "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", None, "an empty file"),
        (b"\n \n", None, "an empty file"),
        (b"\x7fELF\0\0\0", None, "a binary file"),
        (b"\xff\xfa\xfb", None, "not text"),
        (b"8 1.0\n", 1, "lines that start with #"),
        (b"kind: fat-tree\n", 1, "kind: fat-tree"),
        (HEAD.encode(), 1, "without rows"),
        ((HEAD + "8 -1.0\n").encode(), 3, "'-1.0'"),
        ((HEAD + "8 0.00\n").encode(), 3, "greater than zero"),
        ((HEAD + "8 nan\n").encode(), 3, "'nan'"),
        ((HEAD + "8 1_000\n").encode(), 3, "'1_000'"),
        ((HEAD + "8 1,05\n").encode(), 3, "decimal point"),
        ((HEAD + "8,5 1.05\n").encode(), 3, "decimal point"),
        ((HEAD + "-8 1.05\n").encode(), 3, "whole bytes"),
        ((HEAD + "8.5 1.05\n").encode(), 3, "whole bytes"),
        ((HEAD + "9" * 30 + " 1.05\n").encode(), 3, "at most"),
        ((HEAD + "8 1.05 2.0\n").encode(), 3, "3 values"),
        ((HEAD + "8\n").encode(), 3, "1 values"),
        (HEAD.replace("(us)", "(ms)").encode(), 2, "Latency (ms)"),
        (HEAD.replace("Latency (us)", "Bandwidth (MB/s)").encode(), 2, "a column latency"),
        (b"# OSU MPI Latency Test v7.3\n8 1.0\n", 2, "first a line"),
        (b"# OSU MPI_Get Latency Test v7.3\n# Size          Latency (us)\n8 1.0\n", None, "not used"),
        (b"size_bytes,latency_us\n", 1, "header without rows"),
        (b"size_bytes,latency_us\n8,1,5\n", 2, "decimals with a point"),
        (b"size_bytes;latency_us\n8;1,5\n", 2, "decimal point"),
        (b"size_bytes,latency_us,latency_ns\n8,1,1\n", 1, "size_bytes and one of"),
        (b"size_bytes,size_bytes,latency_us\n8,8,1\n", 1, "every column once"),
        (b"size,latency_us\n8,1\n", 1, "did you mean 'size_bytes'"),
        (b"size_bytes,latency_us,op\n8,1,telepathy\n", 2, "op 'telepathy'"),
        (b"size_bytes,latency_us,op\n8,1,bw\n", 2, "bandwidth_"),
        (b"size_bytes,bandwidth_GB_s,op\n8,1,alltoall\n", 2, "latency_"),
        (b"size_bytes,latency_us,ranks\n8,1,0\n", 2, "at least 1"),
        (b"size_bytes,bandwidth_GB_s\n0,1\n", 2, "size 0"),
    ],
)
def test_place_and_reason(tmp_path, content: bytes, line: int | None, message: str) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(content)
    with pytest.raises(MeasurementError) as caught:
        read_measurements(str(path))
    assert str(caught.value).startswith(f"{path}: " if line is None else f"{path}:{line}: ")
    assert message in str(caught.value)


def test_a_file_that_is_not_there(tmp_path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(MeasurementError, match="a readable measurement file"):
            read_measurements(str(path))


WORDS = st.sampled_from(
    ["# OSU MPI Latency Test v7", "# Size          Latency (us)", "# nThread 1", "#  size  count  time  algbw  busbw",
     "#  (B)  (elements)  (us)  (GB/s)  (GB/s)", "8 1.0", "8 2 1.0 1 1", "size_bytes,latency_us", "8,1", "-1 0",
     "\x00", "# [ pairs: 99999999999999999999 ]", "1e9 1", "mpirun -np 4 all_reduce_perf", "# ranks: 7",
     "mpirun -np " + "9" * 5000]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(lines=st.lists(st.one_of(WORDS, st.text(max_size=30)), max_size=12), end=st.sampled_from(["\n", "\r\n"]))
def test_any_text_is_read_or_refused(tmp_path_factory, lines: list[str], end: str) -> None:
    path = tmp_path_factory.mktemp("any") / "in.txt"
    path.write_bytes(end.join(lines).encode("utf-8", "replace"))
    try:
        found, _ = read_measurements(str(path))
    except MeasurementError:
        return
    for one in found:
        assert one.size_bytes.size == one.time_s.size == one.lines.size > 0
        assert (one.time_s > 0).all()
        assert (one.size_bytes >= 0).all()

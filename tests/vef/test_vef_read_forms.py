"""The same trace in other clothes: line ends, spacing, compression, standard input."""

import gzip
import hashlib
import io
import sys

import numpy as np
import pytest
import zstandard
from vef_shared import BASE, BASE_MAKESPAN

from vef import InvalidTrace, ideal_replay, read_trace
from vef.text import LineBlocks


def read_bytes(tmp_path, data):
    path = tmp_path / "trace.vef"
    path.write_bytes(data)
    return read_trace(path)


def codes(trace):
    return [problem.code for problem in trace.warnings]


@pytest.mark.parametrize(
    ("data", "warning"),
    [
        (BASE.encode(), []),
        (BASE[:-1].encode(), []),
        (BASE.replace("\n", "\r\n").encode(), ["line-ends"]),
        (b"\xef\xbb\xbf" + BASE.encode(), ["bom"]),
        (BASE.replace(" ", "\t").encode(), ["spaces"]),
        (BASE.replace(" ", "   ").encode(), ["spaces"]),
        (BASE.replace("\n", " \n").encode(), ["spaces"]),
        (BASE.replace("\n", " \t\r\n").encode(), ["line-ends", "spaces"]),
        (b"\n  \n" + BASE.encode(), ["blank-line"]),
        (BASE.encode() + b"\n\n", ["blank-line"]),
        (BASE.replace("G0 0 6 0", "\nG0 0 6 0").encode(), ["blank-line"]),
        (BASE.replace("4 4 2 2 6 FALSE", "4 4 2 2 6 false").encode(), ["header-flag"]),
        (BASE.replace("1 1 2 2048", " 1 1 2 2048").encode(), ["spaces"]),
        (BASE.replace(" 2048 ", " +2048 ").encode(), ["number-form"]),
        (BASE.replace(" 2048 ", " 0002048 ").encode(), ["number-form"]),
        (BASE.replace("200 G0", "200 0").encode(), ["dep-id"]),
        (BASE.replace("1000 -1", "1000 7").encode(), ["dep-id"]),
        (gzip.compress(BASE.encode(), mtime=0), []),
        (zstandard.compress(BASE.encode()), []),
        (gzip.compress(BASE[:100].encode(), mtime=0) + gzip.compress(BASE[100:].encode(), mtime=0), []),
        (zstandard.compress(BASE[:100].encode()) + zstandard.compress(BASE[100:].encode()), []),
    ],
)
def test_reads_as_the_plain_file(tmp_path, data, warning):
    trace = read_bytes(tmp_path, data)
    assert codes(trace) == warning
    assert len(trace) == 10
    assert trace.send_bytes.tolist() == [1024, 2048, 4096, 0, 0, 0, 0, 64, 512, 0]
    assert trace.dep_row.tolist() == [-1, 0, 1, 0, 1, 2, 2, 3, 7, 4]
    assert ideal_replay(trace).makespan_ticks == BASE_MAKESPAN


def test_columns_of_the_base_file(tmp_path):
    trace = read_bytes(tmp_path, BASE.encode())
    assert trace.sha256 == hashlib.sha256(BASE.encode()).hexdigest()
    assert trace.kind.tolist() == [0, 0, 0, 2, 2, 2, 2, 0, 2, 2]
    assert trace.op.tolist() == [-1, -1, -1, 6, 6, 6, 6, -1, 0, 0]
    assert trace.peer.tolist() == [1, 2, 3, 0, 0, 0, 0, 3, 1, 1]
    assert trace.collective.tolist() == [-1, -1, -1, 0, 0, 0, 0, -1, 1, 1]
    assert trace.collectives.root.tolist() == [-1, 0]
    assert trace.collectives.participations(1).tolist() == [8, 9]
    assert [trace.rows_of(task).tolist() for task in range(4)] == [[0, 3, 7, 8], [1, 4, 9], [2, 5], [6]]
    assert [trace.line(row) for row in range(10)] == list(range(4, 14))
    assert trace.communicators.members(1).tolist() == [0, 1]


def test_lines_count_blank_ones(tmp_path):
    trace = read_bytes(tmp_path, b"\n" + BASE.replace("G0 0 6 0", "\n\nG0 0 6 0").encode())
    assert [trace.line(row) for row in (0, 2, 3, 9)] == [5, 7, 10, 16]


def test_compressed_trace_on_standard_input(monkeypatch):
    class Standard:
        buffer = io.BytesIO(gzip.compress(BASE.encode(), mtime=0))

    monkeypatch.setattr(sys, "stdin", Standard())
    assert len(read_trace("-")) == 10


def test_root_by_rank_in_the_communicator(tmp_path):
    text = BASE.replace("C1 0 1", "C1 1 0")
    assert read_bytes(tmp_path, text.encode()).collectives.root.tolist() == [-1, 1]


def test_communicators_in_any_order_and_with_gaps(tmp_path):
    text = BASE.replace("C0 0 1 2 3\nC1 0 1\n", "C7 0 1\nC0 3 1 0 2\n").replace("G1 1 0", "G1 C7 0")
    trace = read_bytes(tmp_path, text.encode())
    assert trace.communicators.ids.tolist() == [7, 0]
    assert trace.peer[trace.kind == 2].tolist() == [1, 1, 1, 1, 0, 0]
    assert trace.task[trace.collectives.participations(0)].tolist() == [3, 1, 0, 2]


@pytest.mark.parametrize("name", [10**6, 2**31, 2**62])
def test_large_ids_are_names(tmp_path, name):
    text = BASE.replace("2 2 3 4096", f"{name} 2 3 4096").replace("100 2\n", f"100 {name}\n")
    trace = read_bytes(tmp_path, text.replace("G0", f"G{name}").encode())
    assert trace.id[2] == name
    assert trace.collectives.gid.tolist() == [name, 1]
    assert ideal_replay(trace).makespan_ticks == BASE_MAKESPAN


def test_zero_byte_message_to_self_in_the_documented_form(tmp_path):
    # Task 0 sends itself nothing at 10 and goes on 5 after its receipt.
    text = "VEF3 1 2 1 0 0 FALSE\nC0 0\n0 0 0 0 0 10 -1\n1 0 0 8 2 5 0\n"
    trace = read_bytes(tmp_path, text.encode())
    assert trace.kind.tolist() == [0, 0]
    assert ideal_replay(trace).makespan_ticks == 15


def test_19_digit_sizes_and_times(tmp_path):
    text = BASE.replace(" 4096 ", f" {2**63 - 1} ").replace(" 1000 -1", f" {2**62} -1")
    trace = read_bytes(tmp_path, text.encode())
    assert trace.send_bytes[2] == 2**63 - 1
    assert ideal_replay(trace).makespan_ticks == 2**62 - 1000 + BASE_MAKESPAN


def test_one_block_or_many(tmp_path, monkeypatch):
    whole = read_bytes(tmp_path, BASE.encode())
    monkeypatch.setattr("vef.text.LineBlocks.__init__", small_blocks(LineBlocks.__init__))
    pieces = read_bytes(tmp_path, BASE.encode())
    for name in ("kind", "id", "task", "peer", "send_bytes", "time", "dep_row"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))
    assert pieces.sha256 == whole.sha256


def small_blocks(original):
    return lambda self, source: original(self, source, 8)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "no-header"),
        (b"\n\n", "no-header"),
        (b"hello\n", "no-header"),
        (b"VEF9 1 0 1 0 0 0 1000\n", "no-header"),
        (b"\x00\x01\x02" * 100, "binary"),
        (bytes(range(1, 256)) * 20, "no-header"),
        (gzip.compress(BASE.encode(), mtime=0)[:-10], "truncated"),
        (gzip.compress(BASE.encode(), mtime=0)[:40], "truncated"),
        (b"\x1f\x8bnonsense and more of it", "unreadable"),
        (b"\x28\xb5\x2f\xfdnonsense and more of it", "unreadable"),
        (gzip.compress(b"", mtime=0), "no-header"),
    ],
)
def test_what_is_no_trace(tmp_path, data, code):
    with pytest.raises(InvalidTrace) as caught:
        read_bytes(tmp_path, data)
    assert code in [problem.code for problem in caught.value.problems]


def test_truncated_zstd(tmp_path):
    with pytest.raises(InvalidTrace):
        read_bytes(tmp_path, zstandard.compress(BASE.encode() * 50)[:60])


@pytest.mark.parametrize("name", ["missing.vef", "."])
def test_no_file(tmp_path, name):
    with pytest.raises(InvalidTrace, match="expected a readable"):
        read_trace(tmp_path / name)

"""`congest mix`: streams, exit codes, and that no file is left behind by an error."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
from cli_shared import SHARED, congest, needs_shared

PROSPECTOR = SHARED / "traces" / "prospector"


def write_lone_rank(folder: Path, op: int = 202) -> Path:
    """A capture of one rank that leaves Init at 0 and makes one call at 7 ns."""
    folder.mkdir()
    (folder / "VEFT.main").write_text(f"1\n{folder}/\nTask:0:Node:here:RI:0:RF:9:TI:0:TF:9\n")
    (folder / "0.comm").write_bytes(struct.pack("<IIi", 0, 1, -1))
    records = [(0, 1, 0, 0, 0, 0, 200), (7, 8, 0, 0, 0, 0, op)]
    (folder / "0.veft").write_bytes(b"".join(struct.pack("<QQiiiiB7x", *record) for record in records))
    return folder


@needs_shared
def test_trace_to_stdout_is_that_of_the_prospector() -> None:
    done = congest("mix", PROSPECTOR / "raw" / "dummy_test-2025-5-5-16-15-38")
    assert done.code == 0
    assert done.out == (PROSPECTOR / "output_trace_dummy.vef").read_text()
    # 8 real messages and 485743 ns, as the manifest of the traces says.
    assert "4 tasks, 20 records, 8 messages, 0 collectives, 1 communicator; 485.7us on an ideal network" in done.err


def test_file_is_written_whole_and_valid(tmp_path: Path) -> None:
    out = tmp_path / "out.vef"
    done = congest("mix", write_lone_rank(tmp_path / "run"), "-o", out)
    assert (done.code, done.out) == (0, "")
    assert out.read_text() == "VEF3 1 1 1 0 0 0 1000\nC0 0\n0 0 0 0 0 7 -1\n"
    assert congest("validate", out).code == 0


def test_compressed(tmp_path: Path) -> None:
    out = tmp_path / "out.vef.gz"
    assert congest("mix", write_lone_rank(tmp_path / "run"), "-o", out, "--quiet").err == ""
    assert gzip.decompress(out.read_bytes()).startswith(b"VEF3 1 1 1 0 0 0 1000\n")
    assert congest("validate", out).code == 0


def test_unknown_code(tmp_path: Path) -> None:
    out = tmp_path / "out.vef"
    done = congest("mix", write_lone_rank(tmp_path / "run", op=77), "-o", out)
    assert done.code == 2
    assert "0.veft: record 1 (byte 40): found op code 77" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


@pytest.mark.parametrize("arguments", [["nowhere"], ["."]])
def test_no_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    done = congest("mix", *arguments, "-o", "out.vef")
    assert (done.code, done.out) == (2, "")
    assert "VEFT.main" in done.err
    assert list(tmp_path.iterdir()) == []


def test_raw_files_are_not_overwritten(tmp_path: Path) -> None:
    folder = write_lone_rank(tmp_path / "run")
    for name in ("VEFT.main", "0.veft", "0.comm"):
        before = (folder / name).read_bytes()
        done = congest("mix", folder, "-o", folder / name)
        assert done.code == 2
        assert "is an input of this command" in done.err
        assert (folder / name).read_bytes() == before
    assert congest("mix", folder, "-o", folder / "out.vef").code == 0
    assert congest("mix", folder, "-o", folder / "out.vef").code == 0


def test_full_device(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here, the device without space")
    done = congest("mix", write_lone_rank(tmp_path / "run"), "-o", "/dev/full")
    assert done.code == 2
    assert "space" in done.err


def test_no_folder_for_the_result(tmp_path: Path) -> None:
    done = congest("mix", write_lone_rank(tmp_path / "run"), "-o", tmp_path / "none" / "out.vef")
    assert done.code == 2
    assert "make it first" in done.err

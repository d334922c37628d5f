"""Raw files of VEF-Prospector: its own captures against its own traces, and damaged ones."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from mix_shared import ALLREDUCE, FINALIZE, INIT, IRECV, SEND, WAIT, Record, lines, ping, write_raw
from vef_shared import TRACES

from vef import check_trace, write_trace
from vef.mix import CaptureError, mix_capture, read_capture

PROSPECTOR = TRACES / "prospector"
PAIRS = [
    ("dummy_test-2025-5-5-16-15-38", "output_trace_dummy.vef"),
    ("resnet50-2025-4-16-9-42-18", "output_trace_resnet50.vef"),
]


@pytest.mark.skipif(not PROSPECTOR.is_dir(), reason=f"the captures for checking are not at {PROSPECTOR}")
@pytest.mark.parametrize(("folder", "trace"), PAIRS)
def test_its_captures_become_its_traces(folder: str, trace: str) -> None:
    mixed = mix_capture(read_capture([PROSPECTOR / "raw" / folder]))
    buffer = io.BytesIO()
    write_trace(mixed.trace, buffer)
    assert buffer.getvalue() == (PROSPECTOR / trace).read_bytes()
    assert mixed.warnings == ()


def test_ping(tmp_path: Path) -> None:
    mixed = mix_capture(read_capture([write_raw(tmp_path / "run", ping(0, 1), 2)]))
    # The receive begins at 150, after the sender has entered Finalize at 130 on its own clock.
    assert lines(mixed) == ["0 0 1 86 4 100 -1", "1 0 0 0 1 10 0", "2 1 1 0 0 150 -1", "3 1 1 0 2 60 0"]
    out = tmp_path / "out.vef"
    write_trace(mixed.trace, out)
    trace, problems = check_trace(out)
    assert trace is not None
    assert problems == []


def test_a_folder_per_node(tmp_path: Path) -> None:
    ranks = ping(0, 1)
    (tmp_path / "nodes").mkdir()
    whole = lines(mix_capture(read_capture([write_raw(tmp_path / "whole", ranks, 2)])))
    for rank in (0, 1):
        write_raw(tmp_path / "nodes" / f"n{rank}", {rank: ranks[rank]}, 2)
    folders = [tmp_path / "nodes" / "n1", tmp_path / "nodes" / "n0"]
    assert lines(mix_capture(read_capture(folders))) == whole
    assert lines(mix_capture(read_capture([tmp_path / "nodes"]))) == whole
    # The list of tasks may lie in one of them only.
    (tmp_path / "nodes" / "n1" / "VEFT.main").unlink()
    assert lines(mix_capture(read_capture(folders))) == whole
    (tmp_path / "nodes" / "n0" / "VEFT.main").unlink()
    with pytest.raises(CaptureError, match=r"found no VEFT\.main"):
        read_capture(folders)


def test_wait_gives_the_source(tmp_path: Path) -> None:
    """The fields of a Wait that nobody filled do not matter where the receive had named them."""
    ranks: dict[int, list[Record]] = ping(0, 1)
    ranks[1][1:2] = [(5140, 5141, -1, 256, 7, 4, IRECV), (5150, 5200, 0, 86, 298919176, 4, WAIT)]
    text = lines(mix_capture(read_capture([write_raw(tmp_path / "run", ranks, 2)])))
    assert text[2] == "2 1 1 0 0 150 -1"


def test_size_that_wrapped_around(tmp_path: Path) -> None:
    ranks = ping(0, 1)
    start, end, peer, _, tag, request, op = ranks[0][1]
    ranks[0][1] = (start, end, peer, 3 * 2**30 - 2**32, tag, request, op)
    assert lines(mix_capture(read_capture([write_raw(tmp_path / "run", ranks, 2)])))[0].split()[3] == str(3 * 2**30)


def test_killed_within_a_record(tmp_path: Path) -> None:
    folder = write_raw(tmp_path / "run", ping(0, 1), 2)
    file = folder / "1.veft"
    file.write_bytes(file.read_bytes()[:-15])
    mixed = mix_capture(read_capture([folder]))
    assert mixed.warnings == (
        "1 rank of 2 without MPI_Finalize (1): the trace holds what they did until they ended",
        f"{file}: its last 25 bytes are no whole record",
    )
    assert lines(mixed) == ["0 0 1 86 4 100 -1", "1 0 0 0 1 10 0", "2 1 1 0 0 150 -1"]


def test_unknown_code_is_named_with_its_place(tmp_path: Path) -> None:
    ranks = ping(0, 1)
    ranks[1].insert(2, (5201, 5202, 0, 0, 0, 0, 119))
    folder = write_raw(tmp_path / "run", ranks, 2)
    message = r"run/1\.veft: record 2 \(byte 80\): found op code 119 .*expected one of 0, "
    with pytest.raises(CaptureError, match=message):
        read_capture([folder])


def test_peer_beyond_the_tasks(tmp_path: Path) -> None:
    ranks = ping(0, 1)
    ranks[0][1] = (1100, 1120, 2, 86, 7, 0, SEND)
    with pytest.raises(CaptureError, match=r"0\.veft: record 1 \(byte 40\): found peer 2; expected a rank below 2"):
        read_capture([write_raw(tmp_path / "run", ranks, 2)])


def test_fields_that_no_capture_shows_are_said(tmp_path: Path) -> None:
    ranks: dict[int, list[Record]] = {
        rank: [(0, 1, 0, 0, 0, 0, INIT), (5, 6, 1, 40, 0, 0, 0), (9, 9, 0, 0, 0, 0, FINALIZE)] for rank in (0, 1)
    }
    mixed = mix_capture(read_capture([write_raw(tmp_path / "run", ranks, 2)]))
    assert mixed.warnings[0].startswith("broadcast: size and root taken from")
    assert lines(mixed)[:2] == ["G0 C0 0 0 0 40 0 5 -1", "G0 C0 0 1 40 0 0 5 -1"]


def damage_missing_rank(folder: Path) -> None:
    (folder / "1.veft").unlink()


def damage_missing_communicators(folder: Path) -> None:
    (folder / "1.comm").unlink()


def damage_more_communicators(folder: Path) -> None:
    (folder / "1.comm").write_bytes((folder / "1.comm").read_bytes() * 2)


def damage_other_count(folder: Path) -> None:
    (folder / "1.comm").write_bytes(b"\0\0\0\0\x03\0\0\0\xff\xff\xff\xff")


def damage_main(folder: Path) -> None:
    (folder / "VEFT.main").write_text("two\n")


def damage_task_line(folder: Path) -> None:
    text = (folder / "VEFT.main").read_text()
    (folder / "VEFT.main").write_text(text.replace("Task:1:Node", "Task:1:Nod"))


def damage_no_init(folder: Path) -> None:
    data = (folder / "0.veft").read_bytes()
    (folder / "0.veft").write_bytes(data[40:])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_missing_rank, r"found no 1\.veft; expected a file for each of 2 ranks"),
        (damage_missing_communicators, r"1\.comm: no such file"),
        (damage_more_communicators, r"1\.comm: found 24 bytes; expected 12"),
        (damage_other_count, r"1\.comm: found communicator 0 of 3 tasks; expected 0 of 2"),
        (damage_main, r"VEFT\.main:1: found 'two'; expected the number of tasks"),
        (damage_task_line, r"VEFT\.main:4: found 'Task:1:Nod:"),
        (damage_no_init, r"0\.veft: record 0 \(byte 0\): found op code 100; expected 200, MPI_Init"),
    ],
)
def test_damaged_folders(tmp_path: Path, damage, message: str) -> None:  # type: ignore[no-untyped-def]
    folder = write_raw(tmp_path / "run", ping(0, 1), 2)
    damage(folder)
    with pytest.raises(CaptureError, match=message):
        read_capture([folder])


def test_folders_that_do_not_belong_together(tmp_path: Path) -> None:
    one, two = (write_raw(tmp_path / name, ping(0, 1), 2) for name in ("one", "two"))
    with pytest.raises(CaptureError, match=r"found rank 0 again, it is in .*one too; .*folders of one run"):
        read_capture([one, two])
    with pytest.raises(CaptureError, match="a folder twice"):
        read_capture([one, one])


def test_no_capture(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no such folder"):
        read_capture([tmp_path / "none"])
    with pytest.raises(CaptureError, match="no raw capture in it"):
        read_capture([tmp_path])
    (tmp_path / "file").touch()
    with pytest.raises(CaptureError, match="found a file; expected a folder"):
        read_capture([tmp_path / "file"])


def test_allreduce_on_all(tmp_path: Path) -> None:
    ranks: dict[int, list[Record]] = {
        rank: [(0, 1, 0, 0, 0, 0, INIT), (5 + rank, 20, 0, 64, 0, 32767, ALLREDUCE), (30, 31, 0, 0, 0, 0, FINALIZE)]
        for rank in (0, 1)
    }
    mixed = mix_capture(read_capture([write_raw(tmp_path / "run", ranks, 2)]))
    assert mixed.warnings == ()
    assert lines(mixed)[:2] == ["G0 C0 2 0 64 64 0 5 -1", "G0 C0 2 1 64 64 0 6 -1"]

"""Read the raw capture that VEF-Prospector leaves: ``VEFT.main``, ``<rank>.veft`` and ``<rank>.comm``.

One 40-byte record per MPI call. What the fields of a record hold was found from captures and the traces mixed from
them; fields that a call does not use hold whatever was in memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vef.mix.events import ANY, NONE, NULL, Call, Calls, Capture, CaptureError, Completions, RankCapture
from vef.mix.events import RankCommunicator as Communicator
from vef.records import ROOTED_OPS, Op

MAIN = "VEFT.main"
RECORD = np.dtype(
    [
        ("start", "<u8"),
        ("end", "<u8"),
        ("peer", "<i4"),
        ("bytes", "<i4"),
        ("tag", "<i4"),
        ("request", "<i4"),
        ("op", "u1"),
        ("unused", "u1", 7),
    ]
)
COMMUNICATOR = np.dtype([("id", "<u4"), ("size", "<u4"), ("members", "<i4")])

SEND, RECV, IRECV, WAIT, INIT, FINALIZE = 100, 109, 111, 151, 200, 202
CALLS = {
    SEND: Call.SEND,
    RECV: Call.RECV,
    IRECV: Call.IRECV,
    WAIT: Call.WAIT,
    int(Op.BROADCAST): Call.BROADCAST,
    int(Op.REDUCE): Call.REDUCE,
    int(Op.ALLREDUCE): Call.ALLREDUCE,
    int(Op.GATHER): Call.GATHER,
    int(Op.SCATTER): Call.SCATTER,
    int(Op.ALLGATHER): Call.ALLGATHER,
    int(Op.BARRIER): Call.BARRIER,
    int(Op.ALLTOALL): Call.ALLTOALL,
}
SEEN_COLLECTIVES = (Op.ALLREDUCE, Op.BARRIER)  # those whose fields leave no doubt
_TASK = re.compile(r"Task:(\d+):Node:(.*?):RI:(\d+):RF:(\d+):TI:(\d+):TF:(\d+)\Z")


def is_prospector(folder: Path) -> bool:
    """Whether a folder is such a capture."""
    return (folder / MAIN).is_file() or bool(_rank_files(folder))


def read_prospector(folders: Sequence[Path]) -> Capture:
    """Read the capture of one run, which may lie in several folders, one per node.

    Parameters
    ----------
    folders : sequence of Path

    Raises
    ------
    CaptureError
        When files are missing or damaged, a rank is there twice, or a record holds an unknown op code.
    OSError
        When a file cannot be read.
    """
    nodes: dict[int, tuple[str, int]] = {}
    files: dict[int, Path] = {}
    total = 0
    if not any((folder / MAIN).is_file() for folder in folders):
        raise CaptureError(f"{folders[0]}: found no {MAIN}; expected it beside <rank>.veft or in another folder")
    for folder in folders:
        if (folder / MAIN).is_file():
            count, tasks = _read_main(folder / MAIN)
            total = max(total, count)
            nodes.update(tasks)
        for rank, path in _rank_files(folder).items():
            if rank in files:
                raise CaptureError(
                    f"{path}: found rank {rank} again, it is in {files[rank].parent} too; "
                    "expected each rank once; give the folders of one run"
                )
            files[rank] = path
    # A node may have listed its own tasks only.
    total = max([total, *(rank + 1 for rank in nodes), *(rank + 1 for rank in files)])
    _check_complete(folders[0], files, total)

    doubtful: set[Op] = set()
    ranks = tuple(_read_rank(rank, files[rank], nodes.get(rank), len(files), doubtful) for rank in sorted(files))
    notes = tuple(
        f"{op.label}: size and root taken from the fields of bytes and peer; no known capture shows what they hold"
        for op in sorted(doubtful)
    )
    read = [folder / MAIN for folder in folders if (folder / MAIN).is_file()]
    read += [path.with_suffix(ending) for path in files.values() for ending in (".veft", ".comm")]
    return Capture(", ".join(map(str, folders)), ranks, notes, tuple(map(str, read)))


def _check_complete(folder: Path, files: dict[int, Path], total: int) -> None:
    missing = [rank for rank in range(total) if rank not in files]
    if missing:
        names = ", ".join(f"{rank}.veft" for rank in missing[:5]) + (" …" if len(missing) > 5 else "")
        raise CaptureError(
            f"{folder}: found no {names}; expected a file for each of {total} ranks; "
            "if other nodes wrote them, give those folders too"
        )


def _rank_files(folder: Path) -> dict[int, Path]:
    return {int(path.stem): path for path in folder.glob("*.veft") if path.stem.isdecimal()}


def _read_main(path: Path) -> tuple[int, dict[int, tuple[str, int]]]:
    """Return the number of tasks, and node and start of the clock by rank."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines or not lines[0].strip().isdecimal():
        found = repr(lines[0][:40]) if lines else "an empty file"
        raise CaptureError(f"{path}:1: found {found}; expected the number of tasks")
    tasks = {}
    for number, line in enumerate(lines[2:], 3):
        if not line.strip():
            continue
        match = _TASK.match(line.strip())
        if match is None:
            raise CaptureError(
                f"{path}:{number}: found {line[:60]!r}; expected 'Task:<rank>:Node:<host>:RI:…:RF:…:TI:…:TF:…'"
            )
        tasks[int(match[1])] = (match[2], int(match[5]))
    return int(lines[0]), tasks


def _read_rank(rank: int, path: Path, task: tuple[str, int] | None, tasks: int, doubtful: set[Op]) -> RankCapture:
    _check_communicators(path.with_suffix(".comm"), tasks)
    whole, rest = divmod(path.stat().st_size, RECORD.itemsize)
    records = np.fromfile(path, RECORD, whole)
    damage = f"its last {rest} bytes are no whole record" if rest else ""
    _check_records(path, records, tasks)
    op = records["op"]
    at_end = np.flatnonzero(op == FINALIZE)
    finalize = int(records["start"][at_end[0]]) if len(at_end) else None
    # The clock starts where the wrapper begins its own work, after the real MPI_Init.
    zero = int(records["start"][0]) if len(records) else (task[1] if task else 0)
    end = int(at_end[0]) if len(at_end) else len(records)
    rows = records[1:end]
    doubtful.update({Op(code) for code in np.unique(rows["op"]).tolist() if code <= max(Op)} - {*SEEN_COLLECTIVES})
    return RankCapture(
        rank=rank,
        path=str(path),
        node=task[0] if task else "",
        init_end_ns=zero,
        finalize_start_ns=finalize,
        calls=_calls(rows),
        completions=_completions(rows),
        communicators=(Communicator(np.arange(tasks, dtype=np.int32)),),
        damage=damage,
    )


def _calls(rows: NDArray[np.void]) -> Calls:
    names = np.zeros(256, np.uint8)
    for code, call in CALLS.items():
        names[code] = call
    op = rows["op"]
    point_to_point = op >= SEND
    rooted = np.isin(op, [int(op) for op in ROOTED_OPS])
    return Calls.of(
        call=names[op],
        start_ns=rows["start"],
        end_ns=rows["end"],
        peer=np.where(point_to_point & (rows["peer"] >= ANY), rows["peer"], NULL),
        # A size of 2 GiB or more has wrapped around.
        bytes=rows["bytes"].astype(np.int64) & 0xFFFFFFFF,
        tag=rows["tag"],
        root=np.where(rooted, rows["peer"], NONE),
        request=np.where(op == IRECV, rows["request"], NONE),
    )


def _completions(rows: NDArray[np.void]) -> Completions:
    waits = np.flatnonzero(rows["op"] == WAIT)
    return Completions.of(waits, rows["request"][waits], rows["peer"][waits], rows["tag"][waits])


def _check_records(path: Path, records: NDArray[np.void], tasks: int) -> None:
    known = np.zeros(256, bool)
    known[[*CALLS, INIT, FINALIZE]] = True
    op = records["op"]
    unknown = np.flatnonzero(~known[op])
    if len(unknown):
        first = int(unknown[0])
        codes = ", ".join(map(str, sorted(known.nonzero()[0].tolist())))
        raise CaptureError(
            f"{path}: record {first} (byte {first * RECORD.itemsize}): found op code {op[first]} "
            f"({len(unknown)} records with an unknown code); expected one of {codes}"
        )
    if len(records) and op[0] != INIT:
        raise CaptureError(f"{path}: record 0 (byte 0): found op code {op[0]}; expected {INIT}, MPI_Init")
    peer = records["peer"]
    wild = np.flatnonzero((op >= SEND) & (op < INIT) & (peer >= tasks))
    if len(wild):
        first = int(wild[0])
        raise CaptureError(
            f"{path}: record {first} (byte {first * RECORD.itemsize}): found peer {peer[first]}; "
            f"expected a rank below {tasks}"
        )


def _check_communicators(path: Path, tasks: int) -> None:
    if not path.exists():
        raise CaptureError(f"{path}: no such file; expected communicators of the rank; was the whole folder copied?")
    data = path.read_bytes()
    size = COMMUNICATOR.itemsize
    if len(data) > size:
        raise CaptureError(
            f"{path}: found {len(data)} bytes; expected {size}, MPI_COMM_WORLD alone; how VEF-Prospector notes "
            "further communicators and the calls on them is not known"
        )
    if len(data) < size:
        raise CaptureError(f"{path}: found {len(data)} bytes; expected {size}, MPI_COMM_WORLD; is the file damaged?")
    entry = np.frombuffer(data, COMMUNICATOR)[0]
    if entry["id"] != 0 or entry["size"] != tasks:
        raise CaptureError(
            f"{path}: found communicator {entry['id']} of {entry['size']} tasks; expected 0 of {tasks}, the number "
            "of files <rank>.veft; if other nodes wrote the rest, give those folders too"
        )

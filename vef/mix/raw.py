"""Reader of our own raw captures: the files that the recording library (`vef/capture/`) writes, one per rank."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vef.capture.layout import (
    ANY,
    COLLECTIVES,
    COUNTER,
    FLAG,
    HEADER,
    HOWS,
    MAGIC,
    MEMBERS_PER_RECORD,
    NO_PARENT,
    OP,
    RECORD,
    SUFFIX,
    VERSION,
)
from vef.mix.events import (
    CANCELLED,
    NONE,
    NULL,
    Call,
    Calls,
    Capture,
    CaptureError,
    Completions,
    RankCapture,
    RankCommunicator,
)
from vef.mix.threads import one_program

_CALL_OF_COLLECTIVE = {
    "barrier": Call.BARRIER, "bcast": Call.BROADCAST, "reduce": Call.REDUCE, "allreduce": Call.ALLREDUCE,
    "gather": Call.GATHER, "gatherv": Call.GATHER, "scatter": Call.SCATTER, "scatterv": Call.SCATTER,
    "allgather": Call.ALLGATHER, "allgatherv": Call.ALLGATHER, "alltoall": Call.ALLTOALL,
    "alltoallv": Call.ALLTOALLV, "alltoallw": Call.ALLTOALLV, "reduce_scatter": Call.REDUCE_SCATTER,
    "reduce_scatter_block": Call.REDUCE_SCATTER, "scan": Call.SCAN, "exscan": Call.EXSCAN,
}  # fmt: skip
_CALLS = np.array([_CALL_OF_COLLECTIVE[name] for name in COLLECTIVES], np.uint8)
_CALL_OF_OP = {
    "send": Call.SEND, "receive": Call.RECV, "post": Call.IRECV, "wait": Call.WAIT, "probe": Call.PROBE,
    "matched": Call.MPROBE, "comm": Call.SETUP,
}  # fmt: skip
_SCATTERS = (Call.SCATTER,)
_ONE_BUFFER = (Call.BROADCAST, Call.REDUCE)


def is_raw(folder: Path) -> bool:
    """Whether a folder holds files of the recording library, by the first one found."""
    for path in sorted(folder.glob(f"*.{SUFFIX}")):
        with path.open("rb") as file:
            return file.read(len(MAGIC)) in (MAGIC, b"")
    return False


def read_raw(folders: Sequence[Path]) -> Capture:
    """Read the files of all ranks, which may lie in several folders (one per node).

    Raises
    ------
    CaptureError
        When a rank is missing or there twice, or a file is not a raw capture, of another version or cut short
        because the disk was full.
    """
    where = ", ".join(map(str, folders))
    paths = [path for folder in folders for path in sorted(folder.glob(f"*.{SUFFIX}"))]
    if not paths:
        raise CaptureError(f"{where}: there is no raw capture; expected files RANK.{SUFFIX}")
    ranks: dict[int, RankCapture] = {}
    threads: dict[int, int] = {}
    size, first = 0, paths[0]
    for path in paths:
        header, read, threads_of_rank = _read_rank(path)
        threads[read.rank] = threads_of_rank
        if not ranks:
            size, first = int(header["size"]), path
        if int(header["size"]) != size:
            raise CaptureError(
                f"{path}: is of a program of {header['size']} ranks, but {first} of one of {size}; "
                "expected the files of one run"
            )
        if read.rank in ranks:
            raise CaptureError(f"{path}: rank {read.rank} is already in {ranks[read.rank].path}; expected it once")
        ranks[read.rank] = read
    missing = [rank for rank in range(size) if rank not in ranks]
    if missing:
        raise CaptureError(
            f"{where}: {_listed(missing)} of {size} left no file; found {len(ranks)}; if they ran on other nodes, "
            "capture into a folder that all nodes share, or give the folders of all nodes"
        )
    return Capture(where, tuple(ranks[rank] for rank in range(size)), _notes(threads))


def _notes(threads: dict[int, int]) -> tuple[str, ...]:
    """What the format cannot say: it has one program per task."""
    several = [rank for rank, number in threads.items() if number > 1]
    if not several:
        return ()
    return (f"{_listed(several)}: several threads called MPI; their calls are one program in order of time",)


def _listed(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:8])) + (" …" if len(ranks) > 8 else "")
    return f"rank{'' if len(ranks) == 1 else 's'} {shown}"


def _read_rank(path: Path) -> tuple[Any, RankCapture, int]:
    """The header, the calls, and how many threads made them."""
    data = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
    header, unsupported = _read_header(path, data)
    body = data[int(header["first_record"]) :]
    records = body[: len(body) // RECORD.itemsize * RECORD.itemsize].view(RECORD)
    ends = np.flatnonzero(records["op"] == 0)
    records = records[: int(ends[0])] if len(ends) else records
    if len(records) and int(records["op"].max()) > max(OP.values()):
        row = int(np.argmax(records["op"] > max(OP.values())))
        raise CaptureError(f"{path}: record {row}: unknown op {records['op'][row]}; expected 1 to {max(OP.values())}")
    communicators, peers = _communicators(path, records)
    calls, completions = _calls(path, records, peers)
    finalize = np.flatnonzero(records["op"] == OP["finalize"])
    hidden = np.cumsum(_hidden(records))
    rows = _rows(records)
    last = int(hidden[rows[-1]]) if len(rows) else 0
    # That others did not reach MPI_Finalize is told once for all.
    aborted = bool((records["op"] == OP["abort"]).any())
    damage = f"called MPI_Abort after {len(calls):,} calls" if aborted else ""
    rank = RankCapture(
        rank=int(header["rank"]),
        path=str(path),
        node=bytes(header["host"]).decode(errors="replace"),
        init_end_ns=int(header["init_ns"]),
        finalize_start_ns=int(records["start"][finalize[0]]) if len(finalize) else None,
        calls=calls,
        completions=completions,
        communicators=communicators,
        finalize_hidden_ns=int(hidden[finalize[0]]) - last if len(finalize) else 0,
        unsupported=unsupported,
        damage=damage,
    )
    own = records[np.isin(records["op"], (OP["members"],), invert=True)]
    return header, rank, int(own["thread"].max(initial=0)) + 1


def _read_header(path: Path, data: NDArray[np.uint8]) -> tuple[Any, dict[str, int]]:
    """The header and the counts of calls without records."""
    if not len(data):
        raise CaptureError(
            f"{path}: is empty: this rank had no room for its file; free some space or capture into another folder"
        )
    if len(data) < HEADER.itemsize or bytes(data[: len(MAGIC)]) != MAGIC:
        raise CaptureError(f"{path}: is not a raw capture; expected it to begin with {MAGIC.decode()}")
    header = data[: HEADER.itemsize].view(HEADER)[0]
    if header["version"] != VERSION:
        raise CaptureError(
            f"{path}: has version {header['version']} of the raw format; expected {VERSION}; capture it again"
        )
    if header["error"]:
        raise CaptureError(
            f"{path}: recording of rank {header['rank']} stopped: {os.strerror(int(header['error']))}; "
            "free some space or capture into another folder (--keep-raw DIR), then run the program again"
        )
    start = int(header["counters_at"])
    end = start + int(header["counters"]) * COUNTER.itemsize
    if not header["init_ns"] or end > len(data) or header["size"] < 1 or not 0 <= header["rank"] < header["size"]:
        raise CaptureError(f"{path}: has a damaged header; capture it again")
    counters = data[start:end].view(COUNTER)
    return header, {bytes(name).decode(): int(count) for count, name in counters if count}


def _rows(records: NDArray[Any]) -> NDArray[np.int64]:
    """Which records are calls of their own; a communicator whose making was not seen is none."""
    ops = records["op"]
    calls = [OP[name] for name in _CALL_OF_OP if name != "comm"] + [OP["collective"]]
    return np.flatnonzero(np.isin(ops, calls) | ((ops == OP["comm"]) & (records["start"] > 0)))


def _hidden(records: NDArray[Any]) -> NDArray[np.int64]:
    """Time inside MPI before each record; the world ranks of a communicator lie in the same place."""
    return np.where(records["op"] == OP["members"], 0, records["skipped"]).astype(np.int64)


def _communicators(
    path: Path, records: NDArray[Any]
) -> tuple[tuple[RankCommunicator, ...], tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]]:
    """Communicators by number, and per communicator the world ranks that its peers are: flat, first, how many."""
    rows = np.flatnonzero(records["op"] == OP["comm"])
    words = records.view(np.int32).reshape(-1, RECORD.itemsize // 4)[:, :MEMBERS_PER_RECORD]
    found: list[RankCommunicator] = []
    identities: list[bytes] = []
    seen: dict[bytes, int] = {}
    flat: list[NDArray[np.int32]] = []
    for row in rows.tolist():
        record = records[row]
        local, remote = int(record["bytes"]), int(record["bytes2"])
        blocks = -(-local // MEMBERS_PER_RECORD)
        remote_blocks = -(-remote // MEMBERS_PER_RECORD)
        if row + blocks + remote_blocks >= len(records) + (1 if blocks + remote_blocks else 0):
            break  # the rank ended while it wrote this
        near = words[row + 1 : row + 1 + blocks].ravel()[:local]
        far = words[row + 1 + blocks : row + 1 + blocks + remote_blocks].ravel()[:remote]
        groups = sorted((group.tolist() for group in (near, far) if len(group)), key=lambda group: group[0])
        members = np.array([rank for group in groups for rank in group], np.int32)
        parent = int(record["request"])
        above = identities[parent] if parent != NO_PARENT and parent < len(identities) else b""
        # Who makes communicators of one group from one parent makes them in the same order.
        if HOWS[record["kind"]] in ("intercomm", "found"):
            above = b""
        made = f"{HOWS[record['kind']]} {record['tag']}".encode()
        digest = hashlib.blake2b(above + made + members.tobytes(), digest_size=7)
        nth = seen.get(digest.digest(), 0)
        seen[digest.digest()] = nth + 1
        digest.update(nth.to_bytes(8, "little"))
        identities.append(digest.digest())
        found.append(RankCommunicator(members, (int.from_bytes(digest.digest(), "little"),), bool(remote)))
        flat.append(far if remote else near)
    if not found:
        raise CaptureError(f"{path}: holds no MPI_COMM_WORLD; the rank ended within MPI_Init")
    lengths = np.array([len(group) for group in flat], np.int64)
    return tuple(found), (np.concatenate(flat).astype(np.int32), np.cumsum(lengths) - lengths, lengths)


def _world(
    path: Path,
    comm: NDArray[Any],
    peer: NDArray[Any],
    peers: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]],
) -> NDArray[np.int32]:
    """World ranks of ranks in communicators; what is negative stays."""
    flat, first, lengths = peers
    comm = comm.astype(np.int64)
    if len(comm) and (int(comm.max()) >= len(first) or (peer >= lengths[comm]).any()):
        raise CaptureError(f"{path}: names a rank or communicator that is not there; the file is damaged")
    known = peer >= 0
    result = np.asarray(peer, np.int32).copy()
    result[known] = flat[first[comm[known]] + peer[known]]
    return result


def _calls(
    path: Path, records: NDArray[Any], peers: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]
) -> tuple[Calls, Completions]:
    rows = _rows(records)
    some = records[rows]
    ops, flags = some["op"], some["flags"]
    calls = np.zeros(len(rows), np.uint8)
    for name, call in _CALL_OF_OP.items():
        calls[ops == OP[name]] = call
    calls[(ops == OP["send"]) & (flags & FLAG["nonblocking"] > 0)] = Call.ISEND
    collective = ops == OP["collective"]
    calls[collective] = _CALLS[some["kind"][collective]]
    has_peer = np.isin(calls, (Call.SEND, Call.ISEND, Call.RECV, Call.IRECV, Call.PROBE, Call.MPROBE))
    size = np.where(np.isin(calls, _SCATTERS), some["bytes2"], some["bytes"])
    size = np.where(np.isin(calls, _ONE_BUFFER), np.maximum(some["bytes"], some["bytes2"]), size)
    size[np.isin(calls, (Call.WAIT, Call.SETUP))] = 0
    begins = np.isin(calls, (Call.IRECV, Call.MPROBE)) | (collective & (flags & FLAG["nonblocking"] > 0))
    comm = np.where(calls == Call.WAIT, 0, some["comm"])
    world = np.full(len(rows), NULL, np.int32)
    world[has_peer] = _world(path, comm[has_peer], some["peer"][has_peer], peers)
    root = np.full(len(rows), NONE, np.int32)
    root[collective] = _world(path, comm[collective], some["peer"][collective], peers)
    ends = some["end"].astype(np.int64)
    # The sending half of a sendrecv ends with the receiving half, where there is one.
    halves = (ops == OP["send"]) & (flags & FLAG["sendrecv"] > 0) & (flags & FLAG["nonblocking"] == 0)
    first = np.flatnonzero(halves)
    first = first[first + 1 < len(rows)]
    first = first[(some["flags"][first + 1] & FLAG["sendrecv"] > 0) & (ops[first + 1] == OP["receive"])]
    ends[first] = ends[first + 1]
    hidden = np.cumsum(_hidden(records))[rows]
    columns: dict[str, NDArray[Any]] = {
        "call": calls,
        "start_ns": some["start"].astype(np.int64),
        "end_ns": ends,
        "hidden_ns": np.diff(hidden, prepend=0),
        "peer": world,
        "bytes": size,
        "tag": np.where(has_peer, some["tag"], ANY),
        "comm": comm,
        "root": root,
        "request": np.where(begins, some["request"].astype(np.int64), NONE),
    }
    done = np.flatnonzero(records["op"] == OP["done"])
    waits = np.flatnonzero(calls == Call.WAIT)
    place = np.searchsorted(rows[waits], done)
    done, place = done[place < len(waits)], place[place < len(waits)]
    finished = records[done]
    source = _world(path, finished["comm"], finished["peer"], peers)
    source[finished["flags"] & FLAG["cancelled"] > 0] = CANCELLED
    completions: dict[str, NDArray[Any]] = {
        "row": waits[place],
        "request": finished["request"].astype(np.int64),
        "peer": source,
        "tag": finished["tag"],
    }
    if len(np.unique(some["thread"])) > 1:
        columns, completions = one_program(columns, completions)
    return Calls.of(**columns), Completions.of(**completions)

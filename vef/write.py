"""Write a trace as VEF text; `read_trace` of it gives equal columns."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from vef.records import COLLECTIVE, Header, Trace

CHUNK_ROWS = 1 << 16


def write_trace(trace: Trace, target: str | Path | BinaryIO) -> None:
    """Write a trace in the form that its header tells.

    The form found (numeric flag, clock) writes communicators as ``C0``, the documented one as ``0``.

    Parameters
    ----------
    trace : Trace
    target : str, Path or binary file
        A name that ends in ``.gz`` or ``.zst`` is compressed.
    """
    if isinstance(target, (str, Path)):
        with _open(os.fspath(target)) as file:
            write_trace(trace, file)
        return
    for text in text_chunks(trace):
        target.write(text.encode("ascii"))


def text_chunks(trace: Trace) -> Iterator[str]:
    """Yield the text of a trace in pieces that end at line ends."""
    yield header_line(trace.header)
    for index, number in enumerate(trace.communicators.ids.tolist()):
        yield f"C{number} {' '.join(map(str, trace.communicators.members(index).tolist()))}\n"
    for first in range(0, len(trace), CHUNK_ROWS):
        yield _records(trace, slice(first, first + CHUNK_ROWS))


def header_line(header: Header) -> str:
    """Return the first line of a trace, with its newline."""
    counts = (
        f"{header.magic} {header.tasks} {header.p2p_records} {header.communicators} "
        f"{header.global_collectives} {header.local_collectives}"
    )
    if header.prospector:
        return f"{counts} {int(header.only_send)} {header.clock_ps}\n"
    return f"{counts} {'TRUE' if header.only_send else 'FALSE'}\n"


def _records(trace: Trace, part: slice) -> str:
    prefix = "C" if trace.header.prospector else ""
    dep_row = trace.dep_row[part]
    dep_ids = np.where(dep_row >= 0, trace.id[dep_row], -1)
    is_collective = trace.kind[part] == COLLECTIVE
    numbers = trace.communicators.ids[np.where(is_collective, trace.peer[part], 0)]
    peers = np.where(is_collective, numbers, trace.peer[part])
    columns = (
        is_collective, trace.id[part], trace.task[part], peers, trace.op[part], trace.send_bytes[part],
        trace.recv_bytes[part], trace.dep[part], trace.time[part], dep_ids,
    )  # fmt: skip
    lines = []
    for collective, name, task, peer, op, send, recv, dep, time, dep_id in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        mark = "G" if dep & 3 == 3 else ""
        if collective:
            lines.append(f"G{name} {prefix}{peer} {op} {task} {send} {recv} {dep} {time} {mark}{dep_id}\n")
        else:
            lines.append(f"{name} {task} {peer} {send} {dep} {time} {mark}{dep_id}\n")
    return "".join(lines)


def _open(name: str) -> BinaryIO:
    if name.endswith(".gz"):
        return cast(BinaryIO, gzip.GzipFile(name, "wb", mtime=0))
    if name.endswith(".zst"):
        import zstandard

        return cast(BinaryIO, zstandard.open(name, "wb"))
    return open(name, "wb")

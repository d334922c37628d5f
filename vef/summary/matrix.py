"""The task-by-task matrix as a file: a row per pair of tasks that talk, so that size follows traffic, not tasks."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np

from vef.problems import InvalidTrace, Problem
from vef.summary.summary import Summary

CHUNK = 1 << 16


def matrix_csv(summary: Summary) -> Iterator[str]:
    """Yield a header and lines ``source,destination,messages,bytes``, by source, then destination."""
    pairs = summary.pairs
    yield "source,destination,messages,bytes\n"
    for begin in range(0, len(pairs), CHUNK):
        part = slice(begin, begin + CHUNK)
        columns = pairs.source[part], pairs.destination[part], pairs.messages[part], pairs.size_bytes[part]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        yield "".join(f"{source},{dest},{messages},{size}\n" for source, dest, messages, size in rows)


def matrix_npz(summary: Summary) -> bytes:
    """Return the same as a compressed NumPy archive: `tasks`, `source`, `destination`, `messages`, `bytes`.

    Raises
    ------
    InvalidTrace
        When a sum of bytes has more than 63 bits.
    """
    pairs = summary.pairs
    if pairs.size_bytes.dtype == object:
        found = "bytes of a pair of tasks that may have more than 63 bits"
        problem = Problem(None, "overflow", found, "sums that fit an .npz", "write the matrix as .csv")
        raise InvalidTrace(summary.trace.path, [problem])
    out = io.BytesIO()
    np.savez_compressed(
        out,
        tasks=np.int64(summary.trace.tasks),
        source=pairs.source,
        destination=pairs.destination,
        messages=pairs.messages,
        bytes=pairs.size_bytes,
    )
    return out.getvalue()

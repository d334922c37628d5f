"""Bytes of a trace: a file or stdin, plain, gzip or zstd (told by the content), hashed as they pass."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from vef.problems import InvalidTrace, Problem

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Source:
    """An open trace.

    Attributes
    ----------
    path : str
        As named by the caller, ``"<stdin>"`` for ``"-"``.
    size : int or None
        Bytes of the text, None where only reading on will tell.
    """

    def __init__(self, path: str, raw: BinaryIO, size: int | None) -> None:
        self.path = path
        self.size = size
        self._raw = raw
        self._text: BinaryIO = raw
        self._hash = hashlib.sha256()
        self._head = b""
        head = self._guarded(lambda: _read_up_to(raw, 4))
        joined = cast(BinaryIO, io.BufferedReader(_Joined(head, raw), 1 << 18))
        if head.startswith(GZIP_MAGIC):
            self._text = cast(BinaryIO, gzip.GzipFile(fileobj=joined))
            self.size = None
        elif head == ZSTD_MAGIC:
            import zstandard

            self._text = zstandard.ZstdDecompressor().stream_reader(joined, read_across_frames=True)
            self.size = None
        else:
            self._head = head

    def readinto(self, view: memoryview) -> int:
        """Fill `view` with text as far as there is any; 0 at the end.

        Raises
        ------
        InvalidTrace
            When the file cannot be read on or the compressed data are damaged.
        """
        filled = len(self._head)
        if filled:
            view[:filled] = self._head
            self._head = b""
        while filled < len(view):
            got = self._guarded(lambda at=filled: self._text.readinto(view[at:]))  # type: ignore[attr-defined]
            if not got:
                break
            filled += got
        self._hash.update(view[:filled])
        return filled

    def sha256(self) -> str:
        """Return the hash of the text read so far, hexadecimal."""
        return self._hash.hexdigest()

    def close(self) -> None:
        """Close the file; stdin stays open."""
        if self.path != "<stdin>":
            self._raw.close()

    def _guarded(self, call):  # type: ignore[no-untyped-def]
        try:
            return call()
        except EOFError:
            found, hint = "compressed data that end early", "copy the file again"
            problem = Problem(None, "truncated", found, "a whole gzip file", hint)
        except (OSError, zlib.error) as error:
            damaged = isinstance(error, (gzip.BadGzipFile, zlib.error))
            expected = "gzip data that can be unpacked" if damaged else "a readable file"
            problem = Problem(None, "unreadable", _reason(error), expected)
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            problem = Problem(None, "unreadable", _reason(error), "zstd data that can be unpacked")
        raise InvalidTrace(self.path, [problem])


class _Joined(io.RawIOBase):
    """Bytes already taken from a stream, then the rest of the stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        data = self._head or self._rest.read(len(buffer))
        self._head = b""
        buffer[: len(data)] = data
        return len(data)


def open_source(path: str | Path) -> Source:
    """Open a trace for reading.

    Parameters
    ----------
    path : str or Path
        ``"-"`` is standard input.

    Raises
    ------
    InvalidTrace
        When there is no such file, it is a directory, or it cannot be read.
    """
    name = os.fspath(path)
    if name == "-":
        return Source("<stdin>", sys.stdin.buffer, None)
    try:
        raw = open(name, "rb", buffering=0)  # noqa: SIM115 - closed by Source.close
        size = os.fstat(raw.fileno()).st_size
    except (OSError, ValueError) as error:
        problem = Problem(None, "unreadable", _reason(error), "a readable trace file")
        raise InvalidTrace(name, [problem]) from error
    try:
        return Source(name, cast(BinaryIO, raw), size)
    except InvalidTrace:
        raw.close()
        raise


def _read_up_to(raw: BinaryIO, count: int) -> bytes:
    data = b""
    while len(data) < count and (more := raw.read(count - len(data))):
        data += more
    return data


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:] if text else type(error).__name__

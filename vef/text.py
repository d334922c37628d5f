"""Blocks of whole lines from a source, in one reused buffer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vef.problems import InvalidTrace, Problem
from vef.source import Source

BLOCK_BYTES = 4 << 20
MAX_LINE_BYTES = 1 << 28
NEWLINE = 10


class LineBlocks:
    """Reads a source block by block; a line is never split over two blocks.

    Attributes
    ----------
    buffer : uint8
        ``buffer[:end]`` holds the current block; it always ends with a newline.
    end : int
    """

    def __init__(self, source: Source, block_bytes: int = BLOCK_BYTES) -> None:
        self._source = source
        self._bytes = bytearray(block_bytes)
        self.buffer: NDArray[np.uint8] = np.frombuffer(self._bytes, np.uint8)
        self.end = 0
        self._filled = 0
        self._finished = False

    def advance(self) -> bool:
        """Go to the next block; False when there is none.

        Raises
        ------
        InvalidTrace
            When the source cannot be read on, or a line is longer than `MAX_LINE_BYTES`.
        """
        carried = self._filled - self.end
        self._bytes[:carried] = self._bytes[self.end : self._filled]
        self._filled, self.end = carried, 0
        while not self.end and not self._finished:
            if self._filled + 1 >= len(self._bytes):
                self._enlarge()
            room = len(self._bytes) - 1 - self._filled  # a byte is kept for a missing last newline
            got = self._source.readinto(memoryview(self._bytes)[self._filled : self._filled + room])
            self._finished = got < room
            self._filled += got
            if self._finished and self._filled and self._bytes[self._filled - 1] != NEWLINE:
                self._bytes[self._filled] = NEWLINE
                self._filled += 1
            self.end = self._bytes.rfind(NEWLINE, 0, self._filled) + 1
        return self.end > 0

    def line_end(self, position: int) -> int:
        """Return the position of the newline that ends the line at `position`."""
        return self._bytes.find(NEWLINE, position, self.end)

    def text(self, position: int, end: int) -> bytes:
        """Return a piece of the block."""
        return bytes(self._bytes[position:end])

    def has_nul(self) -> bool:
        """True when the block begins with something that is no text."""
        return self._bytes.find(0, 0, min(self.end, 1 << 16)) >= 0

    def _enlarge(self) -> None:
        if len(self._bytes) >= MAX_LINE_BYTES:
            found = f"a line of more than {MAX_LINE_BYTES >> 20} MiB"
            raise InvalidTrace(self._source.path, [Problem(None, "long-line", found, "lines of text")])
        old = bytes(self._bytes[: self._filled])
        self._bytes = bytearray(4 * len(self._bytes))
        self._bytes[: len(old)] = old
        self.buffer = np.frombuffer(self._bytes, np.uint8)

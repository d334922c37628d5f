"""Record columns while they are being filled, before references are resolved."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

INT32_MAX = 2**31 - 1
DTYPES = {
    "kind": np.uint8,
    "id": np.int32,
    "task": np.int32,
    "peer": np.int32,
    "op": np.int8,
    "send_bytes": np.int64,
    "recv_bytes": np.int64,
    "dep": np.uint8,
    "time": np.int64,
    "dep_id": np.int32,
}


class Columns:
    """Growable columns; `peer` of a collective record is the communicator's number, `dep_id` as in the file.

    Attributes
    ----------
    arrays : dict of numpy arrays
        By the names of `DTYPES`, all of length `capacity`; rows from `rows` on are not filled.
    rows : int
    """

    def __init__(self, capacity: int) -> None:
        self.arrays: dict[str, NDArray[Any]] = {name: np.empty(capacity, dtype) for name, dtype in DTYPES.items()}
        self.rows = 0

    @property
    def capacity(self) -> int:
        """Rows there is room for."""
        return len(self.arrays["kind"])

    @property
    def id_limit(self) -> int:
        """Largest id that the id columns hold."""
        return int(np.iinfo(self.arrays["id"].dtype).max)

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        for name, old in self.arrays.items():
            new = np.empty(capacity, old.dtype)
            new[: self.rows] = old[: self.rows]
            self.arrays[name] = new

    def widen_ids(self) -> None:
        """Let the id columns hold 64-bit ids."""
        for name in ("id", "dep_id"):
            self.arrays[name] = self.arrays[name].astype(np.int64)

    def append(self, values: tuple[int, ...]) -> None:
        """Add one record, its fields in the order of `DTYPES`."""
        if max(values[1], values[-1]) > self.id_limit:
            self.widen_ids()
        if self.rows == self.capacity:
            self.grow(2 * self.rows + 16)
        for array, value in zip(self.arrays.values(), values, strict=True):
            array[self.rows] = value
        self.rows += 1

    def trimmed(self) -> dict[str, NDArray[Any]]:
        """Return the filled part of each column."""
        return {name: array[: self.rows] for name, array in self.arrays.items()}

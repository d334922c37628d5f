"""One collective call: its validated arguments, in the form the algorithms take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .splits import early_late

__all__ = ["OPERATIONS", "VERSIONS", "Call", "CallError", "Sizes", "make_call", "version_number"]

Sizes = int | Sequence[int] | Sequence[Sequence[int]] | NDArray[np.integer]
"""Bytes: one number, one per rank, or (alltoallv) a matrix [sender, receiver]."""

VERSIONS: dict[str, tuple[int, int]] = {"4.1": (4, 1), "5.0": (5, 0), "6.0": (6, 0), "main": (6, 1)}
"""Open MPI series whose behaviour is known, oldest first."""

_BUFFER = ("bcast", "reduce", "allreduce", "scan", "exscan")
_BLOCK = ("gather", "scatter", "allgather", "alltoall", "reduce_scatter_block")
_VECTOR = ("gatherv", "scatterv", "allgatherv")
OPERATIONS: tuple[str, ...] = (*_BUFFER, *_BLOCK, *_VECTOR, "alltoallv", "reduce_scatter", "barrier")
"""Collective operations that can be expanded."""


class CallError(ValueError):
    """Arguments of a collective call contradict each other."""


@dataclass(frozen=True, eq=False)
class Call:
    """Arguments of one collective call.

    Attributes
    ----------
    op : collective operation
    ranks : communicator size
    size_bytes : the size that decisions look at: whole buffer (bcast, reduce, allreduce, scan, exscan,
        reduce_scatter) or one block (others; the average block for allgatherv)
    blocks : int64, bytes; shape (ranks,) per-rank blocks, or (ranks, ranks) for alltoallv
    root : communicator rank
    element_bytes : size of one element; splits happen between elements
    segment_bytes : segment size, 0 = no segmentation
    fanout : chains of the chain trees, None = the default
    radix : radix of the k-nomial trees and of k-bruck, None = the default
    version : (major, minor) of Open MPI
    commutative : whether the reduction operation commutes
    """

    op: str
    ranks: int
    size_bytes: int
    blocks: NDArray[np.int64]
    root: int = 0
    element_bytes: int = 1
    segment_bytes: int = 0
    fanout: int | None = None
    radix: int | None = None
    version: tuple[int, int] = (5, 0)
    commutative: bool = True

    @property
    def elements(self) -> int:
        """Elements in `size_bytes`."""
        return self.size_bytes // self.element_bytes

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be moved. A barrier never is."""
        return self.op != "barrier" and not self.size_bytes and not self.blocks.any()

    def shifted(self, v: NDArray[np.int64]) -> NDArray[np.int64]:
        """Communicator ranks of shifted ranks v."""
        return (v + self.root) % self.ranks

    def at_root_0(self) -> Call:
        """The same arguments with rank 0 as root."""
        return replace(self, root=0)

    def inner(self, op: str, size_bytes: int, *, element_bytes: int | None = None) -> Call:
        """Arguments of a collective that this one calls with plain arguments and root 0."""
        block = size_bytes if op in _BLOCK else 0
        return replace(
            self,
            op=op,
            root=0,
            size_bytes=size_bytes,
            blocks=np.full(self.ranks, block, np.int64),
            element_bytes=element_bytes or self.element_bytes,
            segment_bytes=0,
            fanout=None,
            radix=None,
        )


def version_number(version: str) -> tuple[int, int]:
    """(major, minor) of a version such as "5.0", "4.1.4" or "main".

    Raises
    ------
    CallError
        If the behaviour of that version is not known.
    """
    for name, number in VERSIONS.items():
        if version == name or version.startswith(name + "."):
            return number
    raise CallError(f"unknown Open MPI version {version!r}: known are {', '.join(VERSIONS)}")


def make_call(
    op: str,
    ranks: int,
    sizes: Sizes,
    *,
    root: int = 0,
    element_bytes: int = 1,
    segment_bytes: int = 0,
    fanout: int | None = None,
    radix: int | None = None,
    version: str = "5.0",
    commutative: bool = True,
) -> Call:
    """Validate the arguments of a collective call.

    `sizes` means bytes of the whole buffer (bcast, reduce, allreduce, scan, exscan), of one rank's block
    (gather, scatter, allgather, reduce_scatter_block), of one block per destination (alltoall), nothing
    (barrier). The others take one number or an array: gatherv, scatterv and allgatherv one rank's block or
    one per rank; alltoallv a block per destination, each rank's total (split early/late over all ranks) or
    the matrix [sender, receiver]; reduce_scatter the whole vector (split early/late over the ranks by
    elements) or one block per rank.

    Raises
    ------
    CallError
        If an argument is out of range or the sizes do not fit the operation.
    """
    if op not in OPERATIONS:
        raise CallError(f"unknown collective operation {op!r}: known are {', '.join(OPERATIONS)}")
    if ranks < 1:
        raise CallError(f"{op}: {ranks} ranks, at least 1 needed")
    if not 0 <= root < ranks:
        raise CallError(f"{op}: root {root} is not a rank of a communicator of {ranks}")
    for name, value, least in (
        ("element_bytes", element_bytes, 1),
        ("segment_bytes", segment_bytes, 0),
        ("fanout", fanout or 0, 0),
        ("radix", 2 if radix is None else radix, 2),
    ):
        if value < least:
            raise CallError(f"{op}: {name} is {value}, at least {least} needed")
    given = _checked(op, sizes)
    size_bytes, blocks = _interpret(op, ranks, given, element_bytes)
    uneven = blocks % element_bytes
    if size_bytes % element_bytes or uneven.any():
        size = int(blocks[uneven != 0][0]) if uneven.any() else size_bytes
        raise CallError(f"{op}: {size} bytes are no multiple of the element size {element_bytes}")
    return Call(
        op, ranks, size_bytes, blocks, root, element_bytes, segment_bytes, fanout, radix,
        version_number(version), commutative,
    )  # fmt: skip


def _checked(op: str, sizes: ArrayLike) -> NDArray[np.int64]:
    raw = np.asarray(sizes)
    if raw.size and raw.dtype.kind not in "iu":
        raise CallError(f"{op}: sizes must be whole numbers of bytes, got {raw.dtype}")
    given = raw.astype(np.int64)
    if given.size and given.min() < 0:
        raise CallError(f"{op}: negative size {int(given.min())}")
    return given


def _interpret(op: str, ranks: int, given: NDArray[np.int64], element_bytes: int) -> tuple[int, NDArray[np.int64]]:
    """Decision size and blocks of an operation."""
    if op == "barrier":
        return 0, np.zeros(ranks, np.int64)
    if op == "alltoallv":
        blocks = _pair_blocks(ranks, given)
        return int(blocks.sum()) // (ranks * ranks), blocks
    if given.ndim == 0:
        size = int(given)
        if op == "reduce_scatter":
            return size, early_late(size // element_bytes, ranks) * element_bytes
        return size, np.full(ranks, 0 if op in _BUFFER else size, np.int64)
    if op in _BUFFER or op in _BLOCK:
        raise CallError(f"{op} takes one size, got {given.size}; sizes per rank need the v-variant")
    if given.shape != (ranks,):
        raise CallError(f"{op}: sizes of shape {given.shape} for {ranks} ranks")
    total = int(given.sum())
    return (total if op == "reduce_scatter" else total // ranks // element_bytes * element_bytes), given


def _pair_blocks(ranks: int, given: NDArray[np.int64]) -> NDArray[np.int64]:
    if given.ndim == 0:
        return np.broadcast_to(given, (ranks, ranks))
    if given.shape == (ranks,):
        return early_late(given, ranks)
    if given.shape != (ranks, ranks):
        raise CallError(f"alltoallv: sizes of shape {given.shape} for {ranks} ranks")
    return given

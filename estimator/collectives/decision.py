"""Which algorithm Open MPI picks when nothing is forced: the fixed decision of its `tuned` component."""

from __future__ import annotations

from dataclasses import dataclass

from .call import OPERATIONS, CallError, version_number
from .decision_tables import TABLES, Rows
from .registry import CATALOGUE

__all__ = ["Decision", "decide"]

_LINEAR_ONLY = ("scan", "exscan", "gatherv", "scatterv")
_SIZE_IGNORED = ("barrier", "alltoallv")


@dataclass(frozen=True)
class Decision:
    """An algorithm and why it was picked.

    Attributes
    ----------
    algorithm : Open MPI's name
    id : Open MPI's number
    reason : the rule that applied, for people
    """

    algorithm: str
    id: int
    reason: str


def decide(
    op: str,
    ranks: int,
    size_bytes: int,
    *,
    commutative: bool = True,
    version: str = "5.0",
    disjoint: bool = False,
) -> Decision:
    """Open MPI's own choice of algorithm.

    Parameters
    ----------
    op : collective operation
    ranks : communicator size
    size_bytes : whole buffer for bcast, reduce, allreduce and reduce_scatter; one block for gather,
        scatter, allgather, alltoall, reduce_scatter_block; average block for allgatherv; ignored for the
        others
    commutative : whether the reduction operation commutes
    version : Open MPI series
    disjoint : one process per node and the communicator flagged so (main only; bcast and allreduce)

    Raises
    ------
    CallError
        For an unknown operation or version, or numbers out of range.
    """
    number = version_number(version)
    if op not in OPERATIONS:
        raise CallError(f"unknown collective operation {op!r}: known are {', '.join(OPERATIONS)}")
    if ranks < 1 or size_bytes < 0:
        raise CallError(f"{op}: no decision for {ranks} ranks and {size_bytes} bytes")
    if op in _LINEAR_ONLY:
        entry = CATALOGUE[op][1]
        return Decision(entry.name, 1, f"Open MPI {_series(number)}: {op} is always linear → 1 {entry.name}")
    name = f"{op}_disjoint"
    if not (disjoint and number >= (6, 1) and any(key[0] == name for key in TABLES)):
        name = op
    variant = "any" if (name, "any") in TABLES else "commutative" if commutative else "noncommutative"
    ident, span = _look_up(TABLES[name, variant], ranks, None if op in _SIZE_IGNORED else size_bytes)
    entry = CATALOGUE[op][ident]
    if ranks == 1:
        span = "1 rank"
    extra = ", operation does not commute" if variant == "noncommutative" else ""
    extra += ", one process per node" if name != op else ""
    reason = f"Open MPI {_series(number)} fixed decision: {span}{extra} → {ident} {entry.name}"
    return Decision(entry.name, ident, reason)


def _series(number: tuple[int, int]) -> str:
    return "4.1/5.0" if number < (6, 0) else "6.0/main"


def _look_up(rows: Rows, ranks: int, size_bytes: int | None) -> tuple[int, str]:
    """Id and the ranges that matched."""
    least_ranks = 2
    for ranks_below, rules in rows:
        if ranks_below is None or ranks < ranks_below:
            least_bytes = 0
            for bytes_below, ident in rules:
                if bytes_below is None or (size_bytes or 0) < bytes_below:
                    span = _ranks_span(least_ranks, ranks_below)
                    if size_bytes is not None:
                        span += f", {_bytes_span(least_bytes, bytes_below)}"
                    return ident, span
                least_bytes = bytes_below
        least_ranks = ranks_below or least_ranks
    raise AssertionError("decision tables end with rows without limit")


def _ranks_span(least: int, below: int | None) -> str:
    if below is None:
        return f"{least} ranks and more"
    return f"{least} ranks" if below == least + 1 else f"{least}–{below - 1} ranks"


def _bytes_span(least: int, below: int | None) -> str:
    if below is None:
        return f"{_amount(least)} and more" if least else "any size"
    return f"{_amount(least)} to below {_amount(below)}" if least else f"below {_amount(below)}"


def _amount(size_bytes: int) -> str:
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes and size_bytes % factor == 0:
            return f"{size_bytes // factor} {unit}"
    return f"{size_bytes} B"

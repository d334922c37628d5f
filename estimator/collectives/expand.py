"""Turn one collective call into the messages that Open MPI sends for it."""

from __future__ import annotations

from dataclasses import dataclass

from . import (  # noqa: F401 - imported to fill the catalogue
    allgather,
    allreduce,
    alltoall,
    barrier,
    bcast,
    bcast_split,
    composite,
    gather_scatter,
    rabenseifner,
    reduce,
    reduce_scatter,
    scan,
)
from .call import Sizes, make_call
from .dispatch import decided_call, run
from .registry import CATALOGUE, Algorithm, find
from .schedule import Builder, Schedule

__all__ = ["ALGORITHMS", "Expansion", "expand", "expand_call"]

ALGORITHMS: dict[str, tuple[Algorithm, ...]] = {
    op: tuple(CATALOGUE[op][ident] for ident in sorted(CATALOGUE[op])) for op in sorted(CATALOGUE)
}
"""Operation to its algorithms by id: id, name, versions that have it."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """Messages of a collective call, and why these.

    Attributes
    ----------
    schedule : the messages and every rank's program
    op : collective operation that was expanded
    algorithm : Open MPI's name of the algorithm that ran, after fallbacks
    id : its number
    reason : how the algorithm came to run, for people
    bytes : payload of all messages
    """

    schedule: Schedule
    op: str
    algorithm: str
    id: int
    reason: str
    bytes: int


def expand(
    op: str,
    algorithm: str | int,
    ranks: int,
    *,
    sizes: Sizes,
    root: int = 0,
    element_bytes: int = 1,
    segment_bytes: int = 0,
    fanout: int | None = None,
    radix: int | None = None,
    version: str = "5.0",
    commutative: bool = True,
) -> Schedule:
    """Messages of one collective call; `expand_call` takes the same arguments and also tells why.

    Parameters
    ----------
    op : collective operation, one of `OPERATIONS`
    algorithm : id, id as text, name or synonym; "default" = Open MPI's own choice
    ranks : communicator size
    sizes : bytes. Whole buffer for bcast, reduce, allreduce, scan, exscan; one rank's block for gather,
        scatter, allgather, reduce_scatter_block; block per destination for alltoall; ignored for barrier.
        gatherv, scatterv, allgatherv: one block or an array [ranks]. alltoallv: block per destination,
        array [ranks] of totals (split early/late over all ranks, oneself included) or matrix
        [sender, receiver]. reduce_scatter: whole vector (split early/late by elements) or array [ranks]
    root : communicator rank
    element_bytes : splits happen between elements; several fallbacks count elements
    segment_bytes : for algorithms that segment, 0 = no segmentation; the default choice never segments
    fanout : number of chains (bcast, reduce chain), default 4
    radix : of the k-nomial trees, default 4, and of allgather bruck from 6.0 on, default 4
    version : "4.1", "5.0", "6.0" or "main"; patch releases such as "4.1.4" are taken as their series
    commutative : whether the reduction operation commutes

    Raises
    ------
    UnknownAlgorithm
        The operation has no such algorithm in this version.
    CallError
        Arguments out of range or sizes that do not fit the operation.
    """
    return expand_call(
        op, algorithm, ranks, sizes=sizes, root=root, element_bytes=element_bytes,
        segment_bytes=segment_bytes, fanout=fanout, radix=radix, version=version, commutative=commutative,
    ).schedule  # fmt: skip


def expand_call(
    op: str,
    algorithm: str | int,
    ranks: int,
    *,
    sizes: Sizes,
    root: int = 0,
    element_bytes: int = 1,
    segment_bytes: int = 0,
    fanout: int | None = None,
    radix: int | None = None,
    version: str = "5.0",
    commutative: bool = True,
) -> Expansion:
    """As `expand`, with the algorithm that ran and the reason, fallbacks included."""
    call = make_call(
        op, ranks, sizes, root=root, element_bytes=element_bytes, segment_bytes=segment_bytes,
        fanout=fanout, radix=radix, version=version, commutative=commutative,
    )  # fmt: skip
    if algorithm == "default":
        call, choice = decided_call(call)
        chosen = find(op, choice.id, call.version)
        reason = choice.reason
    else:
        chosen = find(op, algorithm, call.version)
        reason = f"{chosen.name} ({chosen.id}) asked for"
    builder = Builder(ranks)
    ran = run(builder, call, chosen)
    schedule = builder.finish()
    return Expansion(
        schedule,
        op,
        ran.algorithm.name,
        ran.algorithm.id,
        "; ".join((reason, *ran.notes, *builder.notes)),
        schedule.payload_bytes,
    )

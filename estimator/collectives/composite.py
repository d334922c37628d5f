"""Algorithms made of other collectives, each chosen by its own decision table where Open MPI does so."""

from __future__ import annotations

from . import bcast, gather_scatter, reduce
from .call import Call
from .dispatch import run_decided
from .registry import algorithm
from .schedule import Builder

__all__ = [
    "allgather_linear", "allgatherv_default", "allreduce_allgather", "allreduce_linear",
    "allreduce_nonoverlapping", "reduce_scatter_block_linear", "reduce_scatter_nonoverlapping",
]  # fmt: skip


@algorithm("allreduce", 1, "basic_linear")
def allreduce_linear(b: Builder, call: Call) -> None:
    """Linear reduce to rank 0, then linear broadcast. 2 rounds."""
    reduce.linear(b, call.inner("reduce", call.size_bytes))
    bcast.basic_linear(b, call.inner("bcast", call.size_bytes))


@algorithm("allreduce", 2, "nonoverlapping")
def allreduce_nonoverlapping(b: Builder, call: Call) -> None:
    """Reduce to rank 0, then broadcast, each by its own decision."""
    run_decided(b, call.inner("reduce", call.size_bytes))
    run_decided(b, call.inner("bcast", call.size_bytes))


@algorithm("allreduce", 7, "allgather_reduce", since="6.0")
def allreduce_allgather(b: Builder, call: Call) -> None:
    """Allgather of whole buffers by its own decision, then a local reduction."""
    run_decided(b, call.inner("allgather", call.size_bytes))


@algorithm("allgather", 1, "linear")
def allgather_linear(b: Builder, call: Call) -> None:
    """Gather to rank 0, then broadcast of n blocks, each by its own decision."""
    run_decided(b, call.inner("gather", call.size_bytes))
    run_decided(b, call.inner("bcast", call.ranks * call.size_bytes))


@algorithm("allgatherv", 1, "basic_default")
def allgatherv_default(b: Builder, call: Call) -> None:
    """Linear gatherv to rank 0, then broadcast of the whole by its own decision.

    The broadcast moves one element of a derived type, so algorithms that split elements fall back.
    """
    total = int(call.blocks.sum())
    gather_scatter.gatherv_linear(b, call.at_root_0())
    run_decided(b, call.inner("bcast", total, element_bytes=total))


@algorithm("reduce_scatter", 1, "non-overlapping")
def reduce_scatter_nonoverlapping(b: Builder, call: Call) -> None:
    """Reduce of the whole vector to rank 0 by its own decision, then linear scatterv."""
    run_decided(b, call.inner("reduce", call.size_bytes))
    gather_scatter.scatterv_linear(b, call.at_root_0())


@algorithm("reduce_scatter_block", 1, "basic_linear")
def reduce_scatter_block_linear(b: Builder, call: Call) -> None:
    """Reduce of the whole vector to rank 0, then scatter of blocks, each by its own decision."""
    run_decided(b, call.inner("reduce", call.ranks * call.size_bytes))
    run_decided(b, call.inner("scatter", call.size_bytes))

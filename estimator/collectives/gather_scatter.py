"""Gather, scatter and their v-variants."""

from __future__ import annotations

import numpy as np

from . import trees
from .call import Call
from .registry import algorithm
from .schedule import BLOCKING, SEND, WAIT_RECV, WAIT_SEND, Builder
from .splits import segment_elements

__all__ = [
    "gather_binomial", "gather_linear", "gather_linear_sync", "gatherv_linear",
    "scatter_binomial", "scatter_linear", "scatter_linear_nb", "scatterv_linear",
]  # fmt: skip


@algorithm("gather", 1, "basic_linear")
def gather_linear(b: Builder, call: Call) -> None:
    """Every other rank sends its block; the root receives in rank order. 1 round."""
    others = np.delete(np.arange(call.ranks), call.root)
    b.blocking(others, call.root, call.blocks[others])


@algorithm("gather", 2, "binomial")
def gather_binomial(b: Builder, call: Call) -> None:
    """Low-bit binomial tree: receive from the children, then send the whole subtree's blocks up."""
    parents, children, sizes = _subtrees(call)
    ids = b.add(call.shifted(children), call.shifted(parents), sizes)
    b.emit((WAIT_RECV, ids), (BLOCKING, ids))


@algorithm("gather", 3, "linear_sync")
def gather_linear_sync(b: Builder, call: Call) -> None:
    """Root lets one rank after the other start by an empty message; blocks come in two parts.

    The first part is one segment; without segmentation it is the whole block and the second part is empty.
    """
    others = np.delete(np.arange(call.ranks), call.root)
    count = segment_elements(call.elements, call.element_bytes, call.segment_bytes)
    first = count * call.element_bytes
    go = b.add(call.root, others, 0)
    part_1 = b.add(others, call.root, first)
    part_2 = b.add(others, call.root, call.size_bytes - first)
    turns = [ids[:, None] for ids in (go, part_1)]
    b.wait_recv(go)
    b.emit((BLOCKING, turns[0]), (WAIT_RECV, turns[1]))
    b.emit((BLOCKING, part_1), (BLOCKING, part_2))
    b.wait_recv(part_2)


@algorithm("gatherv", 1, "linear")
def gatherv_linear(b: Builder, call: Call) -> None:
    """Every other rank sends its block; the root receives in rank order. Empty blocks are not sent."""
    others = np.delete(np.arange(call.ranks), call.root)
    others = others[call.blocks[others] > 0]
    b.blocking(others, call.root, call.blocks[others])


@algorithm("scatter", 1, "basic_linear")
def scatter_linear(b: Builder, call: Call) -> None:
    """Root sends block after block, blocking, in rank order. n-1 rounds."""
    others = np.delete(np.arange(call.ranks), call.root)
    b.blocking(call.root, others, call.blocks[others])


@algorithm("scatter", 2, "binomial")
def scatter_binomial(b: Builder, call: Call) -> None:
    """Low-bit binomial tree: receive the subtree's blocks, then serve the children, largest first."""
    parents, children, sizes = _subtrees(call)
    order = np.lexsort((-children, parents))
    ids = b.add(call.shifted(parents[order]), call.shifted(children[order]), sizes[order])
    b.emit((WAIT_RECV, ids), (BLOCKING, ids))


@algorithm("scatter", 3, "linear_nb")
def scatter_linear_nb(b: Builder, call: Call) -> None:
    """Root posts all sends in rank order, then waits for them. 1 round."""
    others = np.delete(np.arange(call.ranks), call.root)
    ids = b.add(call.root, others, call.blocks[others])
    b.emit((SEND, ids), (WAIT_SEND, ids), (WAIT_RECV, ids))


@algorithm("scatterv", 1, "linear")
def scatterv_linear(b: Builder, call: Call) -> None:
    """Root sends block after block, blocking, in rank order. Empty blocks are not sent."""
    others = np.delete(np.arange(call.ranks), call.root)
    others = others[call.blocks[others] > 0]
    b.blocking(call.root, others, call.blocks[others])


def _subtrees(call: Call) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges of the low-bit tree and the bytes of each child's subtree."""
    parents, children = trees.binomial_low(call.ranks)
    blocks = np.minimum(children & -children, call.ranks - children)
    return parents, children, blocks * call.size_bytes

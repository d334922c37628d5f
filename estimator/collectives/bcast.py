"""Broadcast over trees: linear, chain, pipeline, binary, binomial, k-nomial; ids 1-3 and 5-7."""

from __future__ import annotations

import numpy as np

from . import trees
from .call import Call
from .registry import algorithm
from .schedule import SEND, WAIT_RECV, WAIT_SEND, Builder
from .splits import segment_elements, segment_sizes

__all__ = ["basic_linear", "binary_tree", "binomial", "chain", "knomial", "pipeline"]


@algorithm("bcast", 1, "basic_linear")
def basic_linear(b: Builder, call: Call) -> None:
    """Root posts a send to every other rank in rank order, then waits for all. 1 round, (n-1)S bytes."""
    others = np.delete(np.arange(call.ranks), call.root)
    ids = b.send(call.root, others, call.size_bytes)
    b.wait_send(ids)
    b.wait_recv(ids)


@algorithm("bcast", 2, "chain")
def chain(b: Builder, call: Call) -> None:
    """`fanout` chains (forced default 4, fixed decision 1)."""
    tree_bcast(b, call, trees.chain(call.ranks, _default(call.fanout, 4)))


@algorithm("bcast", 3, "pipeline")
def pipeline(b: Builder, call: Call) -> None:
    """One chain. n-1 rounds, plus one for each further segment."""
    tree_bcast(b, call, trees.chain(call.ranks, 1))


@algorithm("bcast", 5, "binary_tree")
def binary_tree(b: Builder, call: Call) -> None:
    """Level-order binary tree."""
    tree_bcast(b, call, trees.binary(call.ranks))


@algorithm("bcast", 6, "binomial")
def binomial(b: Builder, call: Call) -> None:
    """Binomial tree by highest bit. At most ceil(log2 n) rounds."""
    tree_bcast(b, call, trees.binomial_high(call.ranks))


@algorithm("bcast", 7, "knomial")
def knomial(b: Builder, call: Call) -> None:
    """k-nomial tree of radix 4 by default. ceil(log4 n) rounds."""
    tree_bcast(b, call, trees.knomial(call.ranks, _default(call.radix, 4)))


def tree_bcast(b: Builder, call: Call, edges: trees.Edges) -> None:
    """Segment by segment: wait for it from the parent, post it to all children, wait for these sends."""
    parents, children = (call.shifted(end) for end in edges)
    count = segment_elements(call.elements, call.element_bytes, call.segment_bytes)
    sizes = segment_sizes(call.elements, count) * call.element_bytes
    ids = b.add(parents, children, sizes[:, None])
    b.emit((WAIT_RECV, ids), (SEND, ids), (WAIT_SEND, ids))


def _default(value: int | None, otherwise: int) -> int:
    return max(value, 1) if value is not None else otherwise

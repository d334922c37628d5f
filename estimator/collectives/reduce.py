"""Reduce: linear and over trees; ids 1-6 and 8."""

from __future__ import annotations

import numpy as np

from . import trees
from .call import Call
from .registry import algorithm
from .schedule import BLOCKING, WAIT_RECV, Builder
from .splits import segment_elements, segment_sizes

__all__ = ["binary", "binomial", "chain", "in_order_binary", "knomial", "linear", "pipeline", "tree_reduce"]


@algorithm("reduce", 1, "linear")
def linear(b: Builder, call: Call) -> None:
    """Every other rank sends its whole buffer; the root receives from rank n-1 down to 0. 1 round."""
    others = np.delete(np.arange(call.ranks), call.root)[::-1]
    b.blocking(others, call.root, call.size_bytes)


@algorithm("reduce", 2, "chain")
def chain(b: Builder, call: Call) -> None:
    """`fanout` chains: forced default 4; the fixed decision passes 1, from 6.0 on 2."""
    fanout = 4 if call.fanout is None else max(call.fanout, 1)
    tree_reduce(b, call, _shifted(call, trees.chain(call.ranks, fanout)))


@algorithm("reduce", 3, "pipeline")
def pipeline(b: Builder, call: Call) -> None:
    """One chain. n-1 rounds, plus one for each further segment."""
    tree_reduce(b, call, _shifted(call, trees.chain(call.ranks, 1)))


@algorithm("reduce", 4, "binary")
def binary(b: Builder, call: Call) -> None:
    """Level-order binary tree."""
    tree_reduce(b, call, _shifted(call, trees.binary(call.ranks)))


@algorithm("reduce", 5, "binomial")
def binomial(b: Builder, call: Call) -> None:
    """Binomial tree by lowest bit. At most ceil(log2 n) rounds."""
    tree_reduce(b, call, _shifted(call, trees.binomial_low(call.ranks)))


@algorithm("reduce", 6, "in-order_binary")
def in_order_binary(b: Builder, call: Call) -> None:
    """In-order binary tree rooted at rank n-1, which then sends the result to the root."""
    tree_reduce(b, call, trees.in_order_binary(call.ranks))
    if call.root != call.ranks - 1:
        b.blocking(call.ranks - 1, [call.root], call.size_bytes)


@algorithm("reduce", 8, "knomial", since="6.0")
def knomial(b: Builder, call: Call) -> None:
    """k-nomial tree of radix 4 by default, never segmented. ceil(log4 n) rounds."""
    radix = call.radix or 4
    parents, children = _shifted(call, trees.knomial(call.ranks, radix))
    ids = b.add(children, parents, call.size_bytes)
    b.emit((WAIT_RECV, ids), (BLOCKING, ids))


def tree_reduce(b: Builder, call: Call, edges: trees.Edges) -> None:
    """Segment by segment: wait for it from each child in turn, then a blocking send to the parent."""
    parents, children = edges
    count = segment_elements(call.elements, call.element_bytes, call.segment_bytes)
    sizes = segment_sizes(call.elements, count) * call.element_bytes
    ids = b.add(children, parents, sizes[:, None])
    b.emit((WAIT_RECV, ids), (BLOCKING, ids))


def _shifted(call: Call, edges: trees.Edges) -> trees.Edges:
    return call.shifted(edges[0]), call.shifted(edges[1])

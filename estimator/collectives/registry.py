"""The catalogue of algorithms: what Open MPI calls them, since when they exist, and who builds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .call import VERSIONS, Call
from .schedule import Builder

__all__ = ["CATALOGUE", "Algorithm", "Fallback", "UnknownAlgorithm", "algorithm", "find"]


class UnknownAlgorithm(ValueError):  # noqa: N818 - reads as the thing that was asked for
    """An algorithm was asked for that the operation does not have in this version."""


@dataclass(frozen=True)
class Fallback:
    """Another algorithm of the same operation that runs instead, and why.

    `changes` replaces fields of the call.
    """

    name: str
    why: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of a collective operation.

    Attributes
    ----------
    op : collective operation
    id : number in Open MPI's `coll_tuned_<op>_algorithm` parameter
    name : Open MPI's name
    since : first version that has it
    build : writes the messages of a call into a builder
    otherwise : tells which algorithm Open MPI runs instead for a call, None if this one
    """

    op: str
    id: int
    name: str
    since: str
    build: Callable[[Builder, Call], None]
    otherwise: Callable[[Call], Fallback | None]

    @property
    def versions(self) -> tuple[str, ...]:
        """Known Open MPI versions that have it."""
        return tuple(name for name, number in VERSIONS.items() if number >= VERSIONS[self.since])


CATALOGUE: dict[str, dict[int, Algorithm]] = {}
"""Operation to algorithms by id, filled as the algorithm modules are imported."""

_SYNONYMS = {
    "linear": ("basic_linear", "linear", "basic_default", "linear_nb"),
    "basic_linear": ("basic_linear", "linear"),
    "basic": ("basic_linear", "linear", "basic_default"),
    "gather_bcast": ("linear", "basic_default"),
    "recursivedoubling": ("recursive_doubling",),
    "doubling": ("recursive_doubling",),
    "halving": ("recursive_halving",),
    "bruck": ("bruck", "modified_bruck"),
    "k_bruck": ("bruck",),
    "dissemination": ("bruck",),
    "binary": ("binary", "binary_tree"),
    "binary_tree": ("binary_tree", "binary"),
    "split_binary": ("split_binary_tree",),
    "splitbinary": ("split_binary_tree",),
    "in_order_binary_tree": ("in_order_binary",),
    "binomial_tree": ("binomial",),
    "k_nomial": ("knomial",),
    "pairwise_exchange": ("pairwise",),
    "neighbor_exchange": ("neighbor",),
    "neighbour": ("neighbor",),
    "neighbour_exchange": ("neighbor",),
    "redscat_allgather": ("rabenseifner",),
    "reduce_bcast": ("nonoverlapping",),
    "non_overlapping": ("non_overlapping", "nonoverlapping"),
    "nonoverlapping": ("nonoverlapping", "non_overlapping"),
    "nonblocking": ("linear_nb",),
    "segmentedring": ("segmented_ring",),
    "ring_segmented": ("segmented_ring",),
    "direct": ("direct_messaging",),
    "van_de_geijn": ("scatter_allgather",),
}


def algorithm(
    op: str,
    ident: int,
    name: str,
    *,
    since: str = "4.1",
    otherwise: Callable[[Call], Fallback | None] = lambda _call: None,
) -> Callable[[Callable[[Builder, Call], None]], Callable[[Builder, Call], None]]:
    """Enter the decorated builder function into the catalogue."""

    def enter(build: Callable[[Builder, Call], None]) -> Callable[[Builder, Call], None]:
        CATALOGUE.setdefault(op, {})[ident] = Algorithm(op, ident, name, since, build, otherwise)
        return build

    return enter


def find(op: str, wanted: str | int, version: tuple[int, int]) -> Algorithm:
    """Look an algorithm up by id, id as text, name (`-` and `_` alike) or common synonym.

    Raises
    ------
    UnknownAlgorithm
        If the operation has no such algorithm in this version; the message lists those it has.
    """
    known = {ident: entry for ident, entry in CATALOGUE[op].items() if VERSIONS[entry.since] <= version}
    text = str(wanted).strip().lower()
    if text.isdecimal():
        if int(text) in known:
            return known[int(text)]
    else:
        by_name = {_plain(entry.name): entry for entry in known.values()}
        plain = _plain(text)
        for candidate in (plain, *_SYNONYMS.get(plain, ())):
            if candidate in by_name:
                return by_name[candidate]
    listing = ", ".join(f"{ident} {entry.name}" for ident, entry in sorted(known.items()))
    newer = _newer(op, text, version)
    raise UnknownAlgorithm(f"{op} has no algorithm {wanted!r}{newer}: known are {listing}")


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def _newer(op: str, text: str, version: tuple[int, int]) -> str:
    for ident, entry in CATALOGUE[op].items():
        if VERSIONS[entry.since] > version and text in (str(ident), entry.name, _plain(entry.name)):
            return f" in Open MPI {version[0]}.{version[1]} (it came with {entry.since})"
    return ""

"""The fixed decision: tables, limits, reasons."""

from __future__ import annotations

import json

import pytest
from collectives_data import DATA, NEEDS_DATA

from estimator.collectives import ALGORITHMS, CallError, decide
from estimator.collectives.decision_tables import TABLES


@NEEDS_DATA
@pytest.mark.parametrize("version", ["4.1", "main"])
def test_tables_equal_the_reference(version: str) -> None:
    reference = json.loads((DATA / "decisions.json").read_text())[version]
    shipped: dict[str, dict[str, list]] = {}
    for (op, variant), rows in TABLES.items():
        if version == "main" or not op.endswith("_disjoint"):
            listed = [[ranks, [list(rule) for rule in rules]] for ranks, rules in rows]
            shipped.setdefault(op, {})[variant] = listed
    assert shipped == reference


@pytest.mark.parametrize("key", sorted(TABLES))
def test_tables_ascend_and_end_without_limit(key: tuple[str, str]) -> None:
    known = {entry.id for entry in ALGORITHMS[key[0].removesuffix("_disjoint")]}
    limits = [ranks for ranks, _ in TABLES[key]]
    assert limits[-1] is None
    assert limits[:-1] == sorted(limits[:-1])
    for _, rules in TABLES[key]:
        sizes = [size for size, _ in rules]
        assert sizes[-1] is None
        assert sizes[:-1] == sorted(set(sizes[:-1]))
        assert {ident for _, ident in rules} <= known


@pytest.mark.parametrize(
    ("op", "ranks", "size", "ident"),
    [
        ("bcast", 16, (1 << 20) - 1, 6),
        ("bcast", 16, 1 << 20, 8),
        ("bcast", 15, 1 << 20, 1),
        ("allreduce", 4, 15, 4),
        ("allreduce", 4, 16, 3),
        ("allgather", 2, 1, 6),
        ("alltoallv", 64, 0, 2),
        ("barrier", 300, 0, 6),
        ("scan", 300, 9, 1),
        ("gatherv", 300, 9, 1),
    ],
)
def test_limits_are_exclusive(op: str, ranks: int, size: int, ident: int) -> None:
    assert decide(op, ranks, size).id == ident


def test_noncommutative_operations_have_their_own_tables() -> None:
    assert decide("reduce", 16, 1 << 20).id == 5
    assert decide("reduce", 16, 1 << 20, commutative=False).id == 6


def test_disjoint_tables_are_on_main_only() -> None:
    assert decide("bcast", 8, 1 << 20, version="main", disjoint=True).algorithm == "binary_tree"
    assert decide("bcast", 8, 1 << 20, version="6.0", disjoint=True).algorithm == "basic_linear"
    assert decide("gather", 8, 1 << 20, version="main", disjoint=True) == decide("gather", 8, 1 << 20, version="main")


def test_reason_names_the_rule() -> None:
    assert decide("bcast", 20, 3 << 20).reason == (
        "Open MPI 4.1/5.0 fixed decision: 16–31 ranks, 1 MiB and more → 8 scatter_allgather"
    )
    assert decide("bcast", 20, 5000, version="main").reason == (
        "Open MPI 6.0/main fixed decision: 16–31 ranks, 4 KiB to below 1 MiB → 6 binomial"
    )
    assert decide("bcast", 100, 0).reason.endswith("64–127 ranks, any size → 7 knomial")
    assert decide("barrier", 5000, 0).reason.endswith("4096 ranks and more → 4 bruck")
    assert "1 rank " in decide("allgather", 1, 8).reason


@pytest.mark.parametrize(
    ("op", "ranks", "size", "version"),
    [("bcats", 4, 8, "5.0"), ("bcast", 4, 8, "4.0"), ("bcast", 0, 8, "5.0"), ("bcast", 4, -1, "5.0")],
)
def test_impossible_questions_are_refused(op: str, ranks: int, size: int, version: str) -> None:
    with pytest.raises(CallError):
        decide(op, ranks, size, version=version)

"""The entry point: names, versions, fallbacks, refusals."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from estimator.collectives import (
    ALGORITHMS,
    OPERATIONS,
    CallError,
    ScheduleError,
    UnknownAlgorithm,
    expand,
    expand_call,
)
from estimator.collectives.schedule import Builder


def test_every_operation_has_algorithms() -> None:
    assert set(ALGORITHMS) == set(OPERATIONS)
    for entries in ALGORITHMS.values():
        assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))


@pytest.mark.parametrize(
    ("op", "wanted", "ident"),
    [
        ("bcast", 6, 6),
        ("bcast", "6", 6),
        ("bcast", "linear", 1),
        ("bcast", "Split-Binary-Tree", 4),
        ("bcast", "binary", 5),
        ("reduce", "in_order_binary", 6),
        ("allreduce", "recursive-doubling", 3),
        ("allreduce", "reduce_bcast", 2),
        ("allgather", "neighbor_exchange", 5),
        ("allgather", "direct_messaging", 8),
        ("allgatherv", "linear", 1),
        ("alltoall", "bruck", 3),
        ("alltoallv", "linear", 1),
        ("scatter", "linear", 1),
        ("reduce_scatter", "nonoverlapping", 1),
    ],
)
def test_names_ids_and_synonyms(op: str, wanted: str | int, ident: int) -> None:
    assert expand_call(op, wanted, 4, sizes=4096, version="main").id == ident


def test_unknown_algorithm_lists_the_known_ones() -> None:
    with pytest.raises(UnknownAlgorithm, match=r"no algorithm 'foo': known are 1 linear, 2 recursive_doubl"):
        expand("scan", "foo", 4, sizes=8)
    with pytest.raises(UnknownAlgorithm, match=r"in Open MPI 4\.1 \(it came with 5\.0\)"):
        expand("allgather", "sparbit", 4, sizes=8, version="4.1")
    with pytest.raises(UnknownAlgorithm):
        expand("reduce", 8, 4, sizes=8, version="5.0.11")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"op": "bcats"}, "unknown collective"),
        ({"ranks": 0}, "0 ranks"),
        ({"root": 4}, "root 4"),
        ({"sizes": -1}, "negative size -1"),
        ({"sizes": 2.5}, "whole numbers"),
        ({"sizes": [1, 2, 3, 4]}, "v-variant"),
        ({"op": "allgatherv", "sizes": [1, 2, 3]}, r"shape \(3,\) for 4 ranks"),
        ({"op": "alltoallv", "sizes": [[1, 2], [3, 4]]}, r"shape \(2, 2\) for 4 ranks"),
        ({"sizes": 10, "element_bytes": 4}, "10 bytes are no multiple of the element size 4"),
        ({"element_bytes": 0}, "element_bytes is 0"),
        ({"radix": 1}, "radix is 1"),
        ({"version": "3.1"}, "unknown Open MPI version"),
        ({"op": "allgather", "algorithm": "two_proc"}, "needs 2 ranks, got 4"),
        ({"op": "barrier", "algorithm": "two_proc"}, "needs 2 ranks, got 4"),
        ({"op": "alltoall", "algorithm": "two_proc"}, "needs 2 ranks, got 4"),
    ],
)
def test_impossible_calls_are_refused(arguments: dict, said: str) -> None:
    call = {"op": "bcast", "algorithm": 1, "ranks": 4, "sizes": 8} | arguments
    with pytest.raises(CallError, match=said):
        expand(**call)


@pytest.mark.parametrize(
    ("op", "asked", "ran", "options"),
    [
        ("allreduce", "ring", "recursive_doubling", {"ranks": 8, "sizes": 12, "element_bytes": 4}),
        ("allreduce", "segmented_ring", "recursive_doubling", {"ranks": 8, "sizes": 12, "element_bytes": 4}),
        ("allreduce", "segmented_ring", "ring", {"ranks": 8, "sizes": 4096}),
        ("allreduce", "rabenseifner", "basic_linear", {"ranks": 8, "sizes": 4}),
        ("allreduce", "rabenseifner", "rabenseifner", {"ranks": 8, "sizes": 4, "version": "main"}),
        ("reduce", "rabenseifner", "linear", {"ranks": 8, "sizes": 4, "version": "main"}),
        ("reduce", "rabenseifner", "linear", {"ranks": 8, "sizes": 4096, "commutative": False}),
        ("bcast", "scatter_allgather", "basic_linear", {"ranks": 8, "sizes": 4}),
        ("bcast", "split_binary_tree", "pipeline", {"ranks": 8, "sizes": 1}),
        ("bcast", "split_binary_tree", "pipeline", {"ranks": 8, "sizes": 99, "segment_bytes": 64}),
        ("allgather", "recursive_doubling", "bruck", {"ranks": 6, "sizes": 8}),
        ("allgatherv", "neighbor", "ring", {"ranks": 7, "sizes": 8}),
    ],
)
def test_fallbacks(op: str, asked: str, ran: str, options: dict) -> None:
    made = expand_call(op, asked, **options)
    assert made.algorithm == ran
    assert ("asked, but" in made.reason) == (asked != ran)


def test_reason_tells_the_fallback_and_what_ran_inside() -> None:
    made = expand_call("allreduce", "ring", 8, sizes=12, element_bytes=4)
    assert made.reason == ("ring (4) asked for; ring asked, but 3 elements < 8 ranks: recursive_doubling ran")
    made = expand_call("allreduce", "nonoverlapping", 32, sizes=4096)
    assert made.reason.endswith("reduce inside by 5 binomial; bcast inside by 7 knomial")


def test_default_is_the_fixed_decision() -> None:
    made = expand_call("bcast", "default", 20, sizes=1 << 20)
    assert (made.algorithm, made.id) == ("scatter_allgather", 8)
    assert made.reason.startswith("Open MPI 4.1/5.0 fixed decision")
    assert made.bytes == made.schedule.payload_bytes


def test_default_chain_has_one_chain_before_6_and_two_after() -> None:
    assert expand("reduce", "default", 4, sizes=1 << 14).rounds == 3
    assert expand("reduce", "default", 4, sizes=1 << 14, version="6.0").rounds == 2


@pytest.mark.parametrize("op", [op for op in OPERATIONS if op != "barrier"])
@pytest.mark.parametrize("version", ["4.1", "5.0", "main"])
def test_empty_calls_send_nothing(op: str, version: str) -> None:
    for entry in ALGORITHMS[op]:
        if version in entry.versions:
            ranks = 2 if entry.name == "two_proc" else 6
            sent = expand(op, entry.id, ranks, sizes=0, version=version).messages
            # 4.1 sends the empty parts of an alltoallv.
            assert sent == (30 if (op, version) == ("alltoallv", "4.1") else 0)


@pytest.mark.parametrize("op", OPERATIONS)
def test_a_single_rank_sends_nothing(op: str) -> None:
    made = expand_call(op, "default", 1, sizes=64)
    assert made.schedule.messages == 0
    assert made.schedule.op_ptr.tolist() == [0, 0]
    assert "single rank" in made.reason


def test_totals_of_alltoallv_are_split_early_late() -> None:
    schedule = expand("alltoallv", "basic_linear", 3, sizes=[7, 0, 5], version="5.0")
    sent = dict(zip(zip(schedule.src.tolist(), schedule.dst.tolist(), strict=True), schedule.size_bytes, strict=True))
    assert sent == {(0, 1): 2, (0, 2): 2, (2, 0): 2, (2, 1): 2}


def test_deadlock_is_reported() -> None:
    builder = Builder(2)
    ids = builder.add([0, 1], [1, 0], 8)
    builder.wait_recv(ids)
    builder.send([0], [1], 8)
    with pytest.raises(ScheduleError, match="deadlock: 0 of 3"):
        builder.finish()


def test_builder_keeps_the_order_of_calls_and_elements() -> None:
    builder = Builder(3)
    first = builder.send(0, [2, 1], 5)
    builder.wait_send(first)
    builder.wait_recv(first)
    schedule = builder.finish()
    assert schedule.program(0).tolist() == [0, 4, 1, 5]
    assert schedule.program(1).tolist() == [6]
    assert schedule.program(2).tolist() == [2]
    assert schedule.size_bytes.tolist() == [5, 5]
    assert not schedule.ops.flags.writeable


def test_import_does_not_load_the_compiler() -> None:
    code = (
        "import sys, estimator.collectives as c; c.decide('bcast', 4, 8);"
        "assert 'numba' not in sys.modules; c.expand('bcast', 1, 4, sizes=8); assert 'numba' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_large_schedules_are_whole_arrays() -> None:
    schedule = expand("alltoall", "linear", 300, sizes=8)
    assert schedule.messages == 300 * 299
    assert np.bincount(schedule.dst).tolist() == [299] * 300
    assert schedule.nbytes < 50 * schedule.messages

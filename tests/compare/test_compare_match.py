"""Which collective is which: by id, by sequence, or without a counterpart."""

from __future__ import annotations

from compare_shared import collective, compared, result
from hypothesis import given, settings
from hypothesis import strategies as st


def rows(*sizes: int, first_id: int = 0, **changes: object) -> list[dict]:
    """Calls one after the other, with latencies that tell them apart."""
    return [
        collective(f"G{first_id + i}", 1e-3 * (1 + i), start_s=float(i), bytes=size, **changes)
        for i, size in enumerate(sizes)
    ]


def pairs(base: list[dict], new: list[dict]) -> list[tuple[str, str]]:
    return [(row["base_id"], row["id"]) for row in compared(result(base), result(new))["collectives"]]


def test_ids_decide_where_they_have_stayed() -> None:
    base = rows(8, 8, 8)
    assert pairs(base, base[::-1]) == [("G2", "G2"), ("G1", "G1"), ("G0", "G0")]


def test_a_call_that_came_in_moves_the_ids_of_the_others() -> None:
    base, new = rows(8, 16, 8, 32), rows(64, 8, 16, 8, 32)
    found = compared(result(base), result(new))
    assert pairs(base, new) == [("G0", "G1"), ("G1", "G2"), ("G2", "G3"), ("G3", "G4")]
    assert [row["id"] for row in found["appeared"]] == ["G0"]
    assert found["vanished"] == []
    assert {row["matched_by"] for row in found["collectives"]} == {"sequence"}
    assert "ids-moved" in {row["code"] for row in found["warnings"]}


def test_a_call_that_fell_out_vanishes() -> None:
    found = compared(result(rows(8, 16, 32)), result([*rows(8), *rows(32, first_id=1)]))
    assert [row["id"] for row in found["vanished"]] == ["G1"]
    assert [(row["base_id"], row["id"]) for row in found["collectives"]] == [("G0", "G0"), ("G2", "G1")]


def test_other_bytes_under_the_same_id_are_compared_and_said() -> None:
    found = compared(result(rows(8, 16)), result(rows(8, 17)))
    assert found["collectives"][1]["call_changes"] == {"bytes": {"base": 16, "new": 17}}
    assert "calls-changed" in {row["code"] for row in found["warnings"]}


def test_another_operation_under_the_same_id_is_another_call() -> None:
    found = compared(result(rows(8)), result(rows(8, op="alltoall")))
    assert (len(found["collectives"]), len(found["appeared"]), len(found["vanished"])) == (0, 1, 1)


def test_a_few_equal_ids_of_unlike_programs_are_chance() -> None:
    base, new = rows(*[8] * 20), rows(*[16] * 4, ranks=27)
    assert pairs(base, new) == []
    assert len(pairs(base[:4], new)) == 4


def test_communicators_of_other_names_are_matched_by_sequence() -> None:
    base, new = rows(8, 16, communicator="C1"), rows(8, 16, communicator="C7", first_id=50)
    assert pairs(base, new) == [("G0", "G50"), ("G1", "G51")]


def test_traces_are_kept_apart() -> None:
    base = [collective("0:G0", trace=0), collective("1:G0", trace=1)]
    new = [collective("0:G5", trace=0), collective("1:G6", trace=1)]
    assert pairs(base, new) == [("0:G0", "0:G5"), ("1:G0", "1:G6")]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([8, 16, 1024]), min_size=1, max_size=25), st.randoms(use_true_random=False))
def test_permuted_ids_change_nothing(sizes: list[int], random) -> None:
    base = rows(*sizes)
    names = [row["id"] for row in base]
    random.shuffle(names)
    new = [row | {"id": name} for row, name in zip(base, names, strict=True)]
    found = compared(result(base), result(new))
    assert found["comparison"]["verdict"] == "passed"
    assert found["comparison"]["same"] == len(sizes)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([8, 16, 1024]), min_size=1, max_size=25), st.randoms(use_true_random=False))
def test_rows_in_another_order_change_nothing(sizes: list[int], random) -> None:
    base = rows(*sizes)
    new = list(base)
    random.shuffle(new)
    found = compared(result(base), result(new))
    assert found["comparison"]["verdict"] == "passed"
    assert found["comparison"]["same"] == len(sizes)

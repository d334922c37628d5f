"""Schedules against reference schedules that were verified by moving data."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from collectives_data import NEEDS_DATA, cases, expand_case, load

from estimator.collectives import SEND, WAIT_RECV, Schedule


def golden_version(case: dict[str, Any]) -> str:
    return "4.1" if case["collective"] == "alltoallv" else "main"


def dependencies(schedule: Schedule) -> list[list[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """Per rank and send: messages received, sends completed since the previous group of sends."""
    out = []
    for rank in range(schedule.ranks):
        sends, received, sent = [], [], []
        grouped = True
        for code in schedule.program(rank).tolist():
            message, kind = code >> 2, code & 3
            if kind == SEND:
                if not grouped:
                    group = (tuple(received), tuple(sent))
                    received, sent, grouped = [], [], True
                elif not sends:
                    group = ((), ())
                sends.append((message, *group))
            else:
                (received if kind == WAIT_RECV else sent).append(message)
                grouped = False
        out.append(sends)
    return out


@NEEDS_DATA
@pytest.mark.parametrize("group", sorted(cases("golden")))
def test_messages_equal_the_reference(group: str) -> None:
    wrong = []
    for path in cases("golden")[group]:
        case = load(path)
        made = expand_case(case, golden_version(case)).schedule
        columns = (made.round, made.src, made.dst, made.size_bytes)
        mine = Counter(zip(*(column.tolist() for column in columns), strict=True))
        theirs = Counter((m["round"], m["src"], m["dst"], m["bytes"]) for m in case["messages"])
        if mine != theirs or made.rounds != case["rounds"]:
            wrong.append((path.name, sorted((mine - theirs).items()), sorted((theirs - mine).items())))
    assert not wrong


@NEEDS_DATA
@pytest.mark.parametrize("group", sorted(cases("golden")))
def test_dependencies_equal_the_reference(group: str) -> None:
    wrong = []
    for path in cases("golden")[group]:
        case = load(path)
        made = expand_case(case, golden_version(case)).schedule
        by_id = sorted(case["messages"], key=lambda m: m["id"])
        same: dict[int, int] = {}
        for rank, sends in enumerate(dependencies(made)):
            theirs = [m for m in by_id if m["src"] == rank]
            same |= {mine[0]: m["id"] for mine, m in zip(sends, theirs, strict=True)}
        for sends in dependencies(made):
            for message, received, sent in sends:
                reference = by_id[same[message]]
                facts = (
                    int(made.dst[message]),
                    int(made.size_bytes[message]),
                    sorted(same[m] for m in received),
                    sorted(same[m] for m in sent),
                )
                expected = (
                    reference["dst"],
                    reference["bytes"],
                    sorted(reference["after_recv"]),
                    sorted(reference["after_send"]),
                )
                if facts != expected:
                    wrong.append((path.name, message, facts, expected))
    assert not wrong

"""Every malformed or odd reference file gets the verdict of the list beside it."""

import pytest
from vef_shared import TRACES, entries

from vef import PSEUDO, check_trace, find_stuck, ideal_replay

# Where the format leaves a choice, ours.
REJECTED = {"d20-huge-time.vef", "d53-decimal-time.vef"}


@pytest.mark.parametrize("case", entries("bad/expected.json", "cases"))
def test_verdict(case):
    trace, problems = check_trace(TRACES / "bad" / case["file"])
    verdict = case["verdict"]
    if trace is not None and verdict in ("stuck", "reject"):
        problems = find_stuck(trace)
        assert problems, "read without a complaint, and it can be played"
        assert verdict == "stuck" or case.get("also") == "stuck"
    if verdict == "choice":
        verdict = "reject" if case["file"] in REJECTED else "accept"
    if verdict == "accept":
        assert trace is not None, problems
        assert_content(trace, case)
    else:
        fatal = [problem for problem in problems if problem.fatal]
        assert fatal
        if "line" in case:
            assert case["line"] in [problem.line for problem in fatal]
    if case["verdict"] == "choice" and "line" in case:
        assert case["line"] in [problem.line for problem in problems]


def assert_content(trace, case):
    header = trace.header
    assert len(trace) == case.get("records", len(trace))
    assert header.p2p_records == case.get("p2p", header.p2p_records)
    assert len(trace.collectives) == case.get("global_collectives", len(trace.collectives))
    assert len(trace.collectives.rows) == case.get("local_collectives", len(trace.collectives.rows))
    pseudo = int((trace.kind == PSEUDO).sum())
    assert pseudo == case.get("p2p_pseudo", pseudo)
    if "ideal_makespan_ns" in case:
        assert ideal_replay(trace).makespan_ticks == case["ideal_makespan_ns"]


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("d03-header-count-mismatch.vef", ["4", "7"]),
        ("d04-unknown-op.vef", ["9", "0 to 7"]),
        ("d12-duplicate-message-id.vef", ["11", "line 6"]),
        ("d02-truncated-in-a-line.vef", ["6 fields", "9 fields"]),
        ("d22-collective-op-differs.vef", ["G0", "allreduce", "barrier"]),
        ("d31-two-roots.vef", ["G1", "task 0", "task 1"]),
        ("d48-duplicate-collective-record.vef", ["G0", "task 2", ":10:"]),
        ("d21-collective-missing-member.vef", ["G0", "task 2"]),
        ("p03-dep-on-pseudo.vef", ["record 3", "pseudo"]),
        ("p11-p2p-count-without-pseudo.vef", ["9 p2p", "3,"]),
    ],
)
def test_the_message_names_what_disagrees(file, words):
    path = TRACES / "bad" / file
    if not path.exists():
        pytest.skip(f"no reference traces at {TRACES}; set CONGEST_SHARED")
    trace, problems = check_trace(path)
    assert trace is None
    text = "\n".join(problem.render(file) for problem in problems)
    for word in words:
        assert word in text

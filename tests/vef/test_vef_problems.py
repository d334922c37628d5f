"""One run names every problem, with its line and what was expected."""

import pytest
from vef_shared import BASE

from vef import InvalidTrace, Problem, check_trace, read_trace
from vef.problems import MAX_PROBLEMS, MAX_WARNINGS


def check(tmp_path, text):
    path = tmp_path / "trace.vef"
    path.write_text(text)
    return check_trace(path)


def changed(*changes):
    text = BASE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize(
    ("old", "new", "line", "code"),
    [
        ("0 0 1 1024", "0 4 1 1024", 4, "rank-range"),
        ("0 0 1 1024", "x 0 1 1024", 4, "unknown-line"),
        ("0 0 1 1024", "-1 0 1 1024", 4, "out-of-range"),
        ("0 0 1 1024", "0x 0 1 1024", 4, "not-integer"),
        ("1024 0 1000 -1", "1024 8 1000 -1", 4, "out-of-range"),
        ("1024 0 1000 -1", "1024 0 -1 -1", 4, "out-of-range"),
        ("1024 0 1000 -1", "99999999999999999999 0 1000 -1", 4, "overflow"),
        ("1024 0 1000 -1", "1024 0 99999999999999999999 -1", 4, "overflow"),
        ("1024 0 1000 -1", "1024 1 1000 -1", 4, "dep-id"),
        ("1024 0 1000 -1", "1024 1 1000 G0", 4, "dep-id"),
        ("1024 0 1000 -1", "1024 3 1000 x", 4, "dep-id"),
        ("1024 0 1000 -1", "1024 1 1000 9", 4, "dep-unknown"),
        ("1024 0 1000 -1", "1024 3 1000 G9", 4, "dep-unknown"),
        ("1024 0 1000 -1", "1024 2 1000 3", 4, "dep-not-receiver"),
        ("1024 0 1000 -1", "1024 1 1000 1", 4, "dep-not-sender"),
        ("1024 0 1000 -1", "1024 0 1000 -1 5", 4, "field-count"),
        ("G0 0 6 0", "G0 7 6 0", 7, "unknown-communicator"),
        ("G0 0 6 0", "G0 1 6 0", 7, "collective-communicator"),
        ("G0 0 6 0", "Gx 0 6 0", 7, "not-integer"),
        ("G0 0 6 0", "G0 Cx 6 0", 7, "not-integer"),
        ("G0 0 6 0", "H0 0 6 0", 7, "unknown-line"),
        ("G1 1 0 0 512 0", "G1 1 0 0 0 0", 12, "collective-root"),
        ("G1 1 0 1 0 512 3 50 G0\n", "", 12, "collective-missing"),
        ("G1 1 0 0 512 0", "G1 1 7 0 512 2", 12, "alltoall-recv"),
        ("C0 0 1 2 3", "C0 0 1 2", 2, "communicator-c0"),
        ("C0 0 1 2 3", "C0 0 1 2 2", 2, "communicator-twice"),
        ("C0 0 1 2 3", "C0 0 1 2 4", 2, "rank-range"),
        ("C0 0 1 2 3", "C0 0 1 2 x", 2, "not-integer"),
        ("C1 0 1", "C0 0 1 2 3", 3, "communicator-duplicate"),
        ("C1 0 1", "Cx 0 1", 3, "communicator-id"),
        ("C0 0 1 2 3\nC1 0 1\n", "", 2, "communicator-no-c0"),
        ("VEF3 4 4 2 2 6", "VEF3 4 4 3 2 6", 1, "header-count"),
        ("VEF3 4 4 2 2 6", "VEF3 4 4 2 3 6", 1, "header-count"),
        ("VEF3 4 4 2 2 6", "VEF3 4 4 2 2 7", 1, "header-count"),
        ("VEF3 4 4 2 2 6", "VEF3 0 4 2 2 6", 1, "header-number"),
        ("VEF3 4 4 2 2 6", "VEF3 four 4 2 2 6", 1, "header-number"),
        ("VEF3 4 4 2 2 6", "VEF3 4 -4 2 2 6", 1, "header-number"),
        ("6 FALSE", "6 MAYBE", 1, "header-flag"),
        ("6 FALSE", "6 0 -5", 1, "header-clock"),
        ("6 FALSE", "6 0 1000 5", 1, "header-fields"),
    ],
)
def test_problem_at_its_line(tmp_path, old, new, line, code):
    trace, problems = check(tmp_path, changed((old, new)))
    assert trace is None
    assert (line, code) in [(problem.line, problem.code) for problem in problems if problem.fatal]


def test_all_problems_of_one_file(tmp_path):
    text = changed(
        ("VEF3 4 4", "VEF3 4 5"),
        ("1 1 2 2048", "1 1 2 -2048"),
        ("2 2 3 4096", "2 2 9 4096"),
        ("G0 0 6 1 ", "G0 0 9 1 "),
        ("3 0 3 64 3 200 G0", "3 0 3 64 3 200 G7"),
        ("G1 1 0 1 0 512", "G1 1 0 1 512 0"),
    )
    _, problems = check(tmp_path, text)
    assert [(problem.line, problem.code) for problem in problems] == [
        (1, "header-count"),
        (5, "out-of-range"),
        (6, "rank-range"),
        (8, "out-of-range"),
        (11, "dep-unknown"),
        (13, "collective-roots"),
    ]


def test_a_line_that_cannot_be_read_is_reported_once(tmp_path):
    # Messages 1 and G0 are referred to from other lines, which are not to blame.
    _, problems = check(tmp_path, changed(("1 1 2 2048", "1 1 2 2k"), ("G0 0 6 3 0", "G0 0 6 3 x")))
    assert [problem.line for problem in problems] == [5, 10]


def test_many_problems_are_counted(tmp_path):
    records = "".join(f"{i} 0 1 8 1 5 {10**6 + i}\n" for i in range(3000))
    _, problems = check(tmp_path, f"VEF3 2 3000 1 0 0 FALSE\nC0 0 1\n{records}")
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1].found == "2000 more problems"


def test_nonsense_after_a_header_stops_early(tmp_path):
    _, problems = check(tmp_path, "VEF3 2 3000 1 0 0 FALSE\nC0 0 1\n" + "nonsense\n" * 5000)
    assert len(problems) <= MAX_PROBLEMS + 1
    assert any(problem.code in ("stopped", "more") for problem in problems)


def test_warnings_of_one_kind_are_counted(tmp_path):
    records = "".join(f"{i} 0 1 8 0 0{i % 10} -1\n" for i in range(100))
    trace, problems = check(tmp_path, f"VEF3 2 100 1 0 0 FALSE\nC0 0 1\n{records}")
    assert trace.time.tolist() == [i % 10 for i in range(100)]
    assert len(problems) == len(trace.warnings) == MAX_WARNINGS + 1
    assert problems[-1].found == "80 more warnings of this kind (number-form)"


def test_a_header_that_promises_too_much_costs_no_memory(tmp_path):
    _, problems = check(tmp_path, "VEF3 2147483647 2147483647 1 0 0 FALSE\nC0 0 1\n0 0 2147483646 8 0 5 -1\n")
    assert {problem.code for problem in problems} == {"header-count", "communicator-c0"}


def test_times_that_no_clock_can_count(tmp_path):
    huge = 2**62
    text = changed((" 500 0", f" {huge} 0"), (" 500 1", f" {huge + 1} 1"))
    _, problems = check(tmp_path, text)
    assert [(problem.line, problem.code) for problem in problems] == [(6, "time-overflow")]


def test_rendering():
    problem = Problem(7, "code", "one", "two", "do this")
    assert problem.render("a.vef") == "a.vef:7: found one; expected two; do this"
    assert str(Problem(None, "code", "one", "two")) == "found one; expected two"


def test_exception_carries_the_problems(tmp_path):
    path = tmp_path / "trace.vef"
    path.write_text(changed(("1 1 2 2048", "1 1 2 -1"), ("2 2 3 4096", "2 2 9 4096")))
    with pytest.raises(InvalidTrace) as caught:
        read_trace(path)
    assert [problem.line for problem in caught.value.problems] == [5, 6]
    assert str(caught.value).count(str(path)) == 2

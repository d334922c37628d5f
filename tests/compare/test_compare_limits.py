"""Limits on growth: what they say, and from where on they are exceeded."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.compare import DEFAULT_LIMITS, parse_limits
from estimator.output.gates import GateError


def exceeded(text: str, base: float, new: float) -> bool:
    (limit,) = parse_limits([text])
    return limit.exceeded(base, new)


@pytest.mark.parametrize(
    ("text", "base", "new", "expected"),
    [
        ("latency>5%,abs>1us", 100e-6, 106e-6, True),
        ("latency>5%,abs>1us", 10e-6, 10.9e-6, False),  # 9 %, but 0.9 us
        ("latency>5%,abs>1us", 1e-3, 1.04e-3, False),  # 40 us, but 4 %
        ("latency>5%,abs>1us", 0.0, 2e-6, True),
        ("latency>5%,abs>1us", 0.0, 0.5e-6, False),
        ("latency>5%,abs>1us", 0.0, 0.0, False),
        ("latency>5%", 1e-3, 1.05e-3, False),  # on the limit
        ("latency>=5%", 1e-3, 1.05e-3, True),
        ("latency>5%", 5e-324, 1e-323, True),
        ("latency>1us", 1.0, 1.000002, True),
        ("latency>0%", 0.3, 0.1 + 0.2, False),  # rounding
        ("latency > 5 % and abs > 1us", 100e-6, 106e-6, True),
        ("latency>5% and latency>1us", 10e-6, 10.9e-6, False),
        ("latency>1us,rel>5%", 10e-6, 10.9e-6, False),
        ("g5>0", 3, 4, True),
        ("g5>0", 4, 3, False),
        ("g5>50%", 4, 6, False),
        ("max_rho>0.1", 0.5, 0.7, True),
        ("rho>10%", 0.5, 0.54, False),
        ("makespan_s>2ms", 1.0, 1.003, True),
    ],
)
def test_growth_beyond_a_limit(text: str, base: float, new: float, expected: bool) -> None:
    assert exceeded(text, base, new) is expected


def test_commas_separate_limits_except_before_abs() -> None:
    limits = parse_limits(["latency>5%,abs>1us,makespan>2%,abs>1ms and rel>3%", "g5>0"])
    assert [(limit.text, limit.quantity, len(limit.conditions)) for limit in limits] == [
        ("latency>5%,abs>1us", "latency", 2),
        ("makespan>2%,abs>1ms,rel>3%", "makespan", 3),
        ("g5>0", "g5", 1),
    ]
    assert not any(limit.default for limit in limits)


def test_without_any_the_defaults_hold_and_say_so() -> None:
    limits = parse_limits([])
    assert [limit.text for limit in limits] == list(DEFAULT_LIMITS)
    assert all(limit.default for limit in limits)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("latency", "found 'latency'"),
        ("", "found ''"),
        ("latency>5%,", "found ''"),
        ("abs>1us", "without a quantity"),
        ("latency>5", "a share such as 5%, or a time such as 10us"),
        ("latency<5%", "found '<'"),
        ("latenzy>5%", "did you mean 'latency'"),
        ("latency>5% and makespan>5%", "one limit"),
        ("latency>5%,abs>5%", "an amount"),
        ("latency>1us,rel>1us", "a share"),
        ("appeared>5%", "an amount"),
        ("g5>many", "a number"),
        ("g5>-1", "not negative"),
        ("g5>nan", "finite"),
        ("latency>-5%", "found '-5%'"),
    ],
)
def test_what_cannot_be_read_is_quoted(text: str, said: str) -> None:
    with pytest.raises(GateError, match="--fail-on: ") as caught:
        parse_limits([text])
    assert said in str(caught.value)


@settings(deadline=None)
@given(st.floats(0, 1e300), st.floats(1e-9, 1e6))
def test_what_has_not_grown_exceeds_nothing(value: float, share: float) -> None:
    for text in ("latency>0%", "latency>0s", f"latency>{share:f}%"):
        assert not exceeded(text, value, value)
        assert not exceeded(text, value, value / 2)

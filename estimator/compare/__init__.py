"""Two results of `estimate` against each other: what differs, and whether a limit on growth is exceeded."""

from estimator.compare.comparison import NOTHING, PASSED, REGRESSION, compare
from estimator.compare.limits import DEFAULT_LIMITS, Limit, parse_limits
from estimator.compare.read import ResultError, check_result, read_result
from estimator.compare.same_inputs import ASPECTS, InputsDifferError, parse_aspects, require_same

__all__ = [
    "ASPECTS",
    "DEFAULT_LIMITS",
    "NOTHING",
    "PASSED",
    "REGRESSION",
    "InputsDifferError",
    "Limit",
    "ResultError",
    "check_result",
    "compare",
    "parse_aspects",
    "parse_limits",
    "read_result",
    "require_same",
]

"""What the formulas take and give: floats, or numpy arrays that broadcast against each other."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values: TypeAlias = float | NDArray[Any]
# As numpy's own functions: a float for floats, an array as soon as one argument is an array.
Result: TypeAlias = Any


def as_array(values: ArrayLike) -> NDArray[np.float64]:
    """Return the values in double precision."""
    return np.asarray(values, dtype=np.float64)


def as_given(values: NDArray[np.float64]) -> Result:
    """Return an array without dimensions as a float, any other as it is."""
    return values[()]

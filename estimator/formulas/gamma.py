"""Quantiles of the gamma distribution.

scipy.special has them; but numba loads all of scipy.linalg at every start where scipy is installed, a quarter of a
second that every command would pay.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_TERMS = 500
_HALVINGS = 60
_ENOUGH = 1e-14

_log_gamma = np.vectorize(math.lgamma, otypes=[float])


def incomplete(shape: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Regularised lower incomplete gamma function P(a, x), x > 0.

    Source: Abramowitz and Stegun 6.5.29 (series), used below the mean; 6.5.31 (continued fraction) above it.
    """
    front = np.exp(shape * np.log(x) - x - _log_gamma(shape))
    return np.where(x < shape + 1.0, front * _series(shape, x), 1.0 - front * _fraction(shape, x))


def _series(shape: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ xⁿ / (a (a+1) … (a+n))."""
    x = np.minimum(x, shape + 1.0)  # where it is not used, it need not converge
    term = 1.0 / shape
    total = term.copy()
    for n in range(1, _TERMS):
        term = term * x / (shape + n)
        total += term
        if (term < _ENOUGH * total).all():
            break
    return total


def _fraction(shape: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/(x+1−a− 1(1−a)/(x+3−a− 2(2−a)/(x+5−a− …)))."""
    x = np.maximum(x, shape + 1.0)
    b = x + 1.0 - shape
    c, d = np.full_like(x, 1e300), 1.0 / b
    total = d.copy()
    for n in range(1, _TERMS):
        numerator = n * (shape - n)
        b = b + 2.0
        d = 1.0 / (b + numerator * d)
        c = b + numerator / c
        total *= c * d
        if (np.abs(c * d - 1.0) < _ENOUGH).all():
            break
    return total


def quantile(shape: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Value x with P(a, x) = share, for a gamma distribution of scale 1 and 0 < share < 1.

    By halving: P(a, a + √a·t + t²) exceeds 1 − e^(−t) or so, which bounds it from above.
    """
    t = 2.0 - 2.0 * math.log1p(-share)
    low, high = np.zeros_like(shape), shape + np.sqrt(shape) * t + t * t
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        below = incomplete(shape, np.maximum(middle, 1e-300)) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high

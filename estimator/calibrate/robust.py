"""Weighted linear least squares on relative errors that a few outliers do not bend, numpy only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.calibrate.measurements import F64

# Residuals beyond this many scales count linearly (95 % efficiency for normal errors).
HUBER = 1.345
_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients, their covariance and what the fit costs.

    Attributes
    ----------
    values : float64[p]
        Zero where a coefficient that must not be negative would have been.
    covariance : float64[p, p]
        Of the coefficients that are not held at zero, for the scatter found.
    residual : float64[n]
        Relative errors.
    cost : float
        Sum of Huber's loss in units of the scale given.
    """

    values: F64
    covariance: F64
    residual: F64
    cost: float


def solve(relative: F64, target: F64, scale: float, not_negative: NDArray[np.bool_]) -> Solution:
    """Least squares of relative @ values - target, with Huber's weights.

    Parameters
    ----------
    relative : float64[n, p]
        Columns that are all zero get the value zero.
    target : float64[n]
    scale : float
        Relative error that is usual; infinite for plain least squares.
    not_negative : bool[p]
        Coefficients held at zero instead of going below it.

    Notes
    -----
    Source: Huber, Robust Statistics (1981), iteratively reweighted. Checked: tests/calibrate/test_fit.
    """
    weight = np.ones(len(target))
    values = np.zeros(relative.shape[1])
    for _ in range(_ROUNDS):
        before = values
        values, used = _bounded(relative, target, np.sqrt(weight), not_negative)
        residual = relative @ values - target
        if not np.isfinite(scale):
            break
        weight = np.minimum(1.0, HUBER * scale / np.maximum(np.abs(residual), 1e-300))
        if np.abs(values - before).max(initial=0.0) <= 1e-12 * np.abs(values).max(initial=0.0):
            break
    spread = np.abs(residual) / scale if np.isfinite(scale) else np.zeros(len(target))
    loss = np.where(spread <= HUBER, 0.5 * spread**2, HUBER * (spread - 0.5 * HUBER))
    covariance = _covariance(relative, weight, residual, used)
    return Solution(values, covariance, residual, float(loss.sum()))


def _bounded(
    relative: F64, target: F64, root_weight: F64, not_negative: NDArray[np.bool_]
) -> tuple[F64, NDArray[np.bool_]]:
    """Weighted least squares; the coefficient that is most below zero is dropped until none is."""
    weighted, aim = relative * root_weight[:, None], target * root_weight
    norm = np.linalg.norm(weighted, axis=0)
    used = norm > 0
    while True:
        values = np.zeros(len(norm))
        columns = np.flatnonzero(used)
        if columns.size:
            scaled = np.linalg.lstsq(weighted[:, columns] / norm[columns], aim, rcond=None)[0]
            values[columns] = scaled / norm[columns]
        below = np.where(not_negative, values * norm, 0.0)
        if below.min(initial=0.0) >= 0:
            return values, used
        used[int(below.argmin())] = False


def _covariance(relative: F64, weight: F64, residual: F64, used: NDArray[np.bool_]) -> F64:
    columns = np.flatnonzero(used)
    covariance = np.zeros((len(used), len(used)))
    freedom = weight.sum() - columns.size
    if columns.size and freedom > 0:
        part = relative[:, columns]
        norm = np.linalg.norm(part, axis=0)
        part = part / norm
        inverse = np.linalg.pinv((part * weight[:, None]).T @ part) / np.outer(norm, norm)
        covariance[np.ix_(columns, columns)] = inverse * (weight * residual**2).sum() / freedom
    return covariance

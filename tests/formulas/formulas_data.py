"""Waits by replaying a queue, shared by the tests of the formulas."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def fifo_waits(arrivals: Array, service: Array | float) -> Array:
    """Wait of every arrival at one FIFO server (rows are independent servers); arrivals sorted."""
    service = np.broadcast_to(service, arrivals.shape)
    # Lindley's recursion in closed form: the start is the latest "arrival + work since then".
    before = np.cumsum(service, axis=-1) - service
    return np.maximum.accumulate(arrivals - before, axis=-1) + before - arrivals


def poisson_arrivals(rng: np.random.Generator, rate: float, shape: tuple[int, ...]) -> Array:
    return np.cumsum(rng.exponential(1 / rate, shape), axis=-1)

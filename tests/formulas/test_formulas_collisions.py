"""F12: the law of the busiest path, against all placements and golden means."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from estimator.formulas.collisions import (
    busiest_path_cdf,
    busiest_path_mean,
    busiest_path_quantile,
    no_collision_probability,
)


@pytest.mark.parametrize(
    ("flows", "paths", "mean"),
    [(8, 8, 2.5972), (64, 8, 12.2353), (16, 16, 3.08), (32, 32, 3.53), (64, 64, 3.96)],
)
def test_golden(flows: int, paths: int, mean: float) -> None:
    digits = 5e-5 if flows == 8 or paths == 8 else 5e-3
    assert busiest_path_mean(flows, paths) == pytest.approx(mean, abs=digits)


@pytest.mark.parametrize(("flows", "paths"), [(1, 1), (1, 5), (5, 1), (4, 4), (7, 3), (3, 7)])
def test_all_placements(flows: int, paths: int) -> None:
    worst = Counter(max(Counter(placed).values()) for placed in product(range(paths), repeat=flows))
    total = paths**flows
    cdf = busiest_path_cdf(flows, paths)
    assert cdf == pytest.approx([sum(worst[c] for c in range(most + 1)) / total for most in range(cdf.size)])
    assert cdf[-1] == pytest.approx(1)
    assert no_collision_probability(flows, paths) == pytest.approx(worst[1] / total)
    assert busiest_path_mean(flows, paths) == pytest.approx(sum(c * n for c, n in worst.items()) / total)


def test_quantiles_and_many_flows() -> None:
    assert busiest_path_quantile(8, 1, 0.5) == 8
    cdf = busiest_path_cdf(1000, 64)
    assert (np.diff(cdf) >= 0).all()
    assert cdf[-1] == pytest.approx(1, abs=1e-14)
    for probability in (0.05, 0.5, 0.95):
        c = busiest_path_quantile(1000, 64, probability)
        assert cdf[c - 1] < probability <= cdf[c]
    rng = np.random.default_rng(1)
    simulated = [np.bincount(rng.integers(0, 64, 1000)).max() for _ in range(3000)]
    assert busiest_path_mean(1000, 64) == pytest.approx(np.mean(simulated), rel=0.01)
    with pytest.raises(ValueError, match="0 < probability < 1"):
        busiest_path_quantile(8, 8, 1.0)


def test_no_flow() -> None:
    assert busiest_path_mean(0, 4) == 0
    assert no_collision_probability(0, 4) == 1

"""Exponents of the empirical model from collectives: by hand on one switch, and found again on a tree."""

from __future__ import annotations

import numpy as np
import pytest
from calibrate_shared import series

from estimator.calibrate.contention import fit_contention
from estimator.topology import Fabric, load_topology

RATE, OVERHEAD_S, LATENCY_S, MTU = 12.5e9, 500e-9, 300e-9, 4096
SIZES = np.array([1 << power for power in range(16, 21)])


def switch(hosts: int = 8) -> Fabric:
    return load_topology(f"single-switch:hosts={hosts},rate=100Gb/s,host.latency=300ns,host.overhead=500ns")


def lone_s(size: np.ndarray) -> np.ndarray:
    """α + M/β on one switch."""
    return OVERHEAD_S + 2 * LATENCY_S + (size + np.minimum(size, MTU)) / RATE


def alltoall(ranks: int, exponent: float, noise: float = 0.0, **more: object):
    """Every port is shared by the messages of all others: (α + M/β)·(n-1)^a for a linear all-to-all (a >= 1)."""
    scatter = 1 + noise * np.random.default_rng(ranks).standard_normal(SIZES.size)
    return series("alltoall", SIZES, lone_s(SIZES) * (ranks - 1) ** exponent * scatter, ranks=ranks, **more)


@pytest.mark.parametrize("exponent", [1.0, 1.2, 1.5])
def test_the_flow_exponent_is_found_again(exponent: float) -> None:
    found = fit_contention([alltoall(8, exponent), alltoall(16, exponent)], switch(16))
    assert found.flow_exponent.value == pytest.approx(exponent, abs=0.02)
    # With all ranks on one switch, ρ(F-1)/F grows as F does, so nothing tells the two exponents apart.
    assert found.load_exponent.value == 0
    assert any("grow together" in note for note in found.notes)
    for one in found.points:
        assert set(one.algorithm) <= {"linear", "linear_sync"}
        assert one.alpha_beta_s == pytest.approx(lone_s(SIZES), rel=1e-6)
        assert one.empirical_s == pytest.approx(one.measured_s, rel=0.05)


def test_noise_is_in_the_standard_error() -> None:
    found = fit_contention([alltoall(8, 1.2, 0.03), alltoall(16, 1.2, 0.03)], switch(16))
    assert 0 < found.flow_exponent.error < 0.05
    assert abs(found.flow_exponent.value - 1.2) < 5 * found.flow_exponent.error


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"ranks": None}, "give --ranks"),
        ({"ranks": 64}, "64 ranks do not fit on 8 hosts"),
        ({"ranks": 4, "hosts": 1}, "did not leave one host"),
        ({"ranks": 5000}, "do not fit"),
    ],
)
def test_what_cannot_be_replayed_is_noted(more: dict[str, int | None], reason: str) -> None:
    found = fit_contention([series("alltoall", SIZES, lone_s(SIZES), **more)], switch())
    assert found.flow_exponent is None
    assert any(reason in note for note in found.notes)


def test_rooted_collectives_do_not_end_with_their_mean() -> None:
    found = fit_contention([series("bcast", SIZES, lone_s(SIZES), ranks=4)], switch())
    assert found.flow_exponent is None
    assert any("not the time until the last is done" in note for note in found.notes)


def test_without_shared_ports_there_is_nothing_to_fit() -> None:
    """Two ranks exchange: every port has one flow."""
    found = fit_contention([series("alltoall", SIZES, 3 * lone_s(SIZES), ranks=2)], switch())
    assert found.flow_exponent is None
    assert any("no collective in which flows share a port" in note for note in found.notes)


def test_too_few_measurements_do_not_fit() -> None:
    few = series("alltoall", SIZES[:2], lone_s(SIZES[:2]) * 7, ranks=8)
    found = fit_contention([few], switch())
    assert found.flow_exponent is None
    assert any("need 3 or more" in note for note in found.notes)

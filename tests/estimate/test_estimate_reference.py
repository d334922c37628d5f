"""Spot check against packet-level simulation (ns-3): makespan within 1 %, mean latency within 2 %."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from estimator.scenario import load_scenario, run_scenario

REFERENCE = Path(__file__).parents[3] / "shared" / "reference"

pytestmark = pytest.mark.skipif(not REFERENCE.is_dir(), reason=f"the packet-level scenarios are not at {REFERENCE}")

SCENARIOS = (
    "a/a_incast_single_N16_1M_100G.json",
    "a/a_incast_ls2_dmodk_N2_64K_400G.json",
    "a/a_incast_ls2_ecmp_N16_4K_100G_jit2000.json",
    "b/b_a2a_linear_ls_4_dmodk_N32_16K_100G.json.gz",
    "b/b_a2a_linear_single_N16_1K_400G.json.gz",
    "b/b_a2a_pairwise_single_N16_256K_400G.json.gz",
    "c/c_ring_single_N8_64K_100G.json",
    "c/c_ring_strided_4_dmodk_N8_16M_100G.json",
    "d/d_bcast_single_N32_64K_400G.json",
    "d/d_rdouble_strided_1_dmodk_N32_1M_400G.json.gz",
    "f/f_moe_hot5_single_N32_16K_400G.json.gz",
    "f/f_victim_txleaf_ecmp_N32_64K_100G.json",
    "g/g_dragonfly_hotspot_64K_100G_s1.json.gz",
    "g/g_ft3_ecmp_perm_4K_400G_s1.json.gz",
    "g/g_torus8x8_hotspot_4K_100G_s2.json.gz",
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str) -> None:
    scenario = load_scenario(REFERENCE / name)
    outcome = run_scenario(scenario)
    assert outcome.makespan_s == pytest.approx(scenario.reference["makespan_ns"] * 1e-9, rel=0.01)
    assert outcome.mean_latency_s == pytest.approx(scenario.reference["mean_latency_ns"] * 1e-9, rel=0.02)


BUFFERED = (
    "h/h_a2a_linear_ls_2_ecmp_N32_16K_buf64K_400G.json.gz",
    "h/h_ft3_ecmp_perm_64K_buf32K_100G.json.gz",
    "h/h_moe_hot10_ls_2_ecmp_N32_16K_buf32K_100G.json.gz",
    "h/h_victim_txleaf_N32_1M_buf64K_400G.json",
)


@pytest.mark.parametrize("name", BUFFERED)
def test_finite_buffers(name: str) -> None:
    scenario = load_scenario(REFERENCE / name)
    outcome = run_scenario(scenario)
    finish = [time * 1e-9 for time in scenario.reference["messages"]["finish_ns"]]
    # The file's times are rounded to 0.1 ns.
    np.testing.assert_allclose(outcome.arrived_s, finish, rtol=0, atol=0.11e-9)
    assert outcome.run_g5


@pytest.mark.parametrize("name", BUFFERED)
def test_trains_of_packets_come_close(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def an_eighth(_net: object, _work: object, buffer_bytes: float, mtu_bytes: float) -> tuple[float, float]:
        return max(buffer_bytes / 8, mtu_bytes), 0.0

    monkeypatch.setattr("estimator.replay.buffers.cell_size", an_eighth)
    scenario = load_scenario(REFERENCE / name)
    outcome = run_scenario(scenario)
    assert outcome.makespan_s == pytest.approx(scenario.reference["makespan_ns"] * 1e-9, rel=0.05)
    assert outcome.mean_latency_s == pytest.approx(scenario.reference["mean_latency_ns"] * 1e-9, rel=0.05)

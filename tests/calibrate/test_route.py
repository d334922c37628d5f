"""What the network contributes to a latency, by hand, and against the replay."""

from __future__ import annotations

import numpy as np
import pytest

from estimator.calibrate.route import assumed_topology, route_on
from estimator.topology import ConfigError, load_topology

LEAVES = "leaf-spine:leaves=2,hosts=2,spines=1,rate=50Gb/s,host.nic=100Gb/s,host.latency=200ns,switch_latency=700ns"


def test_two_hosts_of_one_leaf() -> None:
    route = route_on(load_topology(LEAVES))
    assert (route.host_links, route.inner_rate, route.packet_bytes) == (2, np.inf, 4096)
    assert route.latency_s == pytest.approx(400e-9)
    sizes = np.array([0, 100, 10_000])
    assert route.paced_bytes(sizes).tolist() == [0, 200, 14_096]
    assert route.fixed_s(sizes) == pytest.approx([400e-9] * 3)


def test_two_hosts_of_two_leaves() -> None:
    route = route_on(load_topology(LEAVES), ("h0", "h3"))
    assert (route.host_links, route.inner_rate) == (2, 6.25e9)
    assert route.latency_s == pytest.approx(1800e-9)
    # Two inner links of 50 Gb/s each take the first packet once.
    assert route.fixed_s(np.array([100])) == pytest.approx([1800e-9 + 2 * 100 / 6.25e9])


def test_a_torus_has_inner_links_of_its_own() -> None:
    route = route_on(load_topology("torus:4x4,switching=cut-through"), ("h0", "h5"))
    assert (route.host_links, route.packet_bytes) == (2, 0)


@pytest.mark.parametrize("hops", [2, 4, 6])
def test_assumed_networks_have_the_hops_asked_for(hops: int) -> None:
    fabric = load_topology(assumed_topology(hops, 2))
    ends = (fabric.node_names[0], fabric.node_names[fabric.host_count - 1])
    assert f"{hops} links" in route_on(fabric, ends).text


@pytest.mark.parametrize(
    ("topo", "between", "message"),
    [
        ("ideal", None, "a ideal network"),
        ("single-switch:hosts=1", None, "between two hosts or more"),
        ("single-switch:hosts=4", ("h0", "h9"), "'h9'; expected a host: h0 to h3"),
        ("single-switch:hosts=4", ("h0", "switch0"), "'switch0'"),
        ("single-switch:hosts=4", ("h1", "h1"), "h1 twice"),
    ],
)
def test_wrong_ends(topo: str, between: tuple[str, str] | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        route_on(load_topology(topo), between)

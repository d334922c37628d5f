"""What is built, against closed formulas."""

from math import comb, prod

import numpy as np
import pytest
from topology_shared import all_pairs, path

from estimator.topology import ConfigError, load_topology, routes
from estimator.topology.describe import describe, torus_links


@pytest.mark.parametrize("k", [2, 4, 8, 16])
def test_k_ary_counts(k):
    f = load_topology(f"fat-tree:k={k}")
    assert (f.host_count, f.switch_count, f.link_count) == (k**3 // 4, 5 * k**2 // 4, 3 * k**3 // 4)
    ports = np.bincount(f.port_from, minlength=f.node_count)
    assert (ports[: f.host_count] == 1).all()
    assert (ports[f.host_count :] == k).all()


@pytest.mark.parametrize(("a", "p", "h"), [(2, 1, 1), (4, 2, 2), (6, 3, 3)])
def test_dragonfly_counts(a, p, h):
    f = load_topology(f"dragonfly:a={a},p={p},h={h}")
    groups = a * h + 1
    assert f.host_count == groups * a * p
    assert f.switch_count == groups * a
    assert f.link_count == groups * (a * p + comb(a, 2)) + comb(groups, 2)
    assert (np.bincount(f.port_from, minlength=f.node_count)[f.host_count :] == p + a - 1 + h).all()


@pytest.mark.parametrize(("a", "h", "groups"), [(4, 2, 3), (4, 2, 5), (4, 2, 6), (3, 1, 2), (4, 3, 8), (5, 2, 4)])
def test_global_links_are_spread_evenly(a, h, groups):
    f = load_topology(f"dragonfly:a={a},p=1,h={h},groups={groups}")
    ports = np.flatnonzero(f.port_level == "global")
    ends = (np.stack([f.port_from[ports], f.port_to[ports]]) - f.host_count) // a
    between = np.zeros((groups, groups), int)
    np.add.at(between, tuple(ends), 1)
    off_diagonal = between[~np.eye(groups, dtype=bool)]
    assert (np.diag(between) == 0).all()
    assert off_diagonal.max() - off_diagonal.min() <= 1
    used = np.bincount(f.port_from[ports], minlength=f.node_count)[f.host_count :]
    # At most one port of a group stays free, where an odd number cannot be paired.
    assert used.max() <= h
    assert groups * a * h - used.sum() <= groups * (groups % 2)


@pytest.mark.parametrize("dims", [(8,), (8, 8), (4, 3, 2), (2, 8), (8, 2), (1, 5), (2, 2, 2)])
@pytest.mark.parametrize("kind", ["torus", "mesh"])
def test_torus_counts(kind, dims):
    f = load_topology(f"{kind}:{'x'.join(map(str, dims))},hosts=2")
    routers = prod(dims)
    assert (f.host_count, f.switch_count) == (2 * routers, routers)
    assert f.link_count == 2 * routers + torus_links(dims, kind == "torus")
    if kind == "torus" and min(dims) > 2:
        assert f.link_count == routers * (2 + len(dims))


def test_a_torus_is_the_same_turned_round():
    wide, tall = describe(load_topology("torus:2x8")), describe(load_topology("torus:8x2"))
    for figure in ("links", "bisection", "diameter_hops", "mean_hops", "total_capacity"):
        assert getattr(wide, figure) == getattr(tall, figure)


def test_leaf_spine_and_rates():
    f = load_topology("leaf-spine:leaves=4,hosts=8,spines=2,links=2,uplink_rate=100Gb/s,host.nic=50Gb/s")
    assert (f.host_count, f.switch_count, f.link_count) == (32, 6, 32 + 16)
    assert set(f.rate[f.port_level == "host-leaf"]) == {50e9 / 8}
    assert set(f.rate[f.port_level == "leaf-spine"]) == {100e9 / 8}
    assert set(f.latency[f.port_level == "leaf-spine"]) == {500e-9}
    assert describe(f).oversubscription == {"leaf": 1.0}


def test_oversubscription_sets_the_spines():
    f = load_topology("leaf-spine:leaves=4,hosts=16,oversubscription=2")
    assert sum(name.startswith("spine") for name in f.node_names) == 8
    assert describe(f).oversubscription == {"leaf": 2.0}
    with pytest.raises(ConfigError, match=r"5\.333 spines"):
        load_topology("leaf-spine:leaves=4,hosts=16,oversubscription=3")


def test_levels_make_the_same_tree_as_k(tmp_path):
    file = tmp_path / "levels.yaml"
    file.write_text("kind: fat-tree\nlevels:\n- {down: 2, up: 2}\n- {down: 2, up: 2}\n- {down: 4}\n")
    one, other = load_topology(str(file)), load_topology("fat-tree:k=4")
    for column in ("port_from", "port_to", "rate", "latency", "out_ports"):
        assert np.array_equal(getattr(one, column), getattr(other, column))


def test_levels_with_taper_rates_and_parallel_links(tmp_path):
    file = tmp_path / "levels.yaml"
    file.write_text(
        "kind: fat-tree\nlevels:\n"
        "- {down: 8, oversubscription: 2, parallel: 2, rate: 800Gb/s, latency: 1us}\n"
        "- {down: 4, up: 2}\n- {down: 3, oversubscription: 2}\n- {down: 2}\n"
    )
    with pytest.raises(ConfigError, match=r"1\.5 uplinks"):
        load_topology(str(file))
    file.write_text(file.read_text().replace("{down: 3, oversubscription: 2}", "{down: 4, oversubscription: 2}"))
    f = load_topology(str(file))
    assert f.host_count == 8 * 4 * 4 * 2
    assert set(f.latency[f.port_level == "l1-l2"]) == {1e-6}
    src, dst = all_pairs(f)
    assert routes(f, src, dst).hops.max() == 8


def test_rail_optimised_wiring():
    f = load_topology("rail-optimized:nodes=4,gpus=2,spines=2,nodes_per_leaf=2")
    assert (f.host_count, f.switch_count) == (8, 4 + 2 + 4)
    assert path(f, 0, 1) == ["h0", "nvswitch0", "h1"]
    assert path(f, 0, 2) == ["h0", "rail0.0", "h2"]
    assert len(path(f, 0, 4)) == 5
    assert path(f, 0, 3)[2].startswith("spine")


def test_without_spines_traffic_between_rails_relays_in_the_sending_node():
    f = load_topology("rail-optimized:nodes=3,gpus=4")
    assert path(f, 0, 6) == ["h0", "nvswitch0", "h2", "rail2", "h6"]
    with pytest.raises(ConfigError, match="spines"):
        load_topology("rail-optimized:nodes=4,gpus=2,nodes_per_leaf=2")


def test_single_switch_and_ideal():
    f = load_topology("single-switch:hosts=5")
    assert f.port_names()[:2] == ["h0→switch0", "switch0→h0"]
    ideal = load_topology("ideal")
    assert (ideal.kind, ideal.host_count, ideal.port_count) == ("ideal", 0, 0)
    assert (ideal.host_overhead_s, ideal.intra_node_latency_s) == (0, 0)
    assert ideal.intra_node_rate == float("inf")
    assert routes(ideal, [0, 5], [99, 1]).hops.tolist() == [0, 0]


def test_columns_agree(small):
    assert np.array_equal(small.port_from[0::2], small.port_to[1::2])
    assert np.array_equal(small.port_from[1::2], small.port_to[0::2])
    assert np.array_equal(np.sort(small.out_ports), np.arange(small.port_count))
    owner = np.repeat(np.arange(small.node_count), np.diff(small.out_ptr))
    assert np.array_equal(small.port_from[small.out_ports], owner)
    assert len(set(small.port_names())) == small.port_count
    assert small.graph().number_of_edges() == small.link_count
    assert (small.packet_rate == small.rate).all()


def test_too_large_is_refused():
    with pytest.raises(ConfigError, match="links"):
        load_topology("fat-tree:k=1000")

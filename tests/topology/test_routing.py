"""Routes: connected, loop-free, and what each rule promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topology_shared import SMALL, all_pairs, level, load_of, nodes_of, path

from estimator.topology import ConfigError, load_topology, routes, routing_fabric, spray_fabric
from estimator.topology.rules import RULES_OF_KIND

KIND_RULES = [(text, rule) for text in SMALL for rule in RULES_OF_KIND[load_topology(text).kind]]


@pytest.mark.parametrize(("text", "rule"), KIND_RULES)
def test_every_route_is_a_path_without_loops(text, rule):
    f = routing_fabric(load_topology(text), rule)
    src, dst = all_pairs(f)
    found = routes(f, src, dst)
    assert np.array_equal(f.port_from[found.ports[found.ptr[:-1]]], src)
    assert np.array_equal(f.port_to[found.ports[found.ptr[1:] - 1]], dst)
    inner = np.ones(len(found.ports), bool)
    inner[found.ptr[:-1]] = False
    before = np.flatnonzero(inner)
    assert np.array_equal(f.port_from[found.ports[before]], f.port_to[found.ports[before - 1]])
    for i in range(len(found)):
        visited = nodes_of(f, found, i)
        assert len(set(visited)) == len(visited)


@st.composite
def networks(draw):
    n = st.integers
    return draw(
        st.one_of(
            st.builds("leaf-spine:leaves={},hosts={},spines={},links={}".format, n(2, 4), n(1, 4), n(1, 4), n(1, 3)),
            st.builds(lambda a, b: f"torus:{a}x{b}", n(2, 5), n(1, 5)),
            st.builds("dragonfly:a={},p={},h={}".format, n(1, 3), n(1, 2), n(1, 2)),
            st.builds("rail-optimized:nodes={},gpus={}".format, n(2, 4), n(1, 4)),
        )
    )


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(0, 2**40), st.data())
def test_order_of_pairs_does_not_matter(text, seed, data):
    f = load_topology(text, seed=seed)
    src, dst = all_pairs(f)
    whole = routes(f, src, dst)
    i = data.draw(st.integers(0, len(src) - 1))
    assert routes(f, src[i : i + 1], dst[i : i + 1]).ports.tolist() == whole.of(i).tolist()
    assert len(set(whole.of(i).tolist())) == whole.hops[i]


def test_path_lengths():
    f = load_topology("fat-tree:k=4")
    assert [len(path(f, 0, d)) - 1 for d in (1, 2, 4)] == [2, 4, 6]


def test_d_mod_k_takes_the_digits_of_the_destination():
    f = load_topology("leaf-spine:leaves=4,hosts=8,spines=4")
    assert [path(f, 0, d)[2] for d in (8, 9, 15, 16)] == ["spine0", "spine1", "spine3", "spine0"]
    f = load_topology("fat-tree:k=4")
    # Host 13 = binary 1101: aggregation switch 1 of the pod, then core 0 of its two.
    assert path(f, 0, 13) == ["h0", "edge0", "agg1", "core2", "agg7", "edge6", "h13"]


@pytest.mark.parametrize(
    "text",
    [
        "fat-tree:k=4",
        "fat-tree:k=8",
        "leaf-spine:leaves=4,hosts=8,spines=4",
        "leaf-spine:leaves=4,hosts=8,spines=4,links=2",
    ],
)
def test_d_mod_k_spreads_all_to_all_evenly(text):
    f = load_topology(text, routing="d-mod-k")
    load = load_of(f, routes(f, *all_pairs(f)))
    for name in f.level_names:
        for up in (True, False):
            assert len(set(load[level(f, name, up)])) == 1, (name, up)


def test_ecmp_uses_every_link_and_depends_on_the_seed():
    f = load_topology("leaf-spine:leaves=4,hosts=16,spines=4,links=2", routing="ecmp")
    src, dst = all_pairs(f)
    one, same, other = (routes(f, src, dst, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.ports, same.ports)
    between = one.hops == 4
    first, second = one.ports[one.ptr[:-1][between] + 1], other.ports[other.ptr[:-1][between] + 1]
    # Of eight equal links, the other seed takes the same one in an eighth of the cases.
    assert np.mean(first == second) == pytest.approx(1 / 8, abs=0.02)
    load = load_of(f, one)[level(f, "leaf-spine", True)]
    assert (np.abs(load - load.mean()) < 6 * np.sqrt(load.mean())).all()


def test_spray_bundles_have_the_summed_rate():
    f = load_topology("leaf-spine:leaves=4,hosts=8,spines=3,links=2", routing="spray")
    b = routing_fabric(f)
    assert b.node_names[b.host_count :] == ("leaf0", "leaf1", "leaf2", "leaf3", "spine*")
    up = level(b, "leaf-spine", True)
    assert b.port_name(up[0]) == "leaf0→spine*"
    assert set(b.rate[up]) == {6 * 50e9}
    assert set(b.packet_rate[up]) == {50e9}
    assert set(b.latency[up]) == {500e-9}
    assert spray_fabric(b) is b
    with pytest.raises(ValueError, match="routing_fabric"):
        routes(f, [0], [9])


def test_spray_merges_pods_and_cores():
    b = spray_fabric(load_topology("fat-tree:k=4"))
    assert [n for n in b.node_names if "agg" in n] == ["agg[0-1]", "agg[2-3]", "agg[4-5]", "agg[6-7]"]
    assert set(b.rate[level(b, "agg-core", True)]) == {4 * 50e9}
    assert path(b, 0, 15) == ["h0", "edge0", "agg[0-1]", "core*", "agg[6-7]", "edge7", "h15"]
    assert b.rate.sum() == spray_fabric(load_topology("fat-tree:k=4")).rate.sum()


def test_dragonfly_minimal_takes_one_global_link():
    f = load_topology("dragonfly:a=4,p=2,h=2")
    found = routes(f, *all_pairs(f))
    globals_on = np.add.reduceat(f.port_level[found.ports] == "global", found.ptr[:-1])
    assert globals_on.max() == 1
    assert found.hops.max() == 5


def test_valiant_goes_through_a_third_group():
    f = load_topology("dragonfly:a=4,p=2,h=2", routing="valiant")
    src, dst = all_pairs(f)
    found = routes(f, src, dst)
    seen = set()
    for i in range(len(found)):
        groups = list(dict.fromkeys(name.split("r")[0] for name in nodes_of(f, found, i)[1:-1]))
        assert len(groups) == (1 if src[i] // 8 == dst[i] // 8 else 3)
        if src[i] == 0 and len(groups) == 3:
            seen.add(groups[1])
    assert len(seen) > 6
    assert not np.array_equal(found.ports[:500], routes(f, src, dst, seed=7).ports[:500])


def test_dimension_order():
    f = load_topology("torus:8x8")
    assert path(f, 0, 2 + 8 * 7) == ["h0", "r0.0", "r1.0", "r2.0", "r2.7", "h58"]
    # Half-way round goes up.
    assert path(f, 0, 4)[2] == "r1.0"
    assert path(f, 5, 1)[2] == "r6.0"
    found = routes(f, *all_pairs(f))
    dimension = np.array([int(name[-1]) if name.startswith("dim") else -1 for name in f.level_names])[f.level_of]
    for i in range(len(found)):
        order = dimension[found.of(i)][1:-1]
        assert (np.diff(order) >= 0).all()
    mesh = load_topology("mesh:3x3")
    assert path(mesh, 2, 6) == ["h2", "r2.0", "r1.0", "r0.0", "r0.1", "r0.2", "h6"]


def test_torus_load_is_the_same_on_every_router():
    f = load_topology("torus:5x5")
    load = load_of(f, routes(f, *all_pairs(f)))
    assert len(set(load[f.port_level == "dim0"])) == 1
    assert len(set(load[f.port_level == "dim1"])) == 1


def test_rule_that_does_not_apply_lists_those_that_do():
    with pytest.raises(ConfigError, match=r"expected one of dor, ecmp; 'valiant' does not apply to torus"):
        load_topology("torus:4x4", routing="valiant")
    with pytest.raises(ConfigError, match="did you mean 'ecmp'"):
        load_topology("fat-tree:k=4", routing="ecpm")
    assert load_topology("fat-tree:k=4", routing="adaptive").routing == "spray"


def test_bad_host_numbers():
    f = load_topology("single-switch:hosts=3")
    with pytest.raises(ValueError, match="host 3"):
        routes(f, [0], [3])
    assert routes(f, [1], [1]).hops.tolist() == [0]
    assert len(routes(f, [], [])) == 0


def test_imports_stay_light():
    import subprocess
    import sys

    code = "import sys, estimator.topology, estimator.placement; print(*sys.modules, sep=chr(10))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "networkx", "matplotlib"} & set(loaded)


def test_same_routes_under_any_hash_seed():
    import os
    import subprocess
    import sys

    code = (
        "import hashlib, numpy as np\nfrom estimator.topology import *\n"
        "f = routing_fabric(load_topology('configs/custom.yaml', routing='spray'))\n"
        "s, d = np.divmod(np.arange(64), 8)\nr = routes(f, s, d)\n"
        "g = load_topology('dragonfly:a=4,p=2,h=2', routing='valiant')\nq = routes(g, s, d + 8)\n"
        "print(f.node_names, hashlib.sha256(r.ports.tobytes() + q.ports.tobytes()).hexdigest())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "77")
    }  # fmt: skip
    assert len(outputs) == 1

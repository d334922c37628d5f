"""Topology files: shipped examples, errors with their line, includes, failures, fixed routes, export."""

from pathlib import Path

import numpy as np
import pytest
from topology_shared import SMALL, all_pairs, load_of, path

from estimator.topology import Background, ConfigError, load_topology, routes, routing_fabric
from estimator.topology.describe import describe
from estimator.topology.draw import draw
from estimator.topology.export import export, export_text
from estimator.topology.schema import KINDS, schema_rows

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture
def write(tmp_path):
    def _write(text: str, name: str = "net.yaml") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return _write


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.yaml")), ids=lambda p: p.stem)
def test_shipped_files_load_and_route(file):
    f = load_topology(str(file))
    assert describe(f).diameter_hops
    assert routes(routing_fabric(f), [0], [f.host_count - 1]).hops[0] >= 2


def test_every_kind_has_a_shipped_file():
    assert {load_topology(str(p)).kind for p in CONFIGS.glob("*.yaml")} == set(KINDS) - {"ideal", "mesh"}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("kind: fat-tree\nk: 8\nbufer: 4MiB\n", 3, "unknown key 'bufer'.*did you mean 'buffer'"),
        ("kind: fat-tree\nk: 8\n\nrate: 400\n", 4, "bare number 400.*bits or bytes"),
        ("kind: fat-tree\nk: 8\nhost:\n  latency: 300\n", 4, "bare number 300"),
        ("kind: fat-tree\nk: 8\nhost:\n  latncy: 300ns\n", 4, "did you mean 'latency'"),
        ("kind: fat-tree\nk: eight\n", 2, "'eight'; expected a whole number"),
        ("kind: fat-tree\nk: 7\n", 2, "even number"),
        ("kind: fat-tree\nk: 8\nleaves: 4\n", 3, "one of k, leaves, levels"),
        ("kind: fat-tree\nk: 8\nspines: 4\n", 3, "remove 'spines'"),
        ("kind: fat-tree\n", 1, "none of them; expected one of k, leaves, levels"),
        ("kind: fattree\n", 1, "did you mean 'fat-tree'"),
        ("k: 8\n", 1, "without 'kind'"),
        ("kind: torus\ndims: [4, 0]\n", 2, "whole numbers of at least 1"),
        ("kind: torus\n", 1, "torus without 'dims'"),
        ("kind: dragonfly\na: 2\np: 1\nh: 1\ngroups: 9\n", 5, r"at most a·h\+1 = 3"),
        ("kind: single-switch\nhosts: 0\n", 2, "at least 1"),
        ("kind: single-switch\nhosts: 4\nhosts: 5\n", 3, "a second time .first on line 2"),
        ("kind: single-switch\nhosts: 4\nfabric: roc\n", 3, "did you mean 'roce'"),
        ("kind: single-switch\nhosts: 4\nfabric: [a\n", 4, "valid YAML"),
        ("kind: torus\ndims: 4x4\nrouting: d-mod-k\n", 3, "expected one of dor, ecmp"),
        ("kind: single-switch\nhosts: 4\nbackground:\n- {ports: '*', rho: 1.2}\n", 4, "below 1"),
        ("kind: single-switch\nhosts: 4\nfailed_links:\n- h9-switch0\n", 4, "did you mean"),
        ("kind: single-switch\nhosts: 4\nfailed_links:\n- h1-h2\n", 4, "linked to switch0"),
        ("kind: single-switch\nhosts: 4\nroutes:\n- [h0, h1]\n", 4, "'h0' is linked to switch0"),
        ("kind: single-switch\nhosts: 4\ninclude: other.yaml\n", 3, "looked for"),
        ("kind: custom\nhosts: [a]\nswitches: [s]\nlinks:\n- {a: a, b: t}\n", 5, "link to 't'"),
        ("kind: custom\nhosts: [a]\nswitches: [a]\nlinks:\n- {a: a, b: a}\n", 3, "in both lists"),
        ("kind: custom\nhosts: ['h[0-']\nlinks:\n- {a: a, b: a}\n", 2, "bracket"),
        ("", 1, "empty file"),
        ("- a\n", 1, "a mapping"),
    ],
)  # fmt: skip
def test_errors_say_where_and_what(write, text, line, words):
    file = write(text)
    with pytest.raises(ConfigError, match=words) as caught:
        load_topology(file)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{file}:{line}: found ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nowhere.yaml", "no such file.*fat-tree:k=8"),
        ("fat-treee:k=8", "did you mean 'fat-tree'"),
        ("fat-tree:k=8,rate=100", "bare number 100"),
        ("fat-tree:k", "found 'k'"),
        ("dragonfly:4", "key=value"),
        ("fat-tree:k=8,k=4", "second time"),
        ("custom", "shorthand"),
    ],
)
def test_shorthand_errors(text, words):
    with pytest.raises(ConfigError, match=words) as caught:
        load_topology(text)
    assert caught.value.line is None


def test_include_is_merged_under(write):
    write("rate: 100Gb/s\nhost: {overhead: 1us, latency: 1us}\n", "measured.yaml")
    f = load_topology(write("kind: single-switch\nhosts: 4\ninclude: measured.yaml\nhost: {latency: 2us}\n"))
    assert (f.rate[0], f.host_overhead_s, f.latency[0]) == (12.5e9, 1e-6, 2e-6)
    write("include: net.yaml\n", "loop.yaml")
    with pytest.raises(ConfigError, match="include this one again"):
        load_topology(write("kind: single-switch\nhosts: 4\ninclude: loop.yaml\n"))


def test_an_error_in_an_include_names_that_file(write):
    write("\nrate: 100\n", "measured.yaml")
    with pytest.raises(ConfigError, match=r"measured\.yaml:2"):
        load_topology(write("kind: single-switch\nhosts: 4\ninclude: measured.yaml\n"))


def test_background_is_kept():
    f = load_topology(str(CONFIGS / "custom.yaml"))
    assert f.background == (Background("core→east0", 0.2, 65536, None),)


@pytest.mark.parametrize("entry", ["leaf0-spine1", "[leaf0, spine1]", "spine1 → leaf0", "leaf0-spine1#1"])
def test_failed_links_are_avoided(write, entry):
    f = load_topology(write(f"kind: fat-tree\nleaves: 2\nhosts_per_leaf: 4\nspines: 2\nfailed_links: [{entry!s}]\n"))
    assert f.link_count == 8 + 3
    for rule in ("d-mod-k", "ecmp"):
        assert {path(f, s, d, rule)[2] for s in range(4) for d in range(4, 8)} == {"spine0"}
    spray = routing_fabric(f, "spray")
    rate = dict(zip(spray.port_names(), spray.rate, strict=True))
    assert (rate["leaf0→spine*"], rate["leaf1→spine*"]) == (50e9, 100e9)


def test_one_of_several_parallel_links_fails(write):
    text = "kind: fat-tree\nleaves: 2\nhosts_per_leaf: 2\nspines: 1\nlinks_per_spine: 3\n"
    text += "failed_links: ['leaf0-spine0#2']\n"
    assert load_topology(write(text)).link_count == 4 + 5


def test_unreachable_pair_is_named(write):
    f = load_topology(write("kind: single-switch\nhosts: 3\nfailed_links: [h2-switch0]\n"))
    assert routes(f, [0], [1]).hops[0] == 2
    with pytest.raises(ConfigError, match="no path from h0 to h2"):
        routes(f, [0, 0], [1, 2])
    assert describe(f).diameter_hops is None


def test_explicit_routes_win(write):
    f = load_topology(
        write(
            "kind: fat-tree\nleaves: 3\nhosts_per_leaf: 2\nspines: 2\nlinks_per_spine: 2\nroutes:\n"
            "- [h0, leaf0, spine1#2, leaf2, spine0, leaf1, h2]\n"
            "- {src: h5, dst: h0, path: [h5, leaf2, spine1, leaf0, h0]}\n"
        )
    )
    assert path(f, 0, 2) == ["h0", "leaf0", "spine1", "leaf2", "spine0", "leaf1", "h2"]
    assert f.port_name(routes(f, [0], [2]).of(0)[1]) == "leaf0→spine1#2"
    assert path(f, 5, 0) == ["h5", "leaf2", "spine1", "leaf0", "h0"]
    src, dst = all_pairs(f)
    found = routes(f, src, dst)
    plain = routes(load_topology("leaf-spine:leaves=3,hosts=2,spines=2,links=2"), src, dst)
    for i, pair in enumerate(zip(src, dst, strict=True)):
        if pair not in [(0, 2), (5, 0)]:
            assert found.of(i).tolist() == plain.of(i).tolist()


@pytest.mark.parametrize("text", SMALL)
@pytest.mark.parametrize("ending", ["graphml", "csv", "yaml"])
def test_exports_read_back(tmp_path, text, ending):
    f = load_topology(text)
    file = tmp_path / f"net.{ending}"
    export(f, file)
    g = load_topology(str(file))
    assert g.host_count == f.host_count
    assert g.node_names[: g.host_count] == f.node_names[: f.host_count]
    columns = [sorted(zip(x.port_names(), x.rate, x.latency, strict=True)) for x in (f, g)]
    assert columns[0] == columns[1]


def test_export_refuses_other_endings(tmp_path):
    with pytest.raises(ConfigError, match="graphml"):
        export(load_topology("fat-tree:k=2"), tmp_path / "net.dot")
    assert '"hosts": 2' in export_text(load_topology("single-switch:hosts=2"), "json")


def test_edge_list_with_units_and_errors(write):
    f = load_topology(write("a,b,rate,latency,count\nn1,s,100Gb/s,1us,1\nn2,s,100Gb/s,1us,2\nn3,s,,,\n", "net.csv"))
    # A node with one neighbour is a host where the file does not say.
    assert f.node_names == ("n1", "n2", "n3", "s")
    assert f.port_names()[2:6] == ["n2→s#1", "s→n2#1", "n2→s#2", "s→n2#2"]
    for text, line, words in [
        ("a,b,rate\nn1,s,100\n", 2, "bits or bytes"),
        ("a,b\nn1\n", 2, "2 cells"),
        ("a,c\n", 1, "column 'c'"),
    ]:
        with pytest.raises(ConfigError, match=words) as caught:
            load_topology(write(text, "bad.csv"))
        assert caught.value.line == line


def test_dual_homed_hosts(write):
    f = load_topology(
        write("kind: custom\nhosts: 16\nswitches: 2\nlinks: [{a: 'h[0-15]', b: 's[0-1]'}]\nrouting: d-mod-k\n")
    )
    assert [path(f, 0, d)[1] for d in (1, 2, 3)] == ["s1", "s0", "s1"]
    load = load_of(f, routes(f, *all_pairs(f), "ecmp"))
    assert load.min() > 0


@pytest.mark.parametrize(
    ("text", "ratio", "diameter", "paths"),
    [
        ("fat-tree:k=8", 1.0, 6, 16),
        ("leaf-spine:leaves=4,hosts=8,oversubscription=2", 0.5, 4, 4),
        ("torus:8x8", 0.5, 10, 2),
        ("mesh:8x8", 0.25, 16, 3432),
        ("single-switch:hosts=6", 1.0, 2, 1),
        ("rail-optimized:nodes=4,gpus=2", 1.0, 4, 1),
        ("dragonfly:a=4,p=2,h=2", 20 / 36, 5, 1),
    ],
)
def test_figures(text, ratio, diameter, paths):
    d = describe(load_topology(text))
    assert d.bisection_ratio == pytest.approx(ratio)
    assert (d.diameter_hops, d.path_diversity) == (diameter, paths)
    assert d.to_dict()["hosts"] == d.hosts


def test_drawings(tmp_path):
    for text in (*SMALL, "fat-tree:k=8"):
        draw(load_topology(text), tmp_path / "net.svg")
        assert (tmp_path / "net.svg").stat().st_size > 2000
    f = load_topology("leaf-spine:leaves=4,hosts=4,spines=2")
    for name in ("a.svg", "b.svg"):
        draw(f, tmp_path / name, np.arange(f.port_count))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with pytest.raises(ConfigError, match=r"\.svg"):
        draw(f, tmp_path / "net.gif")


def test_every_key_is_documented():
    for kind in (None, *KINDS):
        for key, _, _, _, meaning in schema_rows(kind):
            assert meaning, (kind, key)

import numpy as np
import pytest

from estimator.placement import place
from estimator.topology import ConfigError, load_topology

EIGHT = load_topology("single-switch:hosts=8")


def test_block():
    assert place([4], EIGHT).tolist() == [0, 1, 2, 3]
    assert place([5], EIGHT, "block", 2).tolist() == [0, 0, 1, 1, 2]
    assert place([8], EIGHT).dtype == np.int32


def test_round_robin():
    assert place([5], EIGHT, "round-robin", 2).tolist() == [0, 1, 2, 0, 1]


@pytest.mark.parametrize("how", ["block", "round-robin", "random:3"])
def test_jobs_get_hosts_of_their_own(how):
    hosts = place([3, 4], EIGHT, how, 2)
    assert not set(hosts[:3]) & set(hosts[3:])
    assert np.bincount(hosts).max() <= 2


def test_random_is_a_permutation_that_the_seed_fixes():
    assert sorted(place([8], EIGHT, "random:1")) == list(range(8))
    assert place([8], EIGHT, "random:1").tolist() == place([8], EIGHT, "random:1").tolist()
    assert place([8], EIGHT, "random:1").tolist() != place([8], EIGHT, "random:2").tolist()


def test_ideal_has_as_many_hosts_as_asked_for():
    assert place([3, 2], load_topology("ideal")).tolist() == [0, 1, 2, 3, 4]


def test_one_host_per_line(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("h3\n3\n\nh0  # the root\n7\n")
    assert place([3, 1], EIGHT, str(file)).tolist() == [3, 3, 0, 7]


def test_host_list_is_filled(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("h[4-5,1]\n")
    assert place([5], EIGHT, str(file), 2).tolist() == [4, 4, 5, 5, 1]


def test_host_list_of_a_custom_network_keeps_leading_zeros(tmp_path):
    net, hosts = tmp_path / "net.yaml", tmp_path / "hosts"
    net.write_text("kind: custom\nhosts: ['node[01-04]']\nswitches: [s]\nlinks: [{a: 'node[01-04]', b: s}]\n")
    hosts.write_text("node[02-03]\n")
    assert place([2], load_topology(str(net)), str(hosts)).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("tasks", "how", "per_node", "words"),
    [
        (
            [9],
            "block",
            1,
            "8 hosts; expected 9 for 9 tasks at 1 per host; use a topology with 9 hosts, or --ranks-per-node 2",
        ),
        ([17], "round-robin", 2, "expected 9 for 17 tasks"),
        ([1] * 9, "block", 1, "9 tasks in 9 jobs at 1 per host; use a topology with 9 hosts$"),
        ([4], "blok", 1, "did you mean 'block'"),
        ([4], "random", 1, "seed after random:"),
        ([4], "random:x", 1, "for example random:1"),
        ([4], "block", 0, "at least 1"),
        ([4], "no/such/file", 1, "which is no file"),
    ],
)
def test_errors(tasks, how, per_node, words):
    with pytest.raises(ConfigError, match=words):
        place(tasks, EIGHT, how, per_node)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("h0\nh1\n", None, "2 lines; expected 3"),
        ("h0\nh8\nh1\n", 2, "h0 … h7"),
        ("h0\n8\nh1\n", 2, "name or number of a host"),
        ("h[0-1\n", 1, "bracket"),
        ("h[3-1]\n", 1, "backwards"),
        ("h[0-2],h1\n", None, "more than once"),
    ],
)
def test_file_errors(tmp_path, text, line, words):
    file = tmp_path / "hosts"
    file.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        place([3], EIGHT, str(file))
    assert caught.value.line == line

"""Traffic of others: loads on ports, traffic matrices, and the 99th percentile of what they add."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from estimate_shared import HOST_S, LEAF_SPINE, MIB, MTU, OVERHEAD_S, RATE, SINGLE, network, sends

from estimator.background import parse_background
from estimator.document import document
from estimator.estimate import Estimate, Options, estimate
from estimator.scenario import ScenarioError, load_scenario, run_scenario
from estimator.topology import Background, ConfigError, load_topology
from vef import Trace

REFERENCE = Path(__file__).parents[3] / "shared" / "reference"
PACKET_S = MTU / RATE
LONE_PACKET_S = OVERHEAD_S + 2 * PACKET_S + 2 * HOST_S


def behind(trace: Trace, *entries: Background, topology: str = SINGLE, model: str = "segmented") -> Estimate:
    return estimate([trace], network(topology), Options(model=model, background=entries))


def matrix(tmp_path: Path, *rows: str) -> Background:
    file = tmp_path / "matrix.csv"
    file.write_text("\n".join(("source,destination,rate", *rows)) + "\n")
    return Background(matrix=str(file))


@pytest.mark.parametrize("cv_sq", [1.0, 4.0])
def test_a_packet_behind_random_background(cv_sq: float) -> None:
    result = behind(sends(2, [(0, 1, MTU)]), Background("switch0->h1", 0.5, cv_sq=cv_sq))
    wait = cv_sq * 0.5 * PACKET_S / (2 * 0.5)
    (step,) = document(result)["steps"]
    assert result.makespan_s == pytest.approx(LONE_PACKET_S + wait, rel=1e-9)
    assert step["latency_p99_s"] > step["latency_s"]
    # Between the tail of an exponential with that mean and one that is as heavy as the chance of any wait allows.
    extra = step["latency_p99_s"] - LONE_PACKET_S
    assert wait * math.log(100) * 0.9 < extra < wait / 0.5 * math.log(50) * 1.1


def test_a_packet_behind_periodic_bursts() -> None:
    entry = Background("switch0->h1", 0.4, burst=16)
    (step,) = document(behind(sends(2, [(0, 1, MTU)]), entry))["steps"]
    assert step["latency_s"] == pytest.approx(LONE_PACKET_S + 0.4 * 16 * PACKET_S / 2, rel=1e-9)
    assert step["latency_p99_s"] <= LONE_PACKET_S + 16 * PACKET_S * (1 + 1e-9)


def test_without_background_nothing_is_random() -> None:
    (step,) = document(behind(sends(2, [(0, 1, MTU)])))["steps"]
    assert step["latency_p99_s"] == step["latency_s"]


def test_matrix_from_many_hosts_is_like_the_load_on_the_port(tmp_path: Path) -> None:
    # 14 sources of 5 % of a link each; a share of their waits is on their own links.
    entry = matrix(tmp_path, *(f"h{i},h1,{0.05 * 100}Gb/s" for i in range(2, 16)))
    many = behind(sends(2, [(0, 1, MTU)]), entry).makespan_s - LONE_PACKET_S
    one = behind(sends(2, [(0, 1, MTU)]), Background("switch0->h1", 0.7)).makespan_s - LONE_PACKET_S
    assert 0.85 * one < many <= one


def test_matrix_over_one_link_leaves_a_packet_in_service(tmp_path: Path) -> None:
    entry = matrix(tmp_path, "h2,h1,50Gb/s")
    other_link = behind(sends(2, [(0, 1, MTU)]), entry).makespan_s
    assert other_link == pytest.approx(LONE_PACKET_S + 0.5 * PACKET_S / 2, rel=1e-9)


def test_matrix_shares_a_saturated_port(tmp_path: Path) -> None:
    # Two flows of 1 MiB at full rate and one of half a link into one port: 1/2.5 of the port each.
    trace = sends(4, [(0, 3, MIB), (1, 3, MIB)])
    result = behind(trace, matrix(tmp_path, "h2,h3,50Gb/s"))
    arrivals_s = MIB / RATE
    queue = 1.5 * MIB
    assert result.makespan_s == pytest.approx(arrivals_s + queue / RATE, rel=0.02)


@pytest.mark.parametrize("model", ["static", "fluid", "kingman"])
def test_matrix_slows_other_models_too(tmp_path: Path, model: str) -> None:
    trace = sends(4, [(0, 3, MIB)])
    entry = matrix(tmp_path, "h2,h3,50Gb/s")
    free = behind(trace, model=model).makespan_s
    assert behind(trace, entry, model=model).makespan_s > 1.2 * free


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (["h1,h99,1Gb/s"], "h99"),
        (["h1,h1,1Gb/s"], "twice"),
        (["h1,h2,10"], "matrix.csv:2"),
        (["h1,h2,60Gb/s", "h3,h2,60Gb/s"], "1.20 times the capacity"),
        (["h1,h2"], "matrix.csv:2"),
    ],
)
def test_wrong_matrices(tmp_path: Path, rows: list[str], found: str) -> None:
    with pytest.raises(ConfigError, match=found):
        behind(sends(2, [(0, 1, MTU)]), matrix(tmp_path, *rows))


def test_matrix_without_its_columns(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError, match="source, destination, rate"):
        behind(sends(2, [(0, 1, MTU)]), Background(matrix=str(file)))


def test_options_of_background() -> None:
    entry = parse_background("leaf*->spine*=0.3,message=64KiB,cv_sq=2,burst=8,peak=4")
    assert entry == Background("leaf*->spine*", 0.3, 65536, 2.0, 8, 4.0)
    assert parse_background("others.csv") == Background(matrix="others.csv")
    for text in ("h*=0.3,peak=1", "h*=0.3,size=4KiB", "h*=0.3,burst=-1", "h*=0.3,cv_sq=x", "h*", "=0.3", "h*=1"):
        with pytest.raises(ConfigError, match="background"):
            parse_background(text)


def test_matrix_in_a_topology_file(tmp_path: Path) -> None:
    (tmp_path / "others.csv").write_text("source,destination,rate\nh2,h1,50Gb/s\n")
    file = tmp_path / "net.yaml"
    file.write_text("kind: single-switch\nhosts: 4\nrate: 100Gb/s\nbackground:\n- matrix: others.csv\n  cv_sq: 1\n")
    fabric = load_topology(str(file))
    assert fabric.background == (Background(matrix=str(tmp_path / "others.csv"), cv_sq=1.0),)
    estimate([sends(2, [(0, 1, MTU)])], fabric, Options())
    file.write_text("kind: single-switch\nhosts: 4\nbackground:\n- matrix: others.csv\n  ports: h*\n  rho: 0.1\n")
    with pytest.raises(ConfigError, match=r"net\.yaml:"):
        load_topology(str(file))


def test_leaf_spine_pattern_loads_the_uplinks() -> None:
    trace = sends(16, [(0, 15, MIB)])
    slowed = behind(trace, Background("leaf*->spine*", 0.6), topology=LEAF_SPINE).makespan_s
    assert slowed > 1.3 * behind(trace, topology=LEAF_SPINE).makespan_s


PROBES = (
    "e_probe_star_poisson_ca1_rho50_4K_100G", "e_probe_star_batch_ca4_rho60_4K_100G",
    "e_probe_star_onoff_ca16_rho60_4K_100G", "e_probe_star_periodic_ca8_rho80_4K_100G",
    "e_probe_spine_onoff_ca4_rho80_4K_100G",
)  # fmt: skip


@pytest.mark.skipif(not REFERENCE.is_dir(), reason=f"the packet-level scenarios are not at {REFERENCE}")
@pytest.mark.parametrize("name", PROBES)
def test_percentile_against_packet_simulation(name: str) -> None:
    scenario = load_scenario(REFERENCE / "e" / f"{name}.json")
    expected = scenario.reference["replications"]["quantiles_ns"]["99"] * 1e-9
    assert run_scenario(scenario).latency_p99_s == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"source,destination,rate\nh0,h1," + b"9" * 200_000])
def test_matrix_that_is_no_text(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "matrix.csv"
    file.write_bytes(data)
    with pytest.raises(ConfigError, match=r"matrix\.csv: .*UTF-8"):
        behind(sends(2, [(0, 1, MTU)]), Background(matrix=str(file)))


def test_matrix_with_a_short_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"matrix\.csv:2: .*rate"):
        behind(sends(2, [(0, 1, MTU)]), matrix(tmp_path, "h0,h1"))


def test_arrivals_without_limit_of_variation_are_refused() -> None:
    with pytest.raises(ConfigError, match="cv_sq=inf"):
        parse_background("leaf*->spine*=0.3,cv_sq=inf")
    assert parse_background("leaf*->spine*=0.3,peak=inf").peak == math.inf


@pytest.mark.parametrize("data", [b"[]", b"null", b"{", b"\x1f\x8bxx", b'{"topology": []}'])
def test_file_that_is_no_scenario(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "alien.json.gz"
    file.write_bytes(data)
    with pytest.raises(ScenarioError, match=r"alien\.json\.gz: not a scenario"):
        load_scenario(file)


def test_loads_on_one_port_add_up_to_less_than_one(tmp_path: Path) -> None:
    trace = sends(2, [(0, 1, MTU)])
    entries = (Background("switch0->h1", 0.4), Background("switch0->h*", 0.5))
    behind(trace, *entries)
    with pytest.raises(ConfigError, match=r"a load of 1 in all on switch0→h1"):
        behind(trace, *entries, Background("switch0->h1", 0.1))
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(ConfigError, match="a readable traffic matrix"):
            behind(trace, Background(matrix=str(path)))

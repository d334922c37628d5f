"""`congest calibrate` from measurement files to the estimate of a trace."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_shared import ROOT, congest

MEASUREMENTS = ROOT / "sample_traces" / "measurements"
LATENCY, BANDWIDTH = MEASUREMENTS / "osu_latency.txt", MEASUREMENTS / "osu_bw.txt"


def ping_pong(folder: Path, size: int) -> Path:
    """Task 0 sends, task 1 answers when it has received."""
    path = folder / f"pingpong-{size}.vef"
    path.write_text(f"VEF3 2 2 1 0 0 0 1000\nC0 0 1\n0 0 1 {size} 4 0 -1\n1 1 0 {size} 6 0 0\n")
    return path


def makespan_s(trace: Path, topo: Path | str) -> float:
    done = congest("estimate", trace, "--topo", topo, "--format", "json", "--quiet")
    assert done.code == 0, done.err
    return json.loads(done.out)["summary"]["makespan_s"]


@pytest.mark.parametrize(
    ("network", "between", "placed"),
    [
        ("kind: single-switch\nhosts: 2\n", ("h0", "h1"), "h0\nh1\n"),
        ("kind: single-switch\nhosts: 2\nswitching: cut-through\n", ("h0", "h1"), "h0\nh1\n"),
        ("kind: fat-tree\nleaves: 2\nhosts_per_leaf: 2\nspines: 2\nswitch_latency: 100ns\nhost: {latency: 150ns}\n",
         ("h0", "h3"), "h0\nh3\n"),
        ("kind: torus\ndims: [4, 4]\nswitch_latency: 50ns\nhost: {latency: 150ns}\n", ("h0", "h5"), "h0\nh5\n"),
    ],
    ids=["switch", "cut-through", "leaf-spine", "torus"],
)  # fmt: skip
def test_the_measured_latency_comes_back(tmp_path: Path, network: str, between: tuple[str, str], placed: str) -> None:
    """Measured, fitted on a topology, included there, replayed: a ping-pong takes twice what was measured."""
    sizes = np.array([1 << power for power in range(23)])
    protocol = np.where(sizes <= 8192, sizes / 9e9, 1.3e-6)
    one_way_s = 1.5e-6 + protocol + (sizes + np.minimum(sizes, 4096)) / 12e9
    rows = "".join(f"{size},{time * 1e6:.6f}\n" for size, time in zip(sizes, one_way_s, strict=True))
    (tmp_path / "measured.csv").write_text("size_bytes,latency_us\n" + rows)
    topo, bare, hosts = tmp_path / "net.yaml", tmp_path / "bare.yaml", tmp_path / "hosts.txt"
    bare.write_text(network)
    topo.write_text(network + "include: calibration.yaml\n")
    hosts.write_text(placed)
    done = congest(
        "calibrate", tmp_path / "measured.csv", "--topo", bare, "--between", *between,
        "-o", tmp_path / "calibration.yaml", "--format", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    modelled = {row["size_bytes"]: row["model_s"] for row in json.loads(done.out)["series"][0]["rows"]}
    for size, measured_s in list(zip(sizes.tolist(), one_way_s.tolist(), strict=True))[::3]:
        trace = ping_pong(tmp_path, size)
        found = congest("estimate", trace, "--topo", topo, "--placement", hosts, "--format", "json", "--quiet")
        assert found.code == 0, found.err
        half_s = json.loads(found.out)["summary"]["makespan_s"] / 2
        # The residuals that calibrate shows are those of a run.
        assert half_s == pytest.approx(modelled[size], rel=1e-5)
        # Inner links and cut-through pay the first packet another number of times than the one switch measured.
        assert half_s == pytest.approx(measured_s, rel=1e-4 if placed == "h0\nh1\n" and "cut" not in network else 0.1)


def test_noisy_examples_come_back_within_their_noise(tmp_path: Path) -> None:
    target = tmp_path / "calibration.yaml"
    assert congest("calibrate", LATENCY, BANDWIDTH, "-o", target).code == 0
    (tmp_path / "net.yaml").write_text("kind: single-switch\nhosts: 2\ninclude: calibration.yaml\n")
    rows = [line.split() for line in LATENCY.read_text().splitlines() if line[0] != "#"]
    for size, latency_us in rows[::4]:
        half_s = makespan_s(ping_pong(tmp_path, int(size)), tmp_path / "net.yaml") / 2
        assert half_s == pytest.approx(float(latency_us) * 1e-6, rel=0.04)


def test_the_examples_hold_what_they_were_made_from() -> None:
    """The parameters stand in benchmarks/make_measurements.py."""
    done = congest("calibrate", *sorted(MEASUREMENTS.glob("osu_*.txt")), "--format", "json")
    fitted = json.loads(done.out)["fitted"]
    assert fitted["overhead_s"]["value"] == pytest.approx(450e-9, rel=0.03)
    assert fitted["rate"]["value"] == pytest.approx(97e9 / 8, rel=0.01)
    assert 1 / fitted["copy_s_per_byte"]["value"] == pytest.approx(9e9, rel=0.1)
    assert fitted["rendezvous_s"]["value"] == pytest.approx(1.3e-6, rel=0.1)
    assert fitted["eager_limit_bytes"] == {"value": 8192, "low": 8192, "high": 16384}
    # 15 % more than the bytes of 15 or 31 others: (n-1)^(a-1) = 1.15.
    assert 1.0 < fitted["empirical_flow_exponent"]["value"] < 1.06
    nccl = congest("calibrate", MEASUREMENTS / "all_reduce_perf.txt", "--format", "json")
    assert json.loads(nccl.out)["fitted"]["rate"]["value"] == pytest.approx(48.5e9, rel=0.03)
    assert json.loads(nccl.out)["fitted"]["overhead_s"] is None


def test_the_examples_are_those_of_their_script() -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import make_measurements
    finally:
        sys.path.pop(0)
    files = make_measurements.files()
    assert set(files) == {path.name for path in MEASUREMENTS.iterdir()}
    for name, text in files.items():
        assert (MEASUREMENTS / name).read_text(encoding="utf-8") == text


def test_same_input_same_bytes_and_streams_kept_apart(tmp_path: Path) -> None:
    runs = []
    for name in ("a.yaml", "b.yaml"):
        done = congest("calibrate", LATENCY, "-o", tmp_path / name)
        runs.append((done.out, (tmp_path / name).read_bytes()))
    assert runs[0] == runs[1]
    text, yaml = runs[0]
    assert text.startswith(yaml.decode())
    json.loads(congest("calibrate", LATENCY, "--format", "json", "--quiet").out, parse_constant=pytest.fail)


def test_poor_fits_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "falling.csv"
    path.write_text("size_bytes,latency_us\n8,10\n16,9\n32,8\n64,7\n128,6\n256,5\n")
    done = congest("calibrate", path)
    assert done.code == 0
    assert f"warning: {path}:3: 16 bytes take 9 us" in done.err
    assert "are off by more than 10%" in done.err
    assert "warning" not in congest("calibrate", path, "--quiet").err


def test_keys_that_the_topology_gives_itself_are_warned_of() -> None:
    done = congest("calibrate", LATENCY, "--topo", "single-switch:hosts=2,host.overhead=1us")
    assert "gives host.overhead itself, which wins over an included file" in done.err
    assert "host.nic" not in done.err
    assert "wins" not in congest("calibrate", LATENCY, "--topo", "single-switch:hosts=2").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.txt"], "a readable measurement file"),
        ([ROOT / "README.md"], "expected output of OSU micro-benchmarks"),
        ([LATENCY, "--format", "xml"], "expected table or json"),
        ([LATENCY, "--ranks", "many"], "FILE=NUMBER"),
        ([LATENCY, "--ranks", "other.txt=4"], "one of the files"),
        ([LATENCY, "--hops", "3"], "2 (one switch), 4"),
        ([LATENCY, "--topo", "ideal"], "links between two hosts"),
        ([LATENCY, "--topo", "single-switch:hosts=2,host.latency=2us"], "more than the 4000 ns of wires"),
        ([LATENCY, "--topo", "single-switch:hosts=2", "--between", "h0", "h7"], "h0 to h1"),
        ([MEASUREMENTS / "osu_alltoall_16.txt", "--ranks-per-node", "16"], "nothing that can be fitted"),
    ],
)
def test_what_cannot_be_used_leaves_no_file(tmp_path: Path, arguments: list[str | Path], message: str) -> None:
    target = tmp_path / "calibration.yaml"
    done = congest("calibrate", *arguments, "-o", target)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
    assert not target.exists()


def test_an_input_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "latency.txt"
    path.write_bytes(LATENCY.read_bytes())
    assert congest("calibrate", path, "-o", path).code == 2
    assert path.read_bytes() == LATENCY.read_bytes()


def test_ranks_can_be_given_by_file(tmp_path: Path) -> None:
    text = (MEASUREMENTS / "osu_alltoall_16.txt").read_text().partition("# OSU")
    path = tmp_path / "alltoall.txt"
    path.write_text(text[1] + text[2])
    assert "give --ranks" in congest("calibrate", LATENCY, path).out.replace("\n", " ")
    for ranks in ("16", f"{path}=16"):
        done = congest("calibrate", LATENCY, path, "--ranks", ranks, "--format", "json")
        assert json.loads(done.out)["collectives"][0]["ranks"] == 16

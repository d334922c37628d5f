"""How fast `congest estimate` is, as a whole process, next to what the machine can do at best.

    python benchmarks/speed.py [--only W1,W5] [--ranks 64,256] [--timeout 300] [--json] [--scaling FILE.svg]

Makes its inputs in a temporary folder, the same every time (benchmarks/workloads.py), and estimates each on a
two-level fat-tree of 100 Gb/s, 2:1 oversubscribed, from text to result. Per run: CPU and wall seconds and peak memory
of the process; records and messages per CPU-second of the run; and two floors measured in between: numpy's parse of
the numbers in the same file, and a compiled event loop that does nothing but keep a binary heap of as many events
(those of a message alone: one per link, and its arrival). W0 is start-up: `--help`, 100 records with nothing
compiled, and again.

W1 linear all-to-all, 64 KiB each · W2 ring allreduce, 16 MiB · W3 allreduce 8 B and 1 MiB by turns, with compute ·
W4 3-D halo exchange, 64 KiB faces · W5 a million messages between random pairs · W6 ten million records of W4's
kind · W7 the captured trace with most bytes in ../shared/traces, if it is there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# This process stays small: a child's peak memory is never below what its parent had when it started it.

HERE = Path(__file__).resolve().parent
TRACES = HERE.parent.parent / "shared" / "traces" / "captured"
LINKS = 4  # of the longest path, host to host
CONGEST = (sys.executable, "-c", "from cli.main import run; run()")
MESSAGES = re.compile(rb'"messages": (\d+)')
WORKLOADS = tuple(f"W{number}" for number in range(8))


@dataclass(frozen=True)
class Case:
    """One run: the input's maker and amount (a file's name for a given one), and what to add to the command."""

    workload: str
    maker: str
    ranks: int
    amount: int = 1
    options: tuple[str, ...] = ()


LINEAR = ("--collective", "alltoall=basic_linear")
RING = ("--collective", "allreduce=ring")
CASES = (
    *(Case("W1", "alltoall", ranks, 1, LINEAR) for ranks in (64, 256, 512, 1024)),
    *(Case("W2", "ring", ranks, times, RING) for ranks, times in ((64, 10), (256, 1), (1024, 1))),
    *(Case("W3", "allreduce", ranks, 100) for ranks in (256, 1024)),
    Case("W4", "halo", 512, 100),
    Case("W5", "random", 1024, 1_000_000),
    Case("W6", "halo", 4096, 204),
)
SCALING = (
    *(Case("messages", "random", 1024, amount) for amount in (10_000, 100_000, 1_000_000, 10_000_000)),
    *(Case("hosts", "random", ranks, 1_000_000) for ranks in (64, 256, 1024, 4096, 16_384)),
)


@dataclass(frozen=True)
class Usage:
    """What a process took; peak memory in bytes, `code` is None after a time-out."""

    code: int | None
    cpu_s: float
    wall_s: float
    peak_bytes: int
    stdout: bytes
    stderr: bytes


def measured(command: list[str], timeout_s: float, environment: dict[str, str] | None = None) -> Usage:
    """Run a command and take its resources."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), **(environment or {})}
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        begun = time.monotonic()
        child = subprocess.Popen(command, stdout=stdout, stderr=stderr, env=environment)
        expired = threading.Event()

        def stop() -> None:
            expired.set()
            os.kill(child.pid, signal.SIGKILL)

        timer = threading.Timer(timeout_s, stop)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begun
        for file in (stdout, stderr):
            file.seek(0)
        code = None if expired.is_set() else child.returncode
        cpu = usage.ru_utime + usage.ru_stime
        return Usage(code, cpu, wall, usage.ru_maxrss * 1024, stdout.read(), stderr.read())


def making(maker: str, ranks: int, amount: int, target: Path) -> list[str]:
    """Command that makes an input."""
    return [sys.executable, str(HERE / "workloads.py"), maker, str(ranks), str(amount), str(target)]


def fat_tree(hosts: int) -> str:
    """Two levels, 2:1: half as many uplinks as hosts on each leaf, one to each spine."""
    each = min(32, hosts // 4) if hosts <= 4096 else 64
    leaves = -(-hosts // each)
    return f"leaf-spine:leaves={leaves},hosts={each},spines={each // 2},rate=100Gb/s"


def run_case(case: Case, folder: Path, timeout_s: float) -> dict[str, Any]:
    """Make the input, estimate it, and take the floors."""
    row: dict[str, Any] = {"workload": case.workload, "ranks": case.ranks, "amount": case.amount, "error": None}
    trace = folder / "input.vef"
    if case.maker in ("alltoall", "ring", "allreduce", "halo", "random"):
        made = measured(making(case.maker, case.ranks, case.amount, trace), timeout_s)
        if made.code != 0:
            return {**row, "error": f"input not made: {made.stderr.decode().strip()[-200:]}"}
        row |= json.loads(made.stdout)
    else:
        trace = Path(case.maker)
        row["input"] = trace.name
    result = folder / "result.json"
    command = ["estimate", str(trace), "--topo", fat_tree(case.ranks), "--format", "json", "-o", str(result)]
    used = measured([*CONGEST, *command, "--quiet", *case.options], timeout_s)
    row |= {"cpu_s": used.cpu_s, "wall_s": used.wall_s, "peak_bytes": used.peak_bytes}
    if used.code != 0:
        why = f"not done in {timeout_s:g} s" if used.code is None else used.stderr.decode().strip()[-200:]
        return {**row, "error": why}
    summary = next(line for line in result.open("rb") if line.lstrip().startswith(b'"summary"'))
    row["messages"] = int(MESSAGES.search(summary)[1])  # type: ignore[index]
    events = str(row["messages"] * (LINKS + 1))
    floors = measured([sys.executable, str(HERE / "floors.py"), str(trace), events, str(case.ranks)], timeout_s)
    if floors.code != 0:
        return {**row, "error": f"no floors: {floors.stderr.decode().strip()[-200:]}"}
    row |= json.loads(floors.stdout)
    row["records_per_cpu_s"] = row["records"] / used.cpu_s
    row["messages_per_cpu_s"] = row["messages"] / used.cpu_s
    row["floors_ratio"] = used.cpu_s / (row["parse_s"] + row["event_loop_s"])
    return row


def start_up(folder: Path, timeout_s: float) -> list[dict[str, Any]]:
    """Start-up: help, 100 records in an empty cache of compiled code, and once more."""
    trace = folder / "small.vef"
    measured(making("random", 16, 100, trace), timeout_s)
    cache = {"XDG_CACHE_HOME": str(folder / "cache"), "NUMBA_CACHE_DIR": ""}
    small = ["estimate", str(trace), "--topo", fat_tree(16), "--quiet"]
    rows = []
    for name, command in (("--help", ["--help"]), ("first run", small), ("second run", small)):
        used = measured([*CONGEST, *command], timeout_s, cache)
        error = None if used.code == 0 else used.stderr.decode().strip()[-200:] or f"not done in {timeout_s:g} s"
        row = {"workload": "W0", "input": name, "cpu_s": used.cpu_s, "wall_s": used.wall_s}
        rows.append({**row, "peak_bytes": used.peak_bytes, "error": error})
    return rows


def largest_capture() -> Case | None:
    """The captured trace with most bytes."""
    found = sorted(TRACES.glob("*.vef*"), key=lambda path: (path.stat().st_size, path.name))
    if not found:
        return None
    ranks = re.search(r"-(\d+)\.vef", found[-1].name)
    return Case("W7", str(found[-1]), int(ranks[1]) if ranks else 64)


HEADINGS = (
    f"{'workload':<22}{'records':>10}{'messages':>10}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}"
    f"{'k rec/s':>9}{'k msg/s':>9}{'parse s':>9}{'heap s':>8}{'ratio':>7}"
)


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    name = f"{row['workload']} {row.get('input') or row['ranks']}"
    if row["error"]:
        return f"{name:<22}  {row['error']}"
    used = f"{row['cpu_s']:>8.2f}{row['wall_s']:>8.2f}{row['peak_bytes'] / 1e6:>9.0f}"
    if "messages" not in row:
        return f"{name:<22}{'':>20}{used}"
    rates = f"{row['records_per_cpu_s'] / 1e3:>9.0f}{row['messages_per_cpu_s'] / 1e3:>9.0f}"
    floors = f"{row['parse_s']:>9.2f}{row['event_loop_s']:>8.2f}{row['floors_ratio']:>7.1f}"
    return f"{name:<22}{row['records']:>10}{row['messages']:>10}{used}{rates}{floors}"


def plot(rows: list[dict[str, Any]], target: Path) -> None:
    """CPU time and memory over messages and over hosts."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "congest"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for axis, kind, across in zip(axes, ("messages", "hosts"), ("amount", "ranks"), strict=True):
        own = [row for row in rows if row["workload"] == kind and not row["error"]]
        x = [row[across] for row in own]
        axis.loglog(x, [row["cpu_s"] for row in own], "o-", label="CPU, s")
        axis.loglog(x, [row["peak_bytes"] / 1e9 for row in own], "s--", label="peak memory, GB")
        axis.loglog(x, [row["parse_s"] + row["event_loop_s"] for row in own], ":", label="floors, s")
        axis.set_xlabel(kind)
        axis.grid(True, alpha=0.3)
        axis.legend()
    figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", metavar="W1,…", help="these workloads")
    parser.add_argument("--ranks", metavar="N,…", help="these numbers of ranks")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="of each process (300)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--scaling", type=Path, metavar="FILE", help="instead: growing inputs, with a plot")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else list(WORKLOADS)
    if unknown := [name for name in chosen if name not in WORKLOADS]:
        parser.error(f"--only: no workload {unknown[0]}; there are {', '.join(WORKLOADS)}")
    capture = largest_capture()
    cases = [*CASES, *([capture] if capture else [])]
    cases = list(SCALING) if options.scaling else [case for case in cases if case.workload in chosen]
    if options.ranks:
        ranks = {int(number) for number in options.ranks.split(",")}
        cases = [case for case in cases if case.ranks in ranks]
    show = sys.stderr if options.json else sys.stdout
    print(HEADINGS, file=show)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="congest-speed-") as name:
        folder = Path(name)
        if "W0" in chosen and not options.scaling:
            rows += start_up(folder, options.timeout)
            print("\n".join(map(line, rows)), file=show, flush=True)
        elif cases:
            # Compile before anything is measured.
            start_up_input = Case("warm-up", "random", 16, 100)
            run_case(start_up_input, folder, options.timeout)
        for case in cases:
            rows.append(run_case(case, folder, options.timeout))
            print(line(rows[-1]), file=show, flush=True)
    if options.scaling:
        plot(rows, options.scaling)
    if options.json:
        json.dump({"python": sys.version.split()[0], "cpus": os.cpu_count(), "runs": rows}, sys.stdout, indent=1)
        print()
    return 1 if any(row["error"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

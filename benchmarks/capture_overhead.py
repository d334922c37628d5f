"""What `congest capture` adds to a call and to a halo exchange; needs an MPI and two free cores.

Usage: python benchmarks/capture_overhead.py [MPIRUN [ROUNDS]]   (by default: mpirun, 5 rounds)

The same program runs with and without the recording library, in turns; the fastest of each is compared.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from vef.capture.launch import recorded_command
from vef.capture.run import prepare


def main(mpirun: str, rounds: int) -> None:
    """Compile, run in turns, print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "overhead"
        recorder = prepare([mpirun, "-n", "2", str(program)], None, print)
        source = Path(__file__).with_suffix(".c")
        subprocess.run([recorder.mpicc, "-O2", "-w", str(source), "-o", str(program)], check=True)
        plain, recorded = [], []
        for index in range(rounds):
            plain.append(_run([recorder.launcher.path, *recorder.command[1:]]))
            raw = folder / str(index)
            command, _ = recorded_command(recorder.launcher, recorder.command, str(recorder.library), str(raw))
            recorded.append(_run(command))
            records = sum(path.stat().st_size for path in raw.iterdir())
    for what, unit, column in (("ping-pong, a call", "ns", 0), ("halo exchange, a step", "us", 1)):
        before, after = (min(run[column] for run in runs) for runs in (plain, recorded))
        added = f"{after - before:+.2f} ({(after - before) / before:+.1%})"
        print(f"{what:<22} {before:8.2f} {unit} alone {after:8.2f} {unit} recorded {added:>18}")
    print(f"files of both ranks: {records / 1e6:.1f} MB")


def _run(command: list[str]) -> tuple[float, float]:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    call, step = done.stdout.split()
    return float(call), float(step)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "mpirun", int(sys.argv[2]) if len(sys.argv) > 2 else 5)

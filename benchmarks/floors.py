"""What the speed benchmark compares with: numpy's parse of a trace's numbers, and a bare event loop.

    python benchmarks/floors.py TRACE EVENTS PENDING

Prints records, parse_s and event_loop_s (CPU seconds, compilation not counted) as JSON.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from time import process_time

import numba
import numpy as np


@numba.njit
def event_loop(events: int, pending: int) -> float:
    """Take the earliest of `pending` events off a binary heap and put another in, so many times."""
    times = np.zeros(pending)
    codes = np.arange(pending)
    state = np.uint64(88172645463325252)
    last = 0.0
    for _ in range(events):
        last, code = times[0], codes[0]
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        time = last + (state >> np.uint64(11)) * 2.0**-53
        at = 0
        while True:
            down = 2 * at + 1
            if down >= pending:
                break
            if down + 1 < pending and times[down + 1] < times[down]:
                down += 1
            if times[down] >= time:
                break
            times[at], codes[at] = times[down], codes[down]
            at = down
        times[at], codes[at] = time, code
    return last


def parse(data: bytes) -> np.ndarray:
    """All numbers of a trace behind its header, letters left out."""
    return np.fromstring(data[data.index(b"\n") :].translate(None, b"CG"), np.int64, sep=" ")


def main() -> None:
    path, events, pending = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    begun = process_time()
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    parse(data)
    parse_s = process_time() - begun
    records = data.count(b"\n") - 1 - sum(text.startswith(b"C") for text in data[:100_000].split(b"\n"))
    event_loop(1, pending)
    begun = process_time()
    event_loop(events, pending)
    json.dump({"records": records, "parse_s": parse_s, "event_loop_s": process_time() - begun}, sys.stdout)


if __name__ == "__main__":
    main()

"""Captures written down call by call, and the lines they mix to."""

from __future__ import annotations

import struct
from pathlib import Path

from vef.mix import Mixed, mix_capture
from vef.mix.events import Call, Calls, Capture, Completions, RankCapture, RankCommunicator
from vef.write import text_chunks


class Script:
    """What one rank does. Times in ns; a call takes `cost`."""

    def __init__(self, rank: int, communicators: list[RankCommunicator], zero: int = 0) -> None:
        self.rank, self.communicators, self.zero = rank, communicators, zero
        self.now = zero
        self.rows: list[dict[str, int]] = []
        self.done: list[tuple[int, int, int, int]] = []
        self.ended: int | None = None
        self.unsupported: dict[str, int] = {}

    def work(self, ns: int) -> Script:
        """Compute."""
        self.now += ns
        return self

    def call(self, kind: Call, cost: int = 10, **columns: int) -> Script:
        """Any call."""
        self.rows.append({"call": kind, "start_ns": self.now, "end_ns": self.now + cost, **columns})
        self.now += cost
        return self

    def wait(self, *requests: int | tuple[int, int, int], cost: int = 10) -> Script:
        """Complete requests: numbers, or number, source and tag."""
        for request in requests:
            self.done.append((len(self.rows), *(request if isinstance(request, tuple) else (request, -1, -1))))
        return self.call(Call.WAIT, cost)

    def finalize(self) -> Script:
        """Enter MPI_Finalize."""
        self.ended = self.now
        return self

    def capture(self) -> RankCapture:
        """What a reader of its files would give."""
        names = {name for row in self.rows for name in row}
        defaults = {"hidden_ns": 0, "peer": -2, "bytes": 0, "tag": -1, "comm": 0, "root": -1, "request": -1}
        columns = {name: [row.get(name, defaults.get(name, 0)) for row in self.rows] for name in names}
        done = list(zip(*self.done, strict=True)) or [[]] * 4
        return RankCapture(
            rank=self.rank,
            path=f"rank{self.rank}",
            node="here",
            init_end_ns=self.zero,
            finalize_start_ns=self.ended,
            calls=Calls.of(**({"call": [], "start_ns": [], "end_ns": []} | columns)),
            completions=Completions.of(*done),
            communicators=tuple(self.communicators),
            unsupported=self.unsupported,
        )


def communicator(*members: int, key: int = 0, inter: bool = False) -> RankCommunicator:
    """One with the members given."""
    return RankCommunicator.of(members, (key,), inter)


def scripts(tasks: int, *more: RankCommunicator) -> list[Script]:
    """One per task; each knows MPI_COMM_WORLD and those of `more` that it is a member of."""
    world = communicator(*range(tasks))
    return [Script(r, [world, *(each for each in more if r in each.members)]) for r in range(tasks)]


def mix(programs: list[Script]) -> Mixed:
    """Mix what the tasks did."""
    return mix_capture(Capture("capture", tuple(program.capture() for program in programs)))


def lines(mixed: Mixed) -> list[str]:
    """The trace as text, without header and communicators."""
    text = "".join(text_chunks(mixed.trace)).splitlines()
    return [line for line in text[1:] if not line.startswith("C")]


RECORD = "<QQiiiiB7x"
INIT, FINALIZE, SEND, RECV, IRECV, WAIT, ALLREDUCE = 200, 202, 100, 109, 111, 151, 2
Record = tuple[int, int, int, int, int, int, int]  # start, end, peer, bytes, tag, request, op


def write_raw(folder: Path, ranks: dict[int, list[Record]], tasks: int) -> Path:
    """Write files as VEF-Prospector does."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{tasks}", f"{folder}/"]
    for rank, records in ranks.items():
        lines.append(f"Task:{rank}:Node:node{rank}:RI:0:RF:9:TI:{records[0][0] if records else 0}:TF:9")
        (folder / f"{rank}.veft").write_bytes(b"".join(struct.pack(RECORD, *record) for record in records))
        (folder / f"{rank}.comm").write_bytes(struct.pack("<IIi", 0, tasks, -1))
    (folder / "VEFT.main").write_text("\n".join(lines) + "\n")
    return folder


def ping(first: int, second: int) -> dict[int, list[Record]]:
    """Rank `first` sends 86 bytes at 100 ns, which `second` receives from 150 ns on; each has its own clock."""
    return {
        first: [
            (1000, 1010, 0, 0, 0, 0, INIT),
            (1100, 1120, second, 86, 7, 0, SEND),
            (1130, 1140, 0, 0, 0, 0, FINALIZE),
        ],
        second: [
            (5000, 5010, 0, 0, 0, 0, INIT),
            (5150, 5200, first, 86, 7, 0, RECV),
            (5260, 5270, 0, 0, 0, 0, FINALIZE),
        ],
    }

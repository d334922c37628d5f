"""Measurement files: what is in them is told from their content; a log may hold several tests of several tools."""

from __future__ import annotations

import re
from pathlib import Path

from estimator.calibrate.measurements import MeasurementError, Series
from estimator.calibrate.parse_csv import is_csv, parse_csv
from estimator.calibrate.parse_nccl import START, NcclBlock, test_named
from estimator.calibrate.parse_osu import TITLE, OsuBlock

MOST_BYTES = 64 << 20

_KNOWN = "output of OSU micro-benchmarks or nccl-tests, or CSV with the columns size_bytes and latency_us"
# mpirun --tag-output, srun --label
_LABEL = re.compile(r"^(?:\[\d+,\d+\]<std(?:out|err)>:\s?|\d+:\s(?=\s*[#\d]))")
_LAUNCH = re.compile(r"\b(?:mpirun|mpiexec|mpirun_rsh|srun|prun|aprun|jsrun)\b")
_RANKS = re.compile(r"(?:^|\s)(?:-np|-n|--np|--ntasks)[ =](\d{1,9})\b")
_SAID = re.compile(r"#\s*ranks\s*[:=]\s*(\d{1,9})\s*$", re.IGNORECASE)


def read_measurements(path: str) -> tuple[list[Series], list[str]]:
    """Read a file.

    Parameters
    ----------
    path : str
        Text of OSU micro-benchmarks, of nccl-tests 2.x, a log with several of them, or CSV.

    Returns
    -------
    series : list of Series
        In the order of the file.
    notes : list of str
        What was left out, and why.

    Raises
    ------
    MeasurementError
        For a file in which no known measurement is found, or in which one is damaged.
    """
    lines = _text(path).splitlines()
    said = next((int(found[1]) for line in lines if (found := _SAID.match(line.strip()))), None)
    if is_csv(lines):
        return parse_csv(path, lines, said), []
    series, notes = _read_blocks(path, lines, said)
    if not series:
        if notes:
            raise MeasurementError(path, None, notes[0].partition(": ")[2], "a test that calibrate can use", _USABLE)
        first = next((line.strip() for line in lines if line.strip()), "")
        raise MeasurementError(path, 1, f"'{first[:80]}'", _KNOWN, "the lines that start with # are needed too")
    return series, notes


_USABLE = "osu_latency, osu_bw, osu_bibw, osu_multi_lat, osu_mbw_mr, osu_alltoall and other blocking collectives"


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise MeasurementError(path, None, error.strerror or str(error), "a readable measurement file") from None
    if len(content) > MOST_BYTES:
        raise MeasurementError(path, None, f"more than {MOST_BYTES} bytes", "a measurement file")
    # Redirected output of some shells.
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if b"\0" in content and encoding != "utf-16":
        raise MeasurementError(path, None, "a binary file", _KNOWN)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise MeasurementError(path, None, f"a byte that is not text at {error.start}", _KNOWN) from None
    if not text.strip():
        raise MeasurementError(path, None, "an empty file", _KNOWN)
    return text


def _read_blocks(path: str, lines: list[str], said: int | None) -> tuple[list[Series], list[str]]:
    found: list[Series] = []
    notes: list[str] = []
    block: OsuBlock | NcclBlock | None = None
    # The file's name or a command line before the output tell what the output leaves out.
    ranks, test = said, test_named(Path(path).name)

    def close() -> None:
        if isinstance(block, OsuBlock) and block.operation is None:
            notes.append(f"{path}:{block.line}: {block.title} is not used")
        elif block is not None and (series := block.finish()) is not None:
            found.append(series)

    for number, raw in enumerate(lines, 1):
        line = _LABEL.sub("", raw).strip()
        if title := TITLE.match(line):
            close()
            block = OsuBlock(path, number, title["title"], ranks)
        elif START.match(line) and not (isinstance(block, NcclBlock) and not block.rows):
            close()
            block = NcclBlock(path, number, test_named(line) or test)
        elif _LAUNCH.search(line) and not line.startswith("#"):
            counted = _RANKS.search(line)
            ranks = int(counted[1]) if counted else said
            test = test_named(line) or test
        elif block is not None:
            block.feed(number, line)
    close()
    return found, notes

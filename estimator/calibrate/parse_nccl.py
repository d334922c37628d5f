"""Text output of nccl-tests and rccl-tests (2.x): comments, two lines that name the columns, rows."""

from __future__ import annotations

import re

import numpy as np

from estimator.calibrate.measurements import LATENCY, MeasurementError, Series, checked_size, checked_value

START = re.compile(r"#\s*(?:nccl-tests version|Collective test starting:|nThread\s+\d+)")
_TESTS = "all_reduce|all_gather|alltoall|broadcast|reduce_scatter|reduce|gather|scatter|sendrecv"
_NAMED = re.compile(rf"\b({_TESTS})_perf")
_RANK = re.compile(r"#\s*Rank\s+(\d{1,9})\b.*?\bon\s+(\S+)\s+device\b")
_OPERATIONS = {"all_reduce": "allreduce", "all_gather": "allgather", "broadcast": "bcast", "sendrecv": LATENCY}


def test_named(text: str) -> str | None:
    """The test that a command line or comment names, such as ``all_reduce``."""
    found = _NAMED.search(text)
    return found[1] if found else None


class NcclBlock:
    """The lines of one run, fed one by one."""

    def __init__(self, path: str, line: int, test: str | None) -> None:
        self.path, self.line, self.test = path, line, test
        self.hosts_of: dict[int, str] = {}
        self.columns: list[str] = []
        self.has_units = False
        self.rows: list[tuple[int, float, int]] = []
        self.factors: list[tuple[float, float]] = []
        self.reduces = False

    def feed(self, line: int, text: str) -> None:
        """Take a line: a rank, column names, units, a row; anything else is noise of the job.

        Raises
        ------
        MeasurementError
            For a row, a unit or a version that is not known.
        """
        if rank := _RANK.match(text):
            self.hosts_of[int(rank[1])] = rank[2]
        elif text.startswith("#"):
            self.test = self.test or test_named(text)
            self._name_columns(line, text.lstrip("#").split())
        elif self.columns and re.match(r"[+-]?\d+([.,]\d+)?\s", text):
            self._add_row(line, text.split())

    def _name_columns(self, line: int, names: list[str]) -> None:
        if names[:2] == ["bytes", "N"]:
            raise MeasurementError(
                self.path, line, "columns of nccl-tests 1.x, which has no units", "output of nccl-tests 2.x",
                "run a newer version, or convert to CSV (docs/calibrate.md)",
            )  # fmt: skip
        if names[:2] == ["size", "count"]:
            if not {"time", "algbw", "busbw"} <= set(names):
                raise MeasurementError(
                    self.path, line, f"columns {' '.join(names)}", "size, count, time, algbw and busbw"
                )
            self.columns = names
        elif names[:1] == ["(B)"]:
            if "(us)" not in names or "(GB/s)" not in names:
                raise MeasurementError(self.path, line, f"units {' '.join(names)}", "(us) and (GB/s)")
            self.has_units = True

    def _add_row(self, line: int, fields: list[str]) -> None:
        if not self.has_units:
            raise MeasurementError(
                self.path, line, "a row before the line of units", "first the line '#  (B) (elements) … (us) (GB/s)'"
            )
        if len(fields) != len(self.columns):
            raise MeasurementError(
                self.path, line, f"{len(fields)} values in '{' '.join(fields)}'",
                f"{len(self.columns)}, one for each column ({' '.join(self.columns)})",
            )  # fmt: skip
        size = checked_size(fields[0], self.path, line)
        at = self.columns.index("time")
        time_s = checked_value(fields[at], "a time in us", self.path, line) * 1e-6
        rates = [
            checked_value(fields[self.columns.index(name)], f"{name} in GB/s", self.path, line, zero=True)
            for name in ("algbw", "busbw")
        ]
        if size == 0:
            return
        self.rows.append((size, time_s, line))
        self.factors.append((rates[0], rates[1]))
        if "redop" in self.columns:
            self.reduces = fields[self.columns.index("redop")].lower() != "none"

    def finish(self) -> Series | None:
        """The series; None for a run whose lines hold no row at all (a header that another rank repeats).

        Raises
        ------
        MeasurementError
            When it stays open which collective was run.
        """
        if not self.rows:
            return None
        algbw, busbw = np.array(self.factors).T
        # The rates are printed with two digits, so the largest tells the factor best.
        best = int(algbw.argmax())
        factor = float(busbw[best] / algbw[best]) if algbw[best] > 0 else 0.0
        ranks = len(self.hosts_of) or None
        test = self.test or self._guess(factor, ranks)
        sizes, times, lines = zip(*self.rows, strict=True)
        return Series(
            self.path, self.line, "nccl", _OPERATIONS.get(test, test), f"{test}_perf",
            np.array(sizes, np.int64), np.array(times, np.float64), np.array(lines, np.int64),
            ranks=ranks, hosts=len(set(self.hosts_of.values())) or None, bus_factor=factor,
        )  # fmt: skip

    def _guess(self, factor: float, ranks: int | None) -> str:
        """The test, from whether it reduces and what it counts as bus bandwidth: 2(n-1)/n, (n-1)/n."""
        if ranks and ranks > 2 and self.reduces:
            if abs(factor - 2 * (ranks - 1) / ranks) < 0.02:
                return "all_reduce"
            if abs(factor - (ranks - 1) / ranks) < 0.02:
                return "reduce_scatter"
        raise MeasurementError(
            self.path, self.line, "a run of nccl-tests that does not say of which test", "its name",
            "keep the command line in the file, or put the name in the file's name (such as all_gather_perf.txt)",
        )  # fmt: skip

"""Read a trace: stream its text through the tokenizer, then check and resolve everything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from vef.assemble import assemble
from vef.columns import Columns
from vef.communicators import CommunicatorTable
from vef.explain import Damage
from vef.header import parse_communicator, parse_header, quote
from vef.lines import parse_record
from vef.problems import InvalidTrace, Problem, ProblemLog
from vef.records import MAX_RECORDS, Header, LineMap, Trace
from vef.source import Source, open_source
from vef.text import LineBlocks

SHORTEST_RECORD = 14  # bytes of "0 0 0 0 0 0 0\n"
ROWS_WITHOUT_SIZE = 1 << 24  # believe a header so far when the size of the text is unknown
BOM = b"\xef\xbb\xbf"


def read_trace(path: str | Path) -> Trace:
    """Read and validate a VEF trace.

    Parameters
    ----------
    path : str or Path
        Plain text, gzip or zstd, told by the content; ``"-"`` is standard input.

    Returns
    -------
    Trace
        With what was odd but tolerated in `warnings`.

    Raises
    ------
    InvalidTrace
        With every problem that was found.
    """
    trace, problems = check_trace(path)
    if trace is None:
        name = "<stdin>" if str(path) == "-" else str(path)
        raise InvalidTrace(name, [problem for problem in problems if problem.fatal])
    return trace


def check_trace(path: str | Path) -> tuple[Trace | None, list[Problem]]:
    """Find every problem of a trace in one run.

    Parameters
    ----------
    path : str or Path
        As for `read_trace`.

    Returns
    -------
    trace : Trace or None
        None when there is a fatal problem.
    problems : list of Problem
        Fatal ones and warnings by line; at most 1000 fatal ones, then one that counts the rest.
    """
    log = ProblemLog()
    try:
        source = open_source(path)
    except InvalidTrace as error:
        return None, list(error.problems)
    trace: Trace | None = None
    try:
        reader = _Reader(source, log)
        reader.run()
        trace = reader.finish()
    except InvalidTrace as error:
        for problem in error.problems:
            log.add(problem)
    finally:
        source.close()
    problems = log.finish()
    if trace is None or log.fatal:
        return None, problems
    return replace(trace, path=source.path, sha256=source.sha256(), warnings=log.warnings()), problems


class _Reader:
    """State of reading one file."""

    def __init__(self, source: Source, log: ProblemLog) -> None:
        self.source = source
        self.log = log
        self.header: Header | None = None
        self.header_line = 0
        self.table = CommunicatorTable()
        self.columns = Columns(0)
        self.damage = Damage()
        self.skips: list[int] = []  # for every line that is no record, the row after it
        self.line = 1
        self.blank: list[int] = []
        self.stopped = False
        self.quirks = np.zeros(2, np.int64)

    def run(self) -> None:
        """Read to the end, or until there are too many problems."""
        from vef import _tokenize

        blocks = LineBlocks(self.source)
        fields = np.empty(9, np.int64)
        while not self.stopped and blocks.advance():
            if self.line == 1 and blocks.has_nul():
                found = f"binary data, beginning with {quote(blocks.text(0, 8))}"
                self.log.error(1, "binary", found, "text, beginning with VEF or VEF3")
                self.stopped = True
            position = 0
            while position < blocks.end and not self.stopped:
                if self.header is not None and blocks.buffer[position] != ord("C"):
                    columns = self.columns
                    before = columns.rows
                    position, columns.rows, reason = _tokenize.tokenize(
                        blocks.buffer, position, blocks.end, self.line, self.header.tasks, columns.id_limit,
                        before, self.quirks, fields, *columns.arrays.values(),
                    )  # fmt: skip
                    self.line += columns.rows - before
                    if reason == _tokenize.COLUMNS_FULL:
                        self._grow()
                        continue
                    if reason == _tokenize.AT_END:
                        break
                end = blocks.line_end(position)
                self._odd_line(blocks.text(position, end))
                position = end + 1
                self.line += 1

    def finish(self) -> Trace | None:
        """Check what was read as a whole."""
        if self.stopped:
            return None
        if not self.header_line:
            parse_header(b"", 1, self.log)
        self._warn_form()
        if self.header is None:
            return None
        skips = np.array(self.skips, np.int64)
        before = int(np.searchsorted(skips, 0, side="right"))
        line_map = LineMap(before, skips[before:])
        columns = self.columns.trimmed()
        return assemble(self.header, self.table, columns, line_map, self.log, self.damage, self.header_line)

    def _grow(self) -> None:
        if self.columns.rows >= MAX_RECORDS:
            found = f"more than {MAX_RECORDS} records"
            raise InvalidTrace(self.source.path, [Problem(self.line, "too-long", found, "at most that many")])
        self.columns.grow(min(2 * self.columns.rows + 1024, MAX_RECORDS))

    def _odd_line(self, text: bytes) -> None:
        """Take a line that is no plain record: header, communicator, blank, tolerated or bad."""
        if text.endswith(b"\r"):
            text = text[:-1]
            self.quirks[1] = self.quirks[1] or self.line
        if not text.strip():
            self.blank.append(self.line)
            self.skips.append(self.columns.rows)
        elif not self.header_line:
            self.skips.append(0)
            self._take_header(text)
        elif text.lstrip(b" \t").startswith(b"C"):
            self.skips.append(self.columns.rows)
            self._take_communicator(text)
        else:
            self._take_record(text)
        if self.log.full:
            found = f"{self.log.fatal} problems by line {self.line}"
            self.log.error(None, "stopped", found, "fewer", "the rest of the file was not checked")
            self.stopped = True

    def _take_header(self, text: bytes) -> None:
        self.header_line = self.line
        if text.startswith(BOM):
            self.log.warn(self.line, "bom", "a byte order mark", "VEF", "skipped")
            text = text[len(BOM) :]
        self.header = parse_header(text, self.line, self.log)
        if self.header is None:
            self.stopped = True
            return
        promised = max(self.header.p2p_records, 0) + max(self.header.local_collectives, 0)
        size = self.source.size
        most = ROWS_WITHOUT_SIZE if size is None else size // SHORTEST_RECORD + 1
        self.columns = Columns(min(promised, most, MAX_RECORDS))

    def _take_communicator(self, text: bytes) -> None:
        tasks = self.header.tasks if self.header else None
        if self.columns.rows:
            found = "a communicator after the first record"
            self.log.warn(self.line, "communicator-late", found, "it before")
        identifier, members = parse_communicator(text, self.line, tasks, self.log)
        if identifier is None:
            self.table.unreadable += 1
        else:
            self.table.add(identifier, members, self.line)

    def _take_record(self, text: bytes) -> None:
        tasks = self.header.tasks if self.header else None
        record = parse_record(text, self.line, tasks)
        if record is None:
            self.skips.append(self.columns.rows)
            self.damage.unnamed += 1
            expected = "a record: a number, G or C at its beginning"
            self.log.error(self.line, "unknown-line", quote(text), expected)
            return
        for problem in record.problems:
            self.log.add(problem)
        if record.values:
            self.columns.append(record.values)
            return
        self.skips.append(self.columns.rows)
        if record.collective:
            self.damage.local += 1
            ids = self.damage.collectives
        else:
            self.damage.p2p += 1
            ids = self.damage.messages
        if record.id is None:
            self.damage.unnamed += 1
        else:
            ids.add(record.id)

    def _warn_form(self) -> None:
        if self.quirks[0]:
            self.log.warn(int(self.quirks[0]), "spaces", "tabs or several spaces between fields", "one space")
        if self.quirks[1]:
            self.log.warn(int(self.quirks[1]), "line-ends", "carriage returns at line ends", "plain newlines")
        if self.blank:
            found = f"{len(self.blank)} blank lines" if len(self.blank) > 1 else "a blank line"
            self.log.warn(self.blank[0], "blank-line", found, "none", "skipped")

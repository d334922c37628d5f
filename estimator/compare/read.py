"""Results of `congest estimate --format json`, read back and checked as far as a comparison needs them."""

from __future__ import annotations

import gzip
import json
import math
import re
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from estimator.document import SCHEMA_VERSION

HOW_TO_MAKE = "make one with: congest estimate TRACE --topo TOPO --format json -o FILE"
GZIP_MAGIC = b"\x1f\x8b"
LONGEST_QUOTE = 60

Check = Callable[[Any], bool]


class ResultError(ValueError):
    """A file that is not a result of `estimate`: where, what was found, what was expected, what to do."""

    def __init__(self, path: str, where: str, found: str, expected: str, hint: str = HOW_TO_MAKE) -> None:
        self.path, self.where, self.found, self.expected, self.hint = path, where, found, expected, hint
        place = f"{path}: {where}: " if where else f"{path}: "
        super().__init__(f"{place}found {found}; expected {expected}; {hint}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _is_amount(value: Any) -> bool:
    return math.isfinite(value) and value >= 0 if isinstance(value, float) else _is_count(value)


def _is_amount_or_none(value: Any) -> bool:
    return value is None or _is_amount(value)


def _is_text_or_none(value: Any) -> bool:
    return value is None or _is_text(value)


EXPECTED: dict[Check, str] = {
    _is_text: "text without control characters",
    _is_flag: "true or false",
    _is_count: "a whole number, not negative",
    _is_amount: "a finite number, not negative",
    _is_amount_or_none: "a finite number, not negative, or null",
    _is_text_or_none: "text without control characters, or null",
}

SUMMARY: dict[str, Check] = {
    "makespan_s": _is_amount,
    "communication_s": _is_amount,
    "slowdown": _is_amount_or_none,
    "collectives": _is_count,
    "steps": _is_count,
    "g5_steps": _is_count,
    "g5_share_of_time": _is_amount,
    "max_rho": _is_amount,
}
COLLECTIVE: dict[str, Check] = {
    "id": _is_text,
    "trace": _is_count,
    "op": _is_text,
    "communicator": _is_text,
    "ranks": _is_count,
    "root": _is_amount_or_none,
    "bytes": _is_amount,
    "algorithm": _is_text,
    "start_s": _is_amount,
    "latency_s": _is_amount,
    "slowdown": _is_amount_or_none,
    "max_rho": _is_amount,
    "run_g5": _is_flag,
}
STEP: dict[str, Check] = {
    "collective": _is_text_or_none,
    "trace": _is_count,
    "round": _is_count,
    "messages": _is_count,
    "bytes": _is_amount,
    "start_s": _is_amount,
    "run_g5": _is_flag,
}
# What the documented form of a result does not promise.
OPTIONAL = ("trace",)
TOOL: dict[str, Check] = {"name": _is_text, "version": _is_text}
TRACE: dict[str, Check] = {"path": lambda value: isinstance(value, str), "sha256": _is_text}


def read_result(path: str) -> dict[str, Any]:
    """Read and check a result; `-` is standard input, gzip is told by the content.

    Raises
    ------
    ResultError
        When it is not JSON, cut short, not a result of `estimate`, of another schema, or holds values that are none.
    OSError
        When the file cannot be read.
    """
    name = "<stdin>" if path == "-" else path
    data = sys.stdin.buffer.read() if path == "-" else _bytes(path)
    if not data.strip():
        raise ResultError(name, "", "an empty file", "a JSON result of congest estimate")
    try:
        text = (gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data).decode("utf-8-sig")
        document = json.loads(text, parse_constant=lambda word: _refuse(name, text, word))
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ResultError(name, "", f"damaged gzip data ({error})", "a whole file", "copy it again") from error
    except UnicodeDecodeError as error:
        found = f"bytes that are no UTF-8 text (at {error.start})"
        raise ResultError(name, "", found, "a JSON result of congest estimate") from error
    except json.JSONDecodeError as error:
        raise _not_json(name, text, error) from error
    except RecursionError as error:
        raise ResultError(name, "", "values nested too deeply", "a JSON result of congest estimate") from error
    except ResultError:
        raise
    except ValueError as error:
        # Whole numbers of thousands of digits are refused by Python itself.
        raise ResultError(name, "", str(error), "numbers that fit a float") from error
    check_result(document, name)
    return document


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path}: there is no such file; {HOW_TO_MAKE}") from error
    except IsADirectoryError as error:
        raise IsADirectoryError(f"{path}: is a folder; expected a JSON result of congest estimate") from error


def _refuse(path: str, text: str, word: str) -> None:
    line = next((number for number, row in enumerate(text.splitlines(), 1) if word in row), 1)
    raise ResultError(path, f"line {line}", word, "a finite number", "run congest estimate again")


def _not_json(path: str, text: str, error: json.JSONDecodeError) -> ResultError:
    where = f"line {error.lineno}, column {error.colno}"
    # A word or number that the end cuts, such as "nul", stands there as well.
    if error.msg.startswith("Unterminated string") or re.fullmatch(r"[\w.+-]*", text[error.pos :].rstrip()):
        if text.lstrip().startswith("{"):
            return ResultError(path, where, "the end of the file", "the rest of the JSON: it is cut short")
    elif error.msg == "Extra data" and text.lstrip().startswith('{"kind"'):
        return ResultError(path, where, "JSON lines", "one JSON document", "use --format json instead of jsonl")
    return ResultError(path, where, f"no JSON ({error.msg})", "a JSON result of congest estimate")


def check_result(document: Any, path: str) -> None:
    """Check the fields that a comparison uses; fields besides them are none of its business.

    Raises
    ------
    ResultError
        With the first field that is missing or not what it should be.
    """
    if not isinstance(document, dict):
        raise ResultError(path, "", _quoted(document), "an object, the JSON result of congest estimate")
    _check_version(document, path)
    if "tool" in document:
        _check_row(document["tool"], TOOL, path, "tool")
    for name, kind in (("inputs", dict), ("summary", dict), ("collectives", list), ("steps", list)):
        if name not in document:
            raise ResultError(path, "", f"no field '{name}'", "a JSON result of congest estimate")
        if not isinstance(document[name], kind):
            wanted = "an object" if kind is dict else "a list"
            raise ResultError(path, name, _quoted(document[name]), wanted)
    inputs = document["inputs"]
    traces = inputs.get("traces")
    if not isinstance(traces, list) or not traces:
        raise ResultError(path, "inputs.traces", _quoted(traces), "a list of at least one trace")
    for index, row in enumerate(traces):
        _check_row(row, TRACE, path, f"inputs.traces[{index}]")
    _check_finite(inputs, path, "inputs")
    if not isinstance(inputs.get("topology"), dict):
        raise ResultError(path, "inputs.topology", _quoted(inputs.get("topology")), "an object")
    _check_row(document["summary"], SUMMARY, path, "summary")
    seen = set()
    for index, row in enumerate(document["collectives"]):
        _check_row(row, COLLECTIVE, path, f"collectives[{index}]")
        if row["id"] in seen:
            raise ResultError(path, f"collectives[{index}].id", f"'{row['id']}' again", "an id of its own")
        seen.add(row["id"])
    for index, row in enumerate(document["steps"]):
        _check_row(row, STEP, path, f"steps[{index}]")


def _check_version(document: dict[str, Any], path: str) -> None:
    found = document.get("schema_version")
    if document.get("comparison") is not None:
        raise ResultError(path, "", "the result of congest compare", "a result of congest estimate")
    if found is None:
        raise ResultError(path, "", "no field 'schema_version'", "a JSON result of congest estimate")
    if isinstance(found, bool) or found != SCHEMA_VERSION:
        newer = isinstance(found, int) and found > SCHEMA_VERSION
        hint = "a newer congest wrote it: update this one" if newer else "run congest estimate again to make it anew"
        raise ResultError(path, "schema_version", _quoted(found), str(SCHEMA_VERSION), hint)


def _check_row(row: Any, fields: Mapping[str, Check], path: str, where: str) -> None:
    if not isinstance(row, dict):
        raise ResultError(path, where, _quoted(row), "an object")
    for name, check in fields.items():
        if name in OPTIONAL and name not in row:
            continue
        if name not in row:
            raise ResultError(path, where, f"no field '{name}'", "a JSON result of congest estimate")
        if not check(row[name]):
            raise ResultError(path, f"{where}.{name}", _quoted(row[name]), EXPECTED.get(check, "text"))


def _check_finite(value: Any, path: str, where: str) -> None:
    """Refuse numbers that are too large for a float, such as 1e999, anywhere inside."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ResultError(path, where, str(value), "a finite number")
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, entry in inner:
        _check_finite(entry, path, f"{where}.{name}")


def _quoted(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value) if isinstance(value, str | bool | float) or abs(value) < 1 << 64 else "a huge number"
    return text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"

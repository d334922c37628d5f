"""Rates, times and sizes as people write them (``400Gb/s``, ``300ns``, ``4MiB``), to SI and back."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S.*?)?\s*")
_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_PREFIXES = {**_DECIMAL, **_BINARY}

TIME_UNITS: dict[str, float] = {
    "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0,
}  # fmt: skip
SIZE_UNITS: dict[str, float] = {f"{prefix}B": factor for prefix, factor in _PREFIXES.items()}
RATE_UNITS: dict[str, float] = {
    f"{prefix}{symbol}{per}": factor * in_bytes
    for prefix, factor in _PREFIXES.items()
    for symbol, in_bytes in (("b", 1 / 8), ("bit", 1 / 8), ("B", 1.0))
    for per in ("/s", "ps")
}

_EXAMPLES = {
    "rate": "a rate such as 400Gb/s or 50GB/s",
    "time": "a time such as 300ns or 1.5us",
    "size": "a size such as 4096B or 4MiB",
}
_WHY_NOT_BARE = {
    "rate": "a bare number does not say bits or bytes; write 400Gb/s (bits) or 50GB/s (bytes)",
    "time": "a bare number does not say which unit; write 300ns, 1.5us, 2ms or 1s",
    "size": "a bare number does not say which unit; write 4096B, 4KiB (1024) or 4kB (1000)",
}
_TABLES = {"rate": RATE_UNITS, "time": TIME_UNITS, "size": SIZE_UNITS}


class UnitError(ValueError):
    """A quantity that cannot be read.

    Attributes
    ----------
    found, expected, hint : str
        What was written, what would be accepted, and what to do about it.
    """

    def __init__(self, found: str, expected: str, hint: str = "") -> None:
        self.found, self.expected, self.hint = found, expected, hint
        super().__init__(f"found {found}; expected {expected}" + (f"; {hint}" if hint else ""))


def _hint_for_unit(unit: str, quantity: str) -> str:
    table = _TABLES[quantity]
    if quantity == "rate":
        if f"{unit}b/s" in table and unit:
            return f"does {unit} mean {unit}b/s (bits) or {unit}B/s (bytes)?"
        if f"{unit}/s" in table:
            return f"a rate is per second: write {unit}/s"
    if quantity == "size":
        if f"{unit}B" in table:
            return f"write {unit}B"
        if unit.endswith("b") and f"{unit[:-1]}B" in table:
            return f"sizes are in bytes: write {unit[:-1]}B (a capital B)"
    folded = {name.lower(): name for name in table}
    if unit.lower() in folded:
        return f"write {folded[unit.lower()]}"
    return "units: " + ", ".join(
        {"rate": ("Mb/s", "Gb/s", "Tb/s", "MB/s", "GB/s", "GiB/s"), "time": ("ps", "ns", "us", "ms", "s"),
         "size": ("B", "kB", "KiB", "MB", "MiB", "GB", "GiB")}[quantity]
    )  # fmt: skip


def _parse(text: object, quantity: str, *, zero: bool) -> float:
    expected = _EXAMPLES[quantity]
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise UnitError(repr(text), expected)
    if not isinstance(text, str):
        raise UnitError(f"the bare number {text}", expected, _WHY_NOT_BARE[quantity])
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise UnitError(f"'{text}'", expected)
    number, unit = match.groups()
    if unit is None:
        raise UnitError(f"the bare number {number}", expected, _WHY_NOT_BARE[quantity])
    factor = _TABLES[quantity].get(unit)
    if factor is None:
        raise UnitError(f"the unit '{unit}' in '{text}'", expected, _hint_for_unit(unit, quantity))
    scaled = float(number.replace("_", ""))
    # Dividing by a whole power of ten is correctly rounded, multiplying by 1e-9 is not.
    value = scaled / round(1 / factor) if factor < 1 else scaled * factor
    if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise UnitError(f"'{text}'", f"{expected}, {'not negative' if zero else 'greater than zero'}")
    return value


def parse_rate(text: object) -> float:
    """Read a rate.

    Parameters
    ----------
    text : object
        Such as ``400Gb/s``, ``400Gbps``, ``50GB/s``; ``b`` is a bit and ``B`` a byte.

    Returns
    -------
    float
        Bytes per second, greater than zero.

    Raises
    ------
    UnitError
        For a bare number, an unknown unit, zero or a negative value.
    """
    return _parse(text, "rate", zero=False)


def parse_time(text: object) -> float:
    """Read a time such as ``300ns`` in seconds (zero is allowed); raises `UnitError`."""
    return _parse(text, "time", zero=True)


def parse_size(text: object) -> int:
    """Read a size such as ``4096B``, ``4KiB`` or ``4kB`` in whole bytes; raises `UnitError`."""
    value = _parse(text, "size", zero=False)
    if value != int(value):
        raise UnitError(f"'{text}'", "a whole number of bytes")
    return int(value)


def _scaled(value: float, steps: list[tuple[float, str]]) -> str:
    for factor, unit in steps:
        # 999.9996 of a unit would print as "1000": it belongs to the next one.
        if abs(value) >= factor * 0.9995:
            return f"{value / factor:.4g}{unit}" if value / factor < 1e4 else f"{value / factor:.0f}{unit}"
    factor, unit = steps[-1]
    return f"{value / factor:.4g}{unit}"


def format_rate(bytes_per_s: float) -> str:
    """Write a rate in bits per second, the network's own unit: ``400Gb/s``."""
    if math.isinf(bytes_per_s):
        return "unlimited"
    return _scaled(bytes_per_s * 8, [(1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1, "b/s")])


def format_time(seconds: float) -> str:
    """Write a time with four significant digits: ``1.234ms``."""
    if seconds == 0:
        return "0s"
    return _scaled(seconds, [(1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps")])


def format_size(size_bytes: float) -> str:
    """Write a size in binary units: ``4MiB``."""
    return _scaled(size_bytes, [(2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1, "B")])

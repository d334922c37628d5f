"""Lists of names as cluster tools write them: ``h[0-3,7]``, ``node[01-04]``."""

from __future__ import annotations

import re
from itertools import product

_PART = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MAX_NAMES = 10_000_000


def split_names(text: str) -> list[str]:
    """Split at the commas that are not inside brackets."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def expand_name(text: str) -> list[str]:
    """Expand one name with ranges in brackets; leading zeros are kept.

    Raises
    ------
    ValueError
        For an unclosed bracket, or a range that is not ``3`` or ``0-7``.
    """
    pieces: list[list[str]] = []
    position = 0
    for match in _PART.finditer(text):
        pieces.append([text[position : match.start()]])
        numbers: list[str] = []
        for part in match.group(1).split(","):
            bounds = _RANGE.fullmatch(part.strip())
            if bounds is None:
                raise ValueError(f"'{part}' in '{text}' is not a number or a range such as 0-7")
            low, high = bounds.group(1), bounds.group(2) or bounds.group(1)
            if int(high) < int(low):
                raise ValueError(f"the range {part} in '{text}' runs backwards")
            if int(high) - int(low) >= _MAX_NAMES:
                raise ValueError(f"the range {part} in '{text}' is too long")
            numbers += [f"{i:0{len(low)}d}" for i in range(int(low), int(high) + 1)]
        pieces.append(numbers)
        position = match.end()
    rest = text[position:]
    if "[" in rest or "]" in rest:
        raise ValueError(f"'{text}' has a bracket without its partner")
    pieces.append([rest])
    return ["".join(parts) for parts in product(*pieces)]


def expand_names(text: str) -> list[str]:
    """Expand a comma-separated list of names; raises `ValueError` as `expand_name`."""
    return [name for part in split_names(text) for name in expand_name(part)]

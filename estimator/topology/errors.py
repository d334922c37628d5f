"""The error of everything a user writes: topology files, shorthands, placements."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# What is found may be a whole file in the wrong place; its beginning tells.
LONGEST_QUOTE = 200


class ConfigError(Exception):
    """Wrong input, said so that it can be put right.

    Parameters
    ----------
    path : str
        The file, or the shorthand text.
    line : int or None
        Line in the file, from 1; None where there are no lines.
    found, expected : str
        What was written and what would have been accepted.
    hint : str
        What to do.
    """

    def __init__(self, path: str, line: int | None, found: str, expected: str, hint: str = "") -> None:
        if len(found) > LONGEST_QUOTE:
            found = found[: LONGEST_QUOTE - 1] + "…"
        self.path, self.line = path, line
        self.found, self.expected, self.hint = found, expected, hint
        place = f"{path}:{line}" if line is not None else path
        text = f"{place}: found {found}; expected {expected}"
        super().__init__(f"{text}; {hint}" if hint else text)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'x'?`` for the closest known name, else the list of known names."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean '{close[0]}'?"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"known: {shown}" if names else ""

"""Which folders hold the raw files of one run, and in which form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vef.mix.events import Capture, CaptureError
from vef.mix.prospector import is_prospector, read_prospector
from vef.mix.raw import is_raw, read_raw

READERS = ((is_raw, read_raw), (is_prospector, read_prospector))
FORMS = "<rank>.calls of congest capture, or VEFT.main and <rank>.veft of VEF-Prospector"


def read_capture(folders: Sequence[str | Path]) -> Capture:
    """Read the raw capture of one run.

    Parameters
    ----------
    folders : sequence of str or Path
        Each holds raw files, or folders that do (one per node).

    Raises
    ------
    CaptureError
        When there are none, or not of one form, or they cannot be used.
    OSError
        When a file cannot be read.
    """
    holding = [place for folder in folders for place in _holding(Path(folder))]
    if len({place.resolve() for place in holding}) < len(holding):
        names = ", ".join(map(str, holding))
        raise CaptureError(f"found a folder twice in {names}; expected each once")
    forms = [next(reader for known, reader in READERS if known(place)) for place in holding]
    for place, form in zip(holding, forms, strict=True):
        if form is not forms[0]:
            raise CaptureError(f"{place}: found another form of raw files than in {holding[0]}; expected one run")
    return forms[0](holding)


def _holding(folder: Path) -> list[Path]:
    """Return the folder if it holds raw files, else those within it that do."""
    if not folder.exists():
        raise CaptureError(f"{folder}: no such folder; expected one with {FORMS}")
    if not folder.is_dir():
        raise CaptureError(f"{folder}: found a file; expected a folder with {FORMS}")
    for places in ([folder], sorted(path for path in folder.iterdir() if path.is_dir())):
        held = [place for place in places if any(known(place) for known, _ in READERS)]
        if held:
            return held
    raise CaptureError(f"{folder}: found no raw capture in it nor in its folders; expected {FORMS}")

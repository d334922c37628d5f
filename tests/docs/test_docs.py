"""Every command in the documentation runs, and prints what the documentation shows.

Blocks marked `console` hold commands after `$ ` and what they print; `CONGEST_UPDATE_DOCS=1` writes today's output.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def run(command: str) -> str:
    """What a command prints to a pipe, 80 columns wide."""
    environment = {**os.environ, "COLUMNS": "80", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(block: str) -> str:
    """The block as it would be printed today."""
    command = block.split("\n", 1)[0].removeprefix("$ ")
    return f"$ {command}\n{run(command)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_console_blocks_show_what_the_commands_print(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    for block in blocks:
        today = shown(block)
        if os.environ.get("CONGEST_UPDATE_DOCS"):
            text = text.replace(block, today)
            page.write_text(text, encoding="utf-8")
        else:
            assert block == today


def test_generated_pages_are_up_to_date() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import build
    finally:
        sys.path.pop(0)
    for name, page in build.PAGES.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page(), "run: python docs/build.py"


def test_the_example_of_calibration_is_up_to_date() -> None:
    example = (ROOT / "docs" / "examples" / "calibration.yaml").read_text(encoding="utf-8")
    assert run("congest calibrate sample_traces/measurements/osu_*.txt --quiet").startswith(example)


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_ci_runs_the_test_command_of_the_readme() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    command = next(block for block in blocks if "pytest" in block)
    assert command.strip() in (ROOT / ".ci" / "run").read_text(encoding="utf-8")

"""The CI jobs of docs/ci.md do what the page says, in a repository with the files that it names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from estimator.compare import DEFAULT_LIMITS
from estimator.compare.limits import KNOWN

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
JOBS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
MAKE_BASELINE = re.search(r"```sh\n(.*?)```", PAGE, re.DOTALL)[1]
INSTALL = "pip install congest"


def shell(command: str, folder: Path, **variables: str) -> int:
    """Run a command as a CI runner does, and return its exit code; the package is there already."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    modules = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": modules, **variables}
    command = command.replace(INSTALL, "congest --version")
    done = subprocess.run(
        ["bash", "-e", "-c", command], cwd=folder, env=environment, capture_output=True, check=False
    )
    return done.returncode


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a trace, a topology and the baseline that the page tells to make."""
    home = tmp_path_factory.mktemp("ci") / "repository"
    for folder in ("traces", "ci"):
        (home / folder).mkdir(parents=True)
    shutil.copy(ROOT / "sample_traces" / "halo.vef", home / "traces" / "app.vef")
    shutil.copy(ROOT / "configs" / "leafspine.yaml", home / "ci" / "topology.yaml")
    assert shell(MAKE_BASELINE, home) == 0
    return home


@pytest.fixture
def repository(prepared: Path, tmp_path: Path) -> Path:
    """The same for one test."""
    return Path(shutil.copytree(prepared, tmp_path / "repository"))


def slow_down(repository: Path) -> None:
    file = repository / "ci" / "topology.yaml"
    text = file.read_text(encoding="utf-8")
    assert "switch_latency: 600ns" in text
    file.write_text(text.replace("switch_latency: 600ns", "switch_latency: 60us"), encoding="utf-8")


def github(repository: Path) -> list[tuple[str, int]]:
    """Steps of the GitHub job with their exit codes, up to the first that fails."""
    steps = JOBS[0]["jobs"]["congestion"]["steps"]
    codes = []
    for step in steps:
        if "run" in step:
            summary = str(repository / "summary.md")
            codes.append((step["run"], shell(step["run"], repository, GITHUB_STEP_SUMMARY=summary)))
            if codes[-1][1]:
                break
    return codes


def gitlab(repository: Path) -> list[tuple[str, int]]:
    """Lines of the GitLab job with their exit codes, up to the first that fails."""
    codes = []
    for line in JOBS[1]["congestion"]["script"]:
        codes.append((line, shell(line, repository)))
        if codes[-1][1]:
            break
    return codes


@pytest.mark.parametrize("job", [github, gitlab])
def test_a_job_passes_on_the_baseline(repository: Path, job: Any) -> None:
    codes = job(repository)
    assert codes[0] == (INSTALL, 0)
    assert [code for _, code in codes] == [0] * len(codes)
    assert "congest compare" in codes[-1][0]


@pytest.mark.parametrize("job", [github, gitlab])
def test_a_job_fails_on_a_regression_until_its_result_is_the_baseline(repository: Path, job: Any) -> None:
    slow_down(repository)
    command, code = job(repository)[-1]
    assert "congest compare" in command
    assert code == 1
    check_what_is_kept(repository, job)
    shutil.copy(repository / "congest.json", repository / "ci" / "baseline.json")
    assert shell(command, repository) == 0
    (repository / "ci" / "baseline.json").unlink()
    assert shell(command, repository) == 2


def check_what_is_kept(repository: Path, job: Any) -> None:
    """Summary, artifacts and reports of a job that failed are where the job says."""
    if job is github:
        assert "Regression" in (repository / "summary.md").read_text(encoding="utf-8")
        keep = JOBS[0]["jobs"]["congestion"]["steps"][-1]
        assert (keep["if"], (repository / keep["with"]["path"]).is_file()) == ("always()", True)
    else:
        artifacts = JOBS[1]["congestion"]["artifacts"]
        assert artifacts["when"] == "always"
        assert all((repository / path).is_file() for path in artifacts["paths"])
        suite = ElementTree.parse(repository / artifacts["reports"]["junit"]).getroot()
        assert int(suite.attrib["failures"]) > 0


def test_the_page_names_every_limit_and_the_defaults() -> None:
    assert ", ".join(f"`{text}`" for text in DEFAULT_LIMITS) in PAGE
    assert all(f"`{quantity}`" in PAGE for quantity in KNOWN)

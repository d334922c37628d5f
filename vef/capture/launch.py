"""The command line that starts a program with the recording library in every rank."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from vef.capture.mpi import MPICH, OPEN_MPI, SLURM, Launcher

FOLDER_VARIABLE = "CONGEST_CAPTURE_DIR"


def recorded_command(
    launcher: Launcher, command: Sequence[str], library: str, folder: str, environment: Mapping[str, str] = os.environ
) -> tuple[list[str], dict[str, str]]:
    """The command to run, and what to add to its environment.

    The launcher hands the two variables to the ranks where it can, so that it does not load the library itself. The
    variables of the environment otherwise, which reach the ranks on this machine.
    """
    preload = ":".join(part for part in (library, environment.get("LD_PRELOAD")) if part)
    variables = {"LD_PRELOAD": preload, FOLDER_VARIABLE: folder}
    words = [launcher.path, *command[1:]]
    if launcher.family == OPEN_MPI:
        options = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
        # Each part of a command line with several programs, separated by a colon, has its own variables.
        return [out for word in words for out in ((word, *options) if word in (words[0], ":") else (word,))], {}
    if launcher.family == MPICH:
        options = [word for name, value in variables.items() for word in ("-genv", name, value)]
        return [words[0], *options, *words[1:]], {}
    if launcher.family == SLURM:
        return _for_slurm(words, variables, environment)
    return words, variables


def _for_slurm(
    words: list[str], variables: dict[str, str], environment: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """`srun --export=…`, added to what the user exports."""
    added = ",".join(f"{name}={value}" for name, value in variables.items())
    for index, word in enumerate(words[1:], 1):
        if word.startswith("--export="):
            return [*words[:index], f"{word},{added}", *words[index + 1 :]], {}
        if not word.startswith("-"):
            break
    exported = environment.get("SLURM_EXPORT_ENV") or "ALL"
    return [words[0], f"--export={exported},{added}", *words[1:]], {}

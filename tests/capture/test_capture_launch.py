"""Finding the MPI of a command, and handing the library to the ranks; without an MPI."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from capture_programs import run_congest

from vef.capture import CaptureError, describe_exit
from vef.capture.launch import recorded_command
from vef.capture.mpi import MPICH, OPEN_MPI, OTHER, SLURM, Launcher, find_compiler, find_launcher
from vef.capture.prototypes import c_wrappers, counted_functions

LIBRARY, FOLDER = "/cache/lib.so", "/raw"
OPEN_MPI_VERSION = 'echo "mpirun (Open MPI) 5.0.1"'
MPICH_VERSION = 'echo "HYDRA build details:"'
OPEN_MPI_HEADER = 'echo "#define OPEN_MPI 1"'
MPICH_HEADER = 'echo "#define MPICH_VERSION 4.2"'


def _recorded(family: str, *words: str, **environment: str) -> tuple[list[str], dict[str, str]]:
    return recorded_command(Launcher(words[0], family), words, LIBRARY, FOLDER, environment)


def test_open_mpi_hands_the_variables_to_every_program_of_the_command_line():
    options = ["-x", f"LD_PRELOAD={LIBRARY}", "-x", f"CONGEST_CAPTURE_DIR={FOLDER}"]
    words, added = _recorded(OPEN_MPI, "mpirun", "-n", "1", "./a", ":", "-n", "2", "./b")
    assert words == ["mpirun", *options, "-n", "1", "./a", ":", *options, "-n", "2", "./b"]
    assert added == {}


def test_mpich_hands_them_to_all_ranks_at_once():
    words, added = _recorded(MPICH, "mpiexec", "-n", "2", "./a")
    variables = ["-genv", "LD_PRELOAD", LIBRARY, "-genv", "CONGEST_CAPTURE_DIR", FOLDER]
    assert words == ["mpiexec", *variables, "-n", "2", "./a"]
    assert added == {}


@pytest.mark.parametrize(
    ("words", "environment", "exported"),
    [
        (["srun", "-n", "2", "./a"], {}, "ALL"),
        (["srun", "--export=NONE", "./a"], {}, "NONE"),
        (["srun", "./a"], {"SLURM_EXPORT_ENV": "HOME"}, "HOME"),
        (["srun", "./a", "--export=X"], {}, "ALL"),  # an option of the program
    ],
)
def test_slurm_exports_them_besides_what_the_user_exports(words, environment, exported):
    made, added = _recorded(SLURM, *words, **environment)
    expected = f"--export={exported},LD_PRELOAD={LIBRARY},CONGEST_CAPTURE_DIR={FOLDER}"
    assert [word for word in made if word.startswith("--export") and "LD_PRELOAD" in word] == [expected]
    assert made.index(expected) < made.index("./a")
    assert added == {}


def test_others_take_them_from_the_environment_and_a_library_preloaded_before_stays():
    words, added = _recorded(OTHER, "./run.sh", LD_PRELOAD="/other.so")
    assert words == ["./run.sh"]
    assert added == {"LD_PRELOAD": f"{LIBRARY}:/other.so", "CONGEST_CAPTURE_DIR": FOLDER}


@pytest.mark.parametrize(
    ("name", "version", "family"),
    [
        ("mpirun", OPEN_MPI_VERSION, OPEN_MPI),
        ("mpiexec", 'echo "prterun (PRRTE) 3.0"', OPEN_MPI),
        ("mpiexec_hydra", MPICH_VERSION, MPICH),
        ("mpirun", 'echo "Intel(R) MPI Library for Linux* OS, Version 2021"', MPICH),
        ("srun", 'echo "slurm 23.02"', SLURM),
        ("run_sh", OPEN_MPI_VERSION, OTHER),
    ],
)
def test_a_launcher_is_known_by_its_name_and_version(fake_commands: Callable[..., Path], name, version, family):
    fake_commands(**{name: version})
    assert find_launcher([name.replace("_", ".")]).family == family


def test_the_compiler_beside_the_launcher_goes_before_that_on_the_path(
    fake_commands: Callable[..., Path], tmp_path, monkeypatch
):
    folder = fake_commands(mpicc=OPEN_MPI_HEADER, mpirun=OPEN_MPI_VERSION)
    other = tmp_path / "other"
    other.mkdir()
    (other / "mpicc").write_text(f"#!/bin/sh\n{OPEN_MPI_HEADER}\n")
    os.chmod(other / "mpicc", 0o755)
    monkeypatch.setenv("PATH", f"{other}:{folder}")
    assert find_compiler(find_launcher(["mpirun"])) == str(folder / "mpicc")


def test_the_compiler_of_another_mpi_is_passed_over(fake_commands: Callable[..., Path]):
    folder = fake_commands(mpicc=OPEN_MPI_HEADER, mpicc_mpich=MPICH_HEADER, mpirun=MPICH_VERSION)
    assert find_compiler(find_launcher(["mpirun"])) == str(folder / "mpicc.mpich")


def test_only_a_compiler_of_another_mpi_is_an_error_that_names_it(fake_commands: Callable[..., Path]):
    folder = fake_commands(mpicc=OPEN_MPI_HEADER, mpirun=MPICH_VERSION)
    with pytest.raises(CaptureError, match=f"found {folder}/mpicc .Open MPI.; expected one of MPICH"):
        find_compiler(find_launcher(["mpirun"]))


def test_no_compiler_is_an_error_that_says_what_to_install(fake_commands: Callable[..., Path], tmp_path):
    fake_commands(mpirun=OPEN_MPI_VERSION)
    outcome = run_congest("capture", "-o", tmp_path / "x.vef", "--", "mpirun", "./a", path=tmp_path / "x.vef")
    assert outcome.code == 2
    assert "mpicc: command not found" in outcome.err
    assert "apt-get install libopenmpi-dev" in outcome.err


def test_a_compiler_that_fails_is_an_error_with_its_message(
    fake_commands: Callable[..., Path], tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    failing = 'case "$*" in *dM*) echo "#define OPEN_MPI 1";; *) echo "no cc1 here" >&2; exit 4;; esac'
    fake_commands(mpirun=OPEN_MPI_VERSION, mpicc=failing)
    outcome = run_congest("capture", "-o", tmp_path / "x.vef", "--", "mpirun", "./a", path=tmp_path / "x.vef")
    assert outcome.code == 2
    assert "no cc1 here" in outcome.err
    assert "exit code 4" in outcome.err


def test_a_command_that_is_not_there(tmp_path):
    outcome = run_congest("capture", "-o", tmp_path / "x.vef", "--", "./nowhere", path=tmp_path / "x.vef")
    assert outcome.code == 2
    assert "./nowhere: command not found" in outcome.err


def test_a_program_without_mpi_and_one_that_cannot_start_are_errors(any_mpi, tmp_path):
    outcome = any_mpi.capture(1, Path("/bin/true"))
    assert outcome.code == 2
    assert "no rank recorded anything" in outcome.err
    outcome = any_mpi.capture(1, tmp_path / "nowhere")
    assert outcome.code == 2
    assert "no rank came out of MPI_Init" in outcome.err
    assert not outcome.path.exists()


def test_raw_files_of_another_run_are_not_mixed_in(any_mpi):
    assert any_mpi.capture(2, "endings.c", "ok").code == 0
    outcome = any_mpi.capture(2, "endings.c", "ok")
    assert outcome.code == 2
    assert "already holds raw files" in outcome.err


def test_wrappers_have_the_types_of_the_header():
    header = """
        extern __attribute__((visibility("default"))) int MPI_Put(const void *origin, int n, MPI_Datatype type,
            int rank, MPI_Aint at, int target_n, MPI_Datatype target_type, MPI_Win win);
        int MPI_Ineighbor_alltoallw(const void *, const int [], const MPI_Aint[], MPI_Datatype const types[]) ;
        int MPI_Send(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm);
        int MPI_Win_fence(int assert, MPI_Win win) __attribute__((noinline));
    """
    functions = counted_functions(header)
    assert list(functions) == ["MPI_Ineighbor_alltoallw", "MPI_Put", "MPI_Win_fence"]
    assert functions["MPI_Win_fence"] == ("int a0, MPI_Win a1", "a0, a1")
    assert functions["MPI_Ineighbor_alltoallw"][0] == (
        "const void *a0, const int a1[], const MPI_Aint a2[], MPI_Datatype const a3[]"
    )
    assert c_wrappers(functions, 2).splitlines()[2] == "COUNTED(Win_fence, 4, (int a0, MPI_Win a1), (a0, a1))"


@pytest.mark.parametrize(
    ("code", "words"), [(3, "exit code 3"), (137, "exit code 137 (SIGKILL)"), (255, "exit code 255")]
)
def test_exit_codes_in_words(code, words):
    assert describe_exit(code) == words

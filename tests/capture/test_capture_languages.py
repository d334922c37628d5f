"""Fortran bindings reach the MPI library by other names than C, mpi4py loads it late; all are recorded."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from capture_programs import PROGRAMS
from capture_shared import messages_by_pair

from vef import COLLECTIVE

BROADCAST, ALLREDUCE, GATHER, BARRIER = 0, 2, 3, 6


def _check(trace, gathered: list[tuple[int, int]]) -> None:
    """800 bytes around the ring, 40 from rank 1 to 0, then four collectives on a copy of all."""
    rows = (trace.kind == COLLECTIVE) & (trace.task == 1)
    found = list(zip(trace.op[rows].tolist(), trace.send_bytes[rows].tolist(), strict=True))
    assert found == [(ALLREDUCE, 80), (BROADCAST, 80), *gathered, (BARRIER, 0)]
    assert len(trace.communicators.ids) == 2


@pytest.mark.parametrize("source", ["fortran_77.f90", "fortran_2008.f90"])
def test_fortran_programs(mpi, source):
    options = ["-fallow-argument-mismatch"] if source == "fortran_77.f90" else []
    trace = mpi.capture(3, mpi.build(source, *options)).trace
    assert messages_by_pair(trace) == {(0, 1): (1, 800), (1, 2): (1, 800), (2, 0): (1, 800), (1, 0): (1, 40)}
    _check(trace, [(GATHER, 4)])


def test_mpi4py_programs(openmpi):
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: pip install mpi4py")
    python = Path(sys.executable)
    outcome = openmpi.capture(3, python, str(PROGRAMS / "ring_mpi4py.py"))
    assert messages_by_pair(outcome.trace) == {(0, 1): (1, 800), (1, 2): (1, 800), (2, 0): (1, 800), (1, 0): (1, 40)}
    _check(outcome.trace, [(GATHER, 4)])

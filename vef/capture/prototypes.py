"""The calls of an MPI that are only counted, taken from its own header, as C wrappers."""

from __future__ import annotations

import re

# Communication that the trace format cannot express, and files.
COUNTED = re.compile(
    r"""MPI_(
        R?(Put|Get|Accumulate|Get_accumulate)|Fetch_and_op|Compare_and_swap
        |Win_(create|create_dynamic|allocate|allocate_shared|fence|lock|lock_all|unlock|unlock_all|flush\w*
             |post|start|complete|wait|test|sync)
        |File_(open|close|delete|set_size|preallocate|set_view|sync|i?read\w*|i?write\w*)
        |I?neighbor_\w+
        |Comm_(spawn|spawn_multiple|accept|connect|join)
        |P(send|recv)_init|Pready\w*|Parrived
        |Session_init|Grequest_start
    )(_c)?$""",
    re.VERBOSE,
)
_PROTOTYPE = re.compile(r"\bint\s+(MPI_\w+)\s*\(([^;{}]*?)\)\s*(?:__attribute__|;)", re.DOTALL)
_LAST = re.compile(r"(.*?)(\w+)?\s*((?:\[[^\]]*\]\s*)*)$")


def counted_functions(preprocessed: str) -> dict[str, tuple[str, str]]:
    """Name → (parameters, arguments) of every function to count in a preprocessed `mpi.h`."""
    found = {}
    for name, text in _PROTOTYPE.findall(preprocessed):
        if COUNTED.match(name) and name not in found:
            found[name] = _rename(" ".join(text.split()))
    return dict(sorted(found.items()))


def _rename(parameters: str) -> tuple[str, str]:
    """Parameters with names of our own (a header may leave them out), and the names."""
    if parameters in ("", "void"):
        return "void", ""
    declared, names = [], []
    for index, parameter in enumerate(parameters.split(",")):
        match = _LAST.match(parameter.strip())
        assert match is not None
        before, name, array = match[1], match[2] or "", match[3]
        if name and before.split() in ([], ["const"]):
            before = f"{before}{name} "  # a type without a name
        declared.append(f"{before}a{index}{array}")
        names.append(f"a{index}")
    return ", ".join(declared), ", ".join(names)


def c_wrappers(functions: dict[str, tuple[str, str]], first: int) -> str:
    """One `COUNTED(…)` line per function; their counters start at `first`."""
    return "".join(
        f"COUNTED({name.removeprefix('MPI_')}, {number}, ({parameters}), ({arguments}))\n"
        for number, (name, (parameters, arguments)) in enumerate(functions.items(), first)
    )

"""Run an algorithm of the catalogue, following Open MPI's fallbacks and inner decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .call import VERSIONS, Call
from .decision import Decision, decide
from .registry import Algorithm, find
from .schedule import Builder

__all__ = ["Ran", "decided_call", "run", "run_decided"]


@dataclass(frozen=True)
class Ran:
    """The algorithm that was run in the end, and the fallbacks on the way there."""

    algorithm: Algorithm
    notes: tuple[str, ...]


def run(b: Builder, call: Call, chosen: Algorithm) -> Ran:
    """Write the messages of a call by the chosen algorithm, or by what it falls back to."""
    if call.ranks == 1:
        return Ran(chosen, ("a single rank: no messages",))
    if call.is_empty and not _sends_empty_parts(call):
        return Ran(chosen, ("0 bytes: no messages",))
    notes = []
    while (fallback := chosen.otherwise(call)) is not None:
        notes.append(f"{chosen.name} asked, but {fallback.why}: {fallback.name} ran")
        chosen = find(call.op, fallback.name, call.version)
        call = replace(call, **fallback.changes)
    chosen.build(b, call)
    return Ran(chosen, tuple(notes))


def decided_call(call: Call) -> tuple[Call, Decision]:
    """The call with the parameters that the fixed decision passes, and the decision."""
    version = next(name for name, number in VERSIONS.items() if number == call.version)
    choice = decide(call.op, call.ranks, call.size_bytes, commutative=call.commutative, version=version)
    # A fan-out of 0 in the fixed decision means one chain.
    fanout = 2 if call.op == "reduce" and call.version >= (6, 0) else 1
    radix = 2 if call.op == "allgather" else None
    return replace(call, segment_bytes=0, fanout=fanout, radix=radix), choice


def run_decided(b: Builder, call: Call) -> Ran:
    """Write the messages of an inner call by the algorithm that Open MPI picks itself; notes which."""
    call, choice = decided_call(call)
    ran = run(b, call, find(call.op, choice.id, call.version))
    b.notes.append(f"{call.op} inside by {ran.algorithm.id} {ran.algorithm.name}")
    return ran


def _sends_empty_parts(call: Call) -> bool:
    return call.op == "alltoallv" and call.version < (5, 0)

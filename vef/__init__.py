"""The VEF trace format: read, validate, write, summarise, capture. Knows no network.

The compiled parts are imported when a trace is read, not before.
"""

from vef.build import build_trace
from vef.cycles import find_stuck
from vef.ideal import IdealReplay, ideal_replay
from vef.problems import InvalidTrace, Problem
from vef.read import check_trace, read_trace
from vef.records import COLLECTIVE, MESSAGE, PSEUDO, Collectives, Communicators, Header, Op, Trace
from vef.write import write_trace

__all__ = [
    "COLLECTIVE",
    "MESSAGE",
    "PSEUDO",
    "Collectives",
    "Communicators",
    "Header",
    "IdealReplay",
    "InvalidTrace",
    "Op",
    "Problem",
    "Trace",
    "build_trace",
    "check_trace",
    "find_stuck",
    "ideal_replay",
    "read_trace",
    "write_trace",
]

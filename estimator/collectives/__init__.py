"""How Open MPI turns a collective call into point-to-point messages.

`expand` gives the messages of a call by a named algorithm, `expand_call` also the reason,
`expand_trace_collective` takes a collective as a trace records it, `decide` tells Open MPI's own choice
and `ALGORITHMS` lists what there is. The compiler is loaded when the first schedule is built.
"""

from .call import OPERATIONS, VERSIONS, CallError, Sizes
from .decision import Decision, decide
from .expand import ALGORITHMS, Expansion, expand, expand_call
from .for_trace import TRACE_OPERATIONS, ExpansionCache, check_forced, expand_trace_collective
from .registry import Algorithm, UnknownAlgorithm
from .schedule import SEND, WAIT_RECV, WAIT_SEND, Schedule, ScheduleError

__all__ = [
    "ALGORITHMS",
    "OPERATIONS",
    "SEND",
    "TRACE_OPERATIONS",
    "VERSIONS",
    "WAIT_RECV",
    "WAIT_SEND",
    "Algorithm",
    "CallError",
    "Decision",
    "Expansion",
    "ExpansionCache",
    "Schedule",
    "ScheduleError",
    "Sizes",
    "UnknownAlgorithm",
    "check_forced",
    "decide",
    "expand",
    "expand_call",
    "expand_trace_collective",
]

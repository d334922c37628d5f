"""The files that the recording library writes: one place for what its C source and the reader must agree on.

A file is a header, the counters of calls that are only counted, and records of 64 bytes up to the first without op.
"""

from __future__ import annotations

import numpy as np

MAGIC = b"CONGRAW1"
SUFFIX = "calls"
VERSION = 1
NO_PARENT = 0xFFFFFFFF
ANY = -1

# Codes start at 1: a record whose op is 0 has not been written.
OPS = (
    "send", "receive", "post", "wait", "done", "probe", "matched", "collective", "comm", "members", "finalize",
    "abort",
)  # fmt: skip
COLLECTIVES = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
    "alltoall", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block", "scan", "exscan",
)  # fmt: skip
# How a communicator came about; "found" is one whose making was not seen.
HOWS = (
    "world", "self", "found", "dup", "create", "create_group", "split", "split_type", "cart", "cart_sub", "graph",
    "dist_graph", "intercomm", "merge", "from_group", "idup",
)  # fmt: skip
WAITS = ("wait", "test")
FLAGS = (
    "nonblocking", "persistent", "buffered", "synchronous", "ready", "sendrecv", "cancelled", "foreign",
)  # fmt: skip

OP = {name: code for code, name in enumerate(OPS, 1)}
COLLECTIVE = {name: code for code, name in enumerate(COLLECTIVES)}
HOW = {name: code for code, name in enumerate(HOWS)}
FLAG = {name: 1 << bit for bit, name in enumerate(FLAGS)}

# Counted besides the functions that are only counted.
EXTRA_COUNTED = {
    "FOREIGN": "calls with processes outside of MPI_COMM_WORLD",
    "INTER": "collectives on an inter-communicator",
}

RECORD = np.dtype(
    [
        ("start", "<u8"), ("end", "<u8"), ("bytes", "<i8"), ("bytes2", "<i8"), ("skipped", "<u8"),
        ("peer", "<i4"), ("tag", "<i4"), ("comm", "<u4"), ("request", "<u4"),
        ("op", "u1"), ("kind", "u1"), ("flags", "<u2"), ("thread", "<u4"),
    ]
)  # fmt: skip
MEMBERS_PER_RECORD = 14
HEADER = np.dtype(
    [
        ("magic", "S8"), ("version", "<u4"), ("first_record", "<u4"), ("rank", "<i4"), ("size", "<i4"),
        ("init_ns", "<u8"), ("finalize_ns", "<u8"), ("unix_ns", "<u8"), ("records", "<u8"),
        ("error", "<i4"), ("thread_level", "<i4"), ("counters", "<u4"), ("counters_at", "<u4"), ("pid", "<i8"),
        ("host", "S256"), ("library", "S256"), ("program", "S512"),
    ]
)  # fmt: skip
COUNTER = np.dtype([("count", "<u8"), ("name", "S56")])


def c_definitions(counted: list[str]) -> str:
    """The C header with these codes; `counted` are the names of functions that are only counted."""
    lines = [
        f'#define FILE_MAGIC "{MAGIC.decode()}"',
        f'#define FILE_SUFFIX "{SUFFIX}"',
        f"#define FORMAT_VERSION {VERSION}u",
        f"#define NO_PARENT {NO_PARENT}u",
        f"#define ANY {ANY}",
        *(f"#define OP_{name.upper()} {code}" for name, code in OP.items()),
        *(f"#define KIND_{name.upper()} {code}" for name, code in COLLECTIVE.items()),
        *(f"#define HOW_{name.upper()} {code}" for name, code in HOW.items()),
        *(f"#define WAIT_{name.upper()} {code}" for code, name in enumerate(WAITS)),
        *(f"#define FLAG_{name.upper()} {bit}" for name, bit in FLAG.items()),
        *(f"#define COUNTED_{name} {index}" for index, name in enumerate(EXTRA_COUNTED)),
        f"#define COUNTED_NUMBER {len(EXTRA_COUNTED) + len(counted)}",
        "static const char *const counted_names[] = {",
        *(f'    "{name}",' for name in [*EXTRA_COUNTED.values(), *counted]),
        "};",
    ]
    return "\n".join(lines) + "\n"

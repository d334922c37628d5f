"""Fixed decision tables of Open MPI's `tuned` component, identical in 4.1, 5.0, 6.0 and main.

One line per range of communicator sizes: `ranks_below  bytes_below:id ... -:id`, first match wins, `-` =
no limit. A variant is `commutative`, `noncommutative` or `any` (the operation does not matter).
The disjoint tables exist on main only, for communicators flagged as having one process per node.
"""

from __future__ import annotations

__all__ = ["TABLES", "Rows", "parse"]

Rows = tuple[tuple[int | None, tuple[tuple[int | None, int], ...]], ...]
"""((ranks_below, ((bytes_below, id), ...)), ...); None = no limit."""

_UNITS = {"K": 1 << 10, "M": 1 << 20}


def _limit(text: str) -> int | None:
    if text == "-":
        return None
    return int(text[:-1]) * _UNITS[text[-1]] if text[-1] in _UNITS else int(text)


def parse(text: str) -> Rows:
    """Read one table in the notation above."""
    rows = []
    for line in text.strip().splitlines():
        ranks_below, *rules = line.split()
        pairs = (rule.split(":") for rule in rules)
        rows.append((_limit(ranks_below), tuple((_limit(size), int(ident)) for size, ident in pairs)))
    return tuple(rows)


_TEXT = {
    ("bcast", "any"): """
        4  32:3 256:5 512:3 1K:7 32K:1 128K:5 256K:2 512K:1 1M:6 -:5
        8  64:5 128:6 2K:5 8K:6 1M:1 -:2
        16  8:7 64:5 4K:7 16K:5 32K:6 -:1
        32  4K:7 1M:6 -:8
        64  2K:6 -:7
        128  -:7
        256  2:6 16K:5 32K:1 64K:5 -:7
        1024  16K:7 32K:4 -:7
        2048  512K:7 -:8
        4096  256K:7 -:8
        -  8K:7 16K:5 256K:7 -:8
    """,
    ("reduce", "commutative"): """
        4  8:7 16:4 32:3 256K:1 512K:3 1M:2 -:3
        8  4K:4 64K:2 256K:5 512K:1 1M:5 -:1
        16  8K:4 -:5
        32  4K:4 -:5
        256  -:5
        512  8K:5 16K:6 -:5
        2048  -:5
        4096  512:5 1K:6 8K:5 16K:6 -:5
        -  16:5 32:6 1K:5 2K:6 8K:5 16K:6 -:5
    """,
    ("reduce", "noncommutative"): """
        4  8:6 -:1
        8  -:1
        16  1K:6 8K:1 16K:6 256K:1 -:6
        128  -:6
        256  512:6 1K:1 -:6
        -  -:6
    """,
    ("allreduce", "commutative"): """
        4  8:4 4K:3 8K:4 16K:3 64K:4 256K:5 -:6
        8  16:4 8K:3 -:6
        16  8K:3 -:6
        32  64:5 4K:3 -:6
        64  128:5 -:6
        128  256K:3 -:6
        256  128K:2 256K:3 -:6
        512  4K:2 -:6
        2048  2K:2 16K:3 -:6
        4096  2K:2 4K:5 16K:3 -:6
        -  2K:2 16K:5 32K:3 -:6
    """,
    ("allreduce", "noncommutative"): """
        4  128K:3 -:1
        8  -:3
        16  1M:3 -:2
        128  -:3
        256  128K:2 512K:3 -:2
        512  4K:2 512K:3 -:2
        -  2K:2 -:3
    """,
    ("gather", "any"): """
        4  2:3 4:1 32K:2 64K:1 128K:2 -:3
        8  1K:2 8K:1 32K:2 256K:1 -:3
        256  -:2
        512  2K:2 8K:1 -:2
        -  -:2
    """,
    ("scatter", "any"): """
        4  2:3 128K:1 256K:3 -:1
        8  2K:2 4K:1 8K:2 32K:1 1M:3 -:1
        16  16K:2 1M:3 -:1
        32  16K:2 32K:1 -:3
        64  512:2 8K:3 16K:2 -:3
        -  512:2 -:3
    """,
    ("allgather", "any"): """
        3  -:6
        32  -:3
        64  1K:3 64K:5 -:4
        128  512:3 64K:5 -:4
        256  512:3 128K:5 512K:4 1M:5 -:4
        512  32:3 128:2 1K:3 128K:5 512K:4 1M:5 -:4
        1024  64:3 256:2 2K:3 -:5
        2048  4:3 8:2 16:3 32:2 256:3 512:2 4K:3 -:5
        4096  32:2 128:3 512:2 4K:3 -:5
        -  2:3 8:2 16:3 512:2 4K:3 -:5
    """,
    ("allgatherv", "any"): """
        3  2K:3 4K:5 8K:3 -:5
        8  256:1 4K:4 8K:3 16K:4 256K:2 -:4
        16  1K:1 -:2
        32  128:1 256K:2 -:3
        64  256:1 8K:2 -:3
        128  256:1 4K:2 -:3
        256  1K:2 64K:4 -:3
        512  1K:2 -:3
        1024  512:2 1K:1 4K:2 1M:4 -:3
        -  4K:2 -:4
    """,
    ("barrier", "any"): """
        4  -:3
        8  -:1
        64  -:3
        256  -:4
        512  -:6
        1024  -:4
        4096  -:6
        -  -:4
    """,
    ("alltoall", "any"): """
        3  2:2 4:5 16:2 64:5 256:2 4K:5 32K:2 256K:4 1M:5 -:2
        8  8K:4 16K:1 64K:4 512K:1 1M:2 -:1
        16  256K:4 -:1
        32  4:4 512:3 8K:4 32K:1 256K:4 512K:1 -:4
        64  512:3 512K:1 -:4
        128  1K:3 2K:1 4K:4 256K:1 -:2
        256  1K:3 2K:4 256K:1 -:2
        512  1K:3 8K:4 32K:1 -:2
        1024  512:3 8K:4 16K:1 128K:4 256K:1 -:2
        2048  512:3 1K:4 2K:1 16K:4 256K:1 -:4
        4096  1K:3 4K:4 8K:1 128K:4 -:1
        -  2K:3 8K:4 16K:1 32K:4 64K:1 -:4
    """,
    ("alltoallv", "any"): """
        4  -:2
        64  -:1
        128  -:2
        256  -:1
        1024  -:2
        -  -:1
    """,
    ("reduce_scatter", "commutative"): """
        4  64K:3 128K:4 -:3
        8  8:1 256K:2 -:3
        32  256K:2 -:3
        64  64:1 2K:2 512K:4 -:3
        128  256:1 512:2 2K:4 4K:2 -:4
        256  256:1 512:2 -:4
        512  256:1 1K:2 -:4
        1024  512:1 2K:2 8K:4 16K:2 -:4
        2048  512:1 4K:2 16K:4 32K:2 -:4
        4096  512:1 4K:2 -:4
        -  1K:1 8K:2 -:4
    """,
    ("reduce_scatter", "noncommutative"): """
        -  -:1
    """,
    ("reduce_scatter_block", "commutative"): """
        4  4:2 8:4 16:3 128:4 256:3 4K:4 8K:3 128K:4 -:1
        8  8:3 32:2 256:4 8K:3 16K:4 1M:3 -:1
        16  4:1 32:3 128:4 512K:3 4M:1 -:4
        32  32:1 512K:3 2M:1 4M:3 -:4
        -  4:3 16:1 64K:4 256K:1 -:4
    """,
    ("reduce_scatter_block", "noncommutative"): """
        -  -:1
    """,
    ("bcast_disjoint", "any"): """
        4  -:1
        8  1M:1 -:5
        16  1M:1 -:5
        32  256K:1 1M:7 -:5
        -  64K:1 1M:7 -:5
    """,
    ("allreduce_disjoint", "commutative"): """
        3  -:3
        4  -:7
        8  1M:7 -:3
        16  256K:7 1M:6 -:3
        32  32K:7 128K:2 -:6
        65  32K:7 128K:3 -:6
        128  256K:3 -:6
        256  128K:2 256K:3 -:6
        512  4K:2 -:6
        2048  2K:2 16K:3 -:6
        4096  2K:2 4K:5 16K:3 -:6
        -  2K:2 16K:5 32K:3 -:6
    """,
    ("allreduce_disjoint", "noncommutative"): """
        3  -:3
        4  -:7
        8  1M:7 -:3
        16  256K:7 -:3
        32  32K:7 128K:2 -:3
        65  32K:7 -:3
        128  -:3
        256  128K:2 512K:3 -:2
        512  4K:2 512K:3 -:2
        -  2K:2 -:3
    """,
}

TABLES: dict[tuple[str, str], Rows] = {key: parse(text) for key, text in _TEXT.items()}
"""(collective, variant) to table."""

"""Which host each task runs on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from estimator.topology.errors import ConfigError, nearest
from estimator.topology.fabric import Fabric
from estimator.topology.names import expand_names

I32 = NDArray[np.int32]
_HOW = "block, round-robin, random:SEED, or a file"


def place(tasks_per_job: Sequence[int], fabric: Fabric, how: str = "block", ranks_per_node: int = 1) -> I32:
    """Place the tasks of every job.

    - ``block``: hosts in order, `ranks_per_node` consecutive tasks on each.
    - ``round-robin``: the tasks of a job dealt in turn to the hosts it needs.
    - ``random:SEED``: block over the hosts in a random order.
    - a file: one host name or number per line, task i on line i; or a host list such as ``h[0-3,7]``, which
      is filled as block.

    Every job gets hosts of its own, except where a file says otherwise.

    Parameters
    ----------
    tasks_per_job : sequence of int
        Tasks of each job (trace).
    ranks_per_node : int
        Tasks per host; ignored where a file names the host of every task.

    Returns
    -------
    int32[total tasks]
        Host number of each task, job after job.

    Raises
    ------
    ConfigError
        For too few hosts, an unknown host, or a placement that is none of the above.
    """
    source = f"placement {how}"
    if ranks_per_node < 1:
        raise ConfigError(source, None, f"{ranks_per_node} ranks per node", "at least 1", "set --ranks-per-node")
    if how in ("block", "round-robin"):
        return _deal(tasks_per_job, _hosts(fabric, tasks_per_job, ranks_per_node), how, ranks_per_node, source)
    if how == "random" or how.startswith("random:"):
        seed = how.partition(":")[2]
        if not seed.isdecimal():
            raise ConfigError(source, None, f"'{how}'", "a seed after random:", "for example random:1")
        hosts = _hosts(fabric, tasks_per_job, ranks_per_node)
        shuffled = np.random.default_rng(int(seed)).permutation(hosts).astype(np.int32)
        return _deal(tasks_per_job, shuffled, "block", ranks_per_node, source)
    path = Path(how)
    if not path.is_file():
        hint = nearest(how, ("block", "round-robin", "random:1")) if "/" not in how and "." not in how else ""
        hint = hint if hint.startswith("did you mean") else ""
        raise ConfigError(source, None, f"'{how}', which is no file", _HOW, hint)
    return _from_file(path, tasks_per_job, fabric, ranks_per_node)


def _needed(tasks: int, ranks_per_node: int) -> int:
    return -(-tasks // ranks_per_node)


def _hosts(fabric: Fabric, tasks_per_job: Sequence[int], ranks_per_node: int) -> I32:
    unlimited = fabric.kind == "ideal" and fabric.host_count == 0
    count = sum(_needed(tasks, ranks_per_node) for tasks in tasks_per_job) if unlimited else fabric.host_count
    return np.arange(count, dtype=np.int32)


def _deal(tasks_per_job: Sequence[int], hosts: I32, how: str, ranks_per_node: int, source: str) -> I32:
    """Give each job the next hosts of a list, by block or in turn."""
    needed = [_needed(tasks, ranks_per_node) for tasks in tasks_per_job]
    if sum(needed) > len(hosts):
        tasks = sum(tasks_per_job)
        jobs = f" in {len(needed)} jobs" if len(needed) > 1 else ""
        # Jobs do not share hosts, so raising the ranks per node can only help down to one host for each job.
        per_node = ranks_per_node
        while sum(_needed(n, per_node) for n in tasks_per_job) > len(hosts) and per_node < max(tasks_per_job):
            per_node += 1
        fits = sum(_needed(n, per_node) for n in tasks_per_job) <= len(hosts)
        more = f"a topology with {sum(needed)} hosts"
        raise ConfigError(
            source,
            None,
            f"{len(hosts)} hosts",
            f"{sum(needed)} for {tasks} tasks{jobs} at {ranks_per_node} per host",
            f"use {more}" + (f", or --ranks-per-node {per_node}" if fits else ""),
        )
    parts, first = [], 0
    for tasks, count in zip(tasks_per_job, needed, strict=True):
        index = np.arange(tasks)
        parts.append(hosts[first + (index // ranks_per_node if how == "block" else index % max(count, 1))])
        first += count
    return np.concatenate(parts).astype(np.int32) if parts else np.empty(0, np.int32)


def _from_file(path: Path, tasks_per_job: Sequence[int], fabric: Fabric, ranks_per_node: int) -> I32:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), None, str(error), "a readable text file of host names") from None
    lines = [(number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line]
    tasks = sum(tasks_per_job)
    if any("[" in line or "," in line for _, line in lines):
        names = []
        for number, line in lines:
            try:
                names += [(number, name) for name in expand_names(line)]
            except ValueError as error:
                raise ConfigError(str(path), number, str(error), "a host list such as h[0-3,7]") from None
        listed = _resolve(path, names, fabric)
        if len(np.unique(listed)) < len(listed):
            raise ConfigError(str(path), None, "a host more than once", "a host list with every host once")
        return _deal(tasks_per_job, listed, "block", ranks_per_node, str(path))
    if len(lines) != tasks:
        raise ConfigError(
            str(path), None, f"{len(lines)} lines", f"{tasks}, one host for each task",
            "write one line per task, or a host list such as h[0-7] (each host gets --ranks-per-node tasks)",
        )  # fmt: skip
    return _resolve(path, lines, fabric)


def _resolve(path: Path, names: Sequence[tuple[int, str]], fabric: Fabric) -> I32:
    """Host numbers of (line, name or number)."""
    unlimited = fabric.kind == "ideal" and fabric.host_count == 0
    known = fabric.node_names[: fabric.host_count]
    by_name = {name: host for host, name in enumerate(known)}
    hosts = np.empty(len(names), np.int32)
    for i, (line, name) in enumerate(names):
        host = by_name.get(name, -1)
        digits = name.removeprefix("h") if unlimited else name
        if host < 0 and digits.isdecimal() and (unlimited or int(digits) < fabric.host_count):
            host = int(digits)
        if host < 0:
            span = f"{known[0]} … {known[-1]}" if known else "h0, h1, …"
            hint = f"the hosts are {span}, or numbers from 0 to {len(known) - 1}" if known else f"hosts: {span}"
            raise ConfigError(str(path), line, f"'{name}'", "the name or number of a host", hint)
        hosts[i] = host
    return hosts


def smallest_fat_tree(tasks_per_job: Sequence[int], ranks_per_node: int = 1) -> str:
    """Shorthand of the smallest k-ary fat-tree (k³/4 hosts) that the jobs fit on, each on hosts of its own."""
    hosts = sum(_needed(tasks, ranks_per_node) for tasks in tasks_per_job)
    k = 4
    while k**3 // 4 < hosts:
        k += 2
    return f"fat-tree:k={k}"

"""Traces that can be read but never end: find them by playing, and say who waits for whom."""

from __future__ import annotations

from vef.ideal import ReplayState, play
from vef.problems import MAX_PROBLEMS, Problem, sorted_by_line
from vef.records import Op, Trace

SHOWN_STEPS = 12


def find_stuck(trace: Trace) -> list[Problem]:
    """Return one problem per cycle of tasks that wait for each other, empty when the trace can be played.

    Linear in the number of records: the trace is played on an ideal network, whose order of
    events is possible on every network.
    """
    state = play(trace, 0.0)
    return [] if state.played == len(trace) else describe_stuck(trace, state)


def describe_stuck(trace: Trace, state: ReplayState) -> list[Problem]:
    """Return one problem per cycle in the waits of a replay that did not finish."""
    stuck = [task for task in range(trace.tasks) if state.blocked_on[task] >= 0]
    color: dict[int, int] = {}
    problems: list[Problem] = []
    for first in stuck:
        task, path = first, []
        while task not in color:
            color[task] = first
            path.append(task)
            task = _waits_for(trace, state, task)
        if color[task] == first and len(problems) < MAX_PROBLEMS:
            problems.append(_problem(trace, state, path[path.index(task) :], len(stuck)))
    return sorted_by_line(problems)


def _next_row(trace: Trace, state: ReplayState, task: int) -> int:
    return int(trace.task_rows[state.position[task]])


def _waits_for(trace: Trace, state: ReplayState, task: int) -> int:
    """Return a stuck task that holds up `task`."""
    target = int(state.blocked_on[task])
    if state.start[target] < 0:
        return int(trace.task[target])
    return int(trace.task[_absent(trace, state, target)])


def _absent(trace: Trace, state: ReplayState, target: int) -> int:
    """Return the row of a participation that the collective at `target` still waits for."""
    index = int(trace.collective[target])
    rows = trace.collectives.participations(index)
    if trace.collectives.op[index] in (Op.BROADCAST, Op.SCATTER):
        return int(rows[trace.collectives.root[index]])
    return int(rows[(state.start[rows] < 0).argmax()])


def _problem(trace: Trace, state: ReplayState, cycle: list[int], stuck: int) -> Problem:
    lines = [trace.line(_next_row(trace, state, task)) for task in cycle]
    turn = lines.index(min(lines))
    steps = [_step(trace, state, task) for task in cycle[turn:] + cycle[:turn]]
    if len(steps) > SHOWN_STEPS:
        steps[SHOWN_STEPS - 1 : -1] = [f"… {len(steps) - SHOWN_STEPS} more …"]
    left = len(trace) - state.played
    return Problem(
        line=min(lines),
        code="stuck",
        found="a circle of waits: " + "; ".join(steps),
        expected="a trace that can be played to its end",
        hint=f"{stuck} of {trace.tasks} tasks cannot go on, {left} of {len(trace)} records are never played",
    )


def _step(trace: Trace, state: ReplayState, task: int) -> str:
    row, target = _next_row(trace, state, task), int(state.blocked_on[task])
    waiting = f"task {task} (line {trace.line(row)}) waits for "
    dep = int(trace.dep[row]) & 3
    if dep != 3:
        sender = int(trace.task[target])
        where = _later(trace, state, sender, target)
        return waiting + f"message {trace.id[target]}, which task {sender} sends {where}"
    index = int(trace.collective[target])
    label = f"G{trace.collectives.gid[index]} ({Op(int(trace.collectives.op[index])).label})"
    if state.start[target] < 0:
        return waiting + f"{label}, which it enters itself {_later(trace, state, task, target)}"
    absent = _absent(trace, state, target)
    other = int(trace.task[absent])
    where = _later(trace, state, other, absent)
    return waiting + f"{label}, which waits for task {other}, who enters it {where}"


def _later(trace: Trace, state: ReplayState, task: int, row: int) -> str:
    """Say where `row` stands in the program of a stuck task."""
    line, held = trace.line(row), trace.line(_next_row(trace, state, task))
    return f"at line {line}" if line == held else f"at line {line}, after line {held}"

"""Tasks and collectives as threads: program order, dependencies, and who waits for what."""

from __future__ import annotations

import numpy as np

from estimator.replay.layout import (
    COLLECTIVE,
    DELAY,
    N_STEPS,
    NEED_POOL,
    OVERHEAD,
    POOL_USED,
    PSEUDO,
    SEND,
    STRAGGLER,
    TURN_POSTS,
    WAIT_SEND,
    Network,
    Settings,
    State,
    Work,
)
from estimator.replay.message_kernel import make_ready, post
from estimator.replay.queue_kernel import EARLY, TASK, THREAD, push
from vef.compiled import kernel


@kernel
def burst_step(state: State, task: int) -> int:
    """Step of a point-to-point message that the task sends now: (burst, round) of its job."""
    sender = state.tasks[task]
    burst = state.bursts[sender.job]
    if sender.burst != burst.current:
        sender.burst = burst.current
        sender.round = 0
    sender.round = min(sender.round, burst.rounds)
    if sender.round == burst.rounds:
        new = state.counter[N_STEPS]
        state.counter[N_STEPS] = new + 1
        state.steps[new].round = sender.round
        state.steps[new].job = sender.job
        state.steps[new].burst = burst.current
        state.burst_step[sender.job, sender.round] = new
        burst.rounds += 1
    burst.flying += 1
    return state.burst_step[sender.job, sender.round]


@kernel
def note_round(state: State, task: int, row: int) -> None:
    """The task goes on because this message is through: what it sends next is a round later."""
    step = state.steps[state.messages[row].step]
    waiter = state.tasks[task]
    current = state.bursts[waiter.job].current
    if step.burst == current and step.job == waiter.job:
        if waiter.burst != current:
            waiter.burst = current
            waiter.round = 0
        waiter.round = max(waiter.round, step.round + 1)


@kernel
def take_block(state: State, work: Work, index: int) -> bool:
    """Give a starting collective its messages in the pool; false when the pool has to grow first."""
    instance = state.instances[index]
    schedule = work.schedules[instance.schedule]
    base = schedule.free_block
    if base >= 0:
        schedule.free_block = state.pool_next[base]
    else:
        base = state.counter[POOL_USED]
        if base + schedule.messages > state.pool_next.size:
            state.counter[NEED_POOL] = base + schedule.messages
            return False
        state.counter[POOL_USED] = base + schedule.messages
    instance.base = base
    first = work.rows.size + base
    for at in range(first, first + schedule.messages):
        message = state.messages[at]
        message.instance = index
        message.arrived = np.inf
        message.sent = np.inf
        message.recv_waiter = -1
        message.send_waiter = -1
    return True


@kernel
def enter(state: State, work: Work, part: int, now: float, bare: float) -> bool:
    """A participation of a collective begins; false when the message pool has to grow first."""
    member = state.parts[part]
    instance = state.instances[member.instance]
    if instance.base < 0:
        if not take_block(state, work, member.instance):
            return False
        instance.start = now
    thread = work.task_ptr.size - 1 + part
    state.threads[thread].clock = now
    state.threads[thread].bare = bare
    state.threads[thread].alone = now
    state.threads[thread].pc = work.op_ptr[work.schedules[instance.schedule].thread + member.thread]
    member.entered = now
    state.part_time[part, STRAGGLER] = now - instance.start
    make_ready(state, thread)
    return True


@kernel
def leave(state: State, work: Work, part: int) -> None:
    """A participation is through its program."""
    member = state.parts[part]
    instance = state.instances[member.instance]
    thread = state.threads[work.task_ptr.size - 1 + part]
    member.left = thread.clock
    member.left_bare = thread.bare
    instance.finish_alone = max(instance.finish_alone, thread.alone)
    if thread.clock >= instance.finish:
        instance.finish = thread.clock
        state.instance_time[member.instance] = state.part_time[part]
    instance.staying -= 1
    waiter = member.waiter
    if waiter >= 0:
        member.waiter = -1
        make_ready(state, waiter)
    schedule = work.schedules[instance.schedule]
    if instance.staying == 0 and member.task >= 0 and schedule.messages > 0:
        # Every message was waited for by its receiver, so the block has no one left.
        state.pool_next[instance.base] = schedule.free_block
        schedule.free_block = instance.base


@kernel
def run_part(
    net: Network, state: State, settings: Settings, work: Work, longest: int, index: int, now: float
) -> None:
    """Run a participation's program until it has to wait."""
    thread = state.threads[index]
    part = index - (work.task_ptr.size - 1)
    member = state.parts[part]
    instance = state.instances[member.instance]
    schedule = work.schedules[instance.schedule]
    end = work.op_ptr[schedule.thread + member.thread + 1]
    spent = state.part_time[part]
    while thread.pc < end:
        code = work.ops[thread.pc]
        kind = code & 3
        value = code >> 2
        pooled = instance.base + value
        msg = work.rows.size + pooled
        if kind == SEND:
            if thread.clock > now:
                push(state, thread.clock, THREAD + 16 * index, 0.0, 0, EARLY)
                return
            state.pool_time[pooled] = spent
            state.messages[msg].alone = thread.alone
            planned = work.planned[schedule.message + value]
            path = work.bound_path[instance.paths + value]
            step = instance.step + planned.round
            post(
                net, state, settings, longest, msg, path, planned.size,
                thread.clock, thread.bare, step, member.task,
            )  # fmt: skip
        elif kind == DELAY:
            thread.clock += work.delay_s[value]
            thread.bare += work.delay_s[value]
            thread.alone += work.delay_s[value]
            spent[STRAGGLER] += work.delay_s[value]
        else:
            message = state.messages[msg]
            done = message.sent if kind == WAIT_SEND else message.arrived
            bare = message.sent_bare if kind == WAIT_SEND else message.arrived_bare
            if done == np.inf:
                if kind == WAIT_SEND:
                    thread.next_waiter = message.send_waiter
                    message.send_waiter = index
                else:
                    thread.next_waiter = message.recv_waiter
                    message.recv_waiter = index
                return
            if done > thread.clock:
                if done == message.arrived:
                    spent[:] = state.pool_time[pooled]
                else:
                    spent[OVERHEAD] += done - thread.clock
                thread.clock = done
            thread.bare = max(thread.bare, bare)
            thread.alone = max(thread.alone, message.alone + bare - message.posted_bare)
        thread.pc += 1
    leave(state, work, part)


@kernel
def dependency_met(state: State, settings: Settings, work: Work, task: int, row: int) -> bool:
    """Look at what a record depends on; if it has not happened yet, the task waits for it."""
    record = work.rows[row]
    if record.dep == 0:
        return True
    thread = state.threads[task]
    if record.dep == 3:
        member = state.parts[work.rows[record.dep_row].part]
        if member.left < np.inf:
            return True
        member.waiter = task
        return False
    message = state.messages[record.dep_row]
    if record.dep == 1:
        if message.sent < np.inf:
            if work.rows[record.dep_row].size > settings.eager_limit_bytes:
                note_round(state, task, record.dep_row)
            return True
        thread.next_waiter = message.send_waiter
        message.send_waiter = task
        return False
    if message.arrived < np.inf:
        note_round(state, task, record.dep_row)
        return True
    thread.next_waiter = message.recv_waiter
    message.recv_waiter = task
    return False


@kernel
def advance_clock(state: State, work: Work, task: int, row: int) -> None:
    """Start of a record whose dependency is met: program order, dependency, then compute time."""
    record = work.rows[row]
    thread = state.threads[task]
    done = 0.0
    bare = 0.0
    if record.dep == 3:
        done = state.parts[work.rows[record.dep_row].part].left
        bare = state.parts[work.rows[record.dep_row].part].left_bare
    elif record.dep == 2:
        done = state.messages[record.dep_row].arrived
        bare = state.messages[record.dep_row].arrived_bare
    elif record.dep == 1:
        done = state.messages[record.dep_row].sent
        bare = state.messages[record.dep_row].sent_bare
    if state.tasks[task].after_pseudo == 1:
        thread.clock = max(thread.clock, done) + record.time_s
        thread.bare = max(thread.bare, bare) + record.time_s
    else:
        thread.clock = max(thread.clock, done + record.time_s)
        thread.bare = max(thread.bare, bare + record.time_s)
    state.tasks[task].after_pseudo = 1 if record.kind == PSEUDO else 0


@kernel
def run_task(
    net: Network, state: State, settings: Settings, work: Work, longest: int, task: int, now: float, due: bool
) -> None:
    """Run a task's records until one has to wait; `due`: its next record starts now."""
    thread = state.threads[task]
    end = work.task_ptr[task + 1]
    posts = 0
    while thread.pc < end:
        if posts == TURN_POSTS:
            make_ready(state, task)
            return
        row = work.task_rows[thread.pc]
        record = work.rows[row]
        if not due:
            if not dependency_met(state, settings, work, task, row):
                return
            advance_clock(state, work, task, row)
            if record.kind != PSEUDO and thread.clock > now:
                push(state, thread.clock, TASK + 16 * task, 0.0, 0, EARLY)
                return
        due = False
        if record.kind == COLLECTIVE:
            if not enter(state, work, record.part, thread.clock, thread.bare):
                push(state, thread.clock, TASK + 16 * task, 0.0, 0, EARLY)
                return
        elif record.kind != PSEUDO:
            posts += 1
            step = burst_step(state, task)
            post(
                net, state, settings, longest, row, record.path, record.size,
                thread.clock, thread.bare, step, task,
            )  # fmt: skip
        thread.pc += 1
    state.tasks[task].ended = 1

"""Tasks and collectives as threads: program order, dependencies, and who waits for what."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimator.replay.layout import (
    COLLECTIVE,
    DELAY,
    N_STEPS,
    NEED_POOL,
    OVERHEAD,
    PARTS,
    POOL_USED,
    PSEUDO,
    SEND,
    STRAGGLER,
    TURN_POSTS,
    WAIT_SEND,
)
from estimator.replay.message_kernel import make_ready, post
from estimator.replay.queue_kernel import EARLY, TASK, THREAD, push
from estimator.replay.tables import (
    Tables,
    bound_path_of,
    burst_step_of,
    bursts_of,
    counter_of,
    delay_s_of,
    instance_time_of,
    instances_of,
    messages_of,
    op_ptr_of,
    ops_of,
    part_time_of,
    parts_of,
    planned_of,
    pool_of,
    pool_time_of,
    rows_of,
    schedules_of,
    settings_of,
    steps_of,
    task_ptr_of,
    tasks_of,
    threads_of,
)
from vef.compiled import kernel_part


@kernel_part
def copy_parts(into: Any, at: int, source: Any, index: int) -> None:
    for part in range(PARTS):
        into[at, part] = source[index, part]


@kernel_part
def burst_step(t: Tables, task: int) -> int:
    """Step of a point-to-point message that the task sends now: (burst, round) of its job."""
    sender = tasks_of(t)[task]
    burst = bursts_of(t)[sender.job]
    if sender.burst != burst.current:
        sender.burst = burst.current
        sender.round = 0
    sender.round = min(sender.round, burst.rounds)
    if sender.round == burst.rounds:
        new = counter_of(t)[N_STEPS]
        counter_of(t)[N_STEPS] = new + 1
        steps_of(t)[new].round = sender.round
        steps_of(t)[new].job = sender.job
        steps_of(t)[new].burst = burst.current
        burst_step_of(t)[sender.job * settings_of(t)[0].step_room + sender.round] = new
        burst.rounds += 1
    burst.flying += 1
    return burst_step_of(t)[sender.job * settings_of(t)[0].step_room + sender.round]


@kernel_part
def note_round(t: Tables, task: int, msg: int) -> None:
    """The task goes on because this message is through: what it sends next is a round later."""
    step = steps_of(t)[messages_of(t)[msg].step]
    waiter = tasks_of(t)[task]
    current = bursts_of(t)[waiter.job].current
    if step.burst == current and step.job == waiter.job:
        if waiter.burst != current:
            waiter.burst = current
            waiter.round = 0
        waiter.round = max(waiter.round, step.round + 1)


@kernel_part
def take_block(t: Tables, index: int) -> bool:
    """Give a starting collective its messages in the pool; false when the pool has to grow first."""
    settings = settings_of(t)[0]
    instance = instances_of(t)[index]
    schedule = schedules_of(t)[instance.schedule]
    base = schedule.free_block
    if base >= 0:
        schedule.free_block = pool_of(t)[base].next
    else:
        base = counter_of(t)[POOL_USED]
        if base + schedule.messages > settings.pool_room:
            counter_of(t)[NEED_POOL] = base + schedule.messages
            return False
        counter_of(t)[POOL_USED] = base + schedule.messages
    instance.base = base
    first = settings.sends + base
    for at in range(first, first + schedule.messages):
        message = messages_of(t)[at]
        message.origin = index
        message.arrived = np.inf
        message.sent = np.inf
        message.recv_waiter = -1
        message.send_waiter = -1
    return True


@kernel_part
def enter(t: Tables, part: int, now: float, bare: float) -> bool:
    """A participation of a collective begins; false when the message pool has to grow first."""
    settings = settings_of(t)[0]
    member = parts_of(t)[part]
    instance = instances_of(t)[member.instance]
    if instance.base < 0:
        if not take_block(t, member.instance):
            return False
        instance.start = now
    thread = settings.tasks + part
    threads_of(t)[thread].clock = now
    threads_of(t)[thread].bare = bare
    threads_of(t)[thread].alone = now
    threads_of(t)[thread].pc = op_ptr_of(t)[schedules_of(t)[instance.schedule].thread + member.thread]
    member.entered = now
    part_time_of(t)[part, STRAGGLER] = now - instance.start
    make_ready(t, thread)
    return True


@kernel_part
def leave(t: Tables, part: int) -> None:
    """A participation is through its program."""
    settings = settings_of(t)[0]
    member = parts_of(t)[part]
    instance = instances_of(t)[member.instance]
    thread = threads_of(t)[settings.tasks + part]
    member.left = thread.clock
    member.left_bare = thread.bare
    instance.finish_alone = max(instance.finish_alone, thread.alone)
    if thread.clock >= instance.finish:
        instance.finish = thread.clock
        copy_parts(instance_time_of(t), member.instance, part_time_of(t), part)
    instance.staying -= 1
    waiter = member.waiter
    if waiter >= 0:
        member.waiter = -1
        make_ready(t, waiter)
    schedule = schedules_of(t)[instance.schedule]
    if instance.staying == 0 and member.task >= 0 and schedule.messages > 0:
        # Every message was waited for by its receiver, so the block has no one left.
        pool_of(t)[instance.base].next = schedule.free_block
        schedule.free_block = instance.base


@kernel_part
def run_part(t: Tables, index: int, now: float) -> None:
    """Run a participation's program until it has to wait."""
    settings = settings_of(t)[0]
    thread = threads_of(t)[index]
    part = index - (settings.tasks)
    member = parts_of(t)[part]
    instance = instances_of(t)[member.instance]
    schedule = schedules_of(t)[instance.schedule]
    end = op_ptr_of(t)[schedule.thread + member.thread + 1]
    spent = part_time_of(t)
    while thread.pc < end:
        code = ops_of(t)[thread.pc]
        kind = code & 3
        value = code >> 2
        pooled = instance.base + value
        msg = settings.sends + pooled
        if kind == SEND:
            if thread.clock > now:
                push(t, thread.clock, THREAD + 16 * index, 0.0, 0, EARLY)
                return
            copy_parts(pool_time_of(t), pooled, part_time_of(t), part)
            pool_of(t)[pooled].alone = thread.alone
            pool_of(t)[pooled].posted_bare = thread.bare
            planned = planned_of(t)[schedule.message + value]
            path = bound_path_of(t)[instance.paths + value]
            step = instance.step + planned.round
            post(
                t, msg, path, planned.size,
                thread.clock, thread.bare, step, member.task,
            )  # fmt: skip
        elif kind == DELAY:
            thread.clock += delay_s_of(t)[value]
            thread.bare += delay_s_of(t)[value]
            thread.alone += delay_s_of(t)[value]
            spent[part, STRAGGLER] += delay_s_of(t)[value]
        else:
            message = messages_of(t)[msg]
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
                    copy_parts(part_time_of(t), part, pool_time_of(t), pooled)
                else:
                    spent[part, OVERHEAD] += done - thread.clock
                thread.clock = done
            thread.bare = max(thread.bare, bare)
            thread.alone = max(thread.alone, pool_of(t)[pooled].alone + bare - pool_of(t)[pooled].posted_bare)
        thread.pc += 1
    leave(t, part)


@kernel_part
def dependency_met(t: Tables, task: int, row: int) -> bool:
    """Look at what a record depends on; if it has not happened yet, the task waits for it."""
    record = rows_of(t)[row]
    if record.dep == 0:
        return True
    thread = threads_of(t)[task]
    if record.dep == 3:
        member = parts_of(t)[record.after]
        if member.left < np.inf:
            return True
        member.waiter = task
        return False
    message = messages_of(t)[record.after]
    if record.dep == 1:
        if message.sent < np.inf:
            if message.rendezvous == 1:
                note_round(t, task, record.after)
            return True
        thread.next_waiter = message.send_waiter
        message.send_waiter = task
        return False
    if message.arrived < np.inf:
        note_round(t, task, record.after)
        return True
    thread.next_waiter = message.recv_waiter
    message.recv_waiter = task
    return False


@kernel_part
def advance_clock(t: Tables, task: int, row: int) -> None:
    """Start of a record whose dependency is met: program order, dependency, then compute time."""
    record = rows_of(t)[row]
    thread = threads_of(t)[task]
    done = 0.0
    bare = 0.0
    if record.dep == 3:
        done = parts_of(t)[record.after].left
        bare = parts_of(t)[record.after].left_bare
    elif record.dep == 2:
        done = messages_of(t)[record.after].arrived
        bare = messages_of(t)[record.after].arrived_bare
    elif record.dep == 1:
        done = messages_of(t)[record.after].sent
        bare = messages_of(t)[record.after].sent_bare
    if tasks_of(t)[task].after_pseudo == 1:
        thread.clock = max(thread.clock, done) + record.time_s
        thread.bare = max(thread.bare, bare) + record.time_s
    else:
        thread.clock = max(thread.clock, done + record.time_s)
        thread.bare = max(thread.bare, bare + record.time_s)
    tasks_of(t)[task].after_pseudo = 1 if record.kind == PSEUDO else 0


@kernel_part
def run_task(t: Tables, task: int, now: float, due: bool) -> None:
    """Run a task's records until one has to wait; `due`: its next record starts now."""
    thread = threads_of(t)[task]
    end = task_ptr_of(t)[task + 1]
    posts = 0
    while thread.pc < end:
        if posts == TURN_POSTS:
            make_ready(t, task)
            return
        row = thread.pc
        record = rows_of(t)[row]
        if not due:
            if not dependency_met(t, task, row):
                return
            advance_clock(t, task, row)
            if record.kind != PSEUDO and thread.clock > now:
                push(t, thread.clock, TASK + 16 * task, 0.0, 0, EARLY)
                return
        due = False
        if record.kind == COLLECTIVE:
            if not enter(t, record.item, thread.clock, thread.bare):
                push(t, thread.clock, TASK + 16 * task, 0.0, 0, EARLY)
                return
        elif record.kind != PSEUDO:
            posts += 1
            step = burst_step(t, task)
            post(
                t, record.item, record.path, record.size,
                thread.clock, thread.bare, step, task,
            )  # fmt: skip
        thread.pc += 1
    tasks_of(t)[task].ended = 1

"""The records of the tables that the replay loop works on.

Each kind of thing is one structured array, so that what belongs together lies together in memory. Times are
seconds, sizes bytes, rates bytes/s.
"""

from __future__ import annotations

import numpy as np

# Kinds of an operation in a thread's program: code = value * 4 + kind.
SEND, WAIT_SEND, WAIT_RECV, DELAY = 0, 1, 2, 3

# Kinds of a trace record, as in vef.records.
MESSAGE, PSEUDO, COLLECTIVE = 0, 1, 2

# Models of a message's latency.
PORT, ALPHA_BETA, STATIC, QUEUE, EMPIRICAL, FLUID, CREDITS = 0, 1, 2, 3, 4, 5, 6

# Parts of a latency, in the order of the breakdown.
OVERHEAD, WIRE, SERIAL, SHARING, QUEUEING, STRAGGLER = 0, 1, 2, 3, 4, 5
# Behind them, and no part of the sum: mean, variance and bound of the random waits among the queueing.
RANDOM_MEAN, RANDOM_VARIANCE, RANDOM_BOUND = 6, 7, 8
PARTS = 9

# Bytes/s of an injection port that stands before a port which also relays: no message spends time there.
UNLIMITED_RATE = 1e24

# Messages that a task posts in one turn; then others have theirs.
TURN_POSTS = 64

# Events closer than this (0.11 ps) count as simultaneous, so that rounding never decides a tie.
TICKS_PER_S = 2.0**43

# Why the loop returned to Python.
DONE, GROW = 0, 1

# Indices into the table of counters.
(
    N_EVENT_FREE, N_SLOT_FREE, SEQUENCE, READY_FIRST, READY_LAST, N_STEPS, POOL_USED,
    NEED_POOL, EVENTS, DELIVERED, VERSION, FLOW_FIRST, REFILL_DUE, N_CELL_FREE, DUE_FIRST, DUE_LAST,
    N_COUNTERS,
) = range(17)  # fmt: skip

PORT_TYPE = np.dtype(
    [
        ("rate", "f8"),  # capacity
        ("packet_rate", "f8"),  # of one member of a bundle
        ("latency", "f8"),
        ("backlog", "f8"),  # bytes that wait
        ("inflow", "f8"),  # bytes/s arriving now
        ("updated", "f8"),  # time of the two above
        ("pulse", "f8"),  # bytes/s at which one-packet messages come in beside longer ones
        # one busy period ("episode") after another
        ("ep_start", "f8"),
        ("ep_bytes", "f8"),
        ("ep_peak", "f8"),  # largest backlog
        ("ep_offered", "f8"),  # bytes of its messages
        ("ep_first", "f8"),  # first and last bit of them, had nobody been in their way to this port
        ("ep_last", "f8"),
        ("held", "f8"),  # bytes of the messages that the buffer at the far end holds at least in part
        # over the whole replay
        ("bytes", "f8"),
        ("held_peak", "f8"),
        ("max_rho", "f8"),
        ("peak_backlog", "f8"),
        # as an injection port
        ("nic_free", "f8"),  # when the last started message has left
        ("nic_first", "i8"),  # queue of posted messages
        ("nic_last", "i8"),
        ("nic_slot", "i8"),  # of the last started message
        ("version", "i8"),  # of the pending drain event
        ("random_wait", "f8"),  # wait behind random background at an empty port: mean, variance, bound
        ("random_variance", "f8"),
        ("random_bound", "f8"),
        ("random_share", "f8"),  # background that comes in beside a long message: mean and variance of it,
        ("random_spread", "f8"),  # in s of service per s
        ("random_ingress", "i4"),  # the only ingress of it, whose own messages do not have that wait; -1 = several
        ("offered", "f8"),  # closed-form models: sum of the rates of the flows across the port
        ("demand", "f8"),  # the same, each flow at most at the port's rate
        ("members", "i4"),  # messages whose inflow makes it up
        ("streams", "i4"),  # of them, endless background flows
        ("first", "i4"),  # first message-hop of the inflow list
        ("present", "i4"),  # messages between first arrival and departure
        ("ep_source", "i4"),  # first ingress
        ("ep_flows", "i4"),  # most messages present at once
        ("flows", "i4"),  # closed-form models: messages in flight across the port
        ("ep_merging", "u1"),  # more than one ingress
        ("ep_instant", "u1"),  # one of them has no limit of rate
        ("dirty", "u1"),  # a ripple is due
        ("due_next", "i4"),  # port whose ripple is due next
        ("due_time", "f8"),
        ("due_tag", "i8"),
        ("nic_busy", "u1"),  # a started message whose head is still on the first link
        # with credits
        ("credit", "f8"),  # bytes that the buffer at the far end still takes
        ("paused", "f8"),  # time that its first cell had no credit
        ("blocked_since", "f8"),
        ("send_bytes", "f8"),  # the cell on the link: size, port it came from, the last of its message
        ("send_from", "i4"),
        ("send_last", "u1"),
        ("sending", "u1"),
        ("nic_early", "u1"),  # the started message is not ready to be sent
        ("blocked", "u1"),
        ("cell_first", "i4"),  # cells that wait
        ("cell_last", "i4"),
    ],
    align=True,
)

PATH_TYPE = np.dtype(
    [
        ("begin", "i8"),  # into the table path_ports
        ("hops", "i4"),
        ("latency", "f8"),  # sum over the ports
        ("rate", "f8"),  # of the slowest port
        ("packet_s_per_byte", "f8"),  # sum of 1 / packet rate
    ],
    align=True,
)

FLIGHT_TYPE = np.dtype(
    [
        ("msg", "i8"),
        ("size", "f8"),
        ("posted", "f8"),
        ("started", "f8"),  # first bit on the injection link
        ("waited", "f8"),  # sum of the queues that the head found
        ("alone", "f8"),  # arrival of the head at the next port, had nobody been in its way
        ("alone_rate", "f8"),  # slowest port so far
        ("rho", "f8"),  # at the worst merging port so far
        ("rho_peak", "f8"),  # largest backlog of any of them
        ("rho_bytes", "f8"),  # bytes of that busy period
        ("stamp", "i8"),  # tells users of a reused slot apart
        ("follower", "i8"),  # slot of the next message of its source, -1 = none right behind
        ("follower_stamp", "i8"),
        ("path", "i4"),
        ("hops", "i4"),
        ("head", "i4"),  # hop whose port the head reaches next
        ("tail", "i4"),
        ("rho_port", "i4"),
        ("rho_flows", "i4"),
        ("shared", "u1"),  # its injection queue held messages of other tasks
        # with credits
        ("paused", "f8"),  # time that any of its cells was first in a queue and had no credit
        ("held_since", "f8"),
        ("nic_paused", "f8"),  # time that its injection port was held up while it waited there
        ("held", "i4"),  # ports where that is so now
        ("random_mean", "f8"),  # sums over its random waits
        ("random_variance", "f8"),
        ("random_bound", "f8"),
        # fluid model, with credits
        ("left_bytes", "f8"),  # still to be sent
        ("speed", "f8"),
        ("next", "i4"),
        ("prev", "i4"),
    ],
    align=True,
)

CELL_TYPE = np.dtype(
    [
        ("size", "f8"),
        ("reached", "f8"),  # its first packet's arrival at this port
        ("tail", "f8"),  # its last packet's
        ("slot", "i4"),  # of its message
        ("hop", "i4"),
        ("next", "i4"),
        ("is_first", "u1"),
        ("is_last", "u1"),
    ],
    align=True,
)

HOP_TYPE = np.dtype(
    [
        ("rate", "f8"),  # inflow at this hop
        ("counted", "f8"),  # bytes of it already in the port's backlog; with credits: its last cell's tail
        ("updated", "f8"),  # time of that; with credits: its last cell's head
        ("out", "f8"),  # rate announced to the next hop
        ("extra", "f8"),  # random wait of its head, which its tail has too
        ("port", "i4"),
        ("next", "i4"),
        ("prev", "i4"),
        ("state", "u1"),  # ABSENT, FLOWING or PASSED
    ],
    align=True,
)
ABSENT, FLOWING, PASSED = 0, 1, 2

THREAD_TYPE = np.dtype(
    [
        ("pc", "i8"),
        ("clock", "f8"),  # task: start of its last record; participation: its own time
        ("bare", "f8"),  # the same in a whole run without contention (alpha-beta)
        ("alone", "f8"),  # participation: without contention, entered when it really was
        ("next_ready", "i4"),
        ("next_waiter", "i4"),
    ],
    align=True,
)

TASK_TYPE = np.dtype(
    [
        ("ended", "u1"),
        ("after_pseudo", "u1"),
        ("job", "i4"),
        ("round", "i4"),  # of the task in the current burst
        ("burst", "i4"),
    ],
    align=True,
)

PART_TYPE = np.dtype(
    [
        ("entered", "f8"),
        ("left", "f8"),  # inf = not yet
        ("left_bare", "f8"),
        ("instance", "i4"),
        ("thread", "i4"),  # within the schedule
        ("task", "i4"),  # -1: starts by itself at time 0
        ("waiter", "i4"),  # task that waits for its end
    ],
    align=True,
)

# Records in program order, task by task.
ROW_TYPE = np.dtype(
    [
        ("time_s", "f8"),
        ("size", "f8"),
        ("path", "i4"),  # -1 = within the host
        ("item", "i4"),  # its message, or its participation in a collective
        ("after", "i4"),  # the message or participation that it depends on
        ("kind", "u1"),
        ("dep", "u1"),  # 0..3
    ],
    align=True,
)

MESSAGE_TYPE = np.dtype(
    [
        ("arrived", "f8"),  # inf = not yet
        ("sent", "f8"),  # inf = not yet
        ("arrived_bare", "f8"),
        ("sent_bare", "f8"),
        ("posted", "f8"),
        ("nic_next", "i4"),
        ("recv_waiter", "i4"),
        ("send_waiter", "i4"),
        ("step", "i4"),
        ("origin", "i4"),  # its record, or of a collective's message the instance
        ("rendezvous", "u1"),  # its sender waits for its arrival
    ],
    align=True,
)

# What only messages of collectives have.
POOL_TYPE = np.dtype(
    [
        ("posted_bare", "f8"),
        ("alone", "f8"),  # sender's clock of that name when it was posted
        ("paused", "f8"),  # with credits: time that its injection port had been held up by then
        ("next", "i8"),  # free block after the one that begins here
    ],
    align=True,
)

INSTANCE_TYPE = np.dtype(
    [
        ("base", "i8"),  # first message in the pool, -1 = not running
        ("paths", "i8"),  # offset into the table bound_path
        ("step", "i8"),  # its first step
        ("start", "f8"),
        ("finish", "f8"),
        ("finish_alone", "f8"),
        ("schedule", "i4"),
        ("staying", "i4"),  # participations still to leave
    ],
    align=True,
)

SCHEDULE_TYPE = np.dtype(
    [
        ("message", "i8"),  # offset into the table planned
        ("messages", "i8"),
        ("thread", "i8"),  # offset into the table op_ptr
        ("free_block", "i8"),  # first free block of this size in the pool
    ],
    align=True,
)

PLANNED_TYPE = np.dtype([("size", "f8"), ("round", "i4")], align=True)

STEP_TYPE = np.dtype(
    [
        ("messages", "i8"),
        ("bytes", "f8"),
        ("start", "f8"),
        ("finish", "f8"),
        ("rho", "f8"),
        ("peak", "f8"),  # largest backlog of any merging port
        ("port_bytes", "f8"),  # of its busy period
        ("slowest", "f8"),  # longest latency of one message
        ("slowest_serial", "f8"),  # of it, serialisation
        ("random_mean", "f8"),  # of that message
        ("random_variance", "f8"),
        ("random_bound", "f8"),
        ("paused", "f8"),  # longest time that one message was held up for want of credit
        ("port", "i4"),
        ("flows", "i4"),
        ("round", "i4"),
        ("job", "i4"),
        ("burst", "i4"),  # -1: a collective's
    ],
    align=True,
)

BURST_TYPE = np.dtype([("flying", "i8"), ("current", "i4"), ("rounds", "i4")], align=True)

# The tag orders entries of one key, and says where the event lies.
HEAP_TYPE = np.dtype([("key", "f8"), ("tag", "i8")], align=True)

# State of the calendar.
QUEUE_TYPE = np.dtype(
    [
        ("heap", "i8"),  # entries in it
        ("run", "i8"),
        ("bucket", "i8"),  # the current one, counted from time 0
        ("window_end", "i8"),  # first bucket behind the window
        ("mask", "i8"),  # places for buckets less one; their number is a power of two
        ("far", "i8"),  # first event of that list
        ("taken", "i8"),  # events since the window was opened
        ("per_tick", "f8"),  # buckets in a tick
    ],
    align=True,
)

EVENT_TYPE = np.dtype(
    [
        ("time", "f8"),
        ("code", "i8"),
        ("value", "f8"),
        ("stamp", "i8"),
        ("tag", "i8"),
        ("lane", "i4"),  # -1 = in none
        ("next", "i4"),  # event of the lane, -1 = none
        ("link", "i4"),  # event of the bucket or of the far list, -1 = none
    ],
    align=True,
)


SETTINGS_TYPE = np.dtype(
    [
        ("packet_bytes", "f8"),  # what a switch has to receive before it forwards: MTU, or 0 for cut-through
        ("overhead_s", "f8"),
        ("eager_limit_bytes", "f8"),
        ("copy_s_per_byte", "f8"),  # of eager messages
        ("rendezvous_s", "f8"),  # before each larger one
        ("intra_rate", "f8"),
        ("intra_latency_s", "f8"),
        ("ripple_tolerance", "f8"),  # smallest relative change of a rate that is passed on
        # parameters of the closed-form models
        ("mtu_bytes", "f8"),
        ("arrival_cv_sq", "f8"),
        ("service_cv_sq", "f8"),
        ("wait_factor", "f8"),
        ("flow_exponent", "f8"),
        ("load_exponent", "f8"),
        ("cell_bytes", "f8"),  # with credits: what is sent as one
        ("model", "i8"),
        # sizes of the tables
        ("tasks", "i8"),
        ("sends", "i8"),  # point-to-point messages; those of collectives come behind
        ("longest", "i8"),  # path, in ports
        ("burst_posts", "i8"),  # most messages that one thread posts without waiting
        ("collective_steps", "i8"),
        ("flight_room", "i8"),
        ("step_room", "i8"),
        ("pool_room", "i8"),
    ],
    align=True,
)

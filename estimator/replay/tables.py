"""The tables of a replay as the kernels see them: one array of addresses, and an accessor for each table.

Handing thirty arrays from kernel to kernel costs more than what the kernels do, and even one is counted in and out
of each; so they get a number, where the list of the addresses is. The
arrays themselves belong to Python (`estimator.replay.engine`), which keeps them alive and makes them larger.
An accessor is compiled into its caller as one load; it gives an array of unknown length that nothing checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import DTypeLike

from estimator.replay.layout import (
    BURST_TYPE,
    CELL_TYPE,
    EVENT_TYPE,
    FLIGHT_TYPE,
    HEAP_TYPE,
    HOP_TYPE,
    INSTANCE_TYPE,
    MESSAGE_TYPE,
    PART_TYPE,
    PARTS,
    PATH_TYPE,
    PLANNED_TYPE,
    POOL_TYPE,
    PORT_TYPE,
    QUEUE_TYPE,
    ROW_TYPE,
    SCHEDULE_TYPE,
    SETTINGS_TYPE,
    STEP_TYPE,
    TASK_TYPE,
    THREAD_TYPE,
)

Tables = int  # where the addresses of the tables lie, an i8 each

# numba wants a length; large enough for any table.
UNKNOWN = 1 << 48

NAMES: list[str] = []


def _accessor(name: str, dtype: DTypeLike, columns: int = 0) -> Any:
    """Make the accessor of the next table; with columns, a table of that many numbers a row."""
    index = len(NAMES)
    NAMES.append(name)
    item = numba.from_dtype(np.dtype(dtype))
    view = types.Array(item, 2 if columns else 1, "C")
    item_bytes = np.dtype(dtype).itemsize

    @intrinsic
    def access(_typing: Any, _addresses: Any) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Sequence[Any]) -> Any:
            word = context.get_value_type(types.intp)
            table = builder.inttoptr(arguments[0], word.as_pointer())
            address = builder.load(builder.gep(table, [context.get_constant(types.intp, index)]))
            made = make_array(view)(context, builder)
            data = builder.inttoptr(address, made.data.type)
            shape = [UNKNOWN, columns] if columns else [UNKNOWN]
            strides = [item_bytes * columns, item_bytes] if columns else [item_bytes]
            populate_array(
                made,
                data=data,
                shape=[word(size) for size in shape],
                strides=[word(size) for size in strides],
                itemsize=word(item_bytes),
                meminfo=None,
            )
            return made._getvalue()

        return view(types.intp), generate

    return access


ports_of = _accessor("ports", PORT_TYPE)
paths_of = _accessor("paths", PATH_TYPE)
path_ports_of = _accessor("path_ports", np.int32)
task_ptr_of = _accessor("task_ptr", np.int64)
rows_of = _accessor("rows", ROW_TYPE)
schedules_of = _accessor("schedules", SCHEDULE_TYPE)
op_ptr_of = _accessor("op_ptr", np.int64)
ops_of = _accessor("ops", np.int64)
planned_of = _accessor("planned", PLANNED_TYPE)
delay_s_of = _accessor("delay_s", np.float64)
bound_path_of = _accessor("bound_path", np.int32)
settings_of = _accessor("settings", SETTINGS_TYPE)
counter_of = _accessor("counter", np.int64)
clock_of = _accessor("clock", np.float64)
queue_of = _accessor("queue", QUEUE_TYPE)
buckets_of = _accessor("buckets", np.int32)
run_of = _accessor("run", HEAP_TYPE)
heap_of = _accessor("heap", HEAP_TYPE)
events_of = _accessor("events", EVENT_TYPE)
lanes_of = _accessor("lanes", np.int32)
event_free_of = _accessor("event_free", np.int32)
flight_of = _accessor("flight", FLIGHT_TYPE)
flight_free_of = _accessor("flight_free", np.int32)
hops_of = _accessor("hops", HOP_TYPE)
cells_of = _accessor("cells", CELL_TYPE)
cell_free_of = _accessor("cell_free", np.int32)
threads_of = _accessor("threads", THREAD_TYPE)
tasks_of = _accessor("tasks", TASK_TYPE)
parts_of = _accessor("parts", PART_TYPE)
part_time_of = _accessor("part_time", np.float64, columns=PARTS)
messages_of = _accessor("messages", MESSAGE_TYPE)
pool_time_of = _accessor("pool_time", np.float64, columns=PARTS)
pool_of = _accessor("pool", POOL_TYPE)
instances_of = _accessor("instances", INSTANCE_TYPE)
instance_time_of = _accessor("instance_time", np.float64, columns=PARTS)
steps_of = _accessor("steps", STEP_TYPE)
bursts_of = _accessor("bursts", BURST_TYPE)
burst_step_of = _accessor("burst_step", np.int64)

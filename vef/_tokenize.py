"""The compiled tokenizer: bytes of record lines into columns. Import it only when a trace is read."""

# mypy: allow-untyped-defs
from __future__ import annotations

from vef.compiled import kernel

SPACES, CARRIAGE_RETURN = 0, 1  # slots of `quirks`

# Why `tokenize` returned.
AT_END, COLUMNS_FULL, ODD_LINE = 0, 1, 2


@kernel
def tokenize(
    buf, start, end, line, tasks, id_limit, row, quirks, fields,
    kind, ident, task, peer, op, send_bytes, recv_bytes, dep, time, dep_id,
):  # fmt: skip
    """Parse whole lines of ``buf[start:end]`` into the columns from `row` on.

    Stops at the first line that is no plain, well-formed record and leaves it to the caller.

    Parameters
    ----------
    buf : uint8
        Text; ``buf[end - 1]`` is a newline.
    line : int
        Line number of ``buf[start]``.
    tasks, id_limit : int
        Ranks must be below, ids at most this.
    quirks : int64 (2,)
        First line with odd spacing and with a carriage return, 0 for none yet.
    fields : int64 (9,)
        Scratch.

    Returns
    -------
    position, row, reason : int
        Where it stopped, the next free row, and one of `AT_END`, `COLUMNS_FULL`, `ODD_LINE`.
    """
    capacity = kind.shape[0]
    p = start
    while p < end:
        if row >= capacity:
            return p, row, COLUMNS_FULL
        line_start = p
        is_collective = buf[p] == 71
        count = 7
        if is_collective:
            count = 9
            p += 1
        last = count - 1
        negative = False
        names_collective = False
        good = True
        odd_space = False
        carriage_return = False
        for k in range(count):
            c = buf[p]
            if k == last:
                if c == 45:
                    negative = True
                    p += 1
                elif c == 71:
                    names_collective = True
                    p += 1
            elif k == 1 and is_collective and c == 67:
                p += 1
            first = p
            value = 0
            digit = int(buf[p]) - 48
            while 0 <= digit <= 9:
                value = value * 10 + digit
                p += 1
                digit = int(buf[p]) - 48
            length = p - first
            if length == 0 or length > 18 or (length > 1 and buf[first] == 48):
                good = False
                break
            fields[k] = value
            c = buf[p]
            if k < last:
                if c == 32 and buf[p + 1] > 32:
                    p += 1
                elif c == 32 or c == 9:
                    odd_space = True
                    while buf[p] == 32 or buf[p] == 9:
                        p += 1
                else:
                    good = False
                    break
            elif c != 10:
                while buf[p] == 32 or buf[p] == 9:
                    odd_space = True
                    p += 1
                if buf[p] == 13:
                    carriage_return = True
                    p += 1
                if buf[p] != 10:
                    good = False
        if not good:
            return line_start, row, ODD_LINE

        at = 6 if is_collective else 4
        dep_value = fields[at]
        dep_kind = dep_value & 3
        if dep_value > 7 or fields[0] > id_limit or fields[last] > id_limit:
            return line_start, row, ODD_LINE
        if names_collective != (dep_kind == 3) or negative != (dep_kind == 0):
            return line_start, row, ODD_LINE
        if negative and fields[last] != 1:
            return line_start, row, ODD_LINE

        if is_collective:
            operation = fields[2]
            if operation > 7 or fields[3] >= tasks or fields[1] > 2147483647:
                return line_start, row, ODD_LINE
            if operation == 7 and fields[5] > 1:
                return line_start, row, ODD_LINE
            kind[row] = 2
            task[row] = fields[3]
            peer[row] = fields[1]
            op[row] = operation
            send_bytes[row] = fields[4]
            recv_bytes[row] = fields[5]
        else:
            if fields[1] >= tasks or fields[2] >= tasks:
                return line_start, row, ODD_LINE
            pseudo = fields[1] == fields[2] and fields[3] == 0 and dep_value < 4
            kind[row] = 1 if pseudo else 0
            task[row] = fields[1]
            peer[row] = fields[2]
            op[row] = -1
            send_bytes[row] = fields[3]
            recv_bytes[row] = 0
        ident[row] = fields[0]
        dep[row] = dep_value
        time[row] = fields[at + 1]
        dep_id[row] = fields[last]
        if odd_space and quirks[SPACES] == 0:
            quirks[SPACES] = line
        if carriage_return and quirks[CARRIAGE_RETURN] == 0:
            quirks[CARRIAGE_RETURN] = line
        row += 1
        line += 1
        p += 1
    return p, row, AT_END

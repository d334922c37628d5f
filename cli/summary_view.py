"""A summary for people: on a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from estimator.units import format_rate, format_size, format_time

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# From these widths on, sizes and heat map stand side by side, and tables have all their columns.
SIDE_BY_SIDE, WIDE = 80, 120

BAR = 9
HEAT_ROWS = 14
SHADES = ("··", "░░", "▒▒", "▓▓", "██")
Document = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of a table; `wide` ones are left out where there is little room."""

    name: str
    cell: Callable[[Document], str]
    right: bool = True
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """A table with its title, and what is said below it."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Document]
    below: Sequence[str] = ()


def show(console: Console, document: Document, top: int) -> None:
    """Counts and times, sizes beside the heat map, collectives, tasks, the critical path."""
    from rich.table import Table as Grid

    for line in headline(document):
        console.print(line, highlight=False, markup=False)
    wide = console.width >= WIDE
    if document["sizes"]:
        console.print()
        blocks: list[Table | str] = [_table(sizes_section(document), wide), "\n".join(heat_lines(document))]
        blocks += [_table(_pairs(document, HEAT_ROWS), wide)] if wide else []
        if console.width >= SIDE_BY_SIDE:
            grid = Grid.grid(padding=(0, 3, 0, 0))
            grid.add_row(*blocks)
            console.print(grid, highlight=False)
        else:
            console.print(*blocks, sep="\n", highlight=False)
    for section in sections(document, top):
        console.print()
        console.print(_table(section, wide), highlight=False)
        for line in section.below:
            console.print(line, highlight=False, markup=False)


def markdown(document: Document, top: int) -> str:
    """The same as Markdown, for a comment on a change."""
    lines = ["## congest summary", "", *(f"- {line}" for line in headline(document))]
    traffic = [sizes_section(document), _pairs(document, top)] if document["sizes"] else []
    for section in (*traffic, *sections(document, top)):
        lines += ["", f"### {section.title}", ""]
        if section.rows:
            lines.append("| " + " | ".join(column.name for column in section.columns) + " |")
            lines.append("| " + " | ".join("--:" if column.right else "---" for column in section.columns) + " |")
        for row in section.rows:
            cells = (column.cell(row).replace("|", "\\|") for column in section.columns)
            lines.append("| " + " | ".join(cells) + " |")
        if section.below:
            lines += ["", *(f"- {line}" for line in section.below)]
    return "\n".join(lines) + "\n"


def headline(document: Document) -> list[str]:
    """What is in the trace, and how long it takes on an ideal network, in a few lines."""
    trace, records, messages, ideal = (document[key] for key in ("trace", "records", "messages", "ideal"))
    balance = document["balance"]
    operations = sum(row["count"] for row in document["collectives"])
    lines = [
        f"{trace['path']}: {_count(trace['tasks'], 'task')}, {_count(trace['records'], 'record')}, "
        f"{_count(len(document['communicators']), 'communicator')}.",
        f"Records: {_count(records['messages'], 'message')} ({format_size(messages['bytes'])}), "
        f"{_count(records['pseudo'], 'pseudo-record')}, {_count(records['collective'], 'participation')} in "
        f"{_count(operations, 'collective')} ({format_size(ideal['collective_bytes'])} given).",
    ]
    odd = [
        f"{_count(messages[key], 'message')} {words}"
        for key, words in (
            ("to_self", "to the sender itself"),
            ("never_received", "that no receive names"),
            ("received_again", "that several receives name"),
        )
        if messages[key]
    ]
    if odd:
        lines.append("Of these, " + ", ".join(odd) + ".")
    if not trace["records"]:
        return [*lines, "There is no record, so there is nothing to replay."]
    text = f"On an ideal network (no latency, no limit of bandwidth) it takes {format_time(ideal['makespan_s'])}"
    if ideal["makespan_s"]:
        text += f"; a task computes {balance['compute_share']:.1%} of that on average"
    lines.append(text + ".")
    generated = [
        f"{format_rate(ideal[key])} in {what}"
        for key, what in (("message_bytes_per_s", "messages"), ("collective_bytes_per_s", "collectives"))
        if ideal[key]
    ]
    return [*lines, "Generated in that time: " + ", ".join(generated) + "."] if generated else lines


def sizes_section(document: Document) -> Section:
    """Message sizes in powers of two; classes without messages are left out."""
    rows = [row for row in document["sizes"] if row["messages"]]
    most = max(row["messages"] for row in rows)
    columns = (
        Column("size", lambda row: _size_class(row)),
        Column("messages", lambda row: f"{row['messages']:,}"),
        Column("bytes", lambda row: format_size(row["bytes"])),
        Column("", lambda row: _bar(row, most), right=False),
    )
    limit = format_size(document["messages"]["eager_limit_bytes"])
    return Section(f"Messages (█ eager, ▒ above {limit})", columns, rows)


def _size_class(row: Document) -> str:
    return ("≤ " if row["most_bytes"] > 1 else "") + format_size(row["most_bytes"])


def _bar(row: Document, most: int) -> str:
    length = max(1, round(BAR * row["messages"] / most))
    eager = round(length * row["eager_messages"] / row["messages"])
    return "█" * eager + "▒" * (length - eager)


def heat_lines(document: Document) -> list[str]:
    """Bytes between blocks of tasks, from the row to the column, in four shades of the largest."""
    heat = document["heat_map"]
    block, size_bytes = heat["tasks_per_cell"], heat["bytes"]
    most = max(max(row) for row in size_bytes)
    last = document["trace"]["tasks"] - 1
    width = len(str((len(size_bytes) - 1) * block))
    unit = "a task" if block == 1 else f"{block} tasks"
    lines = [f"[bold]Bytes from {unit} (row) to {unit}[/bold]"]
    for number, row in enumerate(size_bytes):
        lines.append(f"{number * block:>{width}} " + "".join(SHADES[_shade(value, most)] for value in row))
    lines.append(" " * (width + 1) + f"0 to {last}; ██ above 3/4 of {format_size(most)}")
    return lines


def _shade(value: int, most: int) -> int:
    return 0 if not value else min(4, 1 + 4 * value // most) if value < most else 4


def sections(document: Document, top: int) -> list[Section]:
    """Everything below the sizes, `top` rows of each."""
    found = [_collectives(document, top), _communicators(document, top)]
    return [*(section for section in found if section.rows), _tasks(document, top), *_path(document, top)]


def _titled(title: str, rows: Sequence[Document], top: int) -> str:
    return f"{title} ({top} of {len(rows)})" if len(rows) > top else title


def _collectives(document: Document, top: int) -> Section:
    rows = document["collectives"]
    columns = (
        Column("collective", lambda row: row["op"], right=False),
        Column("on", lambda row: f"C{row['communicator']}", right=False),
        Column("ranks", lambda row: f"{row['ranks']:,}"),
        Column("bytes each", lambda row: format_size(row["bytes"])),
        Column("n", lambda row: f"{row['count']:,}"),
        Column("bytes in all", lambda row: format_size(row["sent_bytes"])),
        Column("waited", lambda row: format_time(row["waited_s"])),
        Column("first line", lambda row: str(row["first_line"]), wide=True),
    )
    return Section(_titled("Collectives by bytes; waited: for others, all ranks", rows, top), columns, rows[:top])


def _communicators(document: Document, top: int) -> Section:
    rows = document["communicators"]
    columns = (
        Column("communicator", lambda row: f"C{row['communicator']}", right=False),
        Column("ranks", lambda row: f"{row['ranks']:,}"),
        Column("collectives", lambda row: f"{row['collectives']:,}"),
        Column("bytes in all", lambda row: format_size(row["sent_bytes"])),
        Column("tasks", lambda row: _shortened(row["members"]), right=False),
    )
    leading = sorted(rows, key=lambda row: (-row["collectives"], -row["sent_bytes"]))
    # One communicator of all tasks is what the headline says already.
    shown = leading[:top] if len(rows) > 1 else []
    return Section(_titled("Communicators by collectives", rows, top), columns, shown)


def _shortened(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _pairs(document: Document, top: int) -> Section:
    rows, total = document["pairs"], document["messages"]["pairs"]
    whole = document["messages"]["bytes"]
    columns = (
        Column("from", lambda row: str(row["source"])),
        Column("to", lambda row: str(row["destination"])),
        Column("messages", lambda row: f"{row['messages']:,}"),
        Column("bytes", lambda row: format_size(row["bytes"])),
        Column("of all", lambda row: f"{row['bytes'] / whole:.1%}" if whole else "–"),
    )
    title = f"Pairs of tasks by bytes ({min(top, total)} of {total:,})" if total > top else "Pairs of tasks by bytes"
    return Section(title, columns, rows[:top])


def _tasks(document: Document, top: int) -> Section:
    rows, balance = document["tasks"], document["balance"]
    columns: tuple[Column, ...] = (
        Column("task", lambda row: str(row["task"])),
        Column("computes", lambda row: format_time(row["compute_s"])),
        Column("share", lambda row: _percent(row["compute_share"])),
        Column("waits", lambda row: format_time(row["wait_s"])),
    )
    if document["messages"]["messages"]:
        columns += (
            Column("sends", lambda row: format_size(row["bytes_sent"])),
            Column("messages", lambda row: f"{row['messages_sent']:,}"),
            Column("to tasks", lambda row: f"{row['destinations']:,}"),
            Column("receives", lambda row: format_size(row["bytes_received"])),
            Column("from tasks", lambda row: f"{row['sources']:,}", wide=True),
        )
    columns += (
        Column("collectives", lambda row: f"{row['collectives']:,}", wide=bool(document["messages"]["messages"])),
        Column("ends at", lambda row: format_time(row["finish_s"]), wide=True),
    )
    leading = sorted(rows, key=lambda row: -row["compute_s"])
    below = []
    if balance["load_balance"] is not None:
        below.append(
            f"Computing {format_time(balance['compute_min_s'])} to {format_time(balance['compute_max_s'])}, mean "
            f"{format_time(balance['compute_mean_s'])}: load balance {balance['load_balance']:.1%}, dependency "
            f"efficiency {balance['dependency_efficiency']:.1%}."
        )
    if balance["bytes_sent_max_over_mean"] is not None:
        most = balance["bytes_sent_max_over_mean"]
        below.append(f"Of bytes in messages, the largest sender sends {most:.3g} times the mean.")
    return Section(_titled("Tasks by compute time", rows, top), columns, leading[:top], below)


def _path(document: Document, top: int) -> list[Section]:
    path = document["critical_path"]
    if not path["records"]:
        return []
    by_op = ", ".join(f"{count:,} {op}" for op, count in path["collectives_by_op"].items())
    line = f"{format_time(path['compute_s'])} of compute in {_count(path['tasks'], 'task')}, "
    line += f"{_count(path['records'], 'record')} in {_count(path['stretches'], 'stretch', 'stretches')}"
    ways = []
    if path["messages"]:
        ways.append(f"{_count(path['messages'], 'message')} ({format_size(path['message_bytes'])})")
    ways += [f"{_count(path['collectives'], 'collective')} ({by_op})"] if by_op else []
    line += "; it goes on to another task by " + " and ".join(ways) if ways else ""
    task_columns = (
        Column("task", lambda row: str(row["task"])),
        Column("computes", lambda row: format_time(row["compute_s"])),
        Column("share", lambda row: _percent(row["share"])),
        Column("stretches", lambda row: f"{row['stretches']:,}"),
        Column("records", lambda row: f"{row['records']:,}"),
        Column("left by message", lambda row: f"{row['messages']:,}"),
        Column("by collective", lambda row: f"{row['collectives']:,}"),
    )
    stretch_columns = (
        Column("task", lambda row: str(row["task"])),
        Column("from", lambda row: format_time(row["begin_s"])),
        Column("computes", lambda row: format_time(row["compute_s"])),
        Column("share", lambda row: _percent(row["share"])),
        Column("lines", lambda row: _lines(row), right=False),
        Column("records", lambda row: f"{row['records']:,}", wide=True),
        Column("then", _after, right=False),
    )
    stretches = document["path_stretches"]
    title = "Its longest stretches" + (f" ({top} of {path['stretches']:,})" if path["stretches"] > top else "")
    return [
        Section(
            _titled("Critical path: tasks by compute time on it", document["path_tasks"], top),
            task_columns,
            document["path_tasks"][:top],
            [f"{line}."],
        ),
        Section(title, stretch_columns, stretches[:top]),
    ]


def _lines(row: Document) -> str:
    first, last = row["first_line"], row["last_line"]
    return str(first) if first == last else f"{first}-{last}"


def _after(row: Document) -> str:
    if row["after"] == "end":
        return "the end"
    what = f"message {row['after_id']}" if row["after"] == "message" else row["after_id"]
    return f"{what} → task {row['to_task']}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _table(section: Section, wide: bool) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(
        title=section.title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    columns = [column for column in section.columns if wide or not column.wide]
    for column in columns:
        table.add_column(column.name, justify="right" if column.right else "left", no_wrap=True)
    for row in section.rows:
        table.add_row(*(column.cell(row) for column in columns))
    return table

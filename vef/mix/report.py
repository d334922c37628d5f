"""What a mixed trace does not hold as the program did it, in sentences."""

from __future__ import annotations

from collections import Counter

from vef.mix.events import Capture
from vef.mix.flat import Flat
from vef.mix.groups import Groups
from vef.mix.matching import Matches

REPLACED = {
    "reduce_scatter": "written as AlltoAll with totals",
    "scan": "written as messages from each rank to the next",
    "exscan": "written as messages from each rank to the next",
}
SHOWN = 5


def warnings_of(capture: Capture, flat: Flat, matches: Matches, groups: Groups) -> tuple[str, ...]:
    """Return one sentence per kind of thing that was left out, replaced or assumed."""
    lines = list(capture.notes)
    ended = [rank for rank in capture.ranks if rank.finalize_start_ns is None]
    if ended:
        names = ", ".join(str(rank.rank) for rank in ended[:SHOWN]) + (" …" if len(ended) > SHOWN else "")
        lines.append(
            f"{_count(len(ended), 'rank')} of {len(capture.ranks)} without MPI_Finalize ({names}): "
            "the trace holds what they did until they ended"
        )
    lines.extend(f"{rank.path}: {rank.damage}" for rank in capture.ranks if rank.damage)
    if matches.unreceived:
        lines.append(
            f"{_count(matches.unreceived, 'message')} sent but never received"
            f"{_example(flat, matches, 'send')}: kept, nothing waits for them"
        )
    if matches.unsent:
        lines.append(
            f"{_count(matches.unsent, 'receive')} without a send{_example(flat, matches, 'receive')}: left out"
        )
    if matches.open:
        lines.append(f"{_count(matches.open, 'receive')} from any source or tag never seen to complete: left out")
    if groups.incomplete:
        lines.append(f"{_count(groups.incomplete, 'collective')} that not all members called: left out")
    lines.extend(
        f"{_count(count, f'call of {name}', f'calls of {name}')}: {REPLACED.get(name, 'left out')}"
        for name, count in sorted(flat.counts.items())
        if count
    )
    unsupported: Counter[str] = Counter()
    for rank in capture.ranks:
        unsupported.update(rank.unsupported)
    lines.extend(
        f"{_count(count, f'call of {name}', f'calls of {name}')}: left out, the format has no place for it"
        for name, count in sorted(unsupported.items())
        if count
    )
    return tuple(lines)


def _example(flat: Flat, matches: Matches, which: str) -> str:
    row = matches.examples[which]
    peer, rank = flat.peer[row], flat.rank[row]
    source, target = (rank, peer) if which == "send" else (peer, rank)
    return f" (first: {source} to {target}, tag {flat.tag[row]})"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"

"""What can be wrong with a trace, as data: one `Problem` per finding, `InvalidTrace` to carry them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

MAX_PROBLEMS = 1000
MAX_WARNINGS = 20  # of one code


@dataclass(frozen=True)
class Problem:
    """One finding about a trace file.

    Attributes
    ----------
    line : int or None
        1-based line of the file, None where no line is to blame.
    code : str
        Short stable name of the kind of problem, e.g. ``"duplicate-id"``.
    found, expected : str
        The two things that disagree.
    hint : str
        What to do about it, may be empty.
    fatal : bool
        False for a warning: the trace was read all the same.
    """

    line: int | None
    code: str
    found: str
    expected: str
    hint: str = ""
    fatal: bool = True

    def render(self, path: str = "") -> str:
        """Return ``path:line: found …; expected …; hint`` in one line."""
        place = ":".join(str(part) for part in (path, self.line) if part not in ("", None))
        body = f"found {self.found}; expected {self.expected}"
        if self.hint:
            body += f"; {self.hint}"
        return f"{place}: {body}" if place else body

    def __str__(self) -> str:
        return self.render()


class InvalidTrace(Exception):  # noqa: N818 - the name is part of the public interface
    """A trace that cannot be used.

    Attributes
    ----------
    path : str
        The file as it was named by the caller.
    problems : tuple of Problem
        Every fatal problem that was found, sorted by line.
    """

    def __init__(self, path: str, problems: Iterable[Problem]) -> None:
        self.path = path
        self.problems = tuple(sorted_by_line(problems))
        super().__init__("\n".join(problem.render(path) for problem in self.problems))


def sorted_by_line(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems in the order of their lines, those without a line last."""
    return sorted(problems, key=lambda problem: (problem.line is None, problem.line or 0))


@dataclass
class ProblemLog:
    """Collects problems: the first `MAX_PROBLEMS` fatal ones and `MAX_WARNINGS` of each code, a count of the rest."""

    problems: list[Problem] = field(default_factory=list)
    fatal: int = 0
    warned: Counter[str] = field(default_factory=Counter)

    def add(self, problem: Problem) -> None:
        """Keep one problem, or only count it when there are too many."""
        if problem.fatal:
            self.fatal += 1
            keep = self.fatal <= MAX_PROBLEMS
        else:
            self.warned[problem.code] += 1
            keep = self.warned[problem.code] <= MAX_WARNINGS
        if keep:
            self.problems.append(problem)

    def error(self, line: int | None, code: str, found: str, expected: str, hint: str = "") -> None:
        """Add a fatal problem."""
        self.add(Problem(line, code, found, expected, hint))

    def warn(self, line: int | None, code: str, found: str, expected: str, hint: str = "") -> None:
        """Add a warning."""
        self.add(Problem(line, code, found, expected, hint, fatal=False))

    def uncounted(self, more: int) -> None:
        """Count fatal problems that were found but not described."""
        self.fatal += more

    @property
    def full(self) -> bool:
        """True when further problems are counted only."""
        return self.fatal >= MAX_PROBLEMS

    def finish(self) -> list[Problem]:
        """Return what was kept, sorted by line, with entries that count what was not."""
        kept = [*sorted_by_line(problem for problem in self.problems if problem.fatal), *self.warnings()]
        more = self.fatal - sum(problem.fatal for problem in kept)
        if more > 0:
            hint = "mend the first ones and run again"
            kept.append(Problem(None, "more", f"{more} more problems", "none", hint))
        return sorted_by_line(kept)

    def warnings(self) -> tuple[Problem, ...]:
        """Return the warnings, sorted by line, with an entry for each code that has more."""
        kept = [problem for problem in self.problems if not problem.fatal]
        for code, count in self.warned.items():
            if count > MAX_WARNINGS:
                found = f"{count - MAX_WARNINGS} more warnings of this kind ({code})"
                kept.append(Problem(None, code, found, "none", fatal=False))
        return tuple(sorted_by_line(kept))

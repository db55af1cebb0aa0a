"""Results of benchmarks as rows of one table, kept as JSON and compared with the last ones."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

LAST = Path(__file__).with_name("last.json")


@dataclass(frozen=True)
class Row:
    """What was measured: our median with the least and the greatest repeat, a peer's median, and the goal.

    `goal` is a bound for our median, or with `relative` for its ratio to the peer's (None: no goal).
    `more_is_better`: a rate, so that the bound is a lower one. `cpu` are processor seconds, which differ less
    than seconds where a machine has other work.
    """

    what: str
    unit: str
    ours: float
    least: float
    most: float
    peer: str = ""
    theirs: float | None = None
    goal: float | None = None
    relative: bool = False
    more_is_better: bool = False
    cpu: float | None = None

    @classmethod
    def of(cls, what: str, unit: str, repeats: Sequence[float], **more: object) -> Row:
        """A row of the median of these repeats."""
        return cls(what, unit, statistics.median(repeats), min(repeats), max(repeats), **more)  # type: ignore[arg-type]

    @property
    def ratio(self) -> float | None:
        return None if self.theirs is None else self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None: there is none."""
        value = self.ratio if self.relative else self.ours
        if self.goal is None or value is None:
            return None
        return value >= self.goal if self.more_is_better else value <= self.goal

    @property
    def goal_text(self) -> str:
        if self.goal is None:
            return ""
        bound = f"{self.goal:,.2f} x" if self.relative else _number(self.goal)
        return f"{'>=' if self.more_is_better else '<='} {bound}"


_HEAD = ("what", "ratio", "goal", "met", "ours", "unit", "spread", "CPU s", "peer", "peer's")
"""Ratios first: machines differ by half from day to day."""


def table(rows: Iterable[Row]) -> Table:
    """One line per row, with whether its goal is met."""
    found = Table(title="benchmarks: medians, with the least and the greatest repeat", title_justify="left")
    for column in _HEAD:
        found.add_column(column, justify="left" if column in ("what", "unit", "peer") else "right")
    for row in rows:
        found.add_row(*_cells(row))
    return found


def markdown(rows: Iterable[Row]) -> str:
    """The same table for a page."""
    lines = [_HEAD, ("---",) * len(_HEAD), *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.what,
        "" if row.ratio is None else f"{row.ratio:.2f} x",
        row.goal_text,
        {None: "", True: "yes", False: "no"}[row.met],
        _number(row.ours),
        row.unit,
        f"{_number(row.least)} to {_number(row.most)}",
        "" if row.cpu is None else f"{row.cpu:.1f}",
        row.peer,
        "" if row.theirs is None else _number(row.theirs),
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def slower(rows: Iterable[Row], before: Iterable[Row]) -> list[str]:
    """Sentences on what became slower by more than the spread of the last repeats."""
    known = {row.what: row for row in before}
    found = []
    for row in rows:
        old = known.get(row.what)
        if old is None:
            continue
        worse = row.ours < old.least if row.more_is_better else row.ours > old.most
        if worse:
            found.append(
                f"slower: {row.what}: {_number(row.ours)} {row.unit}, last time {_number(old.ours)} "
                f"({_number(old.least)} to {_number(old.most)})"
            )
    return found


def save(rows: Iterable[Row], path: Path = LAST) -> None:
    path.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


def load(path: Path = LAST) -> list[Row]:
    """The rows of the last run; none if there was none."""
    return [Row(**fields) for fields in json.loads(path.read_text())] if path.exists() else []

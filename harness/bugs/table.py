"""What came of bugs, for people: a table, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from harness.bugs.model import Bug, BugArm, BugArmResult, BugResult, BugVerdict
from harness.report.table_builder import build_table

_COLOURS = {
    BugVerdict.REPRODUCED: "green",
    BugVerdict.NOT_REPRODUCED: "bold red",
    BugVerdict.UNKNOWN: "yellow",
}
COLUMNS = (
    "bug",
    "affected expected",
    "affected seen",
    "fixed expected",
    "fixed seen",
    "verdict",
    "seconds",
)
NOTHING = "shows nothing"


def by_bug(results: Iterable[BugResult]) -> dict[str, list[BugResult]]:
    """The runs of each bug, in order."""
    found: dict[str, list[BugResult]] = {}
    for result in results:
        found.setdefault(result.id, []).append(result)
    return found


def cells(runs: Sequence[BugResult]) -> tuple[str, ...]:
    """The row of one bug over all its runs, as text in the order of `COLUMNS`; one line an arm."""
    columns = [f"{runs[0].id} {runs[0].title}"]
    for side in BugArm:
        arms = arms_of(runs, side)
        columns.append("\n".join(f"{name}: {expected(seen)}" for name, seen in arms.items()))
        columns.append("\n".join(counted(map(said, seen)) for seen in arms.values()))
    seconds = sorted(round(run.seconds) for run in runs)
    span = f"{seconds[0]}" if seconds[0] == seconds[-1] else f"{seconds[0]}-{seconds[-1]}"
    return (*columns, counted(run.verdict.value for run in runs), span)


def arms_of(runs: Iterable[BugResult], side: BugArm) -> dict[str, list[BugArmResult]]:
    """What came of each arm of a side, run by run."""
    found: dict[str, list[BugArmResult]] = {}
    for run in runs:
        for one in run.of(side):
            found.setdefault(one.arm, []).append(one)
    return found


def expected(seen: Sequence[BugArmResult]) -> str:
    """The verdict that is expected of an arm."""
    return next((one.headline.expected for one in seen if one.headline is not None), "-")


def said(arm: BugArmResult) -> str:
    """The verdict that an arm came to, unless it shows nothing."""
    return arm.headline.seen if arm.sound and arm.headline is not None else NOTHING


def counted(words: Iterable[str]) -> str:
    """How often each was said: `valid 5/5`, or `valid 4/5, shows nothing 1/5`."""
    found = Counter(words)
    return ", ".join(f"{word} {count}/{found.total()}" for word, count in found.items())


def table(results: Sequence[BugResult]) -> Table:
    """One row a bug, with the counts of all its runs."""
    rows: list[list[str | Text]] = []
    for runs in by_bug(results).values():
        *plain, verdict, seconds = cells(runs)
        worst = max((run.verdict for run in runs), key=list(BugVerdict).index)
        rows.append([*plain, Text(verdict, style=_COLOURS[worst]), seconds])
    return build_table(COLUMNS, rows, right=("seconds",))


def reasons(results: Sequence[BugResult]) -> list[str]:
    """Why bugs were not reproduced, and where to look further."""
    lines = []
    for result in results:
        if result.verdict is not BugVerdict.REPRODUCED:
            lines.append(f"{result.id}: {result.verdict}")
            lines += [f"  - {reason}" for reason in result.reasons]
            lines += [
                f"  see {folder}" for folder in dict.fromkeys(arm.folder for arm in result.arms) if folder
            ]
    return lines


def listing(bugs: Sequence[Bug]) -> Table:
    """What there is, without running anything."""
    rows: list[tuple[str, ...]] = []
    for bug in bugs:
        arms = ("\n".join(trial.arm for trial in bug.of(side)) for side in BugArm)
        rows.append((bug.id, bug.title, bug.claim.kafka, *arms))
    return build_table(("bug", "title", "kafka", "affected", "fixed"), rows)

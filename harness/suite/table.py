"""The results of a suite as a table, and the reasons for what did not pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from harness.report.table_builder import build_table
from harness.suite.model import Role, Suite, SuiteArmResult, SuiteItem, SuiteResult, SuiteVerdict

NOTHING = "shows nothing"
MARKS = {True: "as expected", False: "not as expected", None: "unknown"}
"""How pages mark an observation, by its `ok`."""


def columns(suite: Suite) -> tuple[str, ...]:
    """The names of the columns."""
    shows, controls = suite.roles
    first = "" if shows == suite.item else f"{shows} "
    return (
        suite.item,
        f"{first}expected",
        f"{first}seen",
        f"{controls} expected",
        f"{controls} seen",
        "verdict",
        "seconds",
    )


def cells(suite: Suite, runs: Sequence[SuiteResult]) -> tuple[str, ...]:
    """The row of one item over these runs of it, as text in the order of `columns`; one line per arm."""
    row = [f"{runs[0].id} {runs[0].title}"]
    for role in suite.roles:
        arms = arms_of(runs, role).values()
        row.append("\n".join(f"{seen[-1].arm}: {_expected(seen)}" for seen in arms))
        row.append("\n".join(count(seen) if suite.counted else shown_observation(seen[-1]) for seen in arms))
    seconds = sorted(round(run.seconds) for run in runs)
    span = f"{seconds[0]}" if seconds[0] == seconds[-1] else f"{seconds[0]}-{seconds[-1]}"
    return (*row, count_verdicts(runs), span)


def arms_of(runs: Iterable[SuiteResult], role: Role) -> dict[tuple[str, str], list[SuiteArmResult]]:
    """The results of each arm of a role, run by run, by the names of its experiment and of itself."""
    found: dict[tuple[str, str], list[SuiteArmResult]] = {}
    for run in runs:
        for one in run.of(role):
            found.setdefault((one.experiment, one.arm), []).append(one)
    return found


def _expected(runs: Sequence[SuiteArmResult]) -> str:
    row = next((one.headline for one in reversed(runs) if one.headline is not None), None)
    if row is None:
        return "-"
    return row.expected if row.what == "verdict" else f"{row.what}: {row.expected}"


def shown_observation(arm: SuiteArmResult) -> str:
    """The observation that a table shows of an arm, unless the arm shows nothing."""
    return arm.headline.seen if arm.sound and arm.headline is not None else NOTHING


def count(runs: Sequence[SuiteArmResult]) -> str:
    """How many runs of an arm showed what: `valid 5/5`, or `valid 4/5, shows nothing 1/5`."""
    return _fractions(Counter(map(shown_observation, runs)))


def count_verdicts(runs: Sequence[SuiteResult]) -> str:
    """How many runs had which verdict: `yes 3/3`, or `yes 2/3, unknown 1/3`; for one run `yes`."""
    found = Counter(run.verdict for run in runs)
    return _fractions({verdict.value: found[verdict] for verdict in SuiteVerdict if found[verdict]})


def _fractions(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    return ", ".join(f"{word} {number}/{total}" if total > 1 else word for word, number in counts.items())


def table(suite: Suite, results: Sequence[SuiteResult]) -> Table:
    """The results as a table: one row per item if the suite counts its runs, else one row per result."""
    groups: dict[object, list[SuiteResult]] = {}
    for number, result in enumerate(results):
        groups.setdefault(result.id if suite.counted else number, []).append(result)
    rows: list[list[str | Text]] = []
    for runs in groups.values():
        *plain, verdict, seconds = cells(suite, runs)
        rows.append([*plain, Text(verdict, style=_colour(runs)), seconds])
    return build_table(columns(suite), rows, right=("seconds",))


def _colour(runs: Sequence[SuiteResult]) -> str:
    if any(run.verdict is SuiteVerdict.UNKNOWN for run in runs):
        return "yellow"
    return "bold red" if any(run.verdict.failed for run in runs) else "green"


def reasons(results: Sequence[SuiteResult]) -> list[str]:
    """Why items did not pass, and the folders in which to look further."""
    lines = []
    for result in results:
        if not result.verdict.passed:
            lines.append(f"{result.id}: {result.verdict}")
            lines += [f"  - {reason}" for reason in result.reasons]
            folders = dict.fromkeys(arm.folder for arm in result.arms if arm.folder)
            lines += [f"  see {folder}" for folder in folders]
    return lines


def listing(items: Sequence[SuiteItem]) -> Table:
    """The items themselves, without running anything."""
    suite = items[0].suite
    rows: list[tuple[str, ...]] = []
    for item in items:
        arms = ("\n".join(f"{a.experiment.name}: {a.arm}" for a in item.of(role)) for role in suite.roles)
        rows.append((item.id, item.title, item.kafka, *arms))
    return build_table((suite.item, "title", "kafka", *(f"{role} arms" for role in suite.roles)), rows)

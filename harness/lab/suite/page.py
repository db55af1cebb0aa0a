"""The page of a run of a suite, of which a terminal shows a part, and the list of its items."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from markupsafe import Markup

from harness.lab.suite.judge import exit_code
from harness.lab.suite.model import Role, Suite, SuiteArmResult, SuiteItem, SuiteResult, SuiteVerdict
from harness.report.page import html
from harness.report.page.blocks import (
    AnyCell,
    Block,
    Cell,
    Code,
    Drawing,
    Lines,
    Page,
    Section,
    Status,
    Table,
    Text,
    section,
    status_of,
)

NOTHING = "shows nothing"
MARKS = {True: "as expected", False: "not as expected", None: "unknown"}
"""How pages mark an observation, by its `ok`."""
_FACTS = {
    "today": "Today",
    "affected": "Affected",
    "fixed": "Fixed",
    "proof": "Proof",
    "set_up": "Set-up",
    "link": "Source",
}
"""Texts of an item that its section shows if the item has them."""


def write_page(items: Sequence[SuiteItem], results: Sequence[SuiteResult], folder: Path) -> Path:
    """Write the page of a run of the suite NAME as `folder`/NAME.html, and return its path. The items are
    those of the results, in the same order.

    Raises:
        KafkaChaosError: the file cannot be written.
    """
    name = items[0].suite.name
    return html.save_pages(
        [(f"{name}.html", html.render(suite_page(items, results), folder))],
        folder,
        what=f"the page of the {name}",
        next_step=f"free space or correct its permissions; {name}.json beside it holds the same",
    )


def suite_page(items: Sequence[SuiteItem], results: Sequence[SuiteResult]) -> Page:
    """The page of a run of a suite: its outcome, then a section per item."""
    suite = items[0].suite
    drawings = suite.draw(results)
    return Page(
        kind=suite.name,
        title=suite.heading,
        started_ns=time.time_ns(),
        headline=headline(suite, results),
        status=status_of(exit_code(results)),
        blocks=(
            *outcome(suite, results),
            *(
                _section(item, result, drawings.get(item.id, Markup()))
                for item, result in zip(items, results, strict=True)
            ),
        ),
    )


def outcome(suite: Suite, results: Sequence[SuiteResult]) -> tuple[Block, ...]:
    """The results as a table, and why items did not pass: one row per item if the suite counts its runs, else
    one row per result."""
    groups: dict[object, list[SuiteResult]] = {}
    for number, result in enumerate(results):
        groups.setdefault(result.id if suite.counted else number, []).append(result)
    rows: list[tuple[AnyCell, ...]] = []
    for runs in groups.values():
        first, *plain, verdict, seconds = cells(suite, runs)
        rows.append((Cell(first, link=f"#{runs[0].id}"), *plain, verdict_cell(runs, verdict), seconds))
    table = Table(columns(suite), rows, right=("seconds",), cards=True)
    return table, Lines(reasons(results), only="terminal")


def verdict_cell(runs: Sequence[SuiteResult], text: str) -> Cell:
    """`text` in the colour of what these runs of an item decided."""
    status: Status = "good"
    if any(run.verdict is SuiteVerdict.UNKNOWN for run in runs):
        status = "unclear"
    elif any(run.verdict.failed for run in runs):
        status = "bad"
    return Cell(text, status, strong=status == "bad")


def _section(item: SuiteItem, result: SuiteResult, drawing: Markup) -> Section:
    texts = [f"{title}: {text}" for name, title in _FACTS.items() if (text := getattr(item, name, ""))]
    return section(
        f"{item.id}: {item.title}",
        Text(item.words),
        Lines(texts),
        Text(f"Kafka {result.kafka}, {result.seconds:.0f} s. Replay: `{item.replay}`", note=True),
        Lines(result.reasons),
        Drawing(drawing),
        *(_arm(arm) for arm in result.arms),
        id=item.id,
        badges=(verdict_cell([result], result.verdict),),
        only="html",
    )


def _arm(arm: SuiteArmResult) -> Section:
    return section(
        f"{arm.role.capitalize()}: {arm.arm} of {arm.experiment}",
        *(Text(f"The run proves nothing: {doubt}", status="unclear") for doubt in arm.doubts),
        observations(arm),
        section("What happened, from the run's journals", Code("\n".join(arm.story)), folded=True),
    )


def observations(arm: SuiteArmResult) -> Table:
    """What was looked at in an arm, expected of it and seen."""
    rows = [
        (
            f"{'precondition: ' if row.given else ''}{row.what}",
            row.expected,
            row.seen,
            Cell(MARKS[row.ok], strong=row.ok is False),
        )
        for row in arm.rows
    ]
    return Table(("looked at", "expected", "seen", "result"), rows)


def headline(suite: Suite, results: Sequence[SuiteResult]) -> str:
    """The outcome in one line: `24 of 26 claims: yes; 1 no; 1 unknown`."""
    counts = Counter(result.verdict for result in results)
    others = (suite.failed, SuiteVerdict.UNKNOWN)
    rest = "".join(f"; {counts[verdict]} {verdict}" for verdict in others if counts[verdict])
    return f"{counts[suite.passed]} of {len(results)} {suite.name}: {suite.passed}{rest}"


def columns(suite: Suite) -> tuple[str, ...]:
    """The names of the columns."""
    roles = ("" if role == suite.item else f"{role} " for role in suite.roles)
    arms = (f"{role}{what}" for role in roles for what in ("expected", "seen"))
    return (suite.item, *arms, "verdict", "seconds")


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
    by_name: dict[tuple[str, str], list[SuiteArmResult]] = {}
    for run in runs:
        for arm in run.of(role):
            by_name.setdefault((arm.experiment, arm.arm), []).append(arm)
    return by_name


def _expected(runs: Sequence[SuiteArmResult]) -> str:
    row = next((arm.headline for arm in reversed(runs) if arm.headline is not None), None)
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
    counts = Counter(run.verdict for run in runs)
    return _fractions({verdict.value: counts[verdict] for verdict in SuiteVerdict if counts[verdict]})


def _fractions(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    return ", ".join(f"{word} {number}/{total}" if total > 1 else word for word, number in counts.items())


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
    return Table((suite.item, "title", "kafka", *(f"{role} arms" for role in suite.roles)), rows)

"""The page of an exploration, which a terminal, report.html and report.md show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from harness.lab.explore.menu import ExploreMenu
from harness.lab.explore.promised import tried
from harness.lab.explore.reproducers import describe_violation
from harness.lab.explore.result import CoverageResult, Covered, ExploreResult, TrialRun
from harness.many.run_time import format_duration
from harness.model.result import VerdictWord
from harness.report.page import html, markdown
from harness.report.page.blocks import Code, Lines, Page, Table, Text, grid, section, status_of

MARKDOWN_FILE = "report.md"
MOST_RUNS = 500
"""The most runs in the table of report.html, the last ones; report.md and result.json have all."""


def write_pages(result: ExploreResult, folder: Path) -> Path:
    """Write `folder`/report.html and report.md without secrets; returns the first's path.

    Raises:
        KafkaChaosError: one cannot be written.
    """
    page = explore_page(result)
    texts = {html.REPORT_FILE: html.render(page, folder), MARKDOWN_FILE: markdown.render(page)}
    return html.save_pages(
        texts.items(),
        folder,
        what="the report of the exploration",
        next_step="free space or correct its permissions; result.json has all that the report shows",
    )


def explore_page(result: ExploreResult) -> Page:
    """The page of an exploration."""
    menu = result.parsed_menu()
    text, (columns, runs) = list(lines(result)), grid(map(_run, result.runs))
    older = f"The last {MOST_RUNS} of {len(runs)} runs; result.json has all of them."
    return Page(
        kind="explore",
        name=menu.name,
        title=menu.title,
        started_ns=result.started_ns,
        headline=headline(result),
        status=status_of(result.exit_code()),
        blocks=(
            Text(f"Seed {result.seed}, {_budget(result)}; {result.ended}.", only="html markdown"),
            section("Violations", _violations(result), id="violations", only="html markdown"),
            section("Notes", Lines([line.strip() for line in text[1:]]), id="notes", only="html markdown"),
            section("Promises", *_promises(result), id="promises"),
            section("Coverage", *_coverage(menu, result.coverage), id="coverage"),
            section(
                "Runs",
                Table(
                    columns,
                    runs[-MOST_RUNS:],
                    note=older if len(runs) > MOST_RUNS else "",
                    cards=True,
                    only="html",
                ),
                Table(columns, runs, only="markdown"),
                id="runs",
                only="html markdown",
            ),
            section("Run it again", Code(result.command), id="how", only="html markdown"),
            Lines(text, only="terminal"),
        ),
    )


def _promises(result: ExploreResult) -> Iterator[Text | Table]:
    """How often each promise was put to the test; empty for explorations that did not note it."""
    explored = [
        (run.verdict, run.promised, run.broken)
        for run in result.runs
        if run.violation is None and run.promised
    ]
    rows = [
        (row.finding.value, f"{row.runs}", f"{row.broken or '-'}", f"<= {row.high:.1%}")
        for row in tried(explored)
    ]
    if rows:
        yield Text(
            "In how many schedules the settings ruled a class of findings out that could have been there, in "
            "how many there was one all the same, and the upper end of the 95 % interval of that share, a "
            "share of schedules as this menu draws them. Runs with an unknown verdict do not count, nor do "
            "those that shrink.",
            note=True,
            only="html markdown",
        )
        yield Table(
            ("promise: no", "schedules", "broken in", "share"),
            rows,
            title="promises",
            right=("schedules", "broken in", "share"),
        )


def _coverage(menu: ExploreMenu, coverage: CoverageResult) -> Iterator[Text | Table]:
    yield Text(
        "How often each fault, shown to take effect, hit the cluster in each phase, met another fault, or "
        'was under each level of a setting; "-" is never.',
        note=True,
        only="html markdown",
    )
    levels = ({"fault": name, **times} for name, times in _by_fault(coverage.levels))
    for title, covered, records, texts in (
        ("fault by phase", coverage.phases, phase_rows(menu, coverage), 2),
        ("pairs of faults in one run", coverage.pairs, pair_rows(coverage), 1),
        ("fault by setting", coverage.levels, levels, 1),
    ):
        columns, rows = grid(records)
        reached = f"{sum(row.times > 0 for row in covered)} of {len(covered)} covered"
        yield Table(columns, rows, title=f"{title}, {reached}", right=columns[texts:])


def phase_rows(menu: ExploreMenu, coverage: CoverageResult) -> Iterator[dict[str, str]]:
    """A fault, its target, and how often it hit each phase (`-`: never)."""
    for name, times in _by_fault(coverage.phases):
        target = " | ".join(map(str, menu.fault(name).fault.targets())) or "topic"
        phases = {phase.replace("_", " "): count for phase, count in times.items()}
        yield {"fault": name, "target": target, **phases}


def pair_rows(coverage: CoverageResult) -> Iterator[dict[str, str]]:
    """In how many runs each pair of faults was; each pair once."""
    times = {row.what: row.times for row in coverage.pairs}
    numbers = {name: n for n, name in enumerate(dict.fromkeys(name for pair in times for name in pair), 1)}
    for name, number in numbers.items():
        counts = {other: times.get((min(name, other), max(name, other))) or "-" for other in numbers}
        cells = {f"{n}": f"{counts[other]}" if n <= number else "" for other, n in numbers.items()}
        yield {"pairs": f"{number} {name}", **cells}


def _by_fault(covered: Sequence[Covered]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each fault with how often it hit each phase, or was under each level of each setting."""
    for name, rows in groupby(covered, lambda row: row.what[0]):
        yield name, {"=".join(row.what[1:]): f"{row.times or '-'}" for row in rows}


def _violations(result: ExploreResult) -> Table:
    rows = (
        {
            "violation": f"{violation.number}",
            "run": f"{violation.found_in}",
            "what": ", ".join(violation.classes),
            "shrunk from": str(violation.original),
            "to": str(violation.minimal),
            "fails": f"{violation.failed} of {violation.minimal_runs}",
            "tried": f"{violation.tried}",
            "runs": f"{violation.runs}",
            "seconds": f"{violation.seconds:.0f}",
            "state": violation.state,
        }
        for violation in result.violations
    )
    return Table(*grid(rows), cards=True)


def _run(run: TrialRun) -> dict[str, str]:
    return {
        "run": f"{run.number}",
        "for": "exploring" if run.violation is None else f"violation {run.violation}",
        "schedule": str(run.trial),
        "verdict": run.verdict.value,
        "acked": f"{run.acked:,}",
        "why": "; ".join(run.reasons[:2]),
        "phases hit": ", ".join("+".join(seen.phases) or "?" for seen in run.seen),
        "before it": run.reset,
        "seconds": f"{run.seconds:.0f}",
    }


def headline(result: ExploreResult) -> str:
    """The outcome in one line."""
    explored = [run for run in result.runs if run.violation is None]
    shrinking = len(result.runs) - len(explored)
    unclear = sum(run.verdict is VerdictWord.UNKNOWN for run in result.runs)
    doubtful = sum(run.doubtful for run in result.runs)
    violations = len(result.violations)
    parts = [
        f"{violations or 'no'} violation{'' if violations == 1 else 's'} in {len(explored)} schedules",
        *([f"{shrinking} runs to shrink"] if shrinking else []),
        *([f"{unclear} with unknown verdict"] if unclear else []),
        *([f"{doubtful} of these with findings that are ruled out"] if doubtful else []),
        format_duration(result.seconds),
        f"{result.clusters} cluster{'' if result.clusters == 1 else 's'}",
    ]
    return ", ".join(parts)


def lines(result: ExploreResult) -> Iterator[str]:
    """The notes below the tables."""
    yield headline(result)
    if given := share_line(result):
        yield given
    for name, why in result.left_out.items():
        yield f"left out: {name}: not possible here: {why}"
    for run in (run for run in result.runs if run.doubtful):
        counts = ", ".join(f"{finding.value} {run.findings[finding]:,}" for finding in run.broken)
        yield f"run {run.number} is unknown, and has findings that its settings rule out: {counts}"
    for violation in result.violations:
        yield f"violation {violation.number} ({violation.state}): {describe_violation(violation)}"
        yield f"  seen in run {violation.found_in}: {violation.original}"
        yield f"  {violation.failed} of {violation.minimal_runs} fail: {violation.minimal}"
        yield (
            f"  {violation.tried} smaller schedules tried in {violation.runs} runs, {violation.seconds:.0f} s"
        )
        if violation.again:
            yield f"  seen again in run {', '.join(map(str, violation.again))}"
        yield f"  replay: {violation.experiment}; test: {violation.test}"


def share_line(result: ExploreResult) -> str:
    """What all share groups were given, in one line; empty: there were none."""
    shares = [share for run in result.runs for share in run.shares]
    if not shares:
        return ""
    names = ("accepted", "released", "rejected", "failed", "unanswered")
    became = ", ".join(f"{sum(getattr(share, name) for share in shares):,} {name}" for name in names)
    records, deliveries = sum(share.records for share in shares), sum(share.deliveries for share in shares)
    return f"share groups: {records:,} records in {deliveries:,} deliveries, of which {became}"


def _budget(result: ExploreResult) -> str:
    seconds = result.budget_seconds
    whole = f"{result.budget_runs} runs" if seconds is None else format_duration(seconds)
    share = f"at most {result.shrink_share:.0%} of it for shrinking"
    return f"budget {whole}, {share}, a schedule fails when {result.confirm} of its runs do"

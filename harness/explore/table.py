"""The result of an exploration for a terminal: coverage, violations, and notes."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from harness.campaign.run_time import format_duration
from harness.explore.menu import ExploreMenu
from harness.explore.reproducers import describe_violation
from harness.explore.result import CoverageResult, ExploreResult
from harness.model.result import VerdictWord
from harness.report.table_builder import build_table

ExploreRows = list[tuple[str, ...]]


def phase_rows(menu: ExploreMenu, coverage: CoverageResult) -> tuple[tuple[str, ...], ExploreRows]:
    """Header and rows: a fault, its target, and how often it hit each phase (`-`: never)."""
    phases = list(dict.fromkeys(row.what[1] for row in coverage.phases))
    by_fault: dict[str, list[str]] = {}
    for row in coverage.phases:
        by_fault.setdefault(row.what[0], []).append(_times(row.times))
    rows = [(name, target_of(menu, name), *cells) for name, cells in by_fault.items()]
    return ("fault", "target", *(phase.replace("_", " ") for phase in phases)), rows


def pair_rows(coverage: CoverageResult) -> tuple[tuple[str, ...], ExploreRows]:
    """Header and rows: in how many runs each pair of faults was; each pair once."""
    times = {row.what: row.times for row in coverage.pairs}
    names = list(dict.fromkeys(name for pair in times for name in pair))
    rows = [
        (
            name,
            *(
                _times(times.get((min(name, other), max(name, other)), 0)) if place <= number else ""
                for place, other in enumerate(names)
            ),
        )
        for number, name in enumerate(names)
    ]
    return ("pairs", *(f"{number + 1}" for number in range(len(names)))), [
        (f"{number + 1} {row[0]}", *row[1:]) for number, row in enumerate(rows)
    ]


def level_rows(coverage: CoverageResult) -> tuple[tuple[str, ...], ExploreRows]:
    """Header and rows: how often each fault was under each level of each setting."""
    columns = list(dict.fromkeys(f"{row.what[1]}={row.what[2]}" for row in coverage.levels))
    by_fault: dict[str, list[str]] = {}
    for row in coverage.levels:
        by_fault.setdefault(row.what[0], []).append(_times(row.times))
    return ("fault", *columns), [(name, *cells) for name, cells in by_fault.items()]


VIOLATION_COLUMNS = (
    "violation",
    "run",
    "what",
    "shrunk from",
    "to",
    "fails",
    "tried",
    "runs",
    "seconds",
    "state",
)


def violation_rows(result: ExploreResult) -> ExploreRows:
    return [
        (
            f"{one.number}",
            f"{one.found_in}",
            ", ".join(one.classes),
            str(one.original),
            str(one.minimal),
            f"{one.failed} of {one.minimal_runs}",
            f"{one.tried}",
            f"{one.runs}",
            f"{one.seconds:.0f}",
            one.state,
        )
        for one in result.violations
    ]


def target_of(menu: ExploreMenu, name: str) -> str:
    """A fault's target in words."""
    return " | ".join(str(target) for target in menu.fault(name).fault.targets()) or "topic"


def tables(result: ExploreResult) -> Iterator[Table]:
    """Phases, pairs and levels, as far as there are any."""
    menu, coverage = result.parsed_menu(), result.coverage
    reached = _reached(coverage)
    header, rows = phase_rows(menu, coverage)
    title = f"{menu.name}: fault by phase, {reached['phases']}"
    yield build_table(header, rows, title=title, right=header[2:])
    if coverage.pairs:
        header, rows = pair_rows(coverage)
        title = f"pairs of faults in one run, {reached['pairs']}"
        yield build_table(header, rows, title=title, right=header[1:])
    if coverage.levels:
        header, rows = level_rows(coverage)
        title = f"fault by setting, {reached['levels']}"
        yield build_table(header, rows, title=title, right=header[1:])


def _reached(coverage: CoverageResult) -> dict[str, str]:
    shares = {
        "phases": coverage.share("phases"),
        "pairs": coverage.share("pairs"),
        "levels": coverage.share("levels"),
    }
    return {what: f"{done} of {of} covered" for what, (done, of) in shares.items()}


def headline(result: ExploreResult) -> str:
    """The outcome in one line."""
    explored = [run for run in result.runs if run.violation is None]
    shrinking = len(result.runs) - len(explored)
    unclear = sum(run.verdict is VerdictWord.UNKNOWN for run in result.runs)
    found = len(result.violations)
    parts = [
        f"{found or 'no'} violation{'' if found == 1 else 's'} in {len(explored)} schedules",
        *([f"{shrinking} runs to shrink"] if shrinking else []),
        *([f"{unclear} with unknown verdict"] if unclear else []),
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
        yield f"left out: {name}: not possible on this machine: {why}"
    for one in result.violations:
        yield f"violation {one.number} ({one.state}): {describe_violation(one)}"
        yield f"  seen in run {one.found_in}: {one.original}"
        yield f"  {one.failed} of {one.minimal_runs} fail: {one.minimal}"
        yield f"  {one.tried} smaller schedules tried in {one.runs} runs, {one.seconds:.0f} s"
        if one.again:
            yield f"  seen again in run {', '.join(map(str, one.again))}"
        yield f"  replay: {one.experiment}; test: {one.test}"


def share_line(result: ExploreResult) -> str:
    """What all share groups were given, in one line; empty: there were none."""
    shares = [one for run in result.runs for one in run.shares]
    if not shares:
        return ""
    names = ("accepted", "released", "rejected", "failed", "unanswered")
    became = ", ".join(f"{sum(getattr(one, name) for one in shares):,} {name}" for name in names)
    records, deliveries = sum(one.records for one in shares), sum(one.deliveries for one in shares)
    return f"share groups: {records:,} records in {deliveries:,} deliveries, of which {became}"


def _times(times: int) -> str:
    return f"{times}" if times else "-"

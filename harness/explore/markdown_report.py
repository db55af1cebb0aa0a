"""The report of an exploration as Markdown: report.md beside result.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.campaign.run_time import format_duration
from harness.explore.html import save_report
from harness.explore.result import ExploreResult
from harness.explore.table import (
    VIOLATION_COLUMNS,
    headline,
    level_rows,
    lines,
    pair_rows,
    phase_rows,
    share_line,
    violation_rows,
)
from harness.report.markdown import escape, table

REPORT_FILE = "report.md"


def write_page(result: ExploreResult, folder: Path) -> Path:
    """Write report.md; returns its path.

    Raises:
        KafkaChaosError: it cannot be written.
    """
    return save_report(markdown(result), folder / REPORT_FILE)


def markdown(result: ExploreResult) -> str:
    """The report as text."""
    return "".join(_parts(result))


def _parts(result: ExploreResult) -> Iterator[str]:
    menu, coverage = result.parsed_menu(), result.coverage
    yield f"# kafka-chaos explore: {escape(headline(result))}\n\n"
    yield f"Menu {escape(menu.name)} ({escape(menu.title)}), seed {result.seed}, "
    yield f"{_budget(result)}, {result.ended}.\n"
    yield f"Again: `{result.command}`\n"
    if result.violations:
        yield "\n## Violations\n\n" + table(VIOLATION_COLUMNS, violation_rows(result))
        yield "\n" + "".join(f"- {escape(line.strip())}\n" for line in list(lines(result))[1:])
    elif given := share_line(result):
        yield f"\n{escape(given)}\n"
    yield "\n## Coverage\n\nHow often each fault, shown to take effect, hit the cluster in each phase:\n\n"
    yield table(*phase_rows(menu, coverage))
    if coverage.pairs:
        yield "\nIn how many runs each pair of faults was:\n\n" + table(*pair_rows(coverage))
    if coverage.levels:
        yield "\nHow often each fault was under each level of each setting:\n\n" + table(
            *level_rows(coverage)
        )
    yield "\n## Runs\n\n" + table(
        ("run", "for", "schedule", "verdict", "acked", "why", "phases hit", "before it", "seconds"),
        [
            (
                f"{run.number}",
                "exploring" if run.violation is None else f"violation {run.violation}",
                str(run.trial),
                run.verdict,
                f"{run.acked:,}",
                "; ".join(run.reasons[:2]),
                ", ".join("+".join(seen.phases) or "?" for seen in run.seen),
                run.reset,
                f"{run.seconds:.0f}",
            )
            for run in result.runs
        ],
    )


def _budget(result: ExploreResult) -> str:
    seconds = result.budget_seconds
    whole = f"{result.budget_runs} runs" if seconds is None else format_duration(seconds)
    share = f"at most {result.shrink_share:.0%} of it for shrinking"
    return f"budget {whole}, {share}, a schedule fails when {result.confirm} of its runs do"

"""The report of an exploration as one HTML file that needs no other file: report.html beside result.json."""

from __future__ import annotations

from pathlib import Path

from harness.explore.result import ExploreResult
from harness.explore.table import (
    VIOLATION_COLUMNS,
    headline,
    level_rows,
    lines,
    pair_rows,
    phase_rows,
    violation_rows,
)
from harness.model.secrets import redact
from harness.report.html import REPORT_FILE, environment, index_link, moment, save_page

RUN_COLUMNS = ("run", "for", "schedule", "verdict", "acked", "why", "seconds")
MOST_RUNS = 500
"""The most runs in the table, the last ones; result.json has all."""


def write_page(result: ExploreResult, folder: Path) -> Path:
    """Write `folder`/report.html and return its path.

    Raises:
        KafkaChaosError: the file cannot be written.
    """
    return save_report(render(result, folder), folder / REPORT_FILE)


def save_report(text: str, target: Path) -> Path:
    """Write a report of an exploration without secrets, in whichever format; returns its path.

    Raises:
        KafkaChaosError: the file cannot be written.
    """
    return save_page(
        redact(text),
        target,
        what="the report of the exploration",
        next_step="free space or correct its permissions; result.json has all that the report shows",
    )


def render(result: ExploreResult, folder: Path | None = None) -> str:
    """The report as HTML text."""
    menu, coverage = result.parsed_menu(), result.coverage
    tables = [
        ("Faults by phase of the cluster", *phase_rows(menu, coverage)),
        *([("Pairs of faults in one run", *pair_rows(coverage))] if coverage.pairs else []),
        *([("Faults by level of each setting", *level_rows(coverage))] if coverage.levels else []),
    ]
    runs = [
        (
            f"{run.number}",
            "exploring" if run.violation is None else f"violation {run.violation}",
            str(run.trial),
            run.verdict.value,
            f"{run.acked:,}",
            "; ".join(run.reasons[:2]),
            f"{run.seconds:.0f}",
        )
        for run in result.runs[-MOST_RUNS:]
    ]
    return (
        environment()
        .get_template("explore.html.j2")
        .render(
            result=result,
            menu=menu,
            headline=headline(result),
            overall={0: "good", 1: "bad"}.get(result.exit_code(), "unclear"),
            started=moment(result.started_ns),
            violation_columns=VIOLATION_COLUMNS,
            violations=violation_rows(result),
            notes=[line.strip() for line in list(lines(result))[1:]],
            tables=tables,
            run_columns=RUN_COLUMNS,
            runs=runs,
            index=index_link(folder),
            promised={},
            geometry={},
        )
    )

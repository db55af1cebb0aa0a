"""What stands behind each number of the arms' table: how it is composed, examples, and where all of it is."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.journal import FINDINGS_DIR, SENDS_DIR
from harness.model.result import ArmResult, FindingClass, Summary
from harness.report import html_tables
from harness.report.table import COLUMNS

MOST_ROWS, MOST_EXAMPLES = 8, 3
_LOST = (FindingClass.LOST, FindingClass.UNCONFIRMED_ABSENT)


@dataclass(frozen=True, slots=True)
class CellEvidence:
    """The evidence of one number: sentences, rows of counts (class, partition, write step, open faults,
    records), and `where`, which names all of it in the folder of the arm."""

    title: str
    lines: tuple[str, ...]
    rows: html_tables.TableRows
    where: str


def cell_evidence(arm: ArmResult) -> tuple[CellEvidence, ...]:
    """One for each number of `harness.report.table.cells`, in their order; none without a summary."""
    summary = arm.summary
    if summary is None:
        return ()
    sends = f"`{arm.folder}/{SENDS_DIR}/` has a row for each send"
    outcomes = tuple(f"{count:,} {name}" for name, count in summary.outcomes.items())
    acked = tuple(f"write step {name}: {count:,}" for name, count in summary.acked_by_step.items())
    recovered = summary.count(FindingClass.RECOVERED)
    found = [
        (outcomes, (), f"{sends}."),
        (acked, (), f"{sends}; its outcome is acked, or unconfirmed under acks=0."),
        (
            (f"{recovered:,} of the sends without a clear report are in the log all the same (recovered).",),
            (),
            f"{sends}; its outcome is indeterminate.",
        ),
        _findings(arm, summary, _LOST),
        _findings(arm, summary, (FindingClass.DUPLICATE,)),
        (
            ("The longest time in a write step in which a partition had no success report.",),
            (),
            f"{sends}; closed_ns is the time of its report. The timeline draws them.",
        ),
    ]
    return tuple(
        CellEvidence(f"{arm.folder}: {column}", lines, rows, where)
        for column, (lines, rows, where) in zip(COLUMNS[1:], found, strict=False)
    )


def _findings(
    arm: ArmResult, summary: Summary, classes: tuple[FindingClass, ...]
) -> tuple[tuple[str, ...], html_tables.TableRows, str]:
    names = [one.value for one in classes]
    rows = [row for row in html_tables.counts(summary, arm.meta) if row[0] in names]
    examples = [
        f"Producer {one.producer}, seq {one.seq}: {one.detail}"
        for one in summary.examples
        if one.finding in classes
    ]
    where = f"`{arm.folder}/{FINDINGS_DIR}/` has a row for each finding; its class is {' or '.join(names)}."
    lines = tuple(examples[:MOST_EXAMPLES]) or ("There is no such finding.",) * (not rows)
    return lines, tuple(rows[:MOST_ROWS]), where

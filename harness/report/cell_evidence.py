"""Explains each number of the arms' table: how it is composed, examples, and the files with all of it."""

from __future__ import annotations

from harness.model.journal import FINDINGS_DIR, SENDS_DIR
from harness.model.result import ArmResult, FindingClass, Summary
from harness.page.blocks import Block, Lines, Section, Table, Text, section
from harness.report import arm_tables
from harness.report.arms_table import COUNTS

MOST_ROWS, MOST_EXAMPLES = 8, 3


def cell_evidence(arm: ArmResult) -> list[Section]:
    """One section for each number of `harness.report.arms_table.row`, in their order; none without a summary.
    Each says how the number is composed, and which files in the arm's folder hold all of it."""
    summary = arm.summary
    if summary is None:
        return []
    sends = f"`{arm.folder}/{SENDS_DIR}/` has a row for each send"
    outcomes = [f"{count:,} {name}" for name, count in summary.outcomes.items()]
    acked = [f"write step {name}: {count:,}" for name, count in summary.acked_by_step.items()]
    recovered = f"{summary.count(FindingClass.RECOVERED):,} of the sends without a clear report"
    longest = "The longest time in a write step in which a partition had no success report."
    reported = f"{sends}; closed_ns is the time of its report. The timeline draws them."
    evidence: list[tuple[Block, ...]] = [
        (Lines(outcomes), Text(f"{sends}.", note=True)),
        (Lines(acked), Text(f"{sends}; its outcome is acked, or unconfirmed under acks=0.", note=True)),
        (
            Text(f"{recovered} are in the log all the same (recovered)."),
            Text(f"{sends}; its outcome is indeterminate.", note=True),
        ),
        _findings(arm, summary, FindingClass.LOST, FindingClass.UNCONFIRMED_ABSENT),
        _findings(arm, summary, FindingClass.DUPLICATE),
        (Text(longest), Text(reported, note=True)),
    ]
    return [section(f"{arm.folder}: {name}", *blocks) for name, blocks in zip(COUNTS, evidence, strict=True)]


def _findings(arm: ArmResult, summary: Summary, *classes: FindingClass) -> tuple[Block, ...]:
    names = [one.value for one in classes]
    rows = [row for row in arm_tables.counts(summary, arm.meta).rows if row[0] in names]
    examples = [
        f"Producer {one.producer}, seq {one.seq}: {one.detail}"
        for one in summary.examples
        if one.finding in classes
    ]
    where = f"`{arm.folder}/{FINDINGS_DIR}/` has a row for each finding; its class is {' or '.join(names)}."
    return (
        Lines(examples[:MOST_EXAMPLES]),
        Text("" if rows or examples else "There is no such finding."),
        Text(where, note=True),
        Table(("class", "partition", "write step", "faults", "records"), rows[:MOST_ROWS]),
    )

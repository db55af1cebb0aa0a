"""The list of `kafka-chaos findings`: every class of findings, as its rule defines it."""

from __future__ import annotations

from checkers import CLASSES
from harness.report.page.blocks import Table


def finding_rows() -> list[dict[str, str]]:
    """One row per class: `class`, `subject`, `breaks_verdict`, `definition`, `source`, `example`."""
    return [
        {
            "class": finding_class.finding.value,
            "subject": finding_class.subject,
            "breaks_verdict": finding_class.finding.breaks.value,
            "definition": finding_class.definition(),
            "source": finding_class.source(),
            "example": finding_class.example(),
        }
        for finding_class in CLASSES
    ]


def table(rows: list[dict[str, str]]) -> Table:
    """The rows of `finding_rows` as a table for a terminal."""
    return Table(
        ("class", "breaks the verdict", "definition"),
        [(row["class"], row["breaks_verdict"], row["definition"]) for row in rows],
        no_wrap=("class",),
    )

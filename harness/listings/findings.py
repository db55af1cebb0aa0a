"""The list of `kafka-chaos findings`: every class of findings, as its check defines it."""

from __future__ import annotations

from checkers import CLASSES
from harness.page.blocks import Table


def finding_rows() -> list[dict[str, str]]:
    """One row per class: `class`, `subject`, `breaks_verdict`, `definition`, `source`, `example`."""
    return [
        {
            "class": check.finding.value,
            "subject": check.subject,
            "breaks_verdict": check.finding.breaks.value,
            "definition": check.definition(),
            "source": check.source(),
            "example": check.example(),
        }
        for check in CLASSES
    ]


def table(rows: list[dict[str, str]]) -> Table:
    """The rows of `finding_rows` as a table for a terminal."""
    return Table(
        ("class", "breaks the verdict", "definition"),
        [(row["class"], row["breaks_verdict"], row["definition"]) for row in rows],
        no_wrap=("class",),
    )

"""`kafka-chaos findings`: every class of findings, as its check defines it."""

from __future__ import annotations

from rich.table import Table

from checkers.checks import CHECKS


def listed() -> list[dict[str, str]]:
    """One entry a class: `class`, `subject`, `breaks_verdict`, `definition`, `source`, `example`."""
    return [
        {
            "class": check.finding.value,
            "subject": check.subject,
            "breaks_verdict": check.breaks,
            "definition": check.definition(),
            "source": check.source(),
            "example": check.example(),
        }
        for check in CHECKS
    ]


def table(rows: list[dict[str, str]]) -> Table:
    """The same for people."""
    shown = Table(box=None, pad_edge=False, header_style="bold underline")
    for column in ("class", "breaks the verdict", "definition"):
        shown.add_column(column, overflow="fold", no_wrap=column == "class")
    for row in rows:
        shown.add_row(row["class"], row["breaks_verdict"], row["definition"])
    return shown

"""What journals hold that this version does not know, or that an engine did not read: reasons for an unknown
verdict."""

from __future__ import annotations

from collections.abc import Iterable

from checkers.journals.footers import distinct_values, rows_of
from checkers.journals.load import READS, RunJournals
from harness.model.journal import UNMAPPED, ReadState, SendOutcome


def unknown_values(journals: RunJournals, outcomes: Iterable[str]) -> list[str]:
    """Outcomes of sends, and states of values, that this version does not know.

    Args:
        outcomes: those in the sends journal.
    """
    files, states = journals.files, set(ReadState)
    reads = [file for name in READS for file in files[name]]
    return [
        f"the {journal} journal holds the {what} '{value}', which this version does not know, "
        "so the verdict is unknown"
        for journal, what, found, known in (
            ("sends", "outcome", set(outcomes), set(SendOutcome)),
            ("reads", "state", distinct_values(reads, "state"), states),
            ("outputs", "state", distinct_values(files["outputs"], "state"), {*states, UNMAPPED}),
        )
        for value in sorted(found - known)
    ]


def unread_sends(journals: RunJournals, sends: int) -> list[str]:
    """Whether the engine read fewer sends than the footers of the files say.

    Args:
        sends: the number that it counted. Sends that a crash left open count once with their report.
    """
    written = rows_of(journals.files["sends"])
    if written <= sends <= written + rows_of(journals.files["opened"]):
        return []
    return [f"the engine read {sends:,} sends of {written:,}, so the verdict is unknown"]

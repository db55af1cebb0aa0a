"""What an application has processed, and what it had to process, as positions in the topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from harness.model.journal import READS_DIR
from harness.model.journal_reader import journal_rows
from harness.pytest_plugin.delivery_report import Position
from workloads.own.consumer_journal import ConsumerJournal

Seen = Iterable[Position] | Iterable[ConsumerJournal]
"""Positions that were processed, or the journals of the members that processed them."""


def positions_seen(seen: Seen | Callable[[], Seen]) -> tuple[Counter[Position], list[ConsumerJournal]]:
    """The positions that were processed, and the journals that they are from."""
    given: list[Any] = list(seen() if callable(seen) else seen)
    journals = [entry for entry in given if isinstance(entry, ConsumerJournal)]
    got = Counter(position for position in given if not isinstance(position, ConsumerJournal))
    for journal in journals:
        got.update(journal.positions())
    return got, journals


def positions_read(run: Path, topic: str) -> set[Position]:
    """(partition, offset) of every record that the final read found in the topic."""
    return {
        (row["partition"], row["offset"])
        for row in journal_rows(run / READS_DIR, ["topic", "partition", "offset"])
        if row["topic"] == topic
    }

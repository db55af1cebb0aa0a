"""Whether a program wrote what it journaled: records of another identity, or of another topic, are its
mistake, and no loss."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from harness.model.journal import READS_DIR, SAMPLES_DIR, SENDS_DIR, ReadState, SendOutcome
from harness.model.journal_reader import journal_batches

_NEXT = "correct the program: docs/how-to/own-producer.md says what its records carry"


def strayed_records(folder: Path, topic: str) -> list[str]:
    """Why nothing can be said of the acknowledged records of a producer, of which not one was read from the
    topic: it holds records of another identity instead, or never held any. Empty: there is no such producer.

    Kafka may lose all records of a producer; but it makes none of others, and in a sample of its brokers the
    topic would have had records.

    Raises:
        JournalError: a journal of the run is damaged.
    """
    acked = _acked(folder)
    states, read = _read(folder)
    missing = {number: count for number, count in acked.items() if count and not read[number]}
    if not missing:
        return []
    strangers = Counter({state: count for state, count in states.items() if state != ReadState.OK})
    strangers["of a producer that has no journal"] = sum(
        count for number, count in read.items() if number not in acked
    )
    if +strangers:
        found = ", ".join(f"{count:,} {_WORDS.get(state, state)}" for state, count in (+strangers).items())
        why = f"it holds records of another identity: {found}"
    elif not sum(states.values()) and not _ever_held(folder, topic):
        why = "in no sample did a broker have a record of it: the program wrote to another topic"
    else:
        return []
    return [
        f"none of the {count:,} acknowledged records of producer {number} is in the topic {topic}, "
        f"and {why}; {_NEXT}"
        for number, count in sorted(missing.items())
    ]


_WORDS: dict[str, str] = {
    ReadState.FOREIGN: "with another run's id",
    ReadState.CORRUPT: "with a wrong checksum",
    ReadState.UNDECODABLE: "without an identity",
}


def _acked(folder: Path) -> Counter[int]:
    """The number of acknowledged sends of each producer that has sends; 0 if it has none of those."""
    counts: Counter[int] = Counter()
    for table in journal_batches(folder / SENDS_DIR, ("producer", "outcome")):
        counts.update(dict.fromkeys(pc.unique(table["producer"]).to_pylist(), 0))
        acked = table.filter(pc.equal(table["outcome"], SendOutcome.ACKED.value))
        counts.update(_counted(acked, "producer"))
    return counts


def _read(folder: Path) -> tuple[Counter[str], Counter[int]]:
    """The number of records of the final read by their state, and of this run's by producer."""
    states: Counter[str] = Counter()
    producers: Counter[int] = Counter()
    for table in journal_batches(folder / READS_DIR, ("state", "producer")):
        states.update(_counted(table, "state"))
        ours = table.filter(pc.equal(table["state"], ReadState.OK.value))
        producers.update(_counted(ours, "producer"))
    return states, producers


def _counted(table: pa.Table, column: str) -> dict[Any, int]:
    """The number of rows with each value of a column."""
    return {row["values"]: row["counts"] for row in pc.value_counts(table[column]).to_pylist()}


def _ever_held(folder: Path, topic: str) -> bool:
    """Whether a broker had a record of the topic in any sample, or no broker was ever asked about it."""
    asked = False
    for table in journal_batches(folder / SAMPLES_DIR, ("topic", "log_end_offset")):
        ends = table.filter(pc.equal(table["topic"], topic))["log_end_offset"].drop_null()
        asked = asked or len(ends) > 0
        if len(ends) and pc.max(ends).as_py() > 0:
            return True
    return not asked

"""First look over the journals: totals, and the few strings in them; later steps move only numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from checkers.load import RunFrames
from harness.model.journal import Outcome, ReadState

MOST_ERRORS = 1000
OTHER_ERROR = f"an error beyond the first {MOST_ERRORS:,} names"
OUTCOMES = tuple(outcome.value for outcome in Outcome)


@dataclass(frozen=True)
class Codes:
    """Strings of a run that travel as their index: topic names and error names, sorted."""

    topics: tuple[str, ...]
    errors: tuple[str, ...]


@dataclass(frozen=True)
class Scan:
    """Totals of a run. `outcomes` and `acked_by_step` (by step index) count sends, `reads` counts rows."""

    outcomes: dict[str, int]
    acked_by_step: dict[int, int]
    reads: int
    codes: Codes
    problems: tuple[str, ...]


def scan(frames: RunFrames) -> Scan:
    """Count sends by outcome and step, reads by state; collect the names of topics and errors.

    What is collected grows with the number of steps and topics, not with the records.
    """
    sends = (
        frames.sends.groupBy("topic", "step", "outcome")
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.slice(F.array_sort(F.collect_set("error")), 1, MOST_ERRORS).alias("errors"),
        )
        .collect()
    )
    reads = frames.reads.groupBy("topic", "state").agg(F.count(F.lit(1)).alias("rows")).collect()
    outcomes: Counter[str] = Counter()
    acked: Counter[int] = Counter()
    for row in sends:
        outcomes[row.outcome] += row.rows
        if row.outcome == Outcome.ACKED:
            acked[row.step] += row.rows
    problems = [
        f"the {journal} journal holds the {what} '{word}', which this version does not know, "
        "so the verdict is unknown"
        for journal, what, words, known in (
            ("sends", "outcome", set(outcomes), set(OUTCOMES)),
            ("reads", "state", {row.state for row in reads}, {state.value for state in ReadState}),
        )
        for word in sorted(words - known)
    ]
    topics = {frames.meta.topic} | {row.topic for row in sends} | {row.topic for row in reads}
    if frames.meta.final_read is not None:
        topics |= {bound.topic for bound in frames.meta.final_read.bounds}
    errors = sorted({error for row in sends for error in row.errors})[:MOST_ERRORS]
    return Scan(
        outcomes=dict(outcomes),
        acked_by_step=dict(acked),
        reads=sum(row.rows for row in reads),
        codes=Codes(topics=tuple(sorted(topics)), errors=tuple(errors)),
        problems=tuple(problems),
    )


def encode(column: Column, names: Sequence[str], *, others: bool = False) -> Column:
    """Index of a string in `names` (int); null stays null, as does an unknown name unless `others`."""
    code = F.lit(None).cast("int")
    if names:
        pairs = [F.lit(item) for index, name in enumerate(names) for item in (name, index)]
        code = F.element_at(F.create_map(*pairs), column)
    return F.coalesce(code, F.when(column.isNotNull(), F.lit(len(names)))) if others else code


def decode(code: Column, names: Sequence[str]) -> Column:
    """The inverse of `encode`; a code outside `names` gives null."""
    if not names:
        return F.lit(None).cast("string")
    return F.get(F.array(*(F.lit(name) for name in names)), code)


_WIDTH = 2**32
"""Partition numbers are 32 bits wide, so topic index times this plus partition is one number a pair."""


def spot(topic: Column, partition: Column, codes: Codes) -> Column:
    """Topic and partition as one bigint, so that they can be compared and sent around as a number."""
    return encode(topic, codes.topics).cast("bigint") * F.lit(_WIDTH) + partition


def spot_number(topic: str, partition: int, codes: Codes) -> int:
    """`spot` of one topic and partition."""
    return codes.topics.index(topic) * _WIDTH + partition


def partition_of(spot: Column) -> Column:
    """The partition number in a `spot`."""
    return (F.pmod(spot + F.lit(_WIDTH // 2), F.lit(_WIDTH)) - F.lit(_WIDTH // 2)).cast("int")


def name_of(spot: Column, codes: Codes) -> Column:
    """A `spot` as people write it: `topic-partition`."""
    topic = F.floor((spot + F.lit(_WIDTH // 2)) / F.lit(_WIDTH)).cast("int")
    return F.concat(decode(topic, codes.topics), F.lit("-"), partition_of(spot).cast("string"))

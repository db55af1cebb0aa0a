"""Compares a list of the ids that were sent with a list of the ids that were received: all that a ledger has.

Without offsets and values an id stands for its records: of an id that was sent and received several times the
numbers are compared, not the single records.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.engine.connect import engine_name
from checkers.journals.views import Scratch, read_parquet
from harness.model.finding_class import FindingClass
from harness.model.journal import SendOutcome

SENT_COLUMNS, RECEIVED_COLUMNS = "id string, outcome string", "id string"
EXAMPLES = 5
"""Examples of each class."""
_OUTCOMES = (SendOutcome.ACKED, SendOutcome.INDETERMINATE, SendOutcome.REJECTED)
_DETAILS = {
    FindingClass.LOST: "id {id}: acknowledged {acked} times, received {received} times",
    FindingClass.DUPLICATE: "id {id}: sent {sends} times, received {received} times",
    FindingClass.PHANTOM: "id {id}: received {received} times, never sent",
    FindingClass.REJECTED_PRESENT: "id {id}: rejected, received {received} times",
    FindingClass.RECOVERED: "id {id}: failed, and received {received} times",
}


@dataclass(frozen=True, slots=True)
class LedgerCounts:
    """Numbers of rows, of findings by class, and a few findings of each class in words.

    `in_both` is the number of ids that are in both lists, `extra_copies` the number of rows that were
    received beyond the sends of their id. `engine` is what counted.
    """

    outcomes: dict[str, int]
    received: int
    in_both: int
    findings: dict[FindingClass, int]
    extra_copies: int
    examples: tuple[tuple[FindingClass, str], ...]
    engine: str


def count_ids(spark: SparkSession, sent: Path, received: Path, scratch: Path) -> LedgerCounts:
    """Compare the ids in two folders of Parquet files.

    Args:
        sent: rows of `SENT_COLUMNS`; the outcomes are those of `SendOutcome`.
        received: rows of `RECEIVED_COLUMNS`.
        scratch: a folder that is not there yet, for one row per id.
    """
    ids = _ids(read_parquet(spark, SENT_COLUMNS, sent), read_parquet(spark, RECEIVED_COLUMNS, received))
    rows = Scratch(spark, scratch.parent).materialize(scratch.name, ids)
    numbers = ("received", "extra", *(kind.value for kind in (*_OUTCOMES, *_DETAILS)))
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in numbers]
    both = F.coalesce(F.sum(((F.col("sends") > 0) & (F.col("received") > 0)).cast("bigint")), F.lit(0))
    (row,) = rows.agg(*sums, both.alias("in_both")).collect()
    return LedgerCounts(
        outcomes={outcome.value: row[outcome.value] for outcome in _OUTCOMES if row[outcome.value]},
        received=row["received"],
        in_both=row["in_both"],
        findings={kind: row[kind.value] for kind in FindingClass if kind in _DETAILS and row[kind.value]},
        extra_copies=row["extra"],
        examples=tuple(_examples(rows)),
        engine=engine_name(spark),
    )


def _ids(sent: DataFrame, received: DataFrame) -> DataFrame:
    """One row per id: numbers of its sends by outcome, of its rows in the other list, and of findings."""
    outcomes = [
        F.sum((F.col("outcome") == outcome.value).cast("bigint")).alias(outcome.value)
        for outcome in _OUTCOMES
    ]
    of_sent = sent.groupBy("id").agg(*outcomes)
    of_received = received.groupBy("id").agg(F.count(F.lit(1)).alias("received"))
    names = (*(outcome.value for outcome in _OUTCOMES), "received")
    joined = of_sent.join(of_received, "id", "full_outer").select(
        "id", *(F.coalesce(F.col(name), F.lit(0)).cast("bigint").alias(name) for name in names)
    )
    acked, unclear, rejected, got = (F.col(name) for name in names)
    sends = acked + unclear + rejected
    explained = F.least(got, sends)
    extra = F.when(sends > 0, _above_zero(got - sends)).otherwise(F.lit(0))
    findings = {
        FindingClass.LOST: _above_zero(acked - got),
        FindingClass.DUPLICATE: (extra > 0).cast("bigint"),
        FindingClass.PHANTOM: F.when(sends == 0, got).otherwise(F.lit(0)),
        FindingClass.REJECTED_PRESENT: _above_zero(explained - acked - unclear),
        FindingClass.RECOVERED: F.least(_above_zero(explained - acked), unclear),
    }
    return joined.select(
        "id",
        *names,
        sends.alias("sends"),
        extra.cast("bigint").alias("extra"),
        *(number.cast("bigint").alias(finding.value) for finding, number in findings.items()),
    )


def _above_zero(number: Column) -> Column:
    return F.greatest(number, F.lit(0))


def _examples(found: DataFrame) -> list[tuple[FindingClass, str]]:
    return [
        (finding, text.format(**row.asDict()).replace(" 1 times", " once"))
        for finding, text in _DETAILS.items()
        for row in found.filter(F.col(finding.value) > 0).orderBy("id").limit(EXAMPLES).collect()
    ]

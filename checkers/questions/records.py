"""The view `records`: one row per record, what was sent beside what was read, and what the check found."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.classes import of_subject
from checkers.evidence.findings import is_of
from checkers.journals.topic_partition import partition_of, topic_of
from checkers.journals.views import Views
from checkers.records.facts import facts_of_records
from checkers.records.sends import with_txn_outcome
from harness.model.result import FindingClass

FINDING_COLUMNS = ("finding", "windows", "detail")
"""Columns that only a run that was checked has."""


def records_of(views: Views, findings: DataFrame | None) -> DataFrame:
    """One row per record that was sent or read.

    Columns of the send (null if the record was never sent): `run` (bigint, the id of the run that wrote it),
    `producer` (int), `seq` (bigint), `topic` (string) and `partition` (int; of a record that was never sent
    where it was read from), `key` (bigint), `step` (int), `outcome` (string), `sent_ns`, `closed_ns`
    (bigint), `latency_ms` (double, from send to report of any outcome), `acked_offset` (bigint), `error`
    (string), `txn` (bigint), `txn_outcome` (string).

    Columns of what was read: `first_offset` (bigint, the least at which the final read holds it),
    `live_reader` (string) and `live_offset` (bigint) of a live reader. How often (bigint, never null):
    `times_sent`, the journal's rows of it; `times_read` by the final read; `times_read_committed` by that of
    committed records; `times_read_live` by live readers.

    Of a run that was checked: `finding`, `windows` and `detail` (string, of the finding about the record;
    null: there is none).

    Args:
        findings: rows of `checkers.evidence.findings.FINDINGS`; None: the run was not checked.
    """
    facts = facts_of_records(views, with_txn_outcome(views), lambda rows: rows, repeated=True)
    where = F.coalesce("topic_partition", "read_from")
    rows = facts.select(
        *("run", "producer", "seq"),
        topic_of(where, views.topics).alias("topic"),
        partition_of(where).alias("partition"),
        *("key", "step", "outcome", "sent_ns", "closed_ns"),
        ((F.col("closed_ns") - F.col("sent_ns")) / 1e6).alias("latency_ms"),
        *("acked_offset", "error", "txn", "txn_outcome", "first_offset", "live_reader", "live_offset"),
        F.col("send_rows").alias("times_sent"),
        F.col("read_rows").alias("times_read"),
        F.col("committed_rows").alias("times_read_committed"),
        F.col("live_rows").alias("times_read_live"),
    )
    if findings is None:
        return rows
    # A phantom of another run may have the number of a record of this one. Damaged values name a record
    # that they may not be.
    names = [rule.finding.value for rule in of_subject("record")]
    about = findings.where(F.col("finding").isin(names) & F.col("seq").isNotNull())
    about = about.where(~is_of(FindingClass.CORRUPT) | F.col("sent_ns").isNotNull())
    sent = (~is_of(FindingClass.PHANTOM)).alias("was_sent")
    found = about.groupBy("producer", "seq", sent).agg(F.min(F.struct(*FINDING_COLUMNS)).alias("found"))
    found = found.select("producer", "seq", "was_sent", "found.*")
    every = rows.withColumn("was_sent", F.col("times_sent") > 0)
    return every.join(found, ["producer", "seq", "was_sent"], "left").select(*rows.columns, *FINDING_COLUMNS)

"""The evidence of findings about records: what is at the acknowledged offset of a lost record, which brokers'
files hold it, which broker acknowledged it, and which faults were open."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.evidence.findings import is_of
from checkers.evidence.leadership import LeaderSpan, leader_spans, leaders_frame, leaders_in_time
from checkers.evidence.windows import open_windows
from checkers.journals.topic_partition import partition_of
from checkers.journals.views import IDENTITY, Views
from checkers.judgement.blame import NOT_COMMITTED
from checkers.records.lookups import Lookups, acked_but_absent
from harness.model.journal import ReadState
from harness.model.result import FindingClass


def with_evidence(views: Views, found: DataFrame, facts: DataFrame, lookups: Lookups) -> DataFrame:
    """Classified records with `place` (string), `held_by` (array<int>), `acked_by`, `acked_epoch` (int) and
    `windows` (string) added, as `checkers.evidence.findings.FINDINGS` has them.

    Args:
        found: as `checkers.records.lookups.with_lookups` returns them, with `finding`.
        facts: of all records, from which the lost ones are.
    """
    lost = is_of(FindingClass.LOST)
    missing = lost & ~F.col("not_committed")
    nobody = F.array().cast("array<int>")
    held: Column = F.lit(None).cast("array<int>")
    rows = found
    if views.files["replicas"]:
        held = F.when(missing, nobody)
        if lookups.absent:
            rows = rows.join(held_by(views.replicas, facts.where(acked_but_absent())), list(IDENTITY), "left")
            held = F.when(missing, F.coalesce("held_by", nobody))
    until_the_end = lost | is_of(FindingClass.VANISHED)
    columns = {
        "place": F.when(lost, _place()),
        "held_by": held,
        "epoch_at_acked_offset": F.when(missing, F.col("epoch_at_acked_offset")),
        "windows": open_windows(views.meta.windows, F.col("sent_ns"), F.col("closed_ns"), until_the_end),
    }
    spans: tuple[LeaderSpan, ...] = ()
    if views.files["samples"] and (lookups.absent + lookups.not_committed):
        spans = leader_spans(views.samples, views.meta.topic)
    if spans:
        leaders = F.broadcast(leaders_frame(views.spark, leaders_in_time(spans)))
        led = F.when(lost, partition_of(F.col("topic_partition"))) == F.col("leader_partition")
        rows = rows.join(leaders, led & F.col("closed_ns").between(F.col("begun"), F.col("ended")), "left")
    else:
        columns |= dict.fromkeys(("acked_by", "acked_epoch"), F.lit(None).cast("int"))
    return rows.withColumns(columns)


def held_by(replicas: DataFrame, missing: DataFrame) -> DataFrame:
    """One row per record of `missing` (with the identity) that a replica's file holds: the identity and
    `held_by` (array<int>, node ids of the brokers, ascending).

    Args:
        replicas: the journal `harness.model.journal.REPLICAS`.
    """
    mine = replicas.where(F.col("state") == ReadState.OK.value).select(*IDENTITY, "broker")
    mine = mine.join(missing.select(*IDENTITY), list(IDENTITY), "left_semi").distinct()
    return mine.groupBy(*IDENTITY).agg(F.sort_array(F.collect_list("broker")).alias("held_by"))


def _place() -> Column:
    """What is at the acknowledged offset of a lost record."""
    replaced = F.col("overwritten") | F.col("damaged_at_acked_offset")
    return (
        F.when(F.col("not_committed"), F.lit(NOT_COMMITTED))
        .when(replaced, F.lit("overwritten"))
        .when(F.col("acked_offset") >= F.col("end_offset"), F.lit("tail"))
        .otherwise(F.lit("unknown"))
    )


def columns_of_findings() -> dict[str, Column]:
    """Values of columns of `checkers.evidence.findings.FINDINGS`, from classified records with evidence."""
    return {
        "partition": partition_of(F.coalesce("topic_partition", "read_from")),
        "key": F.when(F.col("send_rows") > 0, F.col("key")).otherwise(F.col("first_key")),
        "reader": F.col("live_reader"),
        "replaced_epoch": F.col("epoch_at_acked_offset"),
    }

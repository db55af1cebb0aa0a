"""Findings about replicas that differ."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.evidence.sentences import say
from checkers.journals.footers import rows_of
from checkers.journals.scratch import Scratch
from checkers.journals.topic_partition import name_of, partition_of
from checkers.journals.views import Views
from checkers.replicas.holdings import broker_spans, holdings, replica_rows, unequal_offsets


def find(views: Views, scratch: Scratch) -> tuple[DataFrame | None, list[str]]:
    """Findings about replicas as `checkers.evidence.findings.FINDINGS`, one per offset at which brokers
    differ (None: there are none), and reasons for an unknown verdict."""
    final = views.meta.final_read
    if final is None or not final.bounds or not rows_of(views.files["replicas"]):
        return None, []
    rows = replica_rows(views)
    spans = scratch.materialize("replica-spans", broker_spans(rows))
    unequal = scratch.materialize("unequal-offsets", unequal_offsets(rows, spans))
    if not unequal.limit(1).collect():
        return None, []
    at = name_of(F.col("topic_partition"), views.topics)
    return findings_of(
        "replica",
        holdings(rows, spans, unequal),
        {"partition": partition_of(F.col("topic_partition")), "offsets": F.array("offset")},
        evidence=lambda differing: by_offset(differing).withColumn("at", at),
    )


def by_offset(differing: DataFrame) -> DataFrame:
    """One row per class and offset.

    Columns: `finding`, `topic_partition`, `offset`, `held_by` (array<int>, the brokers that are of the class
    there, ascending) and `differing` (string, from which offset on each of them is).

    Args:
        differing: rows of `checkers.replicas.holdings.HOLDINGS` with `finding`.
    """
    since = F.min("offset").over(Window.partitionBy("topic_partition", "broker")).alias("since")
    rows = differing.select("finding", "topic_partition", "offset", "broker", since)
    brokers = F.sort_array(F.collect_list(F.struct("broker", "since"))).alias("brokers")
    said = F.transform(
        "brokers", lambda one: say("broker ", one["broker"], " differs from offset ", one["since"], " on")
    )
    offsets = rows.groupBy("finding", "topic_partition", "offset").agg(brokers)
    return offsets.select(
        *("finding", "topic_partition", "offset"),
        F.col("brokers.broker").alias("held_by"),
        F.array_join(said, ", ").alias("differing"),
    )

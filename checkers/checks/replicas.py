"""Checks of the records in the replicas' own segment files."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.checks.base import check_of_replicas
from harness.model.result import FindingClass


@check_of_replicas(
    FindingClass.DIVERGED,
    """
    concat('replicas of ', at, ' differ at offset ', offset, ': ', array_join(transform(
        partings, one -> concat('broker ', one.broker, ' differs from offset ', one.parting, ' on')
    ), ', '))""",
)
def diverged(rows: DataFrame) -> DataFrame:
    """Two replicas hold different records (checksum, identity or leader epoch) at one offset below the high
    watermark, or one lacks an offset between its own first and last that the leader holds.

    Takes records of replicas: `spot`, `offset`, `broker`, `leader`, `end_offset`, `content` (a hash of the
    record). Returns one row per offset: `spot`, `offset`, `brokers` (those that differ from the leader; if
    the leader holds nothing there, all that differ from each other), and `partings`: for each of these
    brokers the first offset of the partition at which it differs.

    Source: followers copy the leader's log unchanged (Kafka documentation, Replication; KIP-101, KIP-279).
    Example: at offset 20 brokers 1 and 2 hold seq 8 of epoch 3, broker 3 holds seq 9 of epoch 2.
    """
    of_leader = F.when(F.col("broker") == F.col("leader"), F.col("content"))
    spans = rows.groupBy("spot", "broker").agg(F.min("offset").alias("first"), F.max("offset").alias("last"))
    spans = spans.groupBy("spot").agg(F.collect_list(F.struct("broker", "first", "last")).alias("spans"))
    places = rows.groupBy("spot", "offset").agg(
        F.max(of_leader).alias("standard"),
        F.min("content").alias("least"),
        F.max("content").alias("most"),
        F.collect_set(F.struct("broker", "content")).alias("holders"),
    )
    # Where the leader holds nothing, all brokers that differ from each other count.
    differs = F.transform(
        F.filter(
            "holders",
            lambda one: F.coalesce(one["content"] != F.col("standard"), F.col("least") != F.col("most")),
        ),
        lambda one: one["broker"],
    )
    has = F.transform("holders", lambda one: one["broker"])
    lacks = F.transform(
        F.filter(
            "spans",
            lambda one: (
                F.col("standard").isNotNull()
                & ~F.array_contains(F.col("has"), one["broker"])
                & (one["first"] < F.col("offset"))
                & (F.col("offset") < one["last"])
            ),
        ),
        lambda one: one["broker"],
    )
    found = (
        places.join(F.broadcast(spans), "spot")
        .withColumn("has", has)
        .withColumn("brokers", F.array_sort(F.array_union(differs, lacks)))
        .where(F.size("brokers") > 0)
        .select("spot", "offset", "brokers")
    )
    first = Window.partitionBy("spot", "broker")
    return (
        found.withColumn("broker", F.explode("brokers"))
        .withColumn("parting", F.min("offset").over(first))
        .groupBy("spot", "offset")
        .agg(
            F.first("brokers").alias("brokers"),
            F.array_sort(F.collect_list(F.struct("broker", "parting"))).alias("partings"),
        )
    )

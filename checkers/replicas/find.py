"""Findings about replicas that differ: what each broker's own segment files hold at an offset, beside those
of the others."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.evidence.sentences import say
from checkers.found import Found
from checkers.journals.footers import row_count
from checkers.journals.topic_partition import name_of, partition_of
from checkers.journals.views import Scratch, Views
from checkers.replicas import classes
from checkers.sql import comparable

HOLDINGS = ("topic_partition", "offset", "broker", "held", "leader_holds", "as_leader", "all_alike", "within")
"""The facts: one row per broker and offset of a partition, of all brokers with a file of the partition and
all offsets at which two of them might differ.

These are booleans: `held`, the broker holds a record there; `leader_holds`, the leader of the final read
does; `as_leader`, the two records are the same (checksum, identity, state and leader epoch); `all_alike`, all
brokers that hold a record there hold the same; `within`, the offset lies between the broker's own first and
last one."""

_OFFSET = ("topic_partition", "offset")
_CONTENT = ("state", "control", "leader_epoch", "run", "producer", "seq", "crc")


def find(views: Views, scratch: Scratch) -> Found:
    """Findings about replicas, one per offset at which brokers differ."""
    final = views.meta.final_read
    if final is None or not final.bounds or not row_count(views.files["replicas"]):
        return Found()
    rows = replica_rows(views)
    spans = scratch.materialize("replica-spans", broker_spans(rows))
    unequal = scratch.materialize("unequal-offsets", unequal_offsets(rows, spans))
    if not unequal.limit(1).collect():
        return Found()
    at = name_of(F.col("topic_partition"), views.topics)
    return findings_of(
        classes.CLASSES,
        holdings(rows, spans, unequal),
        {"partition": partition_of(F.col("topic_partition")), "offsets": F.array("offset")},
        evidence=lambda differing: by_offset(differing).withColumn("at", at),
    )


def by_offset(differing: DataFrame) -> DataFrame:
    """One row per class and offset, from rows of `HOLDINGS` with `finding`.

    Columns: `finding`, `topic_partition`, `offset`, `held_by` (array<int>, the brokers that are of the class
    there, ascending) and `differing` (string, from which offset on each of them is).
    """
    since = F.min("offset").over(Window.partitionBy("topic_partition", "broker")).alias("since")
    rows = differing.select("finding", "topic_partition", "offset", "broker", since)
    brokers = F.sort_array(F.collect_list(comparable("broker", "since"))).alias("brokers")
    said = F.transform(
        "brokers", lambda pair: say("broker ", pair["broker"], " differs from offset ", pair["since"], " on")
    )
    offsets = rows.groupBy("finding", "topic_partition", "offset").agg(brokers)
    return offsets.select(
        *("finding", "topic_partition", "offset"),
        F.col("brokers.broker").alias("held_by"),
        F.array_join(said, ", ").alias("differing"),
    )


def replica_rows(views: Views) -> DataFrame:
    """The records of the replicas' files below the ends of the final read: `topic_partition`, `offset`,
    `broker`, `leader` (int, that of the final read) and `content` (bigint, a hash of the record)."""
    rows = views.replicas.join(views.bounds, "topic_partition")
    rows = rows.where((F.col("offset") >= 0) & (F.col("offset") < F.col("end_offset")))
    # A hash passes over nulls, so that it would be the same for (null, 1) and (1, null)
    # (findings/spark-hashes-pass-over-nulls.sh).
    known = [F.col(name).isNull() for name in ("run", "producer", "seq", "crc")]
    return rows.select(*_OFFSET, "broker", "leader", F.xxhash64(*_CONTENT, *known).alias("content"))


def broker_spans(rows: DataFrame) -> DataFrame:
    """One row per partition and broker with a file of it, from `replica_rows`: `topic_partition`, `leader`,
    `broker`, `first` and `last` (bigint, its own offsets)."""
    return rows.groupBy("topic_partition", "leader", "broker").agg(
        F.min("offset").alias("first"), F.max("offset").alias("last")
    )


def unequal_offsets(rows: DataFrame, spans: DataFrame) -> DataFrame:
    """The offsets (`topic_partition`, `offset`) at which not every broker with a file of the partition holds
    exactly one record, the same as the others."""
    bit = F.call_function("shiftleft", F.lit(1).cast("bigint"), F.col("broker").bitwiseAND(63))
    brokers = spans.groupBy("topic_partition").agg(F.count("*").alias("many"), F.bit_or(bit).alias("all"))
    # Brokers whose numbers have the same remainder share a bit: then no offset counts as equal.
    brokers = brokers.withColumn("told_apart", F.bit_count("all") == F.col("many"))
    offsets = rows.groupBy(*_OFFSET).agg(
        F.min("content").alias("least"),
        F.max("content").alias("most"),
        F.count("*").alias("records"),
        F.bit_or(bit).alias("by"),
    )
    equal = (F.col("least") == F.col("most")) & (F.col("records") == F.col("many"))
    equal &= (F.col("by") == F.col("all")) & F.col("told_apart")
    return offsets.join(brokers, "topic_partition").where(~equal).select(*_OFFSET)


def holdings(rows: DataFrame, spans: DataFrame, offsets: DataFrame) -> DataFrame:
    """The rows of `HOLDINGS` at these offsets (`unequal_offsets`), from `replica_rows` and `broker_spans`."""
    of_broker = (
        rows.join(offsets, list(_OFFSET), "left_semi")
        .groupBy(*_OFFSET, "broker", "leader")
        .agg(F.min("content").alias("least"), F.max("content").alias("most"))
    )
    by_leader = F.col("broker") == F.col("leader")
    together = of_broker.groupBy(*_OFFSET).agg(
        F.max(F.when(by_leader, F.col("most"))).alias("standard"),
        F.min("least").alias("least_of_all"),
        F.max("most").alias("most_of_all"),
    )
    every = together.join(spans, "topic_partition")
    every = every.join(of_broker.select(*_OFFSET, "broker", "least", "most"), [*_OFFSET, "broker"], "left")
    held, standard = F.col("least").isNotNull(), F.col("standard")
    columns = {
        "held": held,
        "leader_holds": standard.isNotNull(),
        "as_leader": F.coalesce((F.col("least") == standard) & (F.col("most") == standard), F.lit(False)),
        "all_alike": F.col("least_of_all") == F.col("most_of_all"),
        "within": (F.col("first") < F.col("offset")) & (F.col("offset") < F.col("last")),
    }
    return every.withColumns(columns).select(*HOLDINGS)

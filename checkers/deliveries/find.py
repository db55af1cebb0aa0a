"""Findings about deliveries to live readers and groups."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.deliveries.damaged import damaged_live
from checkers.deliveries.delivered import by_subscriber, delivered_chunks, offset_jumps, sessions, subscribers
from checkers.deliveries.skipped import consecutive, intervals, not_delivered, offsets_in_log
from checkers.int64 import INT64_MIN
from checkers.journals.footers import rows_of
from checkers.journals.offset_chunks import chunk_of
from checkers.journals.scratch import Scratch
from checkers.journals.topic_partition import name_of, partition_of
from checkers.journals.views import IDENTITY, Views, readable
from checkers.sql import conform

DELIVERIES = {
    **dict.fromkeys(("kind", "subscriber"), "string"),
    **dict.fromkeys(("topic_partition", "offset", "count", "before", "producer", "seq"), "bigint"),
}
"""The facts: one row per delivery, or run of offsets, with an anomaly.

`kind` is the class of findings that it becomes, `subscriber` the name of the reader or group. `offset` is the
first skipped one, the one that the reader went back to, or the one that was delivered again; `count` is the
number of skipped offsets, or of deliveries; `before` is the previous offset of a reader that went back.
`producer` and `seq` identify the record at the offset (null: not known).
"""


def find(views: Views, scratch: Scratch) -> tuple[DataFrame | None, list[str]]:
    """Findings about deliveries as `checkers.evidence.findings.FINDINGS` (None: there are none), and reasons
    for an unknown verdict."""
    if not rows_of(views.files["live"]):
        return None, []
    facts, damaged = anomalies(views, scratch), damaged_live(views)
    if facts is None:
        return damaged, []
    found, problems = findings_of(
        "delivery",
        facts.withColumn("at", name_of(F.col("topic_partition"), views.topics)),
        {
            "partition": partition_of(F.col("topic_partition")),
            "offsets": F.array("offset"),
            "reader": F.col("subscriber"),
        },
    )
    return (found if damaged is None else found.unionByName(damaged)), problems


def anomalies(views: Views, scratch: Scratch) -> DataFrame | None:
    """Rows of `DELIVERIES`; None: there are none."""
    readers = subscribers(views)
    chunks = scratch.materialize("delivered", delivered_chunks(views.live, readers))
    all_sessions, delivered = sessions(chunks), by_subscriber(chunks)
    unordered = all_sessions.where(~F.col("in_order"))
    repeated = delivered.where(F.col("in_group") & (F.col("deliveries") > F.bit_count("bits")))
    in_log = offsets_in_log(intervals(views, all_sessions, readers), views)
    skipped = scratch.materialize("skipped", consecutive(not_delivered(in_log, delivered)))
    # One query says which of the three have rows.
    frames = {"unordered": unordered, "repeated": repeated, "skipped": skipped}
    first_rows = [rows.select(F.lit(name).alias("name")).limit(1) for name, rows in frames.items()]
    nonempty = {row["name"] for row in reduce(DataFrame.unionByName, first_rows).collect()}
    found = []
    if "unordered" in nonempty:
        jumps = scratch.materialize("offset-jumps", offset_jumps(views.live, unordered))
        back = jumps.where("back").withColumns({"subscriber": F.col("reader"), "count": F.lit(1)})
        found.append(_facts("nonmonotonic_read", back))
        one = F.lit(1).cast("bigint")
        gaps = jumps.where("not back").withColumns(
            {"low": F.try_add("before", one), "high": F.try_subtract("offset", one)}
        )
        skipped = scratch.materialize(
            "all-skipped", skipped.unionByName(consecutive(offsets_in_log(gaps, views)))
        )
    if "skipped" in nonempty or "unordered" in nonempty:
        found.append(_facts("skipped", with_identity(skipped, views.reads)))
    if "repeated" in nonempty:
        found.append(_facts("redelivered", redelivered(views.live, repeated, readers)))
    return reduce(DataFrame.unionByName, found) if found else None


def _facts(kind: str, rows: DataFrame) -> DataFrame:
    return conform(rows, DELIVERIES, {"kind": F.lit(kind)})


def with_identity(offsets: DataFrame, reads: DataFrame) -> DataFrame:
    """The rows (with `topic_partition` and `offset`) with `producer` and `seq` of the record that the final
    read holds there: of several the least, null if there is none whose identity can be trusted."""
    keys = ["topic_partition", "offset"]
    records = reads.where(readable()).join(offsets.select(*keys).distinct(), keys, "left_semi")
    # The run does not count in the order of identities.
    records = _least_identity(records.withColumn("run", F.lit(0)), *keys)
    return offsets.join(records.select(*keys, "producer", "seq"), keys, "left")


def redelivered(live: DataFrame, chunks: DataFrame, readers: DataFrame) -> DataFrame:
    """One row per offset that a group got more than once: `subscriber`, `topic_partition`, `offset`, `count`
    (bigint) and the identity of the record, of several the least.

    Args:
        chunks: those that have such offsets, of `checkers.deliveries.delivered.by_subscriber`.
        readers: of `checkers.deliveries.delivered.subscribers`.
    """
    wanted = chunks.select("subscriber", "topic_partition", "chunk")
    wanted = wanted.join(readers.where("in_group").select("reader", "subscriber"), "subscriber")
    rows = live.withColumn("chunk", chunk_of(F.col("offset")))
    rows = rows.join(wanted, ["reader", "topic_partition", "chunk"])
    return _least_identity(rows, "subscriber", "topic_partition", "offset").where(F.col("count") > 1)


def _least_identity(rows: DataFrame, *keys: str) -> DataFrame:
    """One row per combination of the keys: the least identity of its rows (null comes before all numbers) and
    `count` (bigint), their number."""
    # Engines disagree on how nulls inside a struct are ordered.
    numbers = [F.coalesce(F.col(name).cast("bigint"), F.lit(INT64_MIN)).alias(name) for name in IDENTITY]
    least = rows.groupBy(*keys).agg(F.min(F.struct(*numbers)).alias("least"), F.count("*").alias("count"))
    names = [F.nullif(F.col(f"least.{name}"), F.lit(INT64_MIN)).alias(name) for name in IDENTITY]
    return least.select(*keys, *names, "count")

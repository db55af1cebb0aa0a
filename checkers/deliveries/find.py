"""Findings about deliveries to live readers and groups."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.deliveries.damaged import damaged_live
from checkers.deliveries.delivered import by_subscriber, delivered_chunks, offset_jumps, sessions, subscribers
from checkers.deliveries.skipped import intervals, not_delivered, offsets_in_log, runs
from checkers.journals.footers import rows_of
from checkers.journals.offset_chunks import chunk_of
from checkers.journals.scratch import Scratch
from checkers.journals.topic_partition import name_of, partition_of
from checkers.journals.views import IDENTITY, Views, readable
from checkers.sql import conform

_NONE = -(2**63)
DELIVERIES = {
    **dict.fromkeys(("kind", "who"), "string"),
    **dict.fromkeys(("topic_partition", "offset", "count", "before", "producer", "seq"), "bigint"),
}
"""The facts: one row per delivery, or run of offsets, with an anomaly.

`kind` is the class of findings that it becomes, `who` the reader or group. `offset` is the first skipped one,
the one that the reader went back to, or the one that was delivered again; `count` is the number of skipped
offsets, or of deliveries; `before` is the previous offset of a reader that went back. `producer` and `seq`
identify the record at the offset (null: not known).
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
            "reader": F.col("who"),
        },
    )
    return (found if damaged is None else found.unionByName(damaged)), problems


def anomalies(views: Views, scratch: Scratch) -> DataFrame | None:
    """Rows of `DELIVERIES`; None: there are none."""
    readers = subscribers(views)
    chunks = scratch.materialize("delivered", delivered_chunks(views.live, readers))
    every, delivered = sessions(chunks), by_subscriber(chunks)
    unordered = every.where(~F.col("in_order"))
    again = delivered.where(F.col("in_group") & (F.col("deliveries") > F.bit_count("bits")))
    held = offsets_in_log(intervals(views, every, readers), views)
    skipped = scratch.materialize("skipped", runs(not_delivered(held, delivered)))
    frames = {"unordered": unordered, "again": again, "skipped": skipped}
    asked = [rows.select(F.lit(name).alias("name")).limit(1) for name, rows in frames.items()]
    there = {row["name"] for row in reduce(DataFrame.unionByName, asked).collect()}
    found = []
    if "unordered" in there:
        steps = scratch.materialize("odd-steps", offset_jumps(views.live, unordered))
        back = steps.where("back").withColumns({"who": F.col("reader"), "count": F.lit(1)})
        found.append(_facts("nonmonotonic_read", back))
        one = F.lit(1).cast("bigint")
        gaps = steps.where("not back").withColumns(
            {"low": F.try_add("before", one), "high": F.try_subtract("offset", one)}
        )
        skipped = scratch.materialize("all-skipped", skipped.unionByName(runs(offsets_in_log(gaps, views))))
    if "skipped" in there or "unordered" in there:
        found.append(_facts("skipped", with_identity(skipped, views.reads)))
    if "again" in there:
        found.append(_facts("redelivered", redelivered(views.live, again, readers)))
    return reduce(DataFrame.unionByName, found) if found else None


def _facts(kind: str, rows: DataFrame) -> DataFrame:
    return conform(rows, DELIVERIES, {"kind": F.lit(kind)})


def with_identity(offsets: DataFrame, reads: DataFrame) -> DataFrame:
    """The rows (with `topic_partition` and `offset`) with `producer` and `seq` of the record that the final
    read holds there: of several the least, null if there is none whose identity can be trusted."""
    where = ["topic_partition", "offset"]
    there = reads.where(readable()).join(offsets.select(*where).distinct(), where, "left_semi")
    # The order of records of several runs is that of their producers.
    there = _least_identity(there.withColumn("run", F.lit(0)), *where)
    return offsets.join(there.select(*where, "producer", "seq"), where, "left")


def redelivered(live: DataFrame, chunks: DataFrame, readers: DataFrame) -> DataFrame:
    """One row per offset that a group got more than once: `who`, `topic_partition`, `offset`, `count`
    (bigint) and the identity of the record, of several the least.

    Args:
        chunks: those in which such an offset is, of `checkers.deliveries.delivered.by_subscriber`.
        readers: of `checkers.deliveries.delivered.subscribers`.
    """
    wanted = chunks.select("who", "topic_partition", "chunk")
    wanted = wanted.join(readers.where("in_group").select("reader", "who"), "who")
    rows = live.withColumn("chunk", chunk_of(F.col("offset")))
    rows = rows.join(wanted, ["reader", "topic_partition", "chunk"])
    return _least_identity(rows, "who", "topic_partition", "offset").where(F.col("count") > 1)


def _least_identity(rows: DataFrame, *keys: str) -> DataFrame:
    """One row per combination of the keys: the least identity of its rows (null comes before all numbers) and
    `count` (bigint), their number."""
    # Engines do not agree on where nulls of a struct are in its order.
    numbers = [F.coalesce(F.col(name).cast("bigint"), F.lit(_NONE)).alias(name) for name in IDENTITY]
    least = rows.groupBy(*keys).agg(F.min(F.struct(*numbers)).alias("least"), F.count("*").alias("count"))
    names = [F.nullif(F.col(f"least.{name}"), F.lit(_NONE)).alias(name) for name in IDENTITY]
    return least.select(*keys, *names, "count")

"""Offsets that the final read holds and a subscriber skipped: intervals of offsets, less what was delivered.

An interval lasts from the first to the last offset of a reader's session that is in order, or of a group; of
a session that is not in order, it is the gap between two consecutive deliveries.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.deliveries.delivered import SUBSCRIBER, session_of_subscriber
from checkers.journals.offset_chunks import bits_between, chunk_of, offset_chunks, with_runs
from checkers.journals.views import Views
from checkers.sql import case

INTERVAL = (*SUBSCRIBER, "session", "topic_partition", "position")
"""What identifies an interval. `position` is that of the delivery after a gap (else 0); a group has session
0."""

_LEVELS = range(0, 61, 3)


def intervals(views: Views, sessions: DataFrame, readers: DataFrame) -> DataFrame:
    """The intervals of groups, and of sessions in order of readers without one: `INTERVAL`, `read_committed`,
    `low` and `high` (bigint).

    Args:
        sessions, readers: of `checkers.deliveries.delivered`.
    """
    known = sessions.where("in_group or in_order")
    keys = (*SUBSCRIBER, "read_committed", session_of_subscriber(), "topic_partition")
    found = known.groupBy(*keys).agg(F.min("first").alias("low"), F.max("last").alias("high"))
    if views.files["commits"]:
        # A group commits the offset after the last record that it has processed.
        members = readers.where("in_group").select("reader", *SUBSCRIBER)
        commits = views.commits.where(F.col("error").isNull()).join(members, "reader")
        commits = commits.groupBy(*SUBSCRIBER, "topic_partition").agg(F.max("offset").alias("next"))
        found = found.join(commits, [*SUBSCRIBER, "topic_partition"], "left")
        to_next = F.greatest("high", F.try_subtract("next", F.lit(1).cast("bigint")))
        found = found.withColumn("high", to_next).drop("next")
    return found.withColumn("position", F.lit(0).cast("bigint"))


def offsets_in_log(intervals: DataFrame, views: Views) -> DataFrame:
    """The offsets of the intervals that the read holds: `INTERVAL`, `chunk` and `bits`."""
    first, last = chunk_of(F.col("low")), chunk_of(F.col("high"))
    # An interval of up to 2^level chunks is in at most two of the ranges into which chunks of 2^level each
    # are divided. So one of any length is joined by equal numbers, and not by comparison with every chunk.
    level = case([(last - first < 1 << level, F.lit(level)) for level in _LEVELS])
    wanted = intervals.withColumn("level", level)
    begin, end = (F.call_function("shiftright", one, F.col("level")) for one in (first, last))
    levels = wanted.select("level").distinct()
    wanted = wanted.withColumn("range", F.explode(F.sequence(begin, end)))
    in_log = _chunks_in_log(views).crossJoin(levels)
    in_log = in_log.withColumn("range", F.call_function("shiftright", "chunk", F.col("level")))
    both = in_log.join(wanted, ["read_committed", "topic_partition", "level", "range"])
    both = both.where((F.col("chunk") >= first) & (F.col("chunk") <= last))
    inside = bits_between(F.col("chunk"), F.col("low"), F.col("high"))
    both = both.withColumn("bits", F.col("bits").bitwiseAND(inside)).where(F.col("bits") != 0)
    return both.select(*INTERVAL, "chunk", "bits")


def _chunks_in_log(views: Views) -> DataFrame:
    """Which offsets the final read holds (for readers of committed records: that of committed records):
    `read_committed`, `topic_partition`, `chunk` and `bits`. Damaged values count."""
    found = offset_chunks(views.reads, "topic_partition").withColumn("read_committed", F.lit(False))
    if any(reader.committed for reader in views.readers):
        committed = offset_chunks(views.committed, "topic_partition")
        found = found.unionByName(committed.withColumn("read_committed", F.lit(True)))
    return found


def not_delivered(in_log: DataFrame, delivered: DataFrame) -> DataFrame:
    """Of the offsets in the intervals of `intervals`, those that were not delivered there.

    Args:
        in_log: rows of `offsets_in_log`.
        delivered: of `checkers.deliveries.delivered.by_subscriber`.
    """
    keys = [*SUBSCRIBER, "session", "topic_partition", "chunk"]
    joined = in_log.join(delivered.select(*keys, F.col("bits").alias("delivered")), keys, "left")
    remaining = F.col("bits").bitwiseAND(F.bitwise_not(F.coalesce("delivered", F.lit(0).cast("bigint"))))
    return joined.select(*INTERVAL, "chunk", remaining.alias("bits")).where(F.col("bits") != 0)


def consecutive(missing: DataFrame) -> DataFrame:
    """Runs of consecutive offsets of one interval: `INTERVAL`, `offset` (bigint, the first) and `count`
    (bigint)."""
    pieces = with_runs(missing)
    order = Window.partitionBy(*INTERVAL).orderBy("start")
    new = F.coalesce(F.col("start") - 1 != F.lag("end").over(order), F.lit(True))
    pieces = pieces.withColumn("new", F.when(new, 1).otherwise(0))
    pieces = pieces.withColumn("run", F.sum("new").over(order))
    return pieces.groupBy(*INTERVAL, "run").agg(
        F.min("start").alias("offset"), F.sum(F.col("end") - F.col("start") + 1).alias("count")
    )

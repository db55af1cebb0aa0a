"""What each reader received in each of its sessions, 64 offsets per row, in which order, and what it skipped.

Most sessions are in order: each offset of a partition came once, after all lower offsets. There, the skipped
offsets are those between the first and the last one that were not delivered. Only in other sessions the
deliveries are compared one by one (`offset_jumps`).

Skipped are the offsets of intervals that the final read holds, less what was delivered. An interval lasts
from the first to the last offset of a reader's session that is in order, or of a group; of a session that is
not in order, it is the gap between two consecutive deliveries.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.journals.offset_chunks import (
    OFFSET_CHUNK_BITS,
    bit_in_chunk,
    bits_between,
    bits_of,
    chunk_of,
    offset_chunks,
    with_runs,
)
from checkers.journals.views import Views
from checkers.sql import case

SUBSCRIBER = ("subscriber", "in_group")
"""What identifies a subscriber, a consumer group with all its members or a live reader without a group: its
name, and whether this is the name of a group."""
SESSION = ("reader", "session", "topic_partition")
_OF_SESSION = (*SUBSCRIBER, "read_committed", *SESSION)
_NO_SESSION = -(2**31)
_POSITION_BITS = 63 - OFFSET_CHUNK_BITS
"""A position and the number of an offset in its chunk fit into one bigint if the position is below 2^57."""


INTERVAL = (*SUBSCRIBER, "session", "topic_partition", "position")
"""What identifies an interval. `position` is that of the delivery after a gap (else 0); a group has session
0."""

_LEVELS = range(0, 61, 3)


def subscribers(views: Views) -> DataFrame:
    """One row per live reader: `reader`, `subscriber` (the name of its group, else its own), `in_group`
    (boolean) and `read_committed` (boolean: it, or another member of its group, reads committed records
    only)."""
    rows = [(reader.name, reader.group or reader.name, reader.group is not None) for reader in views.readers]
    committed = {row[1:] for row, reader in zip(rows, views.readers, strict=True) if reader.committed}
    return views.spark.createDataFrame(
        [(*row, row[1:] in committed) for row in rows],
        "reader string, subscriber string, in_group boolean, read_committed boolean",
    )


def in_sessions(live: DataFrame) -> DataFrame:
    """What live readers received; the rows without a session count as one session."""
    return live.withColumn("session", F.coalesce("session", F.lit(_NO_SESSION)))


def delivered_chunks(live: DataFrame, readers: DataFrame) -> DataFrame:
    """One row per session of a reader, partition and chunk of offsets; a reader that is not among `readers`
    (of `subscribers`) has no group.

    Columns: the subscriber, `read_committed`, `reader`, `session`, `topic_partition`, `chunk`, `bits`;
    `deliveries` (bigint, their number), `first` and `last` (bigint, offsets), `begin` and `end` (bigint,
    positions), `in_order` (boolean: each offset came once, and they rise with the positions).
    """
    offset, position = F.col("offset"), F.col("position")
    order = F.shiftleft(position, OFFSET_CHUNK_BITS).bitwiseOR(bit_in_chunk(offset))
    chunks = (
        in_sessions(live)
        .groupBy(*SESSION, chunk_of(offset).alias("chunk"))
        .agg(
            F.bit_or(bits_of(offset)).alias("bits"),
            F.count("*").alias("deliveries"),
            F.min("offset").alias("first"),
            F.max("offset").alias("last"),
            F.min("position").alias("begin"),
            F.max("position").alias("end"),
            F.sort_array(F.collect_list(order)).alias("by_position"),
        )
    )
    offsets = F.transform("by_position", bit_in_chunk)
    # Each offset came once, and with a position: without one, its place in the order is not known.
    once = (F.bit_count("bits") == F.col("deliveries")) & (F.size("by_position") == F.col("deliveries"))
    known = (F.col("begin") >= 0) & (F.col("end") < 1 << _POSITION_BITS)
    no = F.lit(False)
    return chunks.join(readers, "reader", "left").select(
        *(
            F.coalesce("subscriber", "reader").alias("subscriber"),
            F.coalesce("in_group", no).alias("in_group"),
        ),
        F.coalesce("read_committed", no).alias("read_committed"),
        *(*SESSION, "chunk", "bits", "deliveries", "first", "last", "begin", "end"),
        F.coalesce(once & known & (F.sort_array(offsets) == offsets), no).alias("in_order"),
    )


def sessions(delivered: DataFrame) -> DataFrame:
    """One row per session of a reader and partition, from rows of `delivered_chunks`: the subscriber,
    `read_committed`, `reader`, `session`, `topic_partition`, `first` and `last` (bigint, offsets) and
    `in_order` (boolean)."""
    before = F.lag("end").over(Window.partitionBy(*SESSION).orderBy("chunk"))
    rises = F.col("in_order") & F.coalesce(before < F.col("begin"), F.lit(True))
    chunks = delivered.select(*_OF_SESSION, "first", "last", rises.alias("rises"))
    return chunks.groupBy(*_OF_SESSION).agg(
        F.min("first").alias("first"), F.max("last").alias("last"), F.bool_and("rises").alias("in_order")
    )


def session_of_subscriber() -> Column:
    """The session (int) of a reader without a group; 0 of a group, whose members share its offsets."""
    return F.when(F.col("in_group"), F.lit(0)).otherwise(F.col("session")).alias("session")


def by_subscriber(delivered: DataFrame) -> DataFrame:
    """What was delivered to each group, and in each session of a reader without one, from rows of
    `delivered_chunks`: the subscriber, `session`, `topic_partition`, `chunk`, `bits` and `deliveries`
    (bigint, their number)."""
    of_chunk = delivered.groupBy(*SUBSCRIBER, session_of_subscriber(), "topic_partition", "chunk")
    return of_chunk.agg(F.bit_or("bits").alias("bits"), F.sum("deliveries").alias("deliveries"))


def offset_jumps(live: DataFrame, sessions: DataFrame) -> DataFrame:
    """The deliveries in these of `sessions` whose offset is not the one after that of the delivery before, in
    the same session and partition.

    Columns: the subscriber, `read_committed`, `reader`, `session`, `topic_partition`, `position`, `before`
    (bigint, the offset of the delivery before), `offset`, `producer`, `seq`, and `back` (boolean: `offset` is
    not above `before`; else offsets were skipped). What one member of a group skipped is left out, because
    another member may have received it.
    """
    rows = in_sessions(live).select(*SESSION, "position", "offset", "producer", "seq")
    rows = rows.where(F.col("position").isNotNull()).join(sessions.select(*_OF_SESSION), list(SESSION))
    before = F.lag("offset").over(Window.partitionBy(*SESSION).orderBy("position", "offset"))
    rows = rows.withColumn("before", before).where(F.col("before").isNotNull())
    rows = rows.withColumn("back", F.col("offset") <= F.col("before"))
    # The least bigint, from which nothing can be subtracted, is never above `before`.
    gap = F.try_subtract("offset", F.lit(1).cast("bigint")) > F.col("before")
    return rows.where(F.col("back") | (gap & ~F.col("in_group")))


def intervals(
    sessions: DataFrame, readers: DataFrame, commits: DataFrame | None, owed: DataFrame | None = None
) -> DataFrame:
    """The intervals of groups, and of sessions in order of readers without one: `INTERVAL`, `read_committed`,
    `low` and `high` (bigint). That of a group ends at its last delivery or `commits` (of
    `checkers.deliveries.commits.commits_of_groups`); that of a subscriber with a row in `owed`
    (`checkers.deliveries.owed.OWED`) begins there, and ends at its last offset or later."""
    known = sessions.where("in_group or in_order")
    if owed is not None:
        strict = readers.select(*SUBSCRIBER, "read_committed").distinct()
        rows = owed.withColumnsRenamed({"owed": "first", "last_owed": "last"})
        rows = rows.join(F.broadcast(strict), list(SUBSCRIBER))
        columns = (*SUBSCRIBER, "read_committed", "session", "topic_partition", "first", "last")
        known = known.select(*columns).unionByName(rows.select(*columns))
    keys = (*SUBSCRIBER, "read_committed", session_of_subscriber(), "topic_partition")
    bounds = known.groupBy(*keys).agg(F.min("first").alias("low"), F.max("last").alias("high"))
    if commits is not None:
        # A group commits the offset after the last record that it has processed.
        commits = commits.groupBy(*SUBSCRIBER, "topic_partition").agg(F.max("offset").alias("next"))
        bounds = bounds.join(commits, [*SUBSCRIBER, "topic_partition"], "left")
        to_next = F.greatest("high", F.try_subtract("next", F.lit(1).cast("bigint")))
        bounds = bounds.withColumn("high", to_next).drop("next")
    return bounds.withColumn("position", F.lit(0).cast("bigint"))


def offsets_in_log(intervals: DataFrame, views: Views) -> DataFrame:
    """The offsets of the intervals that the read holds: `INTERVAL`, `chunk` and `bits`."""
    first, last = chunk_of(F.col("low")), chunk_of(F.col("high"))
    # An interval of up to 2^level chunks is in at most two of the ranges into which chunks of 2^level each
    # are divided. So one of any length is joined by equal numbers, and not by comparison with every chunk.
    level = case([(last - first < 1 << level, F.lit(level)) for level in _LEVELS])
    wanted = intervals.withColumn("level", level)
    begin, end = (F.call_function("shiftright", chunk, F.col("level")) for chunk in (first, last))
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
    chunks = offset_chunks(views.reads, "topic_partition").withColumn("read_committed", F.lit(False))
    if any(reader.committed for reader in views.readers):
        committed = offset_chunks(views.committed, "topic_partition")
        chunks = chunks.unionByName(committed.withColumn("read_committed", F.lit(True)))
    return chunks


def not_delivered(in_log: DataFrame, delivered: DataFrame) -> DataFrame:
    """Of the offsets of `offsets_in_log`, those that were not delivered there (`by_subscriber`)."""
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

"""What each reader received in each of its sessions, 64 offsets per row, and in which order.

Most sessions are in order: each offset of a partition came once, after all lower offsets. There, the skipped
offsets are those between the first and the last one that were not delivered. Only in other sessions the
deliveries are compared one by one (`offset_jumps`).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.journals.offset_chunks import OFFSET_CHUNK_BITS, bit_in_chunk, bits_of, chunk_of
from checkers.journals.views import Views

SUBSCRIBER = ("subscriber", "in_group")
"""What identifies a subscriber, a consumer group with all its members or a live reader without a group: its
name, and whether this is the name of a group."""
SESSION = ("reader", "session", "topic_partition")
_OF_SESSION = (*SUBSCRIBER, "read_committed", *SESSION)
_NO_SESSION = -(2**31)
_POSITION_BITS = 63 - OFFSET_CHUNK_BITS
"""A position and the number of an offset in its chunk fit into one bigint if the position is below 2^57."""


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
    """One row per session of a reader, partition and chunk of offsets.

    Columns: the subscriber, `read_committed`, `reader`, `session`, `topic_partition`, `chunk`, `bits`;
    `deliveries` (bigint, their number), `first` and `last` (bigint, offsets), `begin` and `end` (bigint,
    positions), `in_order` (boolean: each offset came once, and they rise with the positions).

    Args:
        readers: of `subscribers`; a reader that is not among them has no group.
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
    """One row per session of a reader and partition: the subscriber, `read_committed`, `reader`, `session`,
    `topic_partition`, `first` and `last` (bigint, offsets) and `in_order` (boolean).

    Args:
        delivered: rows of `delivered_chunks`.
    """
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
    """What was delivered to each group, and in each session of a reader without one: the subscriber,
    `session`, `topic_partition`, `chunk`, `bits` and `deliveries` (bigint, their number).

    Args:
        delivered: rows of `delivered_chunks`.
    """
    of_chunk = delivered.groupBy(*SUBSCRIBER, session_of_subscriber(), "topic_partition", "chunk")
    return of_chunk.agg(F.bit_or("bits").alias("bits"), F.sum("deliveries").alias("deliveries"))


def offset_jumps(live: DataFrame, sessions: DataFrame) -> DataFrame:
    """The deliveries whose offset is not the one after that of the delivery before, in the same session and
    partition.

    Columns: the subscriber, `read_committed`, `reader`, `session`, `topic_partition`, `position`, `before`
    (bigint, the offset of the delivery before), `offset`, `producer`, `seq`, and `back` (boolean: `offset` is
    not above `before`; else offsets were skipped). What one member of a group skipped is left out, because
    another member may have received it.

    Args:
        sessions: those to look at, of `sessions`.
    """
    rows = in_sessions(live).select(*SESSION, "position", "offset", "producer", "seq")
    rows = rows.where(F.col("position").isNotNull()).join(sessions.select(*_OF_SESSION), list(SESSION))
    before = F.lag("offset").over(Window.partitionBy(*SESSION).orderBy("position", "offset"))
    rows = rows.withColumn("before", before).where(F.col("before").isNotNull())
    rows = rows.withColumn("back", F.col("offset") <= F.col("before"))
    # The least bigint, from which nothing can be subtracted, is never above `before`.
    gap = F.try_subtract("offset", F.lit(1).cast("bigint")) > F.col("before")
    return rows.where(F.col("back") | (gap & ~F.col("in_group")))

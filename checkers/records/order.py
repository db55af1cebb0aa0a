"""Late records: one of the same producer and partition that was sent later stands at a lower offset."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.journals.topic_partition import has_no_partition
from checkers.journals.views import IDENTITY
from harness.model.journal import SendOutcome

_RANGE_BITS = 10
_SEQ_BITS = 63 - _RANGE_BITS
"""The number of an offset in a range of 2^10 offsets and a seq fit into one bigint, if seq is below 2^53."""

_ROWS_AT_ONCE = 30_000_000
"""Sail holds 50 bytes of each row that it compares."""


def partition_in_doubt() -> Column:
    """Of records that were read: whether in a partition that they were not sent to, or it is not known which
    that was."""
    return F.col("read_elsewhere").isNotNull() | has_no_partition(F.col("topic_partition"))


def first_offsets(
    sends: DataFrame, facts: DataFrame | None, reads: DataFrame, *, elsewhere: bool
) -> DataFrame:
    """Where each record first stands in the partition that it was sent to: `producer`, `seq`,
    `topic_partition`, `offset`.

    Args:
        facts: of all records that are not ordinary (None: all are). Ordinary records stand where they were
            acknowledged.
        reads: the final read of these records (`checkers.records.chunks.Chunks`).
        elsewhere: there may be records of which `partition_in_doubt` holds.
    """
    columns = ("producer", "seq", "topic_partition", "offset")
    acked = sends.where(F.col("outcome") == SendOutcome.ACKED.value)
    if facts is None:
        return acked.select(*columns)
    sent = facts.where(F.col("send_rows") > 0)
    plain = acked.join(sent.select("producer", "seq"), ["producer", "seq"], "left_anti")
    sent = sent.where(F.col("read_rows") > 0)
    at_home = sent.where(~partition_in_doubt()).withColumn("offset", F.col("first_offset"))
    positions = plain.select(*columns).unionByName(at_home.select(*columns))
    if not elsewhere:
        return positions
    # Of a record that was read in several partitions, those of its own count.
    moved = sent.where(partition_in_doubt()).select(*IDENTITY, "topic_partition")
    moved = reads.join(moved, [*IDENTITY, "topic_partition"], "left_semi")
    moved = moved.groupBy(*IDENTITY, "topic_partition").agg(F.min("offset").alias("offset"))
    return positions.unionByName(moved.select(*columns))


def in_order(positions: DataFrame, rows: int) -> bool:
    """Runs a query or, for many rows, several: whether seq rises with the offset in each partition for each
    producer; False may also mean that it is not known. An engine holds all rows that it compares in memory;
    there are about as many as `rows` says.

    Cheaper than a window over all records: the numbers of each 2^10 offsets are compared with themselves
    sorted, then each such range with the one before.
    """
    parts = -(-rows // _ROWS_AT_ONCE)
    if parts <= 1:
        return _none(_in_doubt(positions, within=True, between=True))
    part = F.pmod(_offset_range(), F.lit(parts))
    return _none(_in_doubt(positions, within=False, between=True)) and all(
        _none(_in_doubt(positions.where(part == number), within=True, between=False))
        for number in range(parts)
    )


def _offset_range() -> Column:
    return F.shiftright("offset", _RANGE_BITS).alias("offset_range")


def _in_doubt(positions: DataFrame, *, within: bool, between: bool) -> DataFrame:
    """The ranges of offsets of each partition and producer of which it is not certain that seq rises with the
    offset: `within` it, and from the range before to this one (`between`)."""
    unit = ("topic_partition", "producer")
    keys = (*unit, "offset_range")
    offset_in_range = F.col("offset").bitwiseAND((1 << _RANGE_BITS) - 1)
    both = F.shiftleft(offset_in_range, _SEQ_BITS).bitwiseOR(F.col("seq"))
    ranges = positions.groupBy(*unit, _offset_range()).agg(
        F.min("seq").alias("low"),
        F.max("seq").alias("high"),
        *([F.sort_array(F.collect_list(both)).alias("by_offset")] if within else []),
    )
    low, high = F.col("low"), F.col("high")
    # Conditions that are never null are joined: what an engine makes of a negation or a default computes the
    # sorted list several times.
    doubt = low.isNull() | (low < 0) | (high >= 1 << _SEQ_BITS)
    if within:
        seqs = F.transform("by_offset", lambda packed: packed.bitwiseAND((1 << _SEQ_BITS) - 1))
        # Before the window, so that it does not have to carry the lists.
        ranges = ranges.select(*keys, low, high, (F.sort_array(seqs) != seqs).alias("falls"))
        doubt |= F.col("falls")
    if between:
        in_time = Window.partitionBy(*unit).orderBy("offset_range")
        ranges = ranges.withColumn("before", F.lag("high").over(in_time))
        doubt |= F.col("before").isNotNull() & (F.col("before") > low)
    return ranges.where(doubt).select(*keys)


def _none(rows: DataFrame) -> bool:
    return not rows.limit(1).collect()


def late_records(positions: DataFrame) -> DataFrame:
    """Records for which one of the same producer and partition with a higher seq stands at a lower offset:
    `producer`, `seq`, and `late` (boolean, true)."""
    so_far = (
        Window.partitionBy("topic_partition", "producer")
        .orderBy("offset", "seq")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    newest = positions.withColumn("newest", F.max("seq").over(so_far))
    late = newest.where(F.col("newest") > F.col("seq"))
    return late.select("producer", "seq").distinct().withColumn("late", F.lit(True))

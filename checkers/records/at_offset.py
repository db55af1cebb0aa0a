"""What the final read holds where a record was acknowledged, or where a live reader was given it."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.journals.offset_chunks import bits_of, chunk_of
from checkers.journals.views import IDENTITY, readable
from harness.model.journal import SendOutcome


def not_at_acked_offset() -> Column:
    """Which records were acknowledged at an offset at which, as far as the facts say, they were not read."""
    same_offset = F.col("first_offset") == F.col("acked_offset")
    same_partition = (F.col("read_from") == F.col("topic_partition")) & F.col("read_elsewhere").isNull()
    as_acked = same_offset & same_partition & (F.col("read_rows") > 0)
    acked = (F.col("outcome") == SendOutcome.ACKED.value) & F.col("acked_offset").isNotNull()
    return F.coalesce(acked, F.lit(False)) & ~F.coalesce(as_acked, F.lit(False))


def join_acked_offset(
    facts: DataFrame, reads: DataFrame, *, absent_by_offset: bool, rest: bool
) -> tuple[DataFrame, dict[str, Column]]:
    """The facts joined with what the final read holds at the acknowledged offset of records that it does not
    hold there, and the columns that say so.

    The columns: `overwritten` (boolean, another record is at that offset), `damaged_at_acked_offset`
    (boolean, only a value that does not decode or whose CRC does not match is at it),
    `epoch_at_acked_offset` (int, the leader epoch in which it was written; null: nothing is at it).

    Args:
        absent_by_offset: much is absent from the final read, so those records are looked up by offset alone:
            an absent record cannot be at the offset itself.
        rest: the other records are looked up by identity; without `absent_by_offset` those that are absent as
            well.
    """
    look = not_at_acked_offset()
    rows, found = facts, list[str]()
    if absent_by_offset:
        wanted = F.when(look & (F.col("read_rows") == 0), F.col("acked_offset"))
        same = (F.col("topic_partition") == F.col("partition_by_offset")) & (wanted == F.col("by_offset"))
        rows = rows.join(_at_each_offset(reads), same, "left")
        found.append("_by_offset")
        look &= F.col("read_rows") > 0
    if rest:
        acked = F.col("acked_offset").alias("offset")
        wanted_rows = facts.where(look).select(*IDENTITY, "topic_partition", acked)
        looked_up = _join_reads(wanted_rows, reads)
        looked_up = looked_up.groupBy(*IDENTITY).agg(
            F.max("is_itself").alias("is_itself"),
            F.max("is_other").alias("good_of_rest"),
            F.max("leader_epoch").alias("epoch_of_rest"),
        )
        rows = rows.join(looked_up.where(~F.col("is_itself")).drop("is_itself"), list(IDENTITY), "left")
        found.append("_of_rest")
    no = F.lit(False)
    if not found:
        none = F.lit(None).cast("int")
        return rows, {"overwritten": no, "damaged_at_acked_offset": no, "epoch_at_acked_offset": none}
    good = F.coalesce(*(F.col(f"good{suffix}") for suffix in found))
    return rows, {
        "overwritten": F.coalesce(good, no),
        "damaged_at_acked_offset": F.coalesce(~good, no),
        "epoch_at_acked_offset": F.coalesce(*(F.col(f"epoch{suffix}") for suffix in found)),
    }


def _at_each_offset(reads: DataFrame) -> DataFrame:
    """What the final read holds at each offset: `partition_by_offset` (a topic_partition), `by_offset` (the
    offset), `good_by_offset` (boolean, a record and not only a damaged value) and `epoch_by_offset`."""
    keys = [F.col("topic_partition").alias("partition_by_offset"), F.col("offset").alias("by_offset")]
    good = F.coalesce(readable(), F.lit(False)).alias("good_by_offset")
    rows = reads.select(*keys, good, F.col("leader_epoch").alias("epoch_by_offset"))
    if _each_once(reads):
        return rows
    return rows.groupBy("partition_by_offset", "by_offset").agg(
        F.max("good_by_offset").alias("good_by_offset"), F.max("epoch_by_offset").alias("epoch_by_offset")
    )


def _each_once(reads: DataFrame) -> bool:
    """Runs a query: whether a read holds no offset of a partition twice, counted with a bit per offset."""
    counted = reads.groupBy("topic_partition", chunk_of(F.col("offset"))).agg(
        F.count("*").alias("rows"), F.bit_count(F.bit_or(bits_of(F.col("offset")))).alias("offsets")
    )
    return not counted.where("rows != offsets").limit(1).collect()


def other_at_live(live: DataFrame, reads: DataFrame, select: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """The identities of records that a live reader got where the final read holds another record (and not
    this one), with `other_at_live` (boolean, true)."""
    wanted = select(live.where(readable())).select(*IDENTITY, "topic_partition", "offset").distinct()
    found = (
        _join_reads(wanted, reads)
        .groupBy(*IDENTITY, "topic_partition", "offset")
        .agg(F.max("is_itself").alias("is_itself"), F.max("is_other").alias("is_other"))
    )
    other = found.where(F.col("is_other") & ~F.col("is_itself"))
    return other.select(*IDENTITY).distinct().withColumn("other_at_live", F.lit(True))


def _join_reads(wanted: DataFrame, reads: DataFrame) -> DataFrame:
    """The wanted records with their offsets, each with every row that the final read has at this offset:
    `is_itself`, `is_other` (another record, not a damaged value) and `leader_epoch`."""
    rows = reads.select(
        *("topic_partition", "offset", "leader_epoch"),
        F.coalesce(readable(), F.lit(False)).alias("readable"),
        *(F.col(name).alias(f"{name}_read") for name in IDENTITY),
    )
    same = reduce(and_, (F.col(name) == F.col(f"{name}_read") for name in IDENTITY))
    itself = F.col("readable") & F.coalesce(same, F.lit(False))
    return wanted.join(rows, ["topic_partition", "offset"]).select(
        *IDENTITY,
        *("topic_partition", "offset", "leader_epoch"),
        itself.alias("is_itself"),
        (F.col("readable") & ~itself).alias("is_other"),
    )

"""Facts that depend on other rows of the journals, asked for only where a record needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.evidence.findings import MOST_OFFSETS
from checkers.journals.created_again import live_of_topics
from checkers.journals.footers import row_count
from checkers.journals.offset_chunks import bits_of, chunk_of
from checkers.journals.topic_partition import name_of
from checkers.journals.views import IDENTITY, Views, readable
from checkers.records.chunks import Chunks
from checkers.records.context import newest_of_keys, torn_transactions
from checkers.records.order import partition_in_doubt
from checkers.sql import comparable
from harness.model.journal import SendOutcome

_IDENTITY = list(IDENTITY)
_MANY = 4
"""Where more than one in as many records is absent, all offsets of a journal are looked at."""


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
    rows, suffixes = facts, list[str]()
    if absent_by_offset:
        wanted = F.when(look & (F.col("read_rows") == 0), F.col("acked_offset"))
        same = (F.col("topic_partition") == F.col("partition_by_offset")) & (wanted == F.col("by_offset"))
        rows = rows.join(_at_each_offset(reads), same, "left")
        suffixes.append("_by_offset")
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
        suffixes.append("_of_rest")
    no = F.lit(False)
    if not suffixes:
        none = F.lit(None).cast("int")
        return rows, {"overwritten": no, "damaged_at_acked_offset": no, "epoch_at_acked_offset": none}
    good = F.coalesce(*(F.col(f"good{suffix}") for suffix in suffixes))
    return rows, {
        "overwritten": F.coalesce(good, no),
        "damaged_at_acked_offset": F.coalesce(~good, no),
        "epoch_at_acked_offset": F.coalesce(*(F.col(f"epoch{suffix}") for suffix in suffixes)),
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
    compared = (
        _join_reads(wanted, reads)
        .groupBy(*IDENTITY, "topic_partition", "offset")
        .agg(F.max("is_itself").alias("is_itself"), F.max("is_other").alias("is_other"))
    )
    other = compared.where(F.col("is_other") & ~F.col("is_itself"))
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


@dataclass(frozen=True)
class Lookups:
    """How many of the facts need which other rows of the journals.

    `records`: all facts. `elsewhere`: the final read holds it in a partition that it was not sent to, or the
    client did not say where it sent to. `copies`: the final read holds it several times. `moved`: it holds
    it, but not where it was acknowledged. `live`: a live reader got it. `compaction`: compaction may have
    removed it. `not_committed`: acknowledged in a committed transaction, and not in the final read of
    committed records. `absent`: acknowledged, and not in the final read.
    """

    records: int = 0
    elsewhere: int = 0
    copies: int = 0
    moved: int = 0
    live: int = 0
    compaction: int = 0
    not_committed: int = 0
    absent: int = 0

    def much_is_absent(self, views: Views) -> bool:
        """Whether so much is absent that looking at all offsets is cheaper than looking for these."""
        return self.absent * _MANY > row_count(views.files["final"])


def acked_but_absent() -> Column:
    """Which records were acknowledged and are absent from the final read."""
    acked = F.col("outcome") == SendOutcome.ACKED.value
    return F.coalesce(acked, F.lit(False)) & (F.col("read_rows") == 0)


def lookups_of(facts: DataFrame) -> Lookups:
    """Runs a query: what the records need, counted for all at once."""
    asked = (
        partition_in_doubt() & (F.col("read_rows") > 0),
        F.col("read_rows") > 1,
        not_at_acked_offset() & (F.col("read_rows") > 0),
        F.col("live_rows") > 0,
        F.col("compaction_asked"),
        F.col("not_committed"),
        acked_but_absent(),
    )
    columns = [F.count_if(condition).alias(f"n{number}") for number, condition in enumerate(asked)]
    return Lookups(*facts.agg(F.count("*").alias("records"), *columns).collect()[0])


def with_lookups(
    views: Views, sends: DataFrame, facts: DataFrame, chunks: Chunks, lookups: Lookups
) -> DataFrame:
    """The facts with these columns added.

    `copies` (bigint, number of offsets in the final read), `offsets` (array<bigint>, the first 5), `epochs`
    (bigint, number of leader epochs; at least 1 for what was read). `overwritten`, `damaged_at_acked_offset`
    (boolean) and `epoch_at_acked_offset` (int) as `checkers.records.lookups.join_acked_offset` has them.
    `other_at_live` (boolean): a live reader got it where the final read holds another record. `newer_offset`
    (bigint), the highest offset of its key where that was asked for, and `may_compact` (boolean): compaction
    explains that it is absent. `torn` (boolean): not committed, but another record of its transaction is.
    `sent_to`, `first_at` and `elsewhere` (string): where it was sent to, first read from, and read from other
    than sent to, each as `topic-partition`.
    """
    no = F.lit(False)
    much = lookups.much_is_absent(views)
    rows, columns = join_acked_offset(
        facts, views.reads, absent_by_offset=much, rest=bool(lookups.moved or (lookups.absent and not much))
    )
    single = F.when(F.col("read_rows") > 0, F.array("first_offset"))
    single = single.otherwise(F.array().cast("array<bigint>"))
    columns |= {"copies": F.col("read_rows"), "offsets": single, "epochs": F.lit(0).cast("bigint")}
    if lookups.copies:
        rows = rows.join(copies_of(chunks.reads, facts.where("read_rows > 1")), _IDENTITY, "left")
        columns |= {name: F.coalesce(F.col(name), columns[name]) for name in ("copies", "offsets", "epochs")}
    columns["epochs"] = F.greatest(columns["epochs"], F.least(F.col("read_rows"), F.lit(1).cast("bigint")))
    columns |= dict.fromkeys(("other_at_live", "may_compact", "torn"), no)
    columns["newer_offset"] = F.lit(None).cast("bigint")
    if lookups.live:
        rows = rows.join(
            other_at_live(live_of_topics(views), views.reads, chunks.rows_to_check), _IDENTITY, "left"
        )
        columns["other_at_live"] = F.coalesce("other_at_live", no)
    if lookups.compaction:
        rows = rows.join(newest_of_keys(views.reads, facts), ["topic_partition", "key"], "left")
        asked = F.when(F.col("compaction_asked"), F.col("newer_offset"))
        columns |= {"newer_offset": asked, "may_compact": F.coalesce(asked > F.col("reported_offset"), no)}
    if lookups.not_committed:
        rows = rows.join(torn_transactions(views, sends, facts), ["producer", "txn"], "left")
        columns["torn"] = F.col("not_committed") & F.coalesce("torn", no)
    names = {"sent_to": "topic_partition", "first_at": "read_from", "elsewhere": "read_elsewhere"}
    columns |= {name: name_of(F.col(number), views.topics) for name, number in names.items()}
    # All at once: an engine plans a few wide projections faster than many.
    return rows.withColumns(columns)


def copies_of(reads: DataFrame, records: DataFrame) -> DataFrame:
    """One row per record of `records` (facts) that `reads`, the final read of records whose identity can be
    trusted, holds.

    Columns: the identity; `copies` (bigint, the number of different offsets), `offsets` (array<bigint>, the
    first 5, ascending) and `epochs` (bigint, the number of different leader epochs, which may be 0 if the
    client does not say).
    """
    # Only where a record may be in several partitions do these count, too: in one that it was not sent to, or
    # it is not known where that was.
    scattered = F.col("read_elsewhere").isNotNull() | F.col("topic_partition").isNull()
    mine = reads.join(records.select(*IDENTITY, scattered.alias("scattered")), _IDENTITY)
    place = F.when(F.col("scattered"), comparable("topic_partition", "offset"))
    # A journal may hold a row twice, so different offsets are counted, not rows.
    by_record = mine.groupBy(*IDENTITY, "scattered").agg(
        F.array_distinct(F.collect_list("offset")).alias("offsets"),
        F.array_distinct(F.collect_list(place)).alias("places"),
        F.array_distinct(F.collect_list("leader_epoch")).alias("epochs"),
    )
    of_places = F.transform("places", lambda place: place["offset"])
    offsets = F.when(F.col("scattered"), of_places).otherwise(F.col("offsets"))
    by_record = by_record.withColumn("offsets", offsets)
    return by_record.select(
        *IDENTITY,
        F.size("offsets").cast("bigint").alias("copies"),
        F.slice(F.sort_array("offsets"), 1, MOST_OFFSETS).alias("offsets"),
        F.size("epochs").cast("bigint").alias("epochs"),
    )

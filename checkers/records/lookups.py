"""Facts that depend on other rows of the journals, asked for only where a record needs them."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.evidence.findings import MOST_OFFSETS
from checkers.journals.footers import rows_of
from checkers.journals.topic_partition import name_of
from checkers.journals.views import IDENTITY, Views, readable
from checkers.records.at_offset import join_acked_offset, not_at_acked_offset, other_at_live
from checkers.records.chunks import Chunks
from checkers.records.context import newest_of_keys, torn_transactions
from checkers.records.order import partition_in_doubt
from harness.model.journal import SendOutcome

_IDENTITY = list(IDENTITY)
_MANY = 4
"""Where more than one in as many records is absent, all offsets of the final read are looked at."""


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
    columns = [F.count_if(one).alias(f"n{number}") for number, one in enumerate(asked)]
    return Lookups(*facts.agg(F.count("*").alias("records"), *columns).collect()[0])


def with_lookups(
    views: Views, sends: DataFrame, facts: DataFrame, chunks: Chunks, lookups: Lookups
) -> DataFrame:
    """The facts with these columns added.

    `copies` (bigint, number of offsets in the final read), `offsets` (array<bigint>, the first 5), `epochs`
    (bigint, number of leader epochs; at least 1 for what was read). `overwritten`, `damaged_at_acked_offset`
    (boolean) and `epoch_at_acked_offset` (int) as `checkers.records.at_offset.join_acked_offset` has them.
    `other_at_live` (boolean): a live reader got it where the final read holds another record. `newer_offset`
    (bigint), the highest offset of its key where that was asked for, and `may_compact` (boolean): compaction
    explains that it is absent. `torn` (boolean): not committed, but another record of its transaction is.
    `sent_to`, `first_at` and `elsewhere` (string): where it was sent to, first read from, and read from other
    than sent to, each as `topic-partition`.
    """
    no = F.lit(False)
    much = lookups.absent * _MANY > rows_of(views.files["final"])
    rows, columns = join_acked_offset(
        facts, views.reads, absent_by_offset=much, rest=bool(lookups.moved or (lookups.absent and not much))
    )
    single = F.when(F.col("read_rows") > 0, F.array("first_offset"))
    single = single.otherwise(F.array().cast("array<bigint>"))
    columns |= {"copies": F.col("read_rows"), "offsets": single, "epochs": F.lit(0).cast("bigint")}
    if lookups.copies:
        rows = rows.join(copies_of(views.reads, facts.where("read_rows > 1")), _IDENTITY, "left")
        columns |= {name: F.coalesce(F.col(name), columns[name]) for name in ("copies", "offsets", "epochs")}
    columns["epochs"] = F.greatest(columns["epochs"], F.least(F.col("read_rows"), F.lit(1).cast("bigint")))
    columns |= dict.fromkeys(("other_at_live", "may_compact", "torn"), no)
    columns["newer_offset"] = F.lit(None).cast("bigint")
    if lookups.live:
        rows = rows.join(other_at_live(views.live, views.reads, chunks.rows_to_check), _IDENTITY, "left")
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
    """One row per record of `records` (with the identity) that `reads`, the final read, holds.

    Columns: the identity; `copies` (bigint, the number of different offsets), `offsets` (array<bigint>, the
    first 5, ascending) and `epochs` (bigint, the number of different leader epochs, which may be 0 if the
    client does not say).
    """
    mine = reads.where(readable()).join(records.select(*IDENTITY), _IDENTITY, "left_semi")
    # A journal may hold a row twice, so different offsets are counted, not rows.
    by_partition = mine.groupBy(*IDENTITY, "topic_partition").agg(
        F.array_distinct(F.collect_list("offset")).alias("offsets"),
        F.array_distinct(F.collect_list("leader_epoch")).alias("epochs"),
    )
    found = by_partition.groupBy(*IDENTITY).agg(
        F.sum(F.size("offsets")).alias("copies"),
        F.flatten(F.collect_list(F.slice(F.sort_array("offsets"), 1, MOST_OFFSETS))).alias("offsets"),
        F.array_distinct(F.flatten(F.collect_list("epochs"))).alias("epochs"),
    )
    return found.select(
        *IDENTITY,
        F.col("copies").cast("bigint").alias("copies"),
        F.slice(F.sort_array("offsets"), 1, MOST_OFFSETS).alias("offsets"),
        F.size("epochs").cast("bigint").alias("epochs"),
    )

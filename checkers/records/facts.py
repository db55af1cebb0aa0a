"""THE JOIN: what was sent, joined with what was read, one row per record."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.journals.topic_partition import has_no_partition, partition_of
from checkers.journals.views import IDENTITY, Views, readable
from checkers.sql import greatest_of
from harness.model.journal import SendOutcome, TxnOutcome

OUTCOMES = tuple(outcome.value for outcome in SendOutcome)
TXN_OUTCOMES = tuple(outcome.value for outcome in TxnOutcome)
"""From the least to the greatest: of several rows of one send or transaction the greatest outcome counts."""

_SEND = ("producer", "seq")


RowFilter = Callable[[DataFrame], DataFrame]
"""Keeps the rows, of sends or reads, of some records."""

_OF_SEND = (
    *("send_rows", "topic_partition", "key", "step", "outcome", "sent_ns", "closed_ns", "acked_offset"),
    *("error", "txn", "txn_outcome", "timestamp_ms"),
)
_NUMBERS_READ = ("read_rows", "committed_rows", "live_rows", "live_committed")


def deduplicated(sends: DataFrame) -> DataFrame:
    """One row per `producer` and `seq`, with the columns of `checkers.journals.views.Views.sends` and
    `send_rows` (bigint), the number of rows that the journal has of the send.

    Of several rows, the greatest value of each column counts, so that their order does not matter. The
    outcome is the greatest of `OUTCOMES`, or one that this version does not know if there is no other;
    the topic and the partition are those of the greatest `topic_partition`.
    """
    known = greatest_of(F.col("outcome"), OUTCOMES)
    special = {
        "outcome": F.coalesce(known, F.max("outcome")),
        # Topics are numbered in the order of their names, so the greatest number has the greatest name.
        "partition": partition_of(F.max("topic_partition")),
    }
    columns = [special.get(name, F.max(name)).alias(name) for name in sends.columns if name not in _SEND]
    rows = sends.groupBy(*_SEND).agg(*columns, F.count("*").alias("send_rows"))
    return rows.select(*sends.columns, "send_rows")


def with_txn_outcome(views: Views, sends: DataFrame | None = None) -> DataFrame:
    """The sends (None: all of the run) with `txn_outcome` (string): how the transaction of each ended.

    It is null if the record was sent in none, if the journal has no row of the transaction, and if its
    outcome is one that this version does not know. Of several rows of a transaction the greatest of
    `TXN_OUTCOMES` counts, so that their order does not matter.
    """
    sends = views.sends if sends is None else sends
    if not views.files["txns"]:
        return sends.withColumn("txn_outcome", F.lit(None).cast("string"))
    greatest = greatest_of(F.col("outcome"), TXN_OUTCOMES).alias("txn_outcome")
    ends = views.transactions.groupBy("producer", "txn").agg(greatest)
    return sends.join(ends, ["producer", "txn"], "left").select(*sends.columns, "txn_outcome")


def facts_of_records(
    views: Views, sends: DataFrame, reads: DataFrame, keep_rows: RowFilter, *, repeated: bool
) -> DataFrame:
    """One row per record that was sent or read, of those that `keep_rows` keeps. `reads` are the rows of the
    final read that are kept.

    Columns of the send (null if the record was never sent): `topic_partition` (bigint, where it was sent to),
    `key`, `step`, `outcome`, `sent_ns`, `closed_ns`, `acked_offset`, `error`, `txn`, `txn_outcome`,
    `timestamp_ms`; and `send_rows` (bigint), the number of rows that the journal has of it (0: never sent).

    Columns of what was read, of all readers together: `read_from` (bigint, the least topic_partition),
    `read_elsewhere` (bigint, one that it was not sent to), `first_key`, `read_key` (bigint, one that differs
    from the key sent), `wrong_key` (boolean). Of the final read: `read_rows`, `first_offset` (bigint). Of the
    final read of committed records: `committed_rows`. Of live readers: `live_rows`, `live_committed` (rows of
    readers of committed records), `live_reader` (string, readers of committed records before others),
    `live_offset` (the least). Numbers of rows are bigint and never null.
    """
    sent = keep_rows(sends)
    if repeated:
        sent = with_txn_outcome(views, deduplicated(sent.drop("txn_outcome")))
    else:
        sent = sent.withColumn("send_rows", F.lit(1).cast("bigint"))
    sent = sent.withColumnRenamed("offset", "acked_offset").select(*IDENTITY, *_OF_SEND)
    joined = sent.join(read_of_records(views, reads, keep_rows), list(IDENTITY), "full")
    numbers = ("send_rows", "all_rows", "all_keys", *_NUMBERS_READ)
    joined = joined.withColumns({name: F.coalesce(F.col(name), F.lit(0).cast("bigint")) for name in numbers})
    return joined.select(
        *(*IDENTITY, *_OF_SEND, *_NUMBERS_READ, "first_offset", "live_reader", "live_offset"),
        F.col("low_partition").alias("read_from"),
        _elsewhere().alias("read_elsewhere"),
        F.col("low_key").alias("first_key"),
        _other_key().alias("read_key"),
        (F.coalesce(_wrong_key(), F.lit(False)) & (F.col("send_rows") > 0)).alias("wrong_key"),
    )


def ordinary(*, transactional: bool) -> Column:
    """Which records are as they should be, so that no class can apply: acknowledged, at an offset of a known
    partition, in no transaction or a committed one; journaled once; read once by the final read, there and
    with its key, and by no live reader. `checkers.records.chunks` leaves out only records of which the same
    holds, but for live readers, which may have got them where the final read holds them. `transactional`: the
    final read of committed records holds it once, too."""
    sent = ordinary_send(F.col("acked_offset"), has_no_partition(F.col("topic_partition")))
    sent &= F.col("send_rows") == 1
    as_acked = (F.col("first_offset") == F.col("acked_offset")) & (
        F.col("read_from") == F.col("topic_partition")
    )
    once_read = (F.col("read_rows") == 1) & F.col("read_elsewhere").isNull() & ~F.col("wrong_key")
    others = (F.col("live_rows") == 0) & (F.col("committed_rows") == (1 if transactional else 0))
    return F.coalesce(sent & as_acked & once_read & others, F.lit(False))


def ordinary_send(offset: Column, unnamed: Column) -> Column:
    """Whether a send, with `outcome`, `txn` and `txn_outcome`, may be of an ordinary record: acknowledged at
    an offset of a partition that the client named, in no transaction or a committed one. The one rule of
    `ordinary` and of `checkers.records.chunks`."""
    ended = F.col("txn").isNull() | (F.col("txn_outcome") == TxnOutcome.COMMITTED.value)
    acked = (F.col("outcome") == SendOutcome.ACKED.value) & offset.isNotNull()
    return F.coalesce(acked & ~unnamed & ended, F.lit(False))


def read_of_records(views: Views, reads: DataFrame, keep_rows: RowFilter) -> DataFrame:
    """What was read, as one row per identity: numbers of rows, and least and greatest values
    (`facts_of_records`)."""
    files = views.files
    rows = [_reads(reads, "final")]
    if files["committed"]:
        rows.append(_reads(keep_rows(views.committed.where(readable())), "committed"))
    if any(files["live"]):
        live = keep_rows(views.live.where(readable()))
        # Readers of committed records come first.
        rank = F.when(F.col("read_committed"), F.lit("0")).otherwise(F.lit("1"))
        rows.append(_reads(live, "live", F.concat(rank, "reader"), F.col("read_committed")))

    def of(source: str) -> Column:
        # With constants the engine counts rows of a final read alone without comparing anything.
        return F.col("source") == source if len(rows) > 1 else F.lit(source == "final")

    by_record = (
        reduce(DataFrame.unionByName, rows)
        .groupBy(*IDENTITY)
        .agg(
            F.count("*").alias("all_rows"),
            F.count("key").alias("all_keys"),
            F.min("key").alias("low_key"),
            F.max("key").alias("high_key"),
            F.min("topic_partition").alias("low_partition"),
            F.max("topic_partition").alias("high_partition"),
            F.count_if(of("final")).alias("read_rows"),
            F.min(F.when(of("final"), F.col("offset"))).alias("first_offset"),
            F.count_if(of("committed")).alias("committed_rows"),
            F.count_if(of("live")).alias("live_rows"),
            F.count_if("read_committed").alias("live_committed"),
            F.min("ranked_reader").alias("ranked_reader"),
            F.min(F.when(of("live"), F.col("offset"))).alias("live_offset"),
        )
    )
    reader = F.substring("ranked_reader", 2, 2**31 - 1)
    return by_record.withColumn("live_reader", reader).drop("ranked_reader")


def _reads(
    rows: DataFrame, source: str, ranked_reader: Column | None = None, read_committed: Column | None = None
) -> DataFrame:
    return rows.select(
        *(*IDENTITY, "topic_partition", "offset", "key"),
        F.lit(source).alias("source"),
        (F.lit(None).cast("string") if ranked_reader is None else ranked_reader).alias("ranked_reader"),
        (F.lit(False) if read_committed is None else read_committed).alias("read_committed"),
    )


def _elsewhere() -> Column:
    """A `topic_partition` that the record was read from, and not sent to."""
    low, high, sent = F.col("low_partition"), F.col("high_partition"), F.col("topic_partition")
    # Where the client did not say where it sent to, any one partition is right.
    home = F.when(has_no_partition(sent), low).otherwise(sent)
    other = F.when(low != home, low).when(high != home, high)
    return F.when(F.col("send_rows") > 0, other)


def _other_key() -> Column:
    """A key that the record was read with, and not sent with."""
    low, high, sent = F.col("low_key"), F.col("high_key"), F.col("key")
    return F.when(~low.eqNullSafe(sent), low).when(~high.eqNullSafe(sent), high)


def _wrong_key() -> Column:
    """Whether any read had another key, or none although one was sent."""
    without = (F.col("all_keys") < F.col("all_rows")) & F.col("key").isNotNull()
    return (F.col("all_rows") > 0) & (_other_key().isNotNull() | without)

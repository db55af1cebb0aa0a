"""Facts of records with the context that checks need: retention, compaction, other records of a
transaction."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from checkers.checks.base import ABSENT, ACKED, PRESENT, txn_outcome
from checkers.facts.columns import READABLE
from checkers.facts.encoding import spot, spot_number
from checkers.facts.measure import RunFacts
from checkers.journals.load import RunFrames, local_frame, schema_of
from checkers.judgement.policy import compacts, retention
from harness.model.journal import TxnOutcome

BROADCAST_RECORDS = 100_000
"""Up to this number records are broadcast to the journals (about 5 MB); more are joined by a shuffle."""


def with_context(frames: RunFrames, facts: RunFacts) -> DataFrame:
    """The facts with these columns added.

    `log_start_offset`, `end_offset` (bigint): of the partition sent to; null: not known. `may_expire`,
    `may_compact` (boolean): retention or compaction explains that it is absent; its offset is the
    acknowledged one, else the lowest at which a live reader got it. `newer_offset` (bigint): the highest
    offset of its key, if compaction is possible. `not_committed` (boolean): acknowledged in a committed
    transaction and in the log, but not in the final read of committed records. `torn` (boolean): and another
    record of that transaction is.
    """
    meta = frames.meta
    final = meta.final_read
    bounds = local_frame(
        facts.frame.sparkSession,
        [
            (spot_number(bound.topic, bound.partition, facts.codes), bound.log_start_offset, bound.end_offset)
            for bound in (final.bounds if final else ())
        ],
        schema_of("spot bigint, log_start_offset bigint, end_offset bigint"),
    )
    newest = retention(meta.topic_config, meta.cluster.properties).newest_deletable_ns(
        final.finished_ns if final else None
    )
    known = f"CASE WHEN {ACKED} THEN acked_offset ELSE live_offset END"
    missing = f"{ACKED} AND {txn_outcome(TxnOutcome.COMMITTED)} AND {PRESENT} AND committed_rows = 0"
    deletable = "false" if newest is None else f"sent_ns <= {newest}"
    rows = facts.frame.join(F.broadcast(bounds), "spot", "left").selectExpr(
        "*",
        f"{known} AS known",
        f"{'false' if frames.committed is None else f'coalesce({missing}, false)'} AS not_committed",
        f"coalesce({known} < log_start_offset AND {deletable}, false) AS may_expire",
    )
    compacting = compacts(meta.topic_config, meta.cluster.properties)
    candidates = F.expr(f"{ABSENT} AND key IS NOT NULL AND known IS NOT NULL" if compacting else "false")
    needs = (
        _count_needed(rows, candidates)
        if facts.count and (compacting or frames.committed is not None)
        else None
    )
    rows = _with_newer(rows, frames, facts, candidates, needs.gone if needs else 0)
    rows = _with_torn(rows, frames, needs.uncommitted if needs else 0)
    return rows.withColumn("may_compact", F.expr("coalesce(newer_offset > known, false)"))


def _count_needed(rows: DataFrame, candidates: Column) -> Row:
    return rows.agg(
        F.count_if(candidates).alias("gone"), F.count_if(F.col("not_committed")).alias("uncommitted")
    ).collect()[0]


def broadcast_if_small(records: DataFrame, count: int) -> DataFrame:
    """Records with a hint to broadcast them in a join if they are few."""
    return F.broadcast(records) if count <= BROADCAST_RECORDS else records


def _with_newer(
    rows: DataFrame, frames: RunFrames, facts: RunFacts, candidates: Column, count: int
) -> DataFrame:
    """Rows with `newer_offset`: the highest offset at which the final read holds a record of the same key."""
    if not count:
        return rows.withColumn("newer_offset", F.lit(None).cast("bigint"))
    keys = rows.where(candidates).select("spot", "key").distinct()
    newest = (
        frames.reads.where(F.col("key").isNotNull())
        .select(F.expr(spot("topic", "partition", facts.codes)).alias("spot"), "key", "offset")
        .join(broadcast_if_small(keys, count), ["spot", "key"])
        .groupBy("spot", "key")
        .agg(F.max("offset").alias("highest"))
    )
    rows = rows.join(broadcast_if_small(newest, count), ["spot", "key"], "left")
    return rows.withColumn("newer_offset", F.when(candidates, F.col("highest"))).drop("highest")


def _with_torn(rows: DataFrame, frames: RunFrames, count: int) -> DataFrame:
    """Rows with `torn`: another record of its transaction is in the final read of committed records."""
    if not count or frames.committed is None:
        return rows.withColumn("torn", F.lit(False))
    wanted = rows.where("not_committed").select("producer", "txn").distinct()
    members = frames.sends.join(broadcast_if_small(wanted, count), ["producer", "txn"]).select(
        "producer", "txn", "seq"
    )
    readable = F.col("state").isin(*READABLE) & (F.col("run") == frames.meta.run_id)
    given = (
        frames.committed.where(readable)
        .select("producer", "seq")
        .join(members, ["producer", "seq"])
        .select("producer", "txn", F.lit(True).alias("given"))
        .distinct()
    )
    rows = rows.join(broadcast_if_small(given, count), ["producer", "txn"], "left")
    return rows.withColumn("torn", F.col("not_committed") & F.coalesce("given", F.lit(False))).drop("given")

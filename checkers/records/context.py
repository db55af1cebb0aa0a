"""What else is known of a record: log bounds, retention, compaction, other records of its transaction."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.int64 import INT64_MAX, INT64_MIN
from checkers.journals.topic_partition import partition_of
from checkers.journals.views import IDENTITY, Views, readable
from checkers.judgement.policy import Policy
from checkers.sql import case
from harness.model.journal import SendOutcome, TxnOutcome

_MS = 1_000_000


def with_context(facts: DataFrame, views: Views) -> DataFrame:
    """The facts with these columns added, from `Views.bounds` and what may have deleted records of the run.

    `log_start_offset`, `end_offset` (bigint): of the partition sent to; null: not known.
    `reported_offset` (bigint): the acknowledged offset, else the lowest at which a live reader got it.
    `own_time_ms` (bigint): of `own_time_ms`.
    Flags (boolean, never null), of which the first three explain that it is absent:

    - `deleted`: a step or a fault `delete_records` removed it.
    - `recreated`: a recreate_topic step deleted the topic after it had been sent or, if its offset is not
      known, after it had been acknowledged.
    - `acked_in_earlier`: its acknowledgement, with its offset, is of a topic that was deleted since.
    - `may_expire`: either of these, or retention.
    - `not_committed`: acknowledged in a committed transaction and in the log, but not in the final read of
      committed records.
    - `compaction_asked`: compaction explains that it is absent, if its key has a higher offset.
    """
    policy = Policy.of(views.meta)
    acked = F.col("outcome") == SendOutcome.ACKED.value
    reported = F.when(acked, F.col("acked_offset")).otherwise(F.col("live_offset"))
    bounded = facts.join(
        F.broadcast(views.bounds.select("topic_partition", "log_start_offset", "end_offset")),
        "topic_partition",
        "left",
    ).withColumn("reported_offset", reported)
    below = F.col("reported_offset") < F.col("log_start_offset")
    never = F.lit(False)
    deleted = recreated = acked_in_earlier = never
    if policy.deleted_before:
        deleted = below & deleted_on_purpose(policy, F.col("reported_offset"), F.col("topic_partition"))
    if policy.recreated_ns is not None:
        # A record without an offset was in the old topic if it was acknowledged before there was a new one.
        last = F.when(F.col("reported_offset").isNotNull(), F.col("sent_ns")).when(acked, F.col("closed_ns"))
        recreated = last <= policy.recreated_ns
        acked_in_earlier = acked & (F.col("closed_ns") <= policy.recreated_ns)
    present = F.col("read_rows") > 0
    ended_well = acked & (F.col("txn_outcome") == TxnOutcome.COMMITTED.value)
    not_committed = ended_well & present & (F.col("committed_rows") == 0)
    asked = (
        ~present
        & F.col("key").isNotNull()
        & F.col("reported_offset").isNotNull()
        & F.col("topic_partition").isNotNull()
    )
    flags: dict[str, Column] = {
        "deleted": deleted,
        "recreated": recreated,
        "acked_in_earlier": acked_in_earlier,
        "not_committed": not_committed if views.files["committed"] else never,
        "compaction_asked": asked if policy.compacts else never,
    }
    flagged = bounded.withColumns({name: F.coalesce(flag, never) for name, flag in flags.items()})
    old = F.coalesce(below & old_enough(policy), never)
    return flagged.withColumns(
        {"own_time_ms": own_time_ms(policy), "may_expire": old | F.col("deleted") | F.col("recreated")}
    )


def deleted_on_purpose(policy: Policy, offset: Column, topic_partition: Column) -> Column:
    """Whether a step or a fault of the experiment has deleted what was at this offset."""
    of_all = policy.deleted_before.get(None, 0)
    partition = partition_of(topic_partition)
    of_one = [
        (partition == number, F.lit(max(before, of_all)))
        for number, before in policy.deleted_before.items()
        if number is not None
    ]
    return offset < F.coalesce(case(of_one), F.lit(of_all))


def sent_by(time_ns: int | None) -> Column:
    """Which records had been sent by this time, never null; none, if it is None."""
    if time_ns is None:
        return F.lit(False)
    return F.coalesce(F.col("sent_ns") <= min(max(time_ns, INT64_MIN), INT64_MAX), F.lit(False))


def own_time_ms(policy: Policy) -> Column:
    """The time (bigint, ms) that the producer gave a record, by which brokers tell its age; null: that of its
    append, which is at or after its send. A batch without a time has a negative one, and is as old as its
    file."""
    has_time = (F.col("timestamp_ms") >= 0) & F.lit(True in policy.own_times)
    return F.when(has_time, F.col("timestamp_ms"))


def old_enough(policy: Policy) -> Column:
    """Which records are so old that retention may have deleted them, never null."""
    limit_ns = policy.newest_deletable_ns
    if limit_ns is None:
        return F.lit(False)
    # What is deleted by size may have any time.
    limit_ms = INT64_MAX if limit_ns >= INT64_MAX else max(limit_ns // _MS, INT64_MIN)
    by_own_time = own_time_ms(policy) <= limit_ms
    sent = sent_by(limit_ns)
    return F.coalesce(by_own_time | sent if False in policy.own_times else by_own_time, sent)


def newest_of_keys(reads: DataFrame, facts: DataFrame) -> DataFrame:
    """The highest offset in the final read of each key that is asked for: `topic_partition`, `key`,
    `newer_offset` (bigint)."""
    wanted = facts.where("compaction_asked").select("topic_partition", "key").distinct()
    rows = reads.where(F.col("key").isNotNull()).select("topic_partition", "key", "offset")
    rows = rows.join(wanted, ["topic_partition", "key"], "left_semi")
    return rows.groupBy("topic_partition", "key").agg(F.max("offset").alias("newer_offset"))


def torn_transactions(views: Views, sends: DataFrame, facts: DataFrame) -> DataFrame:
    """The transactions of records that are not committed of which the final read of committed records holds a
    record: `producer`, `txn` and `torn` (boolean, true)."""
    wanted = facts.where("not_committed").select("producer", "txn").distinct()
    members = sends.join(wanted, ["producer", "txn"], "left_semi").select(*IDENTITY, "txn")
    read = views.committed.where(readable()).select(*IDENTITY)
    torn = members.join(read, list(IDENTITY), "left_semi").select("producer", "txn").distinct()
    return torn.withColumn("torn", F.lit(True))

"""Findings about the progress of consumer groups, and how long their partitions had no owner."""

from __future__ import annotations

from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.groups.anomalies import ANOMALIES, BY_PARTITION
from checkers.groups.by_partition import anomaly_findings, apply_rules, kinds_of, of_partition
from checkers.groups.rules import OffsetRetention, ahead_rules, suspect_rules
from checkers.journals.footers import rows_of
from checkers.journals.offset_chunks import offset_chunks
from checkers.journals.scratch import Scratch
from checkers.journals.topic_partition import partition_of
from checkers.journals.views import Views, readable
from harness.model.result import OwnerlessTime
from harness.model.run import ReaderInfo, RunMeta

_MILLISECOND = 1_000_000
_AHEAD, _TWO_OWNERS = "commit_ahead", "two_owners"
_SHORTEST_SECONDS = 1.0
"""Shorter times without an owner are not told: an eager rebalance takes a moment."""
_MOST = 50


def find(views: Views, scratch: Scratch) -> tuple[DataFrame | None, list[str]]:
    """Findings about the progress of all consumer groups of a run.

    Returns: a DataFrame with the columns of `FINDINGS`, or None if there are none, and the problems of rules
        that failed.
    """
    there = any(rows_of(views.files[name]) for name in ("commits", "assignments", "offsets"))
    if not groups_of(views) or not there:
        return None, []
    rules = partial(suspect_rules, retention=OffsetRetention.of(views.meta))
    rows = scratch.materialize("group-suspects", apply_rules(rules, _journals(views)))
    found, failed = kinds_of(rows, "consumer groups")
    kinds = {kind for _, kind in found}
    parts = [rows.where(~F.col("kind").isin(_AHEAD, _TWO_OWNERS))]
    if _TWO_OWNERS in kinds:
        parts.append(_not_expired(views, rows.where(F.col("kind") == _TWO_OWNERS)))
    if _AHEAD in kinds:
        ahead = _ahead(views, rows.where(F.col("kind") == _AHEAD))
        parts.append(scratch.materialize("group-ahead", ahead))
        failed += kinds_of(parts[-1], "consumer groups")[1]
    problems = sorted({problem for _, problem in failed})
    if not kinds:
        return None, problems
    rows = reduce(DataFrame.unionByName, parts)
    findings, unusable = anomaly_findings(rows, "group", views.meta, views.topics)
    return findings, [*problems, *unusable]


def groups_of(views: Views) -> set[str]:
    """The consumer groups of a run's readers."""
    return {reader.group for reader in views.readers if reader.group is not None}


def assignments(views: Views) -> DataFrame:
    """The journal of assignments, of readers in a group (`_of_members`)."""
    return _of_members(views, views.assignments.where(F.col("event").isin("assigned", "revoked", "lost")))


def _session_ns(reader: ReaderInfo, meta: RunMeta) -> int:
    """The session time-out of a reader: its own, or with the consumer protocol that of the brokers."""
    session_ms = reader.session_ms
    if reader.protocol != "classic":
        session_ms = int(meta.cluster.properties.get("group.consumer.session.timeout.ms", session_ms))
    return session_ms * _MILLISECOND


def _of_members(views: Views, rows: DataFrame) -> DataFrame:
    """The rows of readers in a group, about partitions of the run's topics, with their `group` and
    `session_ns`, their session time-out."""
    readers = [reader for reader in views.readers if reader.group is not None]
    members = pa.table(
        {
            "reader": [reader.name for reader in readers],
            "group": [reader.group for reader in readers],
            "session_ns": [_session_ns(reader, views.meta) for reader in readers],
        }
    )
    members_frame = F.broadcast(views.spark.createDataFrame(members))
    return rows.where(F.col("topic_partition") >= 0).join(members_frame, "reader")


def _journals(views: Views) -> list[DataFrame]:
    """The rows that `PartitionJournals.of_table` takes, of all groups."""
    owners = assignments(views)
    known = F.broadcast(owners.select("reader").distinct().withColumn("known", F.lit(True)))
    commits = _of_members(views, views.commits).join(known, "reader", "left")
    answers = views.offsets.where((F.col("topic_partition") >= 0) & F.col("group").isin(*groups_of(views)))
    # A reader takes records in batches: a row for all that it was given at one time.
    polled = views.live.groupBy("reader", "topic_partition", F.col("read_ns").alias("at_ns")).agg(
        F.min("offset").alias("first"), F.max("offset").alias("offset"), F.count("*").alias("count")
    )
    when = ("asked_ns", "at_ns")
    return [
        of_partition("commits", commits, "reader", "known", "offset", "error", "kind", *when),
        of_partition("offsets", answers, "offset", "error", "source", "broker", "log_offset", *when),
        of_partition("assignments", owners, "reader", "offset", "session", "event", "at_ns"),
        of_partition("live", _of_members(views, polled), "reader", "offset", "first", "count", "at_ns"),
    ]


def _not_expired(views: Views, suspects: DataFrame) -> DataFrame:
    """Of suspects of two owners, those whose first owner the coordinator cannot have expired: it was in
    contact with it within the session time-out before the second one began. A contact is an assignment, or
    the asking for a commit that was answered without an error."""
    asked = _of_members(views, views.commits).where(F.col("error").isNull() & F.col("asked_ns").isNotNull())
    of_commits = asked.select("reader", "session_ns", F.col("asked_ns").alias("contact_ns"))
    of_owners = assignments(views).select("reader", "session_ns", F.col("at_ns").alias("contact_ns"))
    contacts = of_owners.unionByName(of_commits).withColumnRenamed("reader", "owner")
    since = F.col("at_ns") - F.col("contact_ns")
    near = (F.col("reader") == F.col("owner")) & (since >= 0) & (since < F.col("session_ns"))
    return suspects.join(contacts, near, "left_semi")


def _ahead(views: Views, suspects: DataFrame) -> DataFrame:
    """What the log does not explain of suspects that are ahead: it holds all records, or for groups that read
    committed records only, the committed ones."""
    committed = {reader.group for reader in views.readers if reader.committed and reader.group is not None}
    bounds = suspects.groupBy(*BY_PARTITION).agg(F.min("seen").alias("low"), F.max("offset").alias("high"))
    parts = [of_partition("suspects", suspects, *ANOMALIES.names[2:])]
    for log, groups in ((views.reads, groups_of(views) - committed), (views.committed, committed)):
        if groups:
            rows = log.where(readable()).select("topic_partition", "offset")
            rows = rows.join(F.broadcast(bounds.where(F.col("group").isin(*groups))), "topic_partition")
            rows = rows.where((F.col("offset") >= F.col("low")) & (F.col("offset") < F.col("high")))
            parts.append(of_partition("log", offset_chunks(rows, *BY_PARTITION), "chunk", "bits"))
    return apply_rules(ahead_rules, parts)


def ownerless_times(views: Views) -> tuple[OwnerlessTime, ...]:
    """The partitions that no member of a group owned for a second or more at a time, between one owner and
    the next, by the journal of assignments; the longest times first, at most 50."""
    if not groups_of(views) or not rows_of(views.files["assignments"]):
        return ()
    of_reader = Window.partitionBy(*BY_PARTITION, "reader").orderBy("at_ns", "session", "event")
    earlier = (
        Window.partitionBy(*BY_PARTITION)
        .orderBy("at_ns", "reader")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    ended = F.lead("at_ns", 1, 2**63 - 1).over(of_reader)
    owned = assignments(views).withColumn("ended", ended).where(F.col("event") == "assigned")
    seconds = (F.col("at_ns") - F.max("ended").over(earlier)) / 1e9
    times = (
        owned.select(*BY_PARTITION, seconds.alias("without"))
        .where(F.col("without") > 0)
        .groupBy(*BY_PARTITION)
        .agg(F.round(F.sum("without"), 3).alias("seconds"), F.max("without").alias("longest"))
        .where(F.col("longest") >= _SHORTEST_SECONDS)
        .select(
            "group",
            partition_of(F.col("topic_partition")).alias("partition"),
            "seconds",
            F.round("longest", 3).alias("longest"),
        )
    )
    found = times.orderBy(F.desc("longest"), "group", "partition").limit(_MOST).collect()
    return tuple(OwnerlessTime.model_validate(row.asDict()) for row in found)

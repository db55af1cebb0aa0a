"""Findings about the progress of consumer groups, and how long their partitions had no owner."""

from __future__ import annotations

from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.classes.classify import attempt
from checkers.found import Found
from checkers.groups import classes
from checkers.groups.anomalies import ANOMALIES, BY_PARTITION
from checkers.groups.by_partition import anomaly_findings, apply_rules, kinds_and_problems, with_journal
from checkers.groups.rules import OffsetRetention, ahead_rules, suspect_rules
from checkers.int64 import INT64_MAX
from checkers.journals.footers import row_count
from checkers.journals.offset_chunks import offset_chunks
from checkers.journals.topic_partition import partition_of
from checkers.journals.views import Scratch, Views, readable
from harness.model.result import OwnerlessTime
from harness.model.run import ReaderInfo, RunMeta

_AHEAD, _TWO_OWNERS = "commit_ahead", "two_owners"
_SHORTEST_SECONDS = 1.0
"""Shorter times without an owner are not reported: every eager rebalance has them."""
_MOST_OWNERLESS_TIMES = 50


def find(views: Views, scratch: Scratch) -> Found:
    """Findings about the progress of all consumer groups of a run, and of the summary `ownerless`."""
    ownerless, problem = attempt("owners of partitions", lambda: ownerless_times(views))
    return _find(views, scratch).with_problems(problem).with_summary(ownerless=ownerless or ())


def _find(views: Views, scratch: Scratch) -> Found:
    has_rows = any(row_count(views.files[name]) for name in ("commits", "assignments", "offsets"))
    if not groups_of(views) or not has_rows:
        return Found()
    rules = partial(suspect_rules, retention=OffsetRetention.of(views.meta))
    rows = scratch.materialize("group-suspects", apply_rules(rules, _journals(views)))
    group_kinds, failed = kinds_and_problems(rows, "consumer groups")
    kinds = {kind for _, kind in group_kinds}
    parts = [rows.where(~F.col("kind").isin(_AHEAD, _TWO_OWNERS))]
    if _TWO_OWNERS in kinds:
        parts.append(_first_owner_not_expired(views, rows.where(F.col("kind") == _TWO_OWNERS)))
    if _AHEAD in kinds:
        ahead = _ahead_in_log(views, rows.where(F.col("kind") == _AHEAD))
        parts.append(scratch.materialize("group-ahead", ahead))
        failed += kinds_and_problems(parts[-1], "consumer groups")[1]
    problems = sorted({problem for _, problem in failed})
    if not kinds:
        return Found(problems=tuple(problems))
    rows = reduce(DataFrame.unionByName, parts)
    return anomaly_findings(rows, classes.CLASSES, views).with_problems(*problems)


def groups_of(views: Views) -> set[str]:
    """The consumer groups of a run's readers."""
    return {reader.group for reader in views.readers if reader.group is not None}


def assignments(views: Views) -> DataFrame:
    """The journal of assignments, of readers in a group (`_rows_of_members`)."""
    return _rows_of_members(
        views, views.assignments.where(F.col("event").isin("assigned", "revoked", "lost"))
    )


def _session_ns(reader: ReaderInfo, meta: RunMeta) -> int:
    """The session time-out of a reader: its own, or with the consumer protocol that of the brokers."""
    session_ms = reader.session_ms
    if reader.protocol != "classic":
        session_ms = int(meta.cluster.properties.get("group.consumer.session.timeout.ms", session_ms))
    return session_ms * 1_000_000


def _rows_of_members(views: Views, rows: DataFrame) -> DataFrame:
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
    assigned = F.broadcast(owners.select("reader").distinct().withColumn("has_assignments", F.lit(True)))
    commits = _rows_of_members(views, views.commits).join(assigned, "reader", "left")
    answers = views.offsets.where((F.col("topic_partition") >= 0) & F.col("group").isin(*groups_of(views)))
    # A poll returns many records: one row for all that a reader received at one time.
    polled = views.live.groupBy("reader", "topic_partition", F.col("read_ns").alias("at_ns")).agg(
        F.min("offset").alias("first"), F.max("offset").alias("offset"), F.count("*").alias("count")
    )
    when = ("asked_ns", "at_ns")
    return [
        with_journal("commits", commits, "reader", "has_assignments", "offset", "error", "kind", *when),
        with_journal("offsets", answers, "offset", "error", "source", "broker", "log_offset", *when),
        with_journal("assignments", owners, "reader", "offset", "session", "event", "at_ns"),
        with_journal("live", _rows_of_members(views, polled), "reader", "offset", "first", "count", "at_ns"),
    ]


def _first_owner_not_expired(views: Views, suspects: DataFrame) -> DataFrame:
    """Of suspects of two owners, those whose first owner the coordinator cannot have expired, because the two
    were in contact within the session time-out before the second ownership began. A contact is an
    assignment, or the request of a commit that was answered without an error."""
    asked = _rows_of_members(views, views.commits).where(
        F.col("error").isNull() & F.col("asked_ns").isNotNull()
    )
    of_commits = asked.select("reader", "session_ns", F.col("asked_ns").alias("contact_ns"))
    of_owners = assignments(views).select("reader", "session_ns", F.col("at_ns").alias("contact_ns"))
    contacts = of_owners.unionByName(of_commits).withColumnRenamed("reader", "owner")
    since = F.col("at_ns") - F.col("contact_ns")
    near = (F.col("reader") == F.col("owner")) & (since >= 0) & (since < F.col("session_ns"))
    return suspects.join(contacts, near, "left_semi")


def _ahead_in_log(views: Views, suspects: DataFrame) -> DataFrame:
    """The suspects of kind "commit_ahead" that pass over records of the log (for groups that read committed
    records only: of the log of committed records), with their `count`."""
    committed = {reader.group for reader in views.readers if reader.committed and reader.group is not None}
    bounds = suspects.groupBy(*BY_PARTITION).agg(
        F.min("first_undelivered").alias("low"), F.max("offset").alias("high")
    )
    parts = [with_journal("suspects", suspects, *ANOMALIES.names[2:])]
    for log, groups in ((views.reads, groups_of(views) - committed), (views.committed, committed)):
        if groups:
            rows = log.where(readable()).select("topic_partition", "offset")
            rows = rows.join(F.broadcast(bounds.where(F.col("group").isin(*groups))), "topic_partition")
            rows = rows.where((F.col("offset") >= F.col("low")) & (F.col("offset") < F.col("high")))
            parts.append(with_journal("log", offset_chunks(rows, *BY_PARTITION), "chunk", "bits"))
    return apply_rules(ahead_rules, parts)


def ownerless_times(views: Views) -> tuple[OwnerlessTime, ...]:
    """The partitions that no member of a group owned for a second or more at a time, between one owner and
    the next, by the journal of assignments; the longest times first, at most 50."""
    if not groups_of(views) or not row_count(views.files["assignments"]):
        return ()
    of_reader = Window.partitionBy(*BY_PARTITION, "reader").orderBy("at_ns", "session", "event")
    earlier = (
        Window.partitionBy(*BY_PARTITION)
        .orderBy("at_ns", "reader")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    ended = F.lead("at_ns", 1, INT64_MAX).over(of_reader)
    owned = assignments(views).withColumn("ended", ended).where(F.col("event") == "assigned")
    seconds = (F.col("at_ns") - F.max("ended").over(earlier)) / 1e9
    times = (
        owned.select(*BY_PARTITION, seconds.alias("ownerless"))
        .where(F.col("ownerless") > 0)
        .groupBy(*BY_PARTITION)
        .agg(F.round(F.sum("ownerless"), 3).alias("seconds"), F.max("ownerless").alias("longest"))
        .where(F.col("longest") >= _SHORTEST_SECONDS)
        .select(
            "group",
            partition_of(F.col("topic_partition")).alias("partition"),
            "seconds",
            F.round("longest", 3).alias("longest"),
        )
    )
    rows = times.orderBy(F.desc("longest"), "group", "partition").limit(_MOST_OWNERLESS_TIMES).collect()
    return tuple(OwnerlessTime.model_validate(row.asDict()) for row in rows)

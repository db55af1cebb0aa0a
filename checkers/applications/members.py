"""How the members of an application's group shared what they handled, where it journals that."""

from __future__ import annotations

from itertools import combinations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.applications.not_handled import commits_of, handled_records
from checkers.journals.views import Views
from harness.model.application_meta import ApplicationMeta
from harness.model.result import HandledRecords, MemberRecords

_MOST_MEMBERS = 200


def handled_by_members(views: Views, application: ApplicationMeta) -> HandledRecords | None:
    """What each member handled of each partition, and what its group had committed when the next member began
    there; None: the application journals no deliveries."""
    if not application.deliveries:
        return None
    handled = handled_records(views, application)
    members = tuple(
        MemberRecords.model_validate(row.asDict())
        for row in _members(handled, commits_of(views, application)).collect()
    )
    longest = _longest_gap(handled)
    return HandledRecords(
        members=members,
        longest_gap=None if longest is None else round(longest / 1e9, 3),
        shared_seconds=round(shared_ns(members) / 1e9, 3),
    )


def shared_ns(members: tuple[MemberRecords, ...]) -> int:
    """The longest time (ns) for which two members handled records of one partition side by side."""
    pairs = combinations(members, 2)
    both = (
        min(one.last_ns, other.last_ns) - max(one.first_ns, other.first_ns)
        for one, other in pairs
        if one.partition == other.partition
    )
    return max((0, *both))


def _members(handled: DataFrame, commits: DataFrame) -> DataFrame:
    """A row of `MemberRecords` for each member and partition, in the order in which they began."""
    members = handled.groupBy("member", "partition").agg(
        F.count("*").alias("records"),
        F.min("handled_ns").alias("first_ns"),
        F.max("handled_ns").alias("last_ns"),
        (F.max("offset") + 1).alias("next_offset"),
    )
    next_began = F.lead("first_ns").over(Window.partitionBy("partition").orderBy("first_ns", "member"))
    members = members.withColumn("until_ns", next_began)
    known = commits.select(
        F.col("partition").alias("of__"), "commit_ns", F.col("offset").alias("committed__"), "log_offset"
    )
    before = (F.col("of__") == F.col("partition")) & (
        F.col("until_ns").isNull() | (F.col("commit_ns") < F.col("until_ns"))
    )
    columns = ("member", "partition", "records", "first_ns", "last_ns", "next_offset")
    joined = members.join(known, before, "left").groupBy(*columns)
    last = joined.agg(F.max_by("committed__", "log_offset").alias("committed"))
    return last.orderBy("first_ns", "member", "partition").limit(_MOST_MEMBERS)


def _longest_gap(handled: DataFrame) -> int | None:
    """The longest time (ns) between two records that were handled one after the other; None: there are not
    two."""
    # Of each second the first and the last record tell all that matters, so the sort is over seconds.
    seconds = handled.groupBy(F.floor(F.col("handled_ns") / 1e9).alias("second")).agg(
        F.min("handled_ns").alias("first"), F.max("handled_ns").alias("last"), F.count("*").alias("records")
    )
    in_order = Window.partitionBy(F.lit(0)).orderBy("second")
    gaps = seconds.withColumn("gap", F.col("first") - F.lag("last").over(in_order))
    row = gaps.agg(F.max("gap").alias("gap"), F.sum("records").alias("records")).collect()[0]
    if row["records"] is None or row["records"] < 2:
        return None
    return int(row["gap"] or 0)

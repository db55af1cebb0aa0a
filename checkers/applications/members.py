"""How the members of an application's group shared what they handled, where it journals that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.applications.inputs import INPUT
from checkers.applications.not_handled import commits_of
from checkers.int64 import INT64_MAX
from checkers.journals.views import Views
from harness.model.application_meta import ApplicationMeta
from harness.model.result import HandledRecords, MemberRecords

_MOST_MEMBERS = 200


def handled_by_members(
    views: Views, application: ApplicationMeta, handled: DataFrame, restarted_ns: Sequence[int]
) -> HandledRecords:
    """What each member of an application that journals deliveries handled of each partition, and what its
    group had committed when the next member began there. `handled` are rows of `handled_records`,
    `restarted_ns` is when processes were started again."""
    rows = [row.asDict() for row in _members(handled).collect()]
    committed = _committed(rows, restarted_ns, commits_of(views, application))
    members = tuple(
        MemberRecords.model_validate(row | {"committed": committed.get(number)})
        for number, row in enumerate(rows)
    )
    longest = _longest_gap(handled, views.sends)
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


def _members(handled: DataFrame) -> DataFrame:
    """A row of `MemberRecords`, without `committed`, for each member and partition, in the order in which
    they began."""
    members = handled.groupBy("member", "partition").agg(
        F.count("*").alias("records"),
        F.min("handled_ns").alias("first_ns"),
        F.max("handled_ns").alias("last_ns"),
        (F.max("offset") + 1).alias("next_offset"),
    )
    return members.orderBy("first_ns", "member", "partition").limit(_MOST_MEMBERS)


def _committed(
    rows: Sequence[Mapping[str, int]], restarted_ns: Sequence[int], commits: DataFrame
) -> dict[int, int]:
    """What had been committed of the partition of each of these rows (by their number) when the next one of
    it began: a process that takes its place may commit before it has handled anything, so it begins when it
    is started."""
    bounds = []
    for number, row in enumerate(rows):
        later = (one["first_ns"] for one in rows[number + 1 :] if one["partition"] == row["partition"])
        until = next(later, INT64_MAX)
        started = [at for at in restarted_ns if row["last_ns"] < at < until]
        bounds.append((number, row["partition"], min(started, default=until)))
    if not bounds:
        return {}
    ends = commits.sparkSession.createDataFrame(bounds, "row int, in_partition int, until_ns bigint")
    before = (F.col("in_partition") == F.col("partition")) & (F.col("commit_ns") < F.col("until_ns"))
    last = commits.join(F.broadcast(ends), before).groupBy("row")
    return {
        row["row"]: row["last"] for row in last.agg(F.max_by("offset", "log_offset").alias("last")).collect()
    }


def _longest_gap(handled: DataFrame, sends: DataFrame) -> int | None:
    """The longest time (ns) without a handled record while the next one stood in the log; None: there are not
    two."""
    known = sends.select(*INPUT, F.coalesce("closed_ns", "sent_ns").alias("there_ns"))
    rows = handled.join(known, list(INPUT), "left")
    # Of each second the first and the last record tell all that matters, so the sort is over seconds.
    seconds = rows.groupBy(F.floor(F.col("handled_ns") / 1e9).alias("second")).agg(
        F.min("handled_ns").alias("first"),
        F.min_by("there_ns", "handled_ns").alias("there"),
        F.max("handled_ns").alias("last"),
        F.count("*").alias("records"),
    )
    before = F.lag("last").over(Window.partitionBy(F.lit(0)).orderBy("second"))
    since = F.greatest("before", F.coalesce("there", "before"))
    gap = F.when(F.col("before").isNotNull(), F.col("first") - since)
    row = seconds.withColumn("before", before).agg(F.max(gap), F.sum("records")).collect()[0]
    return None if (row[1] or 0) < 2 else max(0, row[0] or 0)

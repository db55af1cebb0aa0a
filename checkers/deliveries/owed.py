"""What readers and groups owe beside what lies between their deliveries: records at the begin of a partition
that they never got, because they began to read it further on."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.deliveries.delivered import SUBSCRIBER, in_sessions
from checkers.journals.created_again import is_of_earlier, is_of_last
from checkers.journals.footers import row_count
from checkers.journals.views import Views
from checkers.sql import comparable

OWED = (
    *("subscriber", "in_group", "session", "topic_partition"),
    *("owed", "last_owed", "first_given", "reason"),
)
"""Columns of what a subscriber owes of a partition, one row for both: `subscriber`, `in_group` and `session`
(`checkers.deliveries.delivered`), `topic_partition`, `owed` and `last_owed` (bigint: the least offset, and
the last one that it owes although it was given none above), `first_given` (bigint: the least offset that it
was given, above `owed`; null: it was given none) and `reason` (string)."""
PassedOver = Callable[[Views, DataFrame], list[DataFrame]]
"""What subscribers of a kind passed over: rows of `OWED`, from the views of a run and what readers were
given (`checkers.journals.created_again.live_of_topics`)."""
_CREATED_AGAIN = ": the topic was created again while it read, and it went on "
_OF_PARTITION = (*SUBSCRIBER, "topic_partition")


def commits_of_groups(views: Views, live: DataFrame, readers: DataFrame) -> DataFrame | None:
    """The commits that were answered without an error: the subscriber, `topic_partition` and `offset` (None:
    there are none). `live` is of `checkers.journals.created_again.live_of_topics`.

    A client that does not know that the topic was created again commits its old position. So, of a topic that
    was, only what was committed since then counts, and since the group was given a record of it, if it was.
    """
    if not views.files["commits"]:
        return None
    members = readers.where("in_group").select("reader", *SUBSCRIBER)
    rows = views.commits.where(F.col("error").isNull()).join(members, "reader")
    if views.recreated_ns:
        given = live.join(members, "reader").groupBy(*_OF_PARTITION).agg(F.min("read_ns").alias("given_ns"))
        rows = rows.join(given, list(_OF_PARTITION), "left")
        last = F.lit(views.recreated_ns[-1])
        since = F.greatest(last, F.coalesce("given_ns", last))
        rows = rows.where(~is_of_last(views) | (F.col("at_ns") >= since))
    return rows.select(*_OF_PARTITION, "offset")


def owed(
    views: Views,
    live: DataFrame,
    readers: DataFrame,
    before: DataFrame | None,
    commits: DataFrame | None,
    found: list[DataFrame],
) -> DataFrame | None:
    """Rows of `OWED`, one per subscriber and partition (None: there are none). `before` is of
    `who_read_before`, `commits` of `commits_of_groups`, `found` what is known already."""
    if before is not None:
        of_others = [rows.where(~is_of_last(views)) for rows in found]
        new = [rows.where(is_of_last(views)).join(before, list(SUBSCRIBER), "left_anti") for rows in found]
        found = [*of_others, *new, _passed_over_when_created_again(views, live, readers, before, commits)]
    return reduce(DataFrame.unionByName, found) if found else None


def who_read_before(views: Views, live: DataFrame, readers: DataFrame) -> DataFrame | None:
    """The subscribers that read the topic, or had partitions of it, before it was created again (None: it was
    not)."""
    if not views.recreated_ns:
        return None
    had = (F.col("event") == "assigned") & (F.col("topic") == views.meta.topic)
    had &= F.col("at_ns") <= views.recreated_ns[-1]
    names = [live.where(is_of_earlier(views)).select("reader")]
    if row_count(views.files["assignments"]):
        names.append(views.assignments.where(had).select("reader"))
    read_before = reduce(DataFrame.unionByName, names).distinct()
    return readers.join(read_before, "reader").select(*SUBSCRIBER).distinct()


def _passed_over_when_created_again(
    views: Views, live: DataFrame, readers: DataFrame, before: DataFrame, commits: DataFrame | None
) -> DataFrame:
    """What subscribers that had read the topic before owe of the new one: all from its first offset on,
    because they went on at their old position, or began where auto.offset.reset says. A group that was given
    nothing of a partition owes what lies below the offset that it has committed since."""
    members = readers.join(before, list(SUBSCRIBER)).select("reader", *SUBSCRIBER)
    new = in_sessions(live.where(is_of_last(views))).join(members, "reader")
    new = new.withColumn("session", F.when(F.col("in_group"), F.lit(0)).otherwise(F.col("session")))
    first = comparable("offset", "session")
    owing = new.groupBy(*_OF_PARTITION).agg(F.min(first).alias("first"))
    owing = owing.select(
        *_OF_PARTITION, F.col("first.offset").alias("first_given"), F.col("first.session").alias("session")
    )
    nothing = F.lit(None).cast("bigint")
    if commits is None:
        owing = owing.withColumn("next", nothing)
    else:
        ends = views.bounds.select("topic_partition", "end_offset")
        behind = commits.join(before, list(SUBSCRIBER)).join(F.broadcast(ends), "topic_partition")
        behind = behind.where((F.col("offset") <= F.col("end_offset")) & is_of_last(views))
        behind = behind.groupBy(*_OF_PARTITION).agg(F.max("offset").alias("next"))
        owing = owing.join(behind, list(_OF_PARTITION), "full")
    begun, zero, one = F.col("first_given"), F.lit(0).cast("bigint"), F.lit(1).cast("bigint")
    owing = owing.where((begun > 0) | (begun.isNull() & (F.col("next") > 0)))
    at = F.concat(F.lit("at offset "), begun.cast("string"), F.lit(" of the new one"))
    of_reader = F.when(F.col("in_group"), zero).otherwise(begun - one)
    columns = {
        "session": F.coalesce("session", F.lit(0)),
        "owed": zero,
        "last_owed": F.when(begun.isNull(), F.col("next") - one).otherwise(of_reader),
        "reason": F.concat(F.lit(_CREATED_AGAIN), F.coalesce(at, F.lit("behind them"))),
    }
    return owing.withColumns(columns).select(*OWED)

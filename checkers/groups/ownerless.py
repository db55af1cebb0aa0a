"""How long partitions of consumer groups had no owner."""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as F

from checkers.groups.anomalies import BY_PARTITION
from checkers.groups.find import assignments, groups_of
from checkers.journals.topic_partition import partition_of
from checkers.journals.views import Views
from harness.model.result import OwnerlessTime

_SHORTEST_SECONDS = 1.0
"""Shorter times are not told: an eager rebalance takes a moment."""
_MOST = 50


def ownerless_times(views: Views) -> tuple[OwnerlessTime, ...]:
    """The partitions that no member of a group owned for a second or more at a time, between one owner and
    the next, by the journal of assignments; the longest times first, at most 50."""
    if not groups_of(views) or not any(file.rows for file in views.journals.files.assignments):
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

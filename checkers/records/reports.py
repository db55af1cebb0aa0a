"""When sends were reported: counts by outcome and step, and how long a partition acknowledged no writes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from checkers.journals.topic_partition import partition_of
from checkers.judgement.summary import Reports
from harness.model.journal import SendOutcome
from harness.model.run import RunMeta

SHORTEST_NS = 1_000_000_000
"""Shorter stretches without a success report are not reports: batching and scheduling cause them too."""

_GROUP = ("topic_partition", "step")


def reports_of(sends: DataFrame, meta: RunMeta) -> Reports:
    """The reports of all sends (columns of `checkers.journals.views.Views.sends`).

    Within one write step and partition, time runs from the first send to the last report of any outcome;
    where a send never got a report, to the end of the step if that is later. Stretches below a second do not
    count. Sends of unknown partition (-1) do not count for it.
    """
    rows = _by_partition(sends).collect()
    outcomes: Counter[str] = Counter()
    acked: Counter[int] = Counter()
    for row in rows:
        outcomes["none" if row.outcome is None else row.outcome] += row.sends
        if row.outcome == SendOutcome.ACKED and row.step is not None:
            acked[row.step] += row.sends
    ends = {step.index: step.ended_ns for step in meta.steps if step.kind == "write"}
    groups: defaultdict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in rows:
        if row.step is not None and row.step in ends and row.partition >= 0:
            groups[row.topic_partition, row.step].append(row)
    longest = max((_longest(several, ends[step]) for (_, step), several in groups.items()), default=0)
    return Reports(dict(outcomes), dict(acked), longest / 1e9 if longest >= SHORTEST_NS else 0.0)


def _by_partition(sends: DataFrame) -> DataFrame:
    """One row per `topic_partition`, write `step` and `outcome` (null: never reported): its `partition`, the
    number of `sends`, when the first was `sent` and the last report came (`closed`), whether one was never
    reported (`left_open`); and of success reports the `first`, the `last`, and the longest `gap` from one to
    the next. Times in ns."""
    succeeded = F.col("outcome").isin(SendOutcome.ACKED.value, SendOutcome.UNCONFIRMED.value)
    succeeded = F.coalesce(succeeded, F.lit(False)) & F.col("closed_ns").isNotNull()
    # Reports within 2^29 ns are less than the shortest stretch apart, so only the first and last matter. The
    # number of rows grows with the time that a run takes, not with its records.
    half_second = F.when(succeeded, F.shiftright("closed_ns", 29)).alias("half_second")
    several = sends.groupBy(*_GROUP, "outcome", half_second).agg(
        F.count("*").alias("sends"),
        F.min("sent_ns").alias("sent"),
        F.max("closed_ns").alias("closed"),
        F.max(F.col("closed_ns").isNull()).alias("left_open"),
        F.min(F.when(succeeded, F.col("closed_ns"))).alias("first"),
        F.max(F.when(succeeded, F.col("closed_ns"))).alias("last"),
    )
    earlier = Window.partitionBy(*_GROUP).orderBy("first").rowsBetween(Window.unboundedPreceding, -1)
    several = several.withColumn("gap", F.try_subtract("first", F.max("last").over(earlier)))
    return several.groupBy(*_GROUP, "outcome").agg(
        partition_of(F.col("topic_partition")).alias("partition"),
        F.sum("sends").alias("sends"),
        *(F.min(name).alias(name) for name in ("sent", "first")),
        *(F.max(name).alias(name) for name in ("closed", "left_open", "last", "gap")),
    )


def _longest(rows: list[Row], step_end: int | None) -> int:
    """The longest stretch without a success report in one partition and write step, in ns; `rows`: one per
    outcome."""
    sent, first = _known(min, (row.sent for row in rows)), _known(min, (row.first for row in rows))
    last = _known(max, (row.last for row in rows))
    ends = (*(row.closed for row in rows), step_end if any(row.left_open for row in rows) else None)
    begun, end = (sent if last is None else last), _known(max, ends)
    stretches = [row.gap for row in rows if row.gap is not None]
    if sent is not None and first is not None:
        stretches.append(first - sent)
    if begun is not None and end is not None:
        stretches.append(end - begun)
    return max(stretches, default=0)


def _known(choose: Callable[[Iterable[int]], int], times: Iterable[int | None]) -> int | None:
    """The least or the greatest of the times that are known; None: none is."""
    known = [time for time in times if time is not None]
    return choose(known) if known else None

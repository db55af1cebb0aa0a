"""When sends were reported: counts by outcome and step, and how long a partition acknowledged no writes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from checkers.journals.topic_partition import has_no_partition
from checkers.journals.views import IDENTITY
from checkers.judgement.summary import Reports
from harness.model.journal import ReadState, SendOutcome
from harness.model.run import RunMeta

SHORTEST_NS = 1_000_000_000
"""Shorter stretches without a success report are not reports: batching and scheduling cause them too."""

_BUCKET_BITS = 29
"""Reports within 2^29 ns are less than the shortest stretch apart, so only the first and the last of them
matter. The number of such buckets grows with the time that a run takes, not with its records."""


def reports_of(sends: DataFrame, reads: DataFrame, meta: RunMeta) -> Reports:
    """The reports of all sends (columns of `checkers.journals.views.Views.sends`).

    Within one write step and partition, time runs from the first send to the last report of any outcome;
    where a send never got a report, to the end of the step if that is later. Stretches below a second do not
    count. Where the client has not named the partition of a send (-1), there are three cases: the topic has a
    single partition, which it is; the final read (`reads`) holds the record, so its partition is known; or
    neither. The second only counts while such a record was sent and not reported, as a client may leave a
    partition out for a while. For the third, all sends of a producer without a partition count as one.
    """
    if _partitions(meta) == 1:
        only = F.col("topic_partition") + has_no_partition(F.col("topic_partition")).cast("bigint")
        sends = sends.withColumn("topic_partition", only)
    unnamed = has_no_partition(F.col("unit"))
    rows = _by(sends, "topic_partition").withColumn("unnamed", unnamed).collect()
    outcomes: Counter[str] = Counter()
    acked: Counter[int] = Counter()
    for row in rows:
        outcomes["none" if row.outcome is None else row.outcome] += row.sends
        if row.outcome == SendOutcome.ACKED and row.step is not None:
            acked[row.step] += row.sends
    ends = {step.index: step.ended_ns for step in meta.steps if step.kind == "write"}
    named = [row for row in rows if row.unnamed is not None and not row.unnamed]
    stretches = _stretches(named, ends)
    if any(row.unnamed and row.step in ends for row in rows):
        without = sends.where(has_no_partition(F.col("topic_partition")))
        stretches += _stretches(_by(without, "producer").collect(), ends)
        stretches += [row.gap for row in _while_open(without, reads).collect() if row.step in ends]
    longest = max(stretches, default=None)
    seconds = None if longest is None else longest / 1e9 if longest >= SHORTEST_NS else 0.0
    return Reports(dict(outcomes), dict(acked), seconds)


def _partitions(meta: RunMeta) -> int:
    """How many partitions the topic has at the end."""
    bounds = meta.final_read.bounds if meta.final_read is not None else ()
    return max(meta.partitions, *(bound.partition + 1 for bound in bounds if bound.topic == meta.topic), 0)


def _succeeded() -> Column:
    succeeded = F.col("outcome").isin(SendOutcome.ACKED.value, SendOutcome.UNCONFIRMED.value)
    return F.coalesce(succeeded, F.lit(False))


def _bucket(reported: str) -> Column:
    return F.shiftright(reported, _BUCKET_BITS).alias("bucket")


def _by(sends: DataFrame, unit: str) -> DataFrame:
    """One row per `unit` (a column of the sends), write `step` and `outcome` (null: never reported): the
    number of `sends`, when the first was `sent` and the last report came (`closed`), whether one was never
    reported (`left_open`); and of success reports the `first`, the `last`, and the longest `gap` from one to
    the next. Times in ns."""
    group = ("unit", "step")
    rows = sends.select(F.col(unit).alias("unit"), "step", "outcome", "sent_ns", "closed_ns")
    several = rows.groupBy(*group, "outcome", _bucket("closed_ns")).agg(
        F.count("*").alias("sends"),
        F.count("closed_ns").alias("reports"),
        F.min("sent_ns").alias("sent"),
        F.min("closed_ns").alias("first_closed"),
        F.max("closed_ns").alias("closed"),
    )
    # All reports of a group have one outcome, so it is known of the few rows which are success reports.
    several = several.withColumns(
        {"first": F.when(_succeeded(), F.col("first_closed")), "last": F.when(_succeeded(), F.col("closed"))}
    )
    earlier = Window.partitionBy(*group).orderBy("first").rowsBetween(Window.unboundedPreceding, -1)
    several = several.withColumn("gap", F.try_subtract("first", F.max("last").over(earlier)))
    return several.groupBy(*group, "outcome").agg(
        F.sum("sends").alias("sends"),
        (F.sum("sends") > F.sum("reports")).alias("left_open"),
        *(F.min(name).alias(name) for name in ("sent", "first")),
        *(F.max(name).alias(name) for name in ("closed", "last", "gap")),
    )


def _while_open(sends: DataFrame, reads: DataFrame) -> DataFrame:
    """One row per partition that the final read shows of these sends, and `step`: the longest `gap` (ns)
    without a success report in which one of them was sent and not reported."""
    ours = reads.where(F.col("state") == ReadState.OK.value)
    read = ours.groupBy(*IDENTITY).agg(F.min("topic_partition").alias("unit"))
    shown = sends.where(_succeeded() & F.col("closed_ns").isNotNull()).join(read, list(IDENTITY))
    several = shown.groupBy("unit", "step", _bucket("closed_ns")).agg(
        F.min("sent_ns").alias("sent"), F.min("closed_ns").alias("first"), F.max("closed_ns").alias("last")
    )
    earlier = Window.partitionBy("unit", "step").orderBy("first").rowsBetween(Window.unboundedPreceding, -1)
    begun = F.greatest("sent", F.coalesce(F.max("last").over(earlier), "sent"))
    gaps = several.withColumn("gap", F.try_subtract("first", begun)).where(F.col("gap").isNotNull())
    return gaps.groupBy("unit", "step").agg(F.max("gap").alias("gap"))


def _stretches(rows: Sequence[Row], ends: Mapping[int, int | None]) -> list[int]:
    """The longest stretch (ns) of each unit and write step, by the rows of `_by`; `ends` of the steps."""
    groups: defaultdict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in rows:
        if row.step is not None and row.step in ends:
            groups[row.unit, row.step].append(row)
    return [_longest(several, ends[step]) for (_, step), several in groups.items()]


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

"""Which broker led a partition when, as the brokers themselves reported to the sampler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.int64 import INT64_MAX, INT64_MIN
from checkers.journals.topic_partition import partition_of
from harness.model.run import PartitionBounds

MOST_SPANS = 10_000


class LeaderSpan(NamedTuple):
    """A broker reported that it led a partition of the run's topic in a leader epoch.

    It may have led at any time from `begun` to `ended` (ns): it said otherwise last at `begun` and for the
    first time again just before `ended`. It said so first at `sampled`, and had led by `certain`.
    """

    partition: int
    begun: int
    sampled: int
    certain: int
    ended: int
    broker: int
    epoch: int


def leader_spans(samples: DataFrame, topic: str) -> tuple[LeaderSpan, ...]:
    """The spans in the samples (columns of `harness.model.journal.SAMPLES`), sorted; at most `MOST_SPANS`,
    and all of a partition or none.

    A broker that does not answer says nothing: one that is frozen or cut off still believes that it leads,
    and answers the requests in its sockets when it can. So a span lasts until the broker itself says
    otherwise, and spans overlap. A sample has the time at which its question was due; the answer came before
    the broker's next one.
    """
    leads = (F.col("leader") == F.col("broker")) & F.col("leader_epoch").isNotNull()
    epoch = F.when(leads, F.col("leader_epoch"))
    # Of two samples of one broker at the same time, the one in which it does not lead comes last.
    in_time = Window.partitionBy("partition", "broker").orderBy("at_ns", F.asc_nulls_last("epoch"))
    answers = samples.where(F.col("answered") & (F.col("topic") == topic))
    rows = answers.select("partition", "broker", "at_ns", epoch.alias("epoch")).withColumns(
        {
            "before": F.lag("epoch").over(in_time),
            "answered_before": F.lag("at_ns").over(in_time),
            "answered_next": F.coalesce(F.lead("at_ns").over(in_time), F.lit(INT64_MAX)),
        }
    )
    changes = rows.where(~F.col("epoch").eqNullSafe(F.col("before")))
    spans = changes.withColumn("ended", F.lead("answered_next").over(in_time))
    collected = (
        spans.where(F.col("epoch").isNotNull())
        .select(
            "partition",
            F.coalesce("answered_before", F.lit(INT64_MIN)).alias("begun"),
            F.col("at_ns").alias("sampled"),
            F.col("answered_next").alias("certain"),
            F.coalesce("ended", F.lit(INT64_MAX)).alias("ended"),
            "broker",
            "epoch",
        )
        .orderBy("partition", "sampled", "ended", "broker", "epoch")
        .limit(MOST_SPANS + 1)
        .collect()
    )
    spans_found = [LeaderSpan(*row) for row in collected]
    if len(spans_found) > MOST_SPANS:
        spans_found = [span for span in spans_found if span.partition != spans_found[-1].partition]
    return tuple(spans_found)


def leader_changes(spans: Sequence[LeaderSpan]) -> list[int]:
    """When each leader epoch of a partition but its first was first sampled (ns)."""
    first_sampled: dict[int, dict[int, int]] = {}
    for span in spans:
        epochs = first_sampled.setdefault(span.partition, {})
        epochs[span.epoch] = min(span.sampled, epochs.get(span.epoch, span.sampled))
    return [at for epochs in first_sampled.values() for epoch, at in epochs.items() if epoch != min(epochs)]


class Tenure(NamedTuple):
    """From `begun` to `ended` (ns), ends included, `broker` may have led in `epoch`; `NOBODY_TOLD`: which
    broker it was is not known."""

    begun: int
    ended: int
    broker: int
    epoch: int


NOBODY_TOLD = -1


def tenures(spans: Sequence[LeaderSpan]) -> dict[int, list[Tenure]]:
    """By partition, who may have led when; also in epochs between two that were sampled, and in those before
    the first one: a leader that dies early may never have answered, and the first epoch is 0.

    A leader of such an epoch was elected after that of the epoch below, and no more elected when the epoch
    above had begun; that it went on to believe so without ever being sampled is left out.
    """
    by_partition: dict[int, list[Tenure]] = defaultdict(list)
    by_epoch: dict[int, dict[int, list[LeaderSpan]]] = defaultdict(lambda: defaultdict(list))
    for span in spans:
        by_partition[span.partition].append(Tenure(span.begun, span.ended, span.broker, span.epoch))
        by_epoch[span.partition][span.epoch].append(span)
    for partition, epochs in by_epoch.items():
        for low, high in pairwise((-1, *sorted(epochs))):
            begun = min((span.begun for span in epochs.get(low, ())), default=INT64_MIN)
            ended = min(span.certain for span in epochs[high])
            # Of many, the lowest and the highest, between which all others are counted.
            for epoch in sorted({low + 1, high - 1} - {low, high}):
                by_partition[partition].append(Tenure(begun, ended, NOBODY_TOLD, epoch))
    return {partition: sorted(several) for partition, several in by_partition.items()}


_TENURES = (
    "acking_partition int, tenures array<struct<begun: bigint, ended: bigint, broker: int, epoch: int>>, "
    "last_epoch int"
)


def with_tenures(
    rows: DataFrame, spans: Sequence[LeaderSpan], bounds: Sequence[PartitionBounds], lost: Column
) -> DataFrame:
    """The rows (columns of sends), with what is known of the leaders of its partition added to those that are
    `lost`: `tenures` (array, as `Tenure`) and `last_epoch` (int, that of the final read's leader)."""
    by_partition = tenures(spans)
    last = {bound.partition: bound.leader_epoch for bound in bounds if bound.leader_epoch >= 0}
    known = [
        (partition, list(map(tuple, by_partition.get(partition, []))), last.get(partition))
        for partition in sorted(by_partition.keys() | last.keys())
    ]
    leaders = F.broadcast(rows.sparkSession.createDataFrame(known, _TENURES))
    acking = F.when(lost, partition_of(F.col("topic_partition")))
    return rows.join(leaders, acking == F.col("acking_partition"), "left").drop("acking_partition")


def with_acknowledger(rows: DataFrame, overwritten_in: Column) -> DataFrame:
    """The rows (with tenures) with `acked_by` and `acked_epoch` (int): who acknowledged it, and in which
    epoch.

    Each is null unless all tenures that samples and log allow agree in it: those between send and report, in
    an epoch below `overwritten_in`, that of another record at its offset (null: there is none). The leader of
    one epoch gives an offset away once, and what it acknowledged was replaced by one of a later epoch.
    """
    possible = F.filter(
        _between(F.col("sent_ns"), F.col("closed_ns")),
        lambda tenure: overwritten_in.isNull() | (tenure["epoch"] < overwritten_in),
    )
    # Step by step, as engines compute an expression as often as it is named.
    rows = rows.withColumn("possible", possible).withColumns(
        {
            "brokers": F.array_distinct(F.transform("possible", lambda tenure: tenure["broker"])),
            "epochs_led": F.array_distinct(F.transform("possible", lambda tenure: tenure["epoch"])),
        }
    )
    known = ~F.array_contains("brokers", NOBODY_TOLD)
    only = {
        name: F.when(known & (F.size(several) == 1), F.get(several, F.lit(0)))
        for name, several in (("acked_by", "brokers"), ("acked_epoch", "epochs_led"))
    }
    return rows.withColumns(only).drop("possible", "brokers", "epochs_led")


def with_epochs(rows: DataFrame, name: str, begin: Column, end: Column) -> DataFrame:
    """The rows (with tenures) with a column of this name: in how many epochs (int) a broker may have led
    between two times (ns); null: that is not known. No more than up to that of the final read, as the first
    epoch is 0."""
    rows = rows.withColumn("led", F.transform(_between(begin, end), lambda tenure: tenure["epoch"]))
    sampled = F.when(F.size("led") > 0, F.array_max("led") - F.array_min("led") + 1)
    return rows.withColumn(name, F.least(sampled, F.col("last_epoch") + 1)).drop("led")


def _between(begin: Column, end: Column) -> Column:
    """The tenures that overlap the time from `begin` to `end`."""
    return F.filter("tenures", lambda tenure: (tenure["begun"] <= end) & (tenure["ended"] >= begin))

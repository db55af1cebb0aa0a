"""Which broker led a partition when, as the brokers themselves reported to the sampler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.int64 import INT64_MAX

MOST_SPANS = 10_000


class LeaderSpan(NamedTuple):
    """A broker reported that it led a partition of the run's topic in a leader epoch, from `begun` to `ended`
    (ns)."""

    partition: int
    begun: int
    ended: int
    broker: int
    epoch: int


def leader_spans(samples: DataFrame, topic: str) -> tuple[LeaderSpan, ...]:
    """The spans in the samples (columns of `harness.model.journal.SAMPLES`), sorted; at most `MOST_SPANS`.

    A span lasts until the broker reports another leader, or another epoch of its own, or does not answer: a
    broker that is down acknowledges nothing. One that is cut off from the others may still believe that it
    leads, so spans may overlap.
    """
    leads = (F.col("leader") == F.col("broker")) & F.col("leader_epoch").isNotNull()
    epoch = F.when(leads, F.col("leader_epoch"))
    # Of two samples of one broker at the same time, the one in which it does not lead comes last.
    in_time = Window.partitionBy("partition", "broker").orderBy("at_ns", F.asc_nulls_last("epoch"))
    rows = samples.where(F.col("topic") == topic).select("partition", "broker", "at_ns", epoch.alias("epoch"))
    # A sample without an answer names no partition: it counts for all that the broker ever led.
    led = rows.where(F.col("epoch").isNotNull()).select("partition", "broker").distinct()
    silent = samples.where(~F.col("answered")).select("broker", "at_ns").join(led, "broker")
    nobody = F.lit(None).cast("int").alias("epoch")
    rows = rows.unionByName(silent.select("partition", "broker", "at_ns", nobody))
    changes = rows.withColumn("before", F.lag("epoch").over(in_time)).where(
        ~F.col("epoch").eqNullSafe(F.col("before"))
    )
    spans = changes.withColumn("ended", F.lead("at_ns").over(in_time)).where(F.col("epoch").isNotNull())
    found = (
        spans.select(
            "partition",
            F.col("at_ns").alias("begun"),
            F.coalesce("ended", F.lit(INT64_MAX)).alias("ended"),
            "broker",
            "epoch",
        )
        .orderBy("partition", "begun", "ended", "broker", "epoch")
        .limit(MOST_SPANS)
        .collect()
    )
    return tuple(LeaderSpan(*row) for row in found)


def leaders_in_time(spans: Sequence[LeaderSpan]) -> list[LeaderSpan]:
    """The leader at each time: spans that do not overlap, ends included.

    If several brokers believed that they led, it is the one of the lowest epoch, which the others replaced.
    """
    found: dict[int, list[LeaderSpan]] = defaultdict(list)
    # The span of the lowest epoch is kept whole; the others keep what is left of theirs.
    for span in sorted(spans, key=lambda one: (one.epoch, one.begun, one.ended, one.broker)):
        taken = [one for one in found[span.partition] if one.ended >= span.begun and one.begun <= span.ended]
        begun = span.begun
        for other in sorted(taken):
            if begun < other.begun:
                found[span.partition].append(span._replace(begun=begun, ended=other.begun - 1))
            begun = other.ended + 1
        if begun <= span.ended:
            found[span.partition].append(span._replace(begun=begun))
    return sorted(span for several in found.values() for span in several)


def leader_changes(spans: Sequence[LeaderSpan]) -> list[int]:
    """When each leader epoch of a partition but its first was first sampled (ns)."""
    first_sampled: dict[int, dict[int, int]] = {}
    for span in spans:
        epochs = first_sampled.setdefault(span.partition, {})
        epochs[span.epoch] = min(span.begun, epochs.get(span.epoch, span.begun))
    return [at for epochs in first_sampled.values() for epoch, at in epochs.items() if epoch != min(epochs)]

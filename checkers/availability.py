"""How long a partition took no writes."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from harness.model.journal import Outcome
from harness.model.run import RunMeta

SHORTEST_NS = 1_000_000_000
"""Shorter stretches are not counted: batching and scheduling make them too."""


def unavailable_seconds(sends: DataFrame, meta: RunMeta) -> float:
    """The longest stretch without a success report, over all partitions and write steps, in seconds.

    A success report is one of outcome `acked` or `unconfirmed`. Within one step (of `meta.steps`, kind
    "write") and partition, time runs from the first send to the last report of any outcome; where a send
    never got a report, to the end of the step if that is later. Sends of unknown partition (-1) do not count.
    0.0: no stretch of a second or more.

    Args:
        sends: columns `topic`, `partition`, `step`, `outcome`, `sent_ns`, `closed_ns`.
    """
    ends = {step.index: step.ended_ns for step in meta.steps if step.kind == "write"}
    if not ends:
        return 0.0
    step_end = F.lit(None).cast("bigint")
    for index, ended in ends.items():
        step_end = F.when(F.col("step") == index, F.lit(ended).cast("bigint")).otherwise(step_end)
    group = ("topic", "partition", "step")
    success = F.when(
        F.col("outcome").isin(Outcome.ACKED.value, Outcome.UNCONFIRMED.value), F.col("closed_ns")
    )
    # Reports within one such bucket are less than the shortest gap apart, so their first and last are all
    # that matters, and what is left to sort does not grow with the records.
    buckets = (
        sends.where(F.col("step").isin(*ends) & (F.col("partition") >= 0))
        .groupBy(*group, (success - F.pmod(success, F.lit(SHORTEST_NS))).alias("bucket"))
        .agg(
            F.min(success).alias("first"),
            F.max(success).alias("last"),
            F.min("sent_ns").alias("sent"),
            F.max("closed_ns").alias("closed"),
            F.bool_or(F.col("closed_ns").isNull()).alias("open"),
        )
    )
    whole = Window.partitionBy(*group)
    # Sends without a success are the bucket null, which comes last and has no first report.
    in_time = whole.orderBy(F.asc_nulls_last("bucket"))
    start = F.min("sent").over(whole)
    end = F.greatest(F.max("closed").over(whole), F.when(F.bool_or("open").over(whole), step_end))
    before = F.col("first") - F.coalesce(F.lag("last").over(in_time), start)
    after = F.coalesce(F.lead("first").over(in_time), end) - F.col("last")
    never = F.when(F.max("last").over(whole).isNull(), end - start)
    longest = (
        buckets.select(F.greatest(before, after, never).alias("gap")).agg(F.max("gap").alias("gap")).first()
    )
    nanoseconds = longest.gap if longest is not None and longest.gap is not None else 0
    return nanoseconds / 1e9 if nanoseconds >= SHORTEST_NS else 0.0

"""When an application passed over inputs, and between which times each finding about outputs arose."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.applications.inputs import NS_OF_MS
from checkers.evidence.findings import is_of
from checkers.evidence.windows import open_windows
from checkers.int64 import INT64_MAX, INT64_MIN
from checkers.sql import case
from harness.model.finding_class import FindingClass
from harness.model.run import FaultWindow, RunMeta

PLACE = ("in_topic_partition", "in_offset")
_PAIR = ("in_topic_partition", "out_topic_partition")
_ASKED, _BEFORE, _AFTER, _DISORDER = "asked__", "before__", "after__", "disorder__"
_TO_BEGIN = NS_OF_MS - 1
"""From the end of a millisecond to its begin: an output's time is the end of its own."""


def times_are_known(meta: RunMeta) -> bool:
    """Whether the times of outputs say when they were written: they are those of brokers, and no fault has
    moved a broker's clock."""
    application = meta.application
    broker_times = application is not None and application.output_times == "broker"
    return broker_times and all(window.kind != "clock_skew" for window in meta.windows)


def passing_times(asked: DataFrame, first_outputs: DataFrame, windows: Sequence[FaultWindow]) -> DataFrame:
    """When the application passed over inputs: `PLACE` of each with `passed_from_ns` and `passed_until_ns`
    (bigint; null: not known).

    An application that gives the outputs of a partition in order has passed over an input after it gave the
    output of the one before, and before that of the one behind it. The output that is missing may have gone
    to any partition of the output, and Kafka may have lost it there, with those that stood behind it. So the
    outputs around an input are looked for in each partition that has outputs of this partition of the
    input, and the widest time counts. Where outputs have another order than inputs though no fault was in
    force, inputs are processed side by side, and their outputs say nothing of each other.

    Args:
        asked: `PLACE` of the inputs.
        first_outputs: the first output of each input in each partition of the output: `PLACE`,
            `out_topic_partition`, `out_offset` and `written_ns`.
    """
    pairs = first_outputs.select(*_PAIR).distinct()
    rows = asked.select(*PLACE).distinct().join(pairs, "in_topic_partition")
    known = first_outputs.select(*PLACE, "out_topic_partition", "out_offset", "written_ns")
    together = known.withColumn(_ASKED, F.lit(False)).unionByName(
        rows.withColumn(_ASKED, F.lit(True)), allowMissingColumns=True
    )
    of_pair = Window.partitionBy(*_PAIR)
    lower = of_pair.orderBy("in_offset", _ASKED, "out_offset")
    lower = lower.rowsBetween(Window.unboundedPreceding, -1)
    higher = of_pair.orderBy(F.desc("in_offset"), F.desc(_ASKED))
    higher = higher.rowsBetween(Window.unboundedPreceding, -1)
    written = F.col("written_ns")
    # Clients that send again during a fault change the order of outputs, too.
    without_fault = open_windows(windows, written, written, F.lit(False)) == ""
    late = F.coalesce(F.col("out_offset") < F.max("out_offset").over(lower), F.lit(False))
    together = together.withColumns(
        {
            _BEFORE: F.max("written_ns").over(lower),
            _AFTER: F.min("written_ns").over(higher),
            _DISORDER: F.when(late & without_fault, F.lit(1)).otherwise(F.lit(0)),
        }
    )
    before, after, swapped = F.col(_BEFORE), F.col(_AFTER), F.col(_BEFORE) > F.col(_AFTER)
    in_order = F.max(_DISORDER).over(of_pair) == 0
    together = together.withColumns(
        {
            "begin": F.when(in_order, F.when(swapped, after).otherwise(before)),
            "end": F.when(in_order, F.when(swapped, before).otherwise(after)),
        }
    )
    begin = F.min(F.coalesce("begin", F.lit(INT64_MIN)))
    end = F.max(F.coalesce("end", F.lit(INT64_MAX)))
    return (
        together.where(_ASKED)
        .groupBy(*PLACE)
        .agg(
            (F.nullif(begin, F.lit(INT64_MIN)) - _TO_BEGIN).alias("passed_from_ns"),
            F.nullif(end, F.lit(INT64_MAX)).alias("passed_until_ns"),
        )
    )


def with_times(rows: DataFrame, meta: RunMeta) -> DataFrame:
    """The rows of findings about outputs with `from_ns` and `until_ns` (bigint), between which they arose
    (null: to the end of the run), and `passed` (string): when an input was passed over, in words (null: not
    known).

    An unprocessed input was passed over at a time of `passing_times`, or at any time since it was sent. A
    reprocessed one was processed again between its first output and its last one, or at any time since it was
    sent. An invented output arose when it was written, and other findings between the send of the input and
    its last output.
    """
    sent, written = F.col("sent_ns"), F.col("written_ns")
    passed_from, passed_until = F.col("passed_from_ns"), F.col("passed_until_ns")
    invented, unprocessed = is_of(FindingClass.INVENTED), is_of(FindingClass.UNPROCESSED)
    # An input cannot have been passed over before it was sent: such times are wrong.
    passed = unprocessed & F.coalesce(passed_until >= sent, passed_from.isNotNull())
    reprocessed, trusted = is_of(FindingClass.REPROCESSED), F.lit(times_are_known(meta))
    first = F.when(reprocessed & trusted, F.col("first_ns") - _TO_BEGIN)
    known = F.coalesce(F.when(passed, passed_from), first, sent)
    begin = F.when(invented, written).otherwise(F.greatest(sent, known))
    last = F.when((written >= begin) & (trusted | ~reprocessed), written)
    end = F.when(unprocessed, F.when(passed, passed_until)).otherwise(last)
    after, before = _seconds(passed_from, meta), _seconds(passed_until - _TO_BEGIN, meta)
    in_words = case(
        [
            (
                after.isNotNull() & before.isNotNull(),
                F.concat(F.lit("between "), after, F.lit(" and "), before),
            ),
            (after.isNotNull(), F.concat(F.lit("after "), after)),
            (before.isNotNull(), F.concat(F.lit("before "), before)),
        ]
    )
    return rows.withColumns({"from_ns": begin, "until_ns": end, "passed": F.when(passed, in_words)})


def _seconds(at_ns: Column, meta: RunMeta) -> Column:
    """ "2.013 s": a time (ns, of a whole millisecond) since the begin of the run."""
    ms = F.round(at_ns / NS_OF_MS).cast("bigint") - meta.started_ns // NS_OF_MS
    return F.concat((ms / 1000).cast("decimal(20,3)").cast("string"), F.lit(" s"))

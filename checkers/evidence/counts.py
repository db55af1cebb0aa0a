"""Counts of findings by class, by fault and by what they have in common, and examples; made by the engine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.evidence.findings import is_of
from checkers.evidence.same_offset import doubt
from checkers.evidence.windows import split_windows
from checkers.journals.views import Scratch
from checkers.judgement.summary import (
    ALLOWED_CLASSES,
    MOST_SENTENCES,
    OUTPUT_CLASSES,
    READER_CLASSES,
    BlameGroup,
    FindingCounts,
)
from checkers.sql import conform
from harness.model.finding_class import FindingClass
from harness.model.journal import SendOutcome
from harness.model.result import Example
from harness.model.run import RunMeta

EXAMPLES_PER_CLASS = 5
MOST_COUNT_ROWS = 10_000
"""Only the largest counts are kept; the totals by class are always complete."""

_COUNT_ROW = ("finding", "producer", "partition", "step", "windows")
_TOTAL = ("finding", "place", "step", "held_by_leader", "same_offset")


def count_findings(findings: DataFrame, meta: RunMeta, scratch: Scratch) -> FindingCounts:
    """Count findings (columns of `checkers.evidence.findings.FINDINGS`)."""
    groups = scratch.materialize("counts", _groups(scratch.spark, findings, meta))
    breaking = groups.where(~F.col("finding").isin(*ALLOWED_CLASSES))
    tables = {
        "totals": _numbers(groups, _TOTAL),
        "count_rows": _largest(groups, _COUNT_ROW, MOST_COUNT_ROWS),
        "blame_groups": _largest(breaking, BlameGroup._fields, MOST_SENTENCES),
    }
    # One query for all three.
    types = {"table": "string"} | dict(groups.dtypes)
    several = [conform(rows, types, {"table": F.lit(name)}) for name, rows in tables.items()]
    rows = reduce(DataFrame.unionByName, several).collect()

    def counts_of(table: str, names: tuple[str, ...]) -> list[tuple[tuple[Any, ...], int]]:
        of_table = (row for row in rows if row["table"] == table)
        numbers = [(tuple(row[name] for name in names), row["number"]) for row in of_table]
        # Null comes before any value, as in the engine.
        return sorted(numbers, key=lambda pair: (-pair[1], [(value is not None, value) for value in pair[0]]))

    totals = dict(counts_of("totals", _TOTAL))
    if not totals:
        return FindingCounts()
    return FindingCounts(
        totals=totals,
        count_rows=counts_of("count_rows", _COUNT_ROW),
        blame_groups=[
            (BlameGroup(*group), number) for group, number in counts_of("blame_groups", BlameGroup._fields)
        ],
        extra_copies=sum(row["copies"] or 0 for row in rows if row["table"] == "totals"),
        indeterminate_present=sum(row["present"] or 0 for row in rows if row["table"] == "totals"),
        examples=_examples(findings, {name for name, *_ in totals}),
    )


def _groups(spark: SparkSession, findings: DataFrame, meta: RunMeta) -> DataFrame:
    """The findings grouped by all columns that any count needs, in one pass: `number` of findings and, of
    duplicates, `copies` beyond the first, and of indeterminate sends those `present` in the log (bigint)."""
    ended, during, later = split_windows(meta.windows)
    reader = F.when(F.col("finding").isin(*READER_CLASSES, *OUTPUT_CLASSES), F.col("reader"))
    columns = {"ended": ended, "during": during, "later": later, "reader": reader, "same_offset": doubt()}
    keys = list(dict.fromkeys((*_COUNT_ROW, *_TOTAL, *BlameGroup._fields)))
    rows = _with_leader(spark, findings, meta).select(
        *(columns.get(name, F.col(name)).alias(name) for name in keys),
        F.col("copies"),
        F.col("outcome"),
    )
    extra = F.when(is_of(FindingClass.DUPLICATE), F.col("copies") - 1)
    return rows.groupBy(*keys).agg(
        F.count("*").alias("number"),
        F.sum(extra).alias("copies"),
        F.sum(F.when(_open_but_present(), F.lit(1).cast("bigint"))).alias("present"),
    )


def _open_but_present() -> Column:
    """Which findings are about an indeterminate send that is in the log, each send once."""
    # Of findings about outputs, the copies are those of the outputs; others have no outcome.
    open_end = (F.col("outcome") == SendOutcome.INDETERMINATE.value) & (F.col("copies") > 0)
    return ~F.col("finding").isin(*OUTPUT_CLASSES) & open_end


def _numbers(groups: DataFrame, names: Sequence[str]) -> DataFrame:
    """The numbers of findings, of copies beyond the first, and of indeterminate sends that are in the log, by
    these columns."""
    return groups.groupBy(*names).agg(*(F.sum(name).alias(name) for name in ("number", "copies", "present")))


def _largest(groups: DataFrame, names: Sequence[str], most: int) -> DataFrame:
    """The largest numbers of findings by these columns; ties in the order of the columns, null first."""
    order = (F.desc("number"), *map(F.asc_nulls_first, names))
    return _numbers(groups, names).orderBy(*order).limit(most)


def _with_leader(spark: SparkSession, findings: DataFrame, meta: RunMeta) -> DataFrame:
    """The findings with `held_by_leader` (boolean): a lost record is in the files of the leader of the final
    read."""
    bounds = meta.final_read.bounds if meta.final_read is not None else ()
    leaders = {bound.partition: bound.leader for bound in bounds if bound.topic == meta.topic}
    frame = spark.createDataFrame(list(leaders.items()), "partition int, final_leader int")
    held = F.coalesce(F.array_contains("held_by", F.col("final_leader")), F.lit(False))
    joined = findings.join(F.broadcast(frame), "partition", "left")
    return joined.withColumn("held_by_leader", is_of(FindingClass.LOST) & held)


def _examples(findings: DataFrame, names: Collection[str]) -> list[dict[str, Any]]:
    """The first few of each class: most copies first, then the earliest sent; ties in a fixed order."""
    classes = [finding.value for finding in FindingClass if finding.value in names]
    order = (
        *map(F.desc_nulls_last, ("copies", "count")),
        F.asc_nulls_last("sent_ns"),
        *map(F.asc_nulls_first, ("producer", "seq", "partition", "offsets", "detail")),
    )
    firsts = [
        findings.where(F.col("finding") == name)
        .orderBy(*order)
        .limit(EXAMPLES_PER_CLASS)
        .select(*Example.model_fields, "copies", F.lit(number).alias("class"))
        for number, name in enumerate(classes)
    ]
    rows = reduce(DataFrame.unionByName, firsts).orderBy("class", *order)
    return [row.asDict() for row in rows.select(*Example.model_fields, "copies").collect()]

"""Sentences about the origin of findings: write step, partition, open faults, leader epochs."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from checkers.facts.encoding import literal
from harness.model.fault_times import BETWEEN_NAMES, when_acknowledged
from harness.model.result import Breaks, FindingClass
from harness.model.run import FaultWindow, RunMeta

MOST_SENTENCES = 100
NOT_COMMITTED = "not committed"
"""Place of a lost record that the log does hold, so it is not looked for in the replicas' files."""

_ALLOWED = tuple(finding.value for finding in FindingClass if finding.breaks is Breaks.NEVER)
_CELL = (
    *("finding", "step", "partition", "ended", "windows", "later", "place", "acked_by", "acked_epoch"),
    *("replaced_epoch", "reader_concerned"),
)
_OF_READERS = (FindingClass.SKIPPED.value, FindingClass.NONMONOTONIC_READ.value)
_FOR_EVER = 2**63 - 1


def blame(findings: DataFrame, meta: RunMeta) -> tuple[str, ...]:
    """One sentence per class, write step, partition, faults and leader epochs, the most findings first.

    "500 lost: sent in write to partition 0, acknowledged by broker 2 in epoch 3 during partition-1,
    overwritten in epoch 4, gone after kill-1". Each sentence is true of each of its findings (`with_faults`).
    Classes that never break a verdict are left out.
    """
    of_reader = F.when(F.col("finding").isin(*_OF_READERS), F.col("reader"))
    rows = (
        with_faults(findings.where(~F.col("finding").isin(*_ALLOWED)), meta.windows)
        .withColumn("reader_concerned", of_reader)
        .groupBy(*_CELL)
        .agg(F.count(F.lit(1)).alias("rows"))
        .orderBy(F.desc("rows"), *_CELL)
        .limit(MOST_SENTENCES)
        .collect()
    )
    return tuple(sentence(row, meta) for row in rows)


def with_faults(findings: DataFrame, windows: Sequence[FaultWindow]) -> DataFrame:
    """Findings with `windows` split by the moment of the report, as `harness.model.fault_times` does.

    Of lost records, `ended` are the faults that were open after the send and ended before the report,
    `windows` those that were open at the report, `later` those that began after it. Of vanished records,
    `windows` are those that were open between send and report, `later` those that began after the report.
    Findings of other classes, and those without a report, keep their `windows`; `ended` and `later` are
    empty.
    """
    lost = f"finding = '{FindingClass.LOST}' AND closed_ns IS NOT NULL"
    vanished = f"finding = '{FindingClass.VANISHED}' AND closed_ns IS NOT NULL"

    def names(condition: str) -> str:
        """Names of the windows whose {begin} and {end} meet the condition."""
        met = [
            f"CASE WHEN {condition.format(begin=begin, end=_FOR_EVER if end is None else end)} "
            f"THEN {literal(name)} END"
            for name, begin, end in ((one.name, one.opened_ns, one.closed_ns) for one in windows)
        ]
        return f"concat_ws({literal(BETWEEN_NAMES)}, {', '.join(met)})" if met else "''"

    columns = {
        "ended": f"CASE WHEN {lost} THEN {names('sent_ns <= {end} AND {end} < closed_ns')} ELSE '' END",
        "windows": f"CASE WHEN {lost} THEN {names('{begin} <= closed_ns AND closed_ns <= {end}')} "
        f"WHEN {vanished} THEN {names('{begin} <= closed_ns AND sent_ns <= {end}')} ELSE windows END",
        "later": f"CASE WHEN ({lost}) OR ({vanished}) THEN {names('{begin} > closed_ns')} ELSE '' END",
    }
    return findings.withColumns({name: F.expr(text) for name, text in columns.items()})


def sentence(row: Row, meta: RunMeta) -> str:
    """A row of `_CELL` and `rows` in words."""
    parts = []
    if row.step is not None:
        name = next((step.name for step in meta.steps if step.index == row.step), f"step {row.step}")
        parts.append(f"sent in {name} to partition {row.partition}")
    elif row.partition is not None:
        parts.append(f"in partition {row.partition}")
    if row.reader_concerned is not None:
        parts.append(f"by {row.reader_concerned}")
    when = when_acknowledged(row.ended or "", row.windows or "")
    if row.acked_by is not None:
        acknowledged = f"acknowledged by broker {row.acked_by} in epoch {row.acked_epoch}"
        parts.append(f"{acknowledged} {when}".strip())
    elif when:
        parts.append(when)
    if row.place == "overwritten":
        parts.append(
            "overwritten" if row.replaced_epoch is None else f"overwritten in epoch {row.replaced_epoch}"
        )
    elif row.place == "tail":
        parts.append("the log ends before")
    elif row.place is not None:
        parts.append({"unknown": "not in the log"}.get(row.place, row.place))
    if row.later:
        parts.append(f"{'missing' if row.place == NOT_COMMITTED else 'gone'} after {row.later}")
    return f"{row.rows:,} {row.finding}: {', '.join(parts)}"

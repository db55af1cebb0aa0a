"""Sentences about the origin of findings: write step, partition, open faults, leader epochs."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from harness.model.result import Breaks, FindingClass
from harness.model.run import RunMeta

MOST_SENTENCES = 100

_ALLOWED = tuple(finding.value for finding in FindingClass if finding.breaks is Breaks.NEVER)
_CELL = (
    *("finding", "step", "partition", "windows", "place", "acked_by", "acked_epoch"),
    *("replaced_epoch", "reader_concerned"),
)
_OF_READERS = (FindingClass.SKIPPED.value, FindingClass.NONMONOTONIC_READ.value)


def blame(findings: DataFrame, meta: RunMeta) -> tuple[str, ...]:
    """One sentence per class, write step, partition, fault windows and leader epochs, the most findings
    first.

    "500 lost: sent in write to partition 0, acknowledged by broker 2 in epoch 3 during partition-1,
    overwritten in epoch 4". Classes that never break a verdict are left out.
    """
    of_reader = F.when(F.col("finding").isin(*_OF_READERS), F.col("reader"))
    rows = (
        findings.where(~F.col("finding").isin(*_ALLOWED))
        .withColumn("reader_concerned", of_reader)
        .groupBy(*_CELL)
        .agg(F.count(F.lit(1)).alias("rows"))
        .orderBy(F.desc("rows"), *_CELL)
        .limit(MOST_SENTENCES)
        .collect()
    )
    return tuple(sentence(row, meta) for row in rows)


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
    during = f" during {row.windows}" if row.windows else ""
    if row.acked_by is not None:
        parts.append(f"acknowledged by broker {row.acked_by} in epoch {row.acked_epoch}{during}")
    elif during:
        parts.append(during.strip())
    if row.place == "overwritten":
        parts.append(
            "overwritten" if row.replaced_epoch is None else f"overwritten in epoch {row.replaced_epoch}"
        )
    elif row.place == "tail":
        parts.append("the log ends before")
    elif row.place is not None:
        parts.append({"unknown": "not in the log"}.get(row.place, row.place))
    return f"{row.rows:,} {row.finding}: {', '.join(parts)}"

"""Counts of findings by cell where there are too many cells for one task to list."""

from __future__ import annotations

from collections import Counter

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from checkers.journals.frames import read_parquet, schema_of
from checkers.judgement.partial import MOST_CELLS, Cell
from harness.model.storage import StoragePath

_CELL = ("finding", "producer", "partition", "step", "windows")


def count_cells(spark: SparkSession, findings: StoragePath) -> Counter[Cell]:
    """The cells with the most findings, from the findings' folder."""
    schema = schema_of("finding string, producer int, partition int, step int, windows string")
    rows = (
        read_parquet(spark, schema, findings)
        .groupBy(*_CELL)
        .agg(F.count(F.lit(1)).alias("rows"))
        .orderBy(F.desc("rows"), *_CELL)
        .limit(MOST_CELLS)
        .collect()
    )
    return Counter({tuple(row[name] for name in _CELL): row.rows for row in rows})

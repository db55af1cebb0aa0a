"""The highest offset of keys in the final read, which decides what compaction may have removed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from checkers.facts.columns import ColumnBatch, integers
from checkers.facts.encoding import spot
from checkers.facts.places import Places
from checkers.facts.reading import read_keys
from checkers.facts.tasks import RunContext
from checkers.journals.footers import RowGroup
from checkers.journals.frames import READS_READ, journal_frame, read_parquet, schema_of
from checkers.journals.load import Journals
from harness.model.storage import matching, open_parquet, place, spark_path

NEWEST = ("spot", "key", "offset")


def newest_here(groups: Sequence[RowGroup], context: RunContext, wanted: ColumnBatch) -> ColumnBatch:
    """The highest offset of each wanted key (`spot`, `key`), from row groups of the final read, as
    `NEWEST`; a pair may occur several times."""
    if not len(wanted):
        return ColumnBatch.empty(NEWEST)
    places = Places(wanted["spot"], wanted["key"])
    parts = []
    for rows in read_keys(groups, context.numbers):
        parts.append(rows.where(np.flatnonzero(places.of(rows["spot"], rows["key"]) >= 0)))
    return ColumnBatch.joined(parts, NEWEST)


def find_newest_on_spark(spark: SparkSession, files: Journals, context: RunContext) -> None:
    """Write for each block the highest offsets of the keys that it wanted; `newest_of_block` reads them."""
    scratch = place(context.scratch)
    wanted = read_parquet(spark, schema_of("block bigint, spot bigint, key bigint"), scratch / "wanted")
    newest = (
        journal_frame(spark, files.final, READS_READ)
        .where(F.col("key").isNotNull())
        .select(F.expr(spot("topic", "partition", context.topics)).alias("spot"), "key", "offset")
        .join(wanted, ["spot", "key"])
        .groupBy("block", "spot", "key")
        .agg(F.max("offset").alias("offset"))
    )
    newest.repartition("block").write.partitionBy("block").parquet(spark_path(scratch / "newest"))


def newest_of_block(context: RunContext, number: int) -> ColumnBatch:
    """What `find_newest_on_spark` found for a block, as `NEWEST`."""
    parts = []
    for path in matching(place(context.scratch) / "newest" / f"block={number}", "*.parquet"):
        with open_parquet(path) as file:
            table = file.read(columns=list(NEWEST))
        parts.append(ColumnBatch({name: integers(table.column(name)) for name in NEWEST}))
    return ColumnBatch.joined(parts, NEWEST)

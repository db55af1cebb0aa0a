"""Records that the final read holds several times: where, and in how many leader epochs."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.journals.views import IDENTITY, readable

MOST_OFFSETS = 5


def copies_of(reads: DataFrame, records: DataFrame) -> DataFrame:
    """One row per record of `records` (with the identity) that `reads`, the final read, holds.

    Columns: the identity; `copies` (bigint, the number of different offsets), `offsets` (array<bigint>, the
    first 5, ascending) and `epochs` (bigint, the number of different leader epochs, which may be 0 if the
    client does not say).
    """
    mine = reads.where(readable()).join(records.select(*IDENTITY), list(IDENTITY), "left_semi")
    # A journal may hold a row twice, so different offsets are counted, not rows.
    by_partition = mine.groupBy(*IDENTITY, "topic_partition").agg(
        F.array_distinct(F.collect_list("offset")).alias("offsets"),
        F.array_distinct(F.collect_list("leader_epoch")).alias("epochs"),
    )
    found = by_partition.groupBy(*IDENTITY).agg(
        F.sum(F.size("offsets")).alias("copies"),
        F.flatten(F.collect_list(F.slice(F.sort_array("offsets"), 1, MOST_OFFSETS))).alias("offsets"),
        F.array_distinct(F.flatten(F.collect_list("epochs"))).alias("epochs"),
    )
    return found.select(
        *IDENTITY,
        F.col("copies").cast("bigint").alias("copies"),
        F.slice(F.sort_array("offsets"), 1, MOST_OFFSETS).alias("offsets"),
        F.size("epochs").cast("bigint").alias("epochs"),
    )

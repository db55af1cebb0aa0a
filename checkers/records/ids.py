"""The ids that records have of their own: those of what was sent, and those of what the log holds."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.journals.views import Views, readable

_RECORD = ("producer", "seq")


def ids_in_the_log(views: Views) -> DataFrame:
    """The records of the final read that have an id: `id` (string), `topic_partition`, `offset` (bigint),
    `producer` (int), `seq` (bigint; both null: no identity of this run). Of a transactional run those that
    readers of committed records get."""
    place = ["topic_partition", "offset"]
    ids = views.journal("log_ids").select("id", *place)
    ours = readable() & (F.col("run") == views.meta.run_id)
    known = views.reads.where(ours).select(*place, *_RECORD)
    rows = ids.join(known, place, "left")
    if views.meta.transactional:
        rows = rows.join(views.committed.select(*place), place, "left_semi")
    return rows.select("id", *place, *_RECORD)


def ids_of_records(views: Views, log: DataFrame) -> DataFrame:
    """The ids of the run's records, which their sends name, or else `log` (`ids_in_the_log`): `producer`
    (int), `seq` (bigint), `id` (string), one row per record."""
    nothing = F.lit(None).cast("string")
    named = views.journal("sent_ids").select(*_RECORD, F.col("id").alias("told"), nothing.alias("read"))
    read = log.where(F.col("producer").isNotNull())
    both = named.unionByName(read.select(*_RECORD, nothing.alias("told"), F.col("id").alias("read")))
    return both.groupBy(*_RECORD).agg(F.coalesce(F.min("told"), F.min("read")).alias("id"))

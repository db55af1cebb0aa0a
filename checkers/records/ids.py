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


def ids_of_records(views: Views) -> DataFrame:
    """The ids of the run's records, which their sends or the log name: `producer` (int), `seq` (bigint), `id`
    (string), one row per record."""
    named = views.journal("sent_ids").select(*_RECORD, "id")
    read = ids_in_the_log(views).where(F.col("producer").isNotNull()).select(*_RECORD, "id")
    return named.unionByName(read).groupBy(*_RECORD).agg(F.min("id").alias("id"))

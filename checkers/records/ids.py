"""What the user's records are called beside their identity: ids of their own, of what was sent and of what
the log holds, and keys."""

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
    return _names(views, log).where(F.col("id").isNotNull()).select(*_RECORD, "id")


def have_names(views: Views) -> bool:
    """Whether the run's records may have an id of their own, or a key that is known as text."""
    return views.meta.ids is not None or bool(views.files["sent_ids"])


def names_of_records(views: Views) -> DataFrame:
    """The names of the run's records: `producer` (int), `seq` (bigint), `id` and `key_text` (string, null: it
    has none), one row per record that has any."""
    return _names(views, ids_in_the_log(views) if views.meta.ids is not None else None)


def _names(views: Views, log: DataFrame | None) -> DataFrame:
    """The names of records; `log` names those whose sends have no id (None: it is not asked)."""
    nothing = F.lit(None).cast("string")
    names = views.journal("sent_ids").select(
        *_RECORD, F.col("id").alias("told"), nothing.alias("read"), "key_text"
    )
    if log is not None:
        read = log.where(F.col("producer").isNotNull())
        names = names.unionByName(
            read.select(*_RECORD, nothing.alias("told"), F.col("id").alias("read"), nothing.alias("key_text"))
        )
    return names.groupBy(*_RECORD).agg(
        F.coalesce(F.min("told"), F.min("read")).alias("id"), F.min("key_text").alias("key_text")
    )

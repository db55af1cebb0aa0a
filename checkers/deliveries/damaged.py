"""Values that do not decode or whose CRC does not match, in the final read or given to a live reader."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.evidence.findings import as_findings
from checkers.evidence.sentences import say, when
from checkers.int64 import INT64_MIN
from checkers.journals.footers import distinct_values
from checkers.journals.topic_partition import name_of
from checkers.journals.views import Views, readable
from harness.model.journal import ReadState
from harness.model.result import FindingClass

DAMAGED = (ReadState.CORRUPT.value, ReadState.UNDECODABLE.value)
_SHOWN_BYTES = 16
_KEYS = ("reader", "topic_partition", "offset")


def find_damaged(views: Views) -> DataFrame | None:
    """One finding, as `checkers.evidence.findings.FINDINGS`, per value of the final read that does not decode
    or whose CRC does not match; its identity is the one that the value claims (None: there are none)."""
    # In most files the footers say that there is none, so that no file is read.
    if distinct_values(views.files["final"], "state").isdisjoint(DAMAGED):
        return None
    value = F.coalesce("value", F.lit(b""))
    # Sail's substring takes bytes for text, and fails on those that are none.
    beginning = F.substring(F.hex(value), 1, 2 * _SHOWN_BYTES)
    detail = say(_damage(views), ", ", F.octet_length(value), " bytes beginning ", beginning)
    return _as_findings(_damaged(views.reads).drop("reader"), copies=1, detail=detail)


def damaged_live(views: Views) -> DataFrame | None:
    """One finding, as `checkers.evidence.findings.FINDINGS`, per live reader and offset at which that reader
    got a damaged value and the final read did not (None: there are none).

    The damage was in one leader's log only, or temporary. `count` is the number of deliveries; no copy is in
    the log. Identity and key are those of the first of these.
    """
    if distinct_values(views.files["live"], "state").isdisjoint(DAMAGED):
        return None
    final = views.reads.where(~F.coalesce(readable(), F.lit(False))).select("topic_partition", "offset")
    rows = _damaged(views.live).join(final, ["topic_partition", "offset"], "left_anti")
    shown = ("topic", "partition", "producer", "seq", "key", "state")
    position = F.coalesce("position", F.lit(INT64_MIN))
    first = F.min_by(F.struct(*shown), F.struct(position, "state")).alias("first")
    deliveries = rows.groupBy(*_KEYS).agg(first, F.count("*").alias("count"))
    reader = "live reader {reader} got what the final read does not hold: "
    return _as_findings(
        deliveries.select(*_KEYS, "count", "first.*"), copies=0, detail=say(reader, _damage(views))
    )


def _damaged(rows: DataFrame) -> DataFrame:
    return rows.where(F.col("state").isin(*DAMAGED))


def _damage(views: Views) -> Column:
    what = when(
        F.col("state") == ReadState.CORRUPT.value, "CRC does not match", "not a value of this harness"
    )
    at = name_of(F.col("topic_partition"), views.topics)
    return say(what, "; ", at, " at offset {offset}")


def _as_findings(rows: DataFrame, *, copies: int, detail: Column) -> DataFrame:
    columns = {
        "finding": F.lit(FindingClass.CORRUPT.value),
        "offsets": F.array("offset"),
        "epochs": F.lit(1),
        "copies": F.lit(copies),
        "detail": detail,
    }
    return as_findings(rows, columns)

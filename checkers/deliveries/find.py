"""Findings about deliveries to live readers and groups, and about values that do not decode or whose CRC does
not match."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.deliveries import classes
from checkers.deliveries.delivered import (
    by_subscriber,
    consecutive,
    delivered_chunks,
    intervals,
    not_delivered,
    offset_jumps,
    offsets_in_log,
    sessions,
    subscribers,
)
from checkers.deliveries.owed import PassedOver, commits_of_groups, owed, who_read_before
from checkers.evidence.findings import as_findings
from checkers.evidence.sentences import say, when
from checkers.found import Found
from checkers.journals.created_again import is_of_last, live_of_topics
from checkers.journals.footers import distinct_values, row_count
from checkers.journals.offset_chunks import chunk_of
from checkers.journals.topic_partition import name_of, partition_of
from checkers.journals.views import IDENTITY, Scratch, Views, readable
from checkers.sql import comparable, conform
from harness.model.finding_class import FindingClass
from harness.model.journal import ReadState

DELIVERIES = {
    **dict.fromkeys(("kind", "subscriber", "reason"), "string"),
    **dict.fromkeys(("topic_partition", "offset", "count", "before", "producer", "seq"), "bigint"),
}
"""The facts: one row per delivery, or run of offsets, with an anomaly.

`kind` is the class of findings that it becomes, `subscriber` the name of the reader or group. `offset` is the
first skipped one, the one that the reader went back to, or the one that was delivered again; `count` is the
number of skipped offsets, or of deliveries; `before` is the previous offset of a reader that went back.
`reason` is why the offsets were skipped, or delivered again, where it is known.
`producer` and `seq` identify the record at the offset (null: not known).
"""

_CREATED_AGAIN = ", in the topic that had been created again while it read"
DAMAGED = (ReadState.CORRUPT.value, ReadState.UNDECODABLE.value)
_SHOWN_BYTES = 16
_KEYS = ("reader", "topic_partition", "offset")


def find(views: Views, scratch: Scratch, *, passed_over: PassedOver = lambda _views, _live: []) -> Found:
    """Findings about deliveries; `passed_over` is what groups passed over."""
    facts, damaged = anomalies(views, scratch, passed_over), damaged_live(views)
    if facts is None:
        return Found(damaged)
    found = findings_of(
        classes.CLASSES,
        facts.withColumn("at", name_of(F.col("topic_partition"), views.topics)),
        {
            "partition": partition_of(F.col("topic_partition")),
            "offsets": F.array("offset"),
            "reader": F.col("subscriber"),
        },
    )
    return found.with_findings(damaged)


def anomalies(views: Views, scratch: Scratch, passed_over: PassedOver) -> DataFrame | None:
    """Rows of `DELIVERIES`; None: there are none."""
    readers, live = subscribers(views), live_of_topics(views)
    if views.recreated_ns:
        live = scratch.materialize("live-of-topics", live)
    before, commits = who_read_before(views, live, readers), commits_of_groups(views, live, readers)
    owing = owed(views, live, readers, before, commits, passed_over(views, live))
    if not row_count(views.files["live"]) and owing is None:
        return None
    chunks = scratch.materialize("delivered", delivered_chunks(live, readers))
    all_sessions, delivered = sessions(chunks), by_subscriber(chunks)
    unordered = all_sessions.where(~F.col("in_order"))
    repeated = delivered.where(F.col("in_group") & (F.col("deliveries") > F.bit_count("bits")))
    in_log = offsets_in_log(intervals(all_sessions, readers, commits, owing), views)
    skipped = scratch.materialize("skipped", consecutive(not_delivered(in_log, delivered)))
    # One query says which of the three have rows.
    frames = {"unordered": unordered, "repeated": repeated, "skipped": skipped}
    first_rows = [rows.select(F.lit(name).alias("name")).limit(1) for name, rows in frames.items()]
    nonempty = {row["name"] for row in reduce(DataFrame.unionByName, first_rows).collect()}
    facts = []
    if "unordered" in nonempty:
        jumps = scratch.materialize("offset-jumps", offset_jumps(live, unordered))
        back = jumps.where("back").withColumns({"subscriber": F.col("reader"), "count": F.lit(1)})
        facts.append(_facts("nonmonotonic_read", back))
        one = F.lit(1).cast("bigint")
        gaps = jumps.where("not back").withColumns(
            {"low": F.try_add("before", one), "high": F.try_subtract("offset", one)}
        )
        skipped = scratch.materialize(
            "all-skipped", skipped.unionByName(consecutive(offsets_in_log(gaps, views)))
        )
    if "skipped" in nonempty or "unordered" in nonempty:
        facts.append(_facts("skipped", with_reason(with_identity(skipped, views.reads), owing)))
    if "repeated" in nonempty:
        again = redelivered(live, repeated, readers)
        if before is not None:
            of_new = is_of_last(views) & F.col("read_before")
            groups = before.where("in_group").select("subscriber", F.lit(True).alias("read_before"))
            again = again.join(F.broadcast(groups), "subscriber", "left")
            again = again.withColumn("reason", F.when(of_new, F.lit(_CREATED_AGAIN)))
        facts.append(_facts("redelivered", again))
    return reduce(DataFrame.unionByName, facts) if facts else None


def _facts(kind: str, rows: DataFrame) -> DataFrame:
    return conform(rows, DELIVERIES, {"kind": F.lit(kind)})


def with_reason(skipped: DataFrame, owing: DataFrame | None) -> DataFrame:
    """Rows of skipped offsets with `reason` (string, null if not known), by rows of
    `checkers.deliveries.owed.OWED`."""
    if owing is None:
        return skipped
    keys = ["subscriber", "in_group", "topic_partition"]
    both = skipped.join(
        F.broadcast(owing.select(*keys, "first_given", F.col("reason").alias("why"))), keys, "left"
    )
    before = F.coalesce(F.col("offset") < F.col("first_given"), F.lit(True))
    return both.withColumn("reason", F.when(before, F.col("why")))


def with_identity(offsets: DataFrame, reads: DataFrame) -> DataFrame:
    """The rows (with `topic_partition` and `offset`) with `producer` and `seq` of the record that the final
    read holds there: of several the least, null if there is none whose identity can be trusted."""
    keys = ["topic_partition", "offset"]
    records = reads.where(readable()).join(offsets.select(*keys).distinct(), keys, "left_semi")
    # The run does not count in the order of identities.
    records = _least_identity(records.withColumn("run", F.lit(0)), *keys)
    return offsets.join(records.select(*keys, "producer", "seq"), keys, "left")


def redelivered(live: DataFrame, chunks: DataFrame, readers: DataFrame) -> DataFrame:
    """One row per offset that a group got more than once: `subscriber`, `topic_partition`, `offset`, `count`
    (bigint) and the identity of the record, of several the least. `chunks` (of `by_subscriber`) are those
    that have such offsets, `readers` those of `subscribers`."""
    wanted = chunks.select("subscriber", "topic_partition", "chunk")
    wanted = wanted.join(readers.where("in_group").select("reader", "subscriber"), "subscriber")
    rows = live.withColumn("chunk", chunk_of(F.col("offset")))
    rows = rows.join(wanted, ["reader", "topic_partition", "chunk"])
    return _least_identity(rows, "subscriber", "topic_partition", "offset").where(F.col("count") > 1)


def _least_identity(rows: DataFrame, *keys: str) -> DataFrame:
    """One row per combination of the keys: the least identity of its rows (null comes before all numbers) and
    `count` (bigint), their number."""
    least = F.min(comparable(*IDENTITY)).alias("least")
    grouped = rows.groupBy(*keys).agg(least, F.count("*").alias("count"))
    return grouped.select(*keys, *(f"least.{name}" for name in IDENTITY), "count")


def find_damaged(views: Views) -> DataFrame | None:
    """One finding, as `checkers.evidence.findings.FINDINGS`, per value of the final read that does not decode
    or whose CRC does not match; its identity is the one that the value claims (None: there are none)."""
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
    shown = ("state", "topic", "partition", "producer", "seq", "key")
    first = F.min(comparable("position", *shown)).alias("first")
    deliveries = rows.groupBy(*_KEYS).agg(first, F.count("*").alias("count"))
    reader = "live reader {reader} got what the final read does not hold: "
    return _as_findings(
        deliveries.select(*_KEYS, "count", *(f"first.{name}" for name in shown)),
        copies=0,
        detail=say(reader, _damage(views)),
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

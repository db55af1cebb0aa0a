"""Findings about ids, for runs whose records have any: what was sent of each id beside what the log holds."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.evidence.findings import MOST_OFFSETS, as_findings, is_of
from checkers.evidence.windows import open_windows
from checkers.found import Found
from checkers.journals.topic_partition import partition_of
from checkers.journals.views import Scratch, Views
from checkers.own.classes import CLASSES
from checkers.own.stories import with_locations, with_story
from checkers.records.ids import have_names, ids_in_the_log, ids_of_records, names_of_records
from checkers.sql import comparable
from harness.model.finding_class import FindingClass
from harness.model.journal import SendOutcome

_RECORD = ("producer", "seq")
_SENT = ("step", "outcome", "sent_ns", "closed_ns", "error")


def find(views: Views, scratch: Scratch, findings: DataFrame) -> Found:
    """Findings about ids. `findings` are those of the run's records, as they were written."""
    ids = views.meta.ids
    if ids is None:
        return Found()
    log = scratch.materialize("log-ids", ids_in_the_log(views))
    sent = scratch.materialize("sent-ids", sent_with_ids(views, log, findings))
    numbers = different_ids(sent)
    if not numbers["ids"] and log.isEmpty():
        nothing = Found(summary=numbers)
        if views.sends.isEmpty():
            return nothing
        return nothing.with_problems(
            f"no record has an id ({ids.place}): name the place where it is, or journal it as `id` of `sent`"
        )
    if ids.alone:
        problem = nothing_in_common(sent, log)
        if problem is not None:
            return Found(summary=numbers).with_problems(problem)
    facts = facts_of(sent, log, ids.times)
    wrong = scratch.materialize("wrong-ids", facts.where(_wrong()))
    wrong = with_locations(with_story(wrong, sent), log, views.topics)
    columns = {
        "count": F.col("sends"),
        "partition": partition_of(F.col("topic_partition")),
        "windows": open_windows(views.meta.windows, F.col("sent_ns"), F.col("closed_ns"), F.lit(False)),
    }
    return findings_of(CLASSES, wrong, columns).with_summary(**numbers)


def different_ids(sent: DataFrame) -> dict[str, int]:
    """The numbers of different ids that were sent (`ids`), and acknowledged (`acked_ids`)."""
    acked = F.col("outcome") == SendOutcome.ACKED.value
    row = sent.agg(
        F.count_distinct("id").alias("ids"), F.count_distinct(F.when(acked, F.col("id"))).alias("acked_ids")
    ).collect()[0]
    return row.asDict()


def sent_with_ids(views: Views, log: DataFrame, findings: DataFrame) -> DataFrame:
    """The sends whose records have an id: `id`, the columns of the journal of sends, `sent_to` (bigint, the
    `topic_partition`) and `lost` (boolean)."""
    lost = findings.where(is_of(FindingClass.LOST)).select(*_RECORD, F.lit(True).alias("is_lost")).distinct()
    sends = views.sends.select(*_RECORD, *_SENT, F.col("topic_partition").alias("sent_to"))
    rows = sends.join(ids_of_records(views, log), [*_RECORD]).join(lost, [*_RECORD], "left")
    gone = F.coalesce("is_lost", F.lit(False))
    if not views.meta.identified:
        # No record is known to be lost; that its id is in no record tells all.
        gone = F.col("outcome") == SendOutcome.ACKED.value
    return rows.select("id", *_RECORD, *_SENT, "sent_to", gone.alias("lost"))


def nothing_in_common(sent: DataFrame, log: DataFrame) -> str | None:
    """Why two lists of ids say nothing about each other; None: they have ids in common, or one is empty."""
    if sent.isEmpty() or log.isEmpty() or not sent.join(log.select("id"), "id", "left_semi").isEmpty():
        return None
    return "no id that was sent is in the log: do both have the same ids, in the same form?"


def facts_of(sent: DataFrame, log: DataFrame, times: int) -> DataFrame:
    """One row per id: `id`, `sends`, `acked`, `lost` (bigint; `sends` null: never sent), `copies` in the log
    (bigint; null: none), `offsets` (array<bigint>, the first few), `topic_partition` of the first copy or
    send, `producer`, `seq`, `step` and `sent_ns` of the first send, `closed_ns` of the last report, `late`
    (boolean: its records are in another order than sent) and `meant` (int)."""
    acked = F.col("outcome") == SendOutcome.ACKED.value
    in_order = comparable("sent_ns", *_RECORD)
    first = [F.min_by(name, in_order).alias(name) for name in (*_RECORD, "step", "sent_to")]
    of_sends = sent.groupBy("id").agg(
        F.count("*").alias("sends"),
        F.count(F.when(acked, 1)).alias("acked"),
        F.count(F.when(F.col("lost"), 1)).alias("lost"),
        *first,
        F.min("sent_ns").alias("sent_ns"),
        F.max("closed_ns").alias("closed_ns"),
    )
    of_log = log.groupBy("id").agg(
        F.count("*").alias("copies"),
        F.slice(F.sort_array(F.collect_set("offset")), 1, MOST_OFFSETS).alias("offsets"),
        F.min("topic_partition").alias("found_in"),
    )
    rows = of_sends.join(of_log, "id", "full").join(late_ids(sent, log), "id", "left")
    return rows.select(
        "id",
        *("sends", "acked", "lost", "copies", "offsets"),
        F.coalesce("found_in", "sent_to").alias("topic_partition"),
        *(*_RECORD, "step", "sent_ns", "closed_ns"),
        F.coalesce("late", F.lit(False)).alias("late"),
        F.lit(times).alias("meant"),
    )


def late_ids(sent: DataFrame, log: DataFrame) -> DataFrame:
    """The ids (`id`, `late`: true) that have two records in one partition in another order than sent. Each
    record counts where it occurs first."""
    firsts = log.where(F.col("producer").isNotNull()).groupBy("id", "topic_partition", *_RECORD)
    acked = F.col("outcome") == SendOutcome.ACKED.value
    times = sent.select(*_RECORD, "sent_ns", F.when(acked, F.col("closed_ns")).alias("acked_ns"))
    rows = firsts.agg(F.min("offset").alias("offset")).join(times, [*_RECORD])
    place = ("id", "topic_partition")
    before, same = (
        Window.partitionBy(*keys).orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
        for keys in (place, (*place, "producer"))
    )
    overtaken = F.max("seq").over(same) > F.col("seq")
    after = F.max("sent_ns").over(before) > F.col("acked_ns")
    rows = rows.withColumn("late", F.coalesce(overtaken, F.lit(False)) | F.coalesce(after, F.lit(False)))
    return rows.where("late").select("id", "late").distinct()


def _wrong() -> Column:
    """Which ids may be of a class: the rules say it exactly, of the few that are left."""
    copies = F.coalesce("copies", F.lit(0).cast("bigint"))
    absent = (copies == 0) & (F.coalesce("acked", F.lit(0).cast("bigint")) > 0)
    return F.col("sends").isNull() | absent | (copies > F.col("meant")) | F.col("late")


_CLAIMED = (FindingClass.PHANTOM, FindingClass.CORRUPT, FindingClass.INVENTED)
"""Classes whose findings may have the identity of a record that this run has not sent."""


def with_names(views: Views, scratch: Scratch) -> Callable[[DataFrame], DataFrame]:
    """Adds to findings the `id` and the `key_text` of the record that they are about, if this run sent it."""
    if not have_names(views):
        return lambda findings: findings
    names = scratch.materialize("names-of-records", names_of_records(views))
    names = names.select(*_RECORD, F.col("id").alias("own_id"), F.col("key_text").alias("own_key"))
    sent = F.col("sent_ns").isNotNull() | ~F.col("finding").isin(*(one.value for one in _CLAIMED))

    def named(findings: DataFrame) -> DataFrame:
        rows = findings.join(names, [*_RECORD], "left")
        own_id, own_key = (F.when(sent, F.col(name)) for name in ("own_id", "own_key"))
        return as_findings(rows, {"id": F.coalesce("id", own_id), "key_text": own_key})

    return named

"""Whose doing it was that an application has not handled a record, where it journals what it handles.

Three things are compared for each such record: the first commit of its group that passed over it, by the time
in the log of the coordinator; when a later record of the partition was handled first; and whether the handler
had failed on it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.applications.inputs import INPUT, NS_OF_MS, outputs_of_run, reads_of_run
from checkers.evidence.findings import is_of
from checkers.journals.topic_partition import partition_of
from checkers.journals.views import Views
from checkers.sql import case
from harness.model.application_meta import ApplicationMeta
from harness.model.finding_class import FindingClass
from harness.model.result import NotHandled

_AT = ("at_partition__", "at_offset__")
_LOGGED = ("logged", "logged-transaction")


def with_cause(
    rows: DataFrame, views: Views, application: ApplicationMeta, handled: DataFrame | None
) -> DataFrame:
    """The rows of findings with `cause` (string, a value of `NotHandled`; null: not of this class, or the
    application journals no deliveries), and `because` (string): the same as a sentence, with times.

    Args:
        handled: rows of `handled_records`; None: the application journals no deliveries.
        rows: with `finding`, `in_topic_partition`, `in_offset` and `in_log`.
    """
    none = F.lit(None).cast("string")
    without = rows.withColumns({"cause": none, "because": none})
    if handled is None:
        return without
    asked = is_of(FindingClass.UNPROCESSED) & F.col("in_log") & F.col("in_offset").isNotNull()
    missing = _of_missing(rows.where(asked), views, commits_of(views, application), handled)
    return missing.unionByName(without.where(~asked))


def _of_missing(rows: DataFrame, views: Views, commits: DataFrame, handled: DataFrame) -> DataFrame:
    """As `with_cause`, of records in the log that were not handled."""
    keyed = rows.withColumns({_AT[0]: partition_of(F.col("in_topic_partition")), _AT[1]: F.col("in_offset")})
    # A commit of offset 301 passes over all below it.
    passed = commits.select("partition", (F.col("offset") - 1).alias("passed"), "commit_ns")
    later = handled.select("partition", (F.col("offset") - 1).alias("passed"), "handled_ns")
    keyed = _with_first(_with_first(keyed, passed, "commit_ns"), later, "handled_ns")
    at_once = commits.groupBy(F.col("partition").alias(_AT[0]), "commit_ns")
    keyed = keyed.join(at_once.agg(F.max("offset").alias("commit_offset")), [_AT[0], "commit_ns"], "left")
    place = F.col("partition").alias(_AT[0]), F.col("offset").alias(_AT[1])
    failures = views.journal("handler_failures").groupBy(*place).agg(F.min("at_ns").alias("failed_ns"))
    keyed = keyed.join(failures, list(_AT), "left").withColumn("cause", _cause())
    return keyed.withColumn("because", _because(views.meta.started_ns)).select(
        *rows.columns, "cause", "because"
    )


def commits_of(views: Views, application: ApplicationMeta) -> DataFrame:
    """What the application's group has committed, by the log of its coordinator: `partition` (int), `offset`,
    `log_offset`, `commit_ns` (bigint). Those of a topic that was created again since are left out."""
    rows = views.offsets.where(
        (F.col("group") == (application.group or ""))
        & F.col("source").isin(*_LOGGED)
        & F.col("offset").isNotNull()
        & F.col("commit_ms").isNotNull()
    )
    # Each replica's files have it.
    rows = rows.groupBy("partition", "log_offset").agg(
        F.min("offset").alias("offset"), (F.min("commit_ms") * NS_OF_MS).alias("commit_ns")
    )
    created = max(views.recreated_ns, default=None)
    return rows if created is None else rows.where(F.col("commit_ns") > created)


def handled_records(views: Views, application: ApplicationMeta) -> DataFrame:
    """The records that were handled and that the final read holds: their identity, `member` (int, the number
    of the file that says so), `partition` (int), `offset` and `handled_ns` (bigint, to the end of its
    millisecond)."""
    outputs = outputs_of_run(views, application)
    outputs = outputs.select(
        *INPUT,
        partition_of(F.col("topic_partition")).alias("member"),
        F.col("written_ns").alias("handled_ns"),
    )
    in_partition = F.min(partition_of(F.col("topic_partition"))).alias("partition")
    held = reads_of_run(views).groupBy(*INPUT).agg(in_partition, F.min("offset").alias("offset"))
    return outputs.join(held, list(INPUT)).select(*INPUT, "member", "partition", "offset", "handled_ns")


def _with_first(rows: DataFrame, events: DataFrame, time: str) -> DataFrame:
    """The rows with the least `time` (bigint) of all events of their partition that `passed` their offset
    (null: none did). The events are put among the rows, so that no row is joined with all of them."""
    marked = events.select(
        F.col("partition").alias(_AT[0]), F.col("passed").alias(_AT[1]), F.col(time).alias("event__")
    )
    together = rows.withColumn("row__", F.lit(True)).unionByName(marked, allowMissingColumns=True)
    # From the highest offset down; an event of the same offset comes before the row that it passed.
    beyond = Window.partitionBy(_AT[0]).orderBy(F.col(_AT[1]).desc(), F.col("row__").asc_nulls_first())
    first = F.min("event__").over(beyond.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return together.withColumn(time, first).where("row__").drop("row__", "event__")


def _cause() -> Column:
    committed, handled, failed = F.col("commit_ns"), F.col("handled_ns"), F.col("failed_ns")
    ahead = committed.isNotNull() & (handled.isNull() | (committed < handled))
    return case(
        [
            (ahead, F.lit(NotHandled.COMMITTED.value)),
            (handled.isNotNull() & failed.isNotNull(), F.lit(NotHandled.FAILED.value)),
            (handled.isNotNull(), F.lit(NotHandled.JUMPED.value)),
            (F.lit(True), F.lit(NotHandled.NOT_REACHED.value)),
        ]
    )


def _because(started_ns: int) -> Column:
    """The cause as a sentence; null where there is none."""
    cause = F.col("cause")
    failed = F.when(
        F.col("failed_ns").isNotNull(), _said("; its handler had failed on it at ", "failed_ns", started_ns)
    )
    failed = F.coalesce(failed, F.lit(""))
    committed = F.concat(
        F.lit("; its group committed offset "),
        F.col("commit_offset").cast("string"),
        _said(" at ", "commit_ns", started_ns),
        F.lit(", before it was handled"),
        failed,
    )
    went_on = F.concat(failed, F.lit(", and it went on with a later record"))
    jumped = _said("; a later record was handled first, at ", "handled_ns", started_ns)
    sentences = {
        NotHandled.COMMITTED: committed,
        NotHandled.FAILED: went_on,
        NotHandled.JUMPED: jumped,
        NotHandled.NOT_REACHED: F.lit("; neither a commit nor a later record shows that it was reached"),
    }
    return case([(cause == name.value, sentence) for name, sentence in sentences.items()])


def _said(words: str, time: str, started_ns: int) -> Column:
    """The words, and a time in seconds since the begin of the run."""
    seconds = F.format_number((F.col(time) - started_ns) / 1e9, 3)
    return F.concat(F.lit(words), seconds, F.lit(" s of the run"))

"""The inputs of an application: whether it must process each, and how many rows of outputs each has.

One join of sends, final read and outputs. Nearly all inputs are ordinary: no class can apply to them. The
facts about the others are made in `checkers.applications.facts`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.int64 import INT64_MAX, INT64_MIN
from checkers.journals.views import Views, readable
from checkers.judgement.policy import Policy
from checkers.records.context import deleted_on_purpose, old_enough, sent_by
from checkers.records.facts import deduplicated, with_txn_outcome
from harness.model.application_journal import UNMAPPED
from harness.model.application_meta import ApplicationMeta
from harness.model.journal import ReadState, SendOutcome, TxnOutcome

INPUT = ("producer", "seq")

INPUT_COLUMNS = (
    *(*INPUT, "key", "sent", "in_log", "aborted", "by_policy", "expected", "in_order"),
    *("in_topic_partition", "in_offset", "rows", "out_topic_partition", "out_offset", "written_ns"),
    "ordinary",
)
"""One row per input, and per identity that an output carries and that this run never sent (`sent` is false
then, and nothing but its outputs is known).

`sent`, `in_log` (the final read of the input holds it), `aborted` (its transaction was aborted), `by_policy`
(it is not in the log, and retention, compaction or a step of the experiment may have removed it), `expected`
(the application must give outputs for it: it is in the log, and readers of committed records get it; or it
was acknowledged and deleted) are boolean and never null. `in_topic_partition`, `in_offset` (bigint): the
first offset of the input in the log, of a deleted one that of its acknowledgement; null: not in the log.
`in_order` (boolean): its offset is known, and can be compared with those of other inputs. `rows` (bigint):
the number of rows of its outputs. If there is one, it is at `out_offset` of `out_topic_partition`, and was
written at `written_ns`. `ordinary` (boolean): the input certainly has as many outputs as it should have, and,
if the application promises an order, its offset and that of its output are known.
"""

NS_OF_MS = 1_000_000


def sends_of(views: Views, *, repeated: bool) -> DataFrame:
    """One row per send, with `sent_to` and `acked_offset` (its topic_partition and offset), `txn_outcome`,
    `log_start_offset`, and `sent` (true); `repeated`: the journal may hold sends more than once."""
    sends = with_txn_outcome(views, deduplicated(views.sends) if repeated else views.sends)
    starts = views.bounds.select("topic_partition", "log_start_offset")
    return sends.join(F.broadcast(starts), "topic_partition", "left").select(
        *INPUT,
        F.col("topic_partition").alias("sent_to"),
        F.col("offset").alias("acked_offset"),
        *("key", "step", "outcome", "sent_ns", "closed_ns", "txn", "txn_outcome", "log_start_offset"),
        "timestamp_ms",
        F.lit(True).alias("sent"),
    )


def inputs_of(views: Views, application: ApplicationMeta, sends: DataFrame) -> DataFrame:
    """Rows of `INPUT_COLUMNS`; `sends` are of `sends_of`."""
    policy = Policy.of(views.meta)
    inputs = sends.join(_first_reads(views), list(INPUT), "left")
    in_log = F.col("low_offset").isNotNull()
    committed = F.col("txn_outcome").eqNullSafe(TxnOutcome.COMMITTED.value)
    visible, aborted = F.lit(True), F.col("txn_outcome").eqNullSafe(TxnOutcome.ABORTED.value)
    if views.files["committed"]:
        read = views.committed.where(readable() & _of_run(views)).select(*INPUT).distinct()
        inputs = inputs.join(read.withColumn("read_committed", F.lit(True)), list(INPUT), "left")
        visible = F.col("txn").isNull() | F.col("read_committed").isNotNull()
        aborted = ~visible & ~committed
    inputs = inputs.join(_rows_of_outputs(views, application), list(INPUT), "full")
    sent = F.coalesce("sent", F.lit(False))
    deleted, removed = _removed_by_policy(policy)
    deleted &= sent & ~in_log & (F.col("txn").isNull() | committed)
    inputs = inputs.withColumns(
        {
            "sent": sent,
            "in_log": in_log,
            "aborted": in_log & aborted,
            "by_policy": sent & ~in_log & removed,
            "expected": (in_log & visible & ~aborted) | deleted,
            "rows": F.coalesce("rows", F.lit(0).cast("bigint")),
        }
    )
    in_log, expected, rows = F.col("in_log"), F.col("expected"), F.col("rows")
    in_offset = F.when(in_log, F.col("low_offset")).when(expected, F.col("acked_offset"))
    # Offsets of a topic that was created again begin anew.
    old_topic = ~in_log & sent_by(policy.recreated_ns)
    exact = rows == F.when(expected, F.lit(application.outputs_per_input)).otherwise(0)
    ordinary = F.col("sent") & exact
    if application.order != "none":
        one_partition = F.coalesce(F.col("low_topic_partition") == F.col("high_topic_partition"), F.lit(True))
        ordinary &= (rows <= 1) & one_partition
    return inputs.withColumns(
        {
            "in_topic_partition": F.when(in_log, F.col("low_topic_partition")).when(
                expected, F.col("sent_to")
            ),
            "in_offset": in_offset,
            "in_order": in_offset.isNotNull() & ~old_topic,
            "ordinary": ordinary,
        }
    ).select(*INPUT_COLUMNS)


def counted_outputs(views: Views, application: ApplicationMeta) -> DataFrame:
    """Rows of the outputs journal that count (under exactly-once only those that readers of committed records
    get), with `written_ns` (bigint): the output's own time; null: it has none."""
    rows = views.journal("outputs")
    if application.guarantee == "exactly-once":
        rows = rows.where(F.coalesce("committed", F.lit(True)))
    ms, least, most = F.col("timestamp_ms"), INT64_MIN // NS_OF_MS + 1, INT64_MAX // NS_OF_MS - 1
    inside = F.when(ms > most, F.lit(most)).when(ms < least, F.lit(least)).otherwise(ms)
    # The end of the millisecond, so that an output is never earlier than the send of its input.
    return rows.withColumn("written_ns", inside * NS_OF_MS + (NS_OF_MS - 1))


def outputs_of_run(views: Views, application: ApplicationMeta) -> DataFrame:
    """Outputs that count and carry an identity of this run: the identity, `topic_partition`, `offset` and
    `written_ns`."""
    rows = counted_outputs(views, application).where(known_identity(views))
    return rows.select(*INPUT, "topic_partition", "offset", "written_ns")


def known_identity(views: Views) -> Column:
    """Whether an output carries an identity of this run; never null."""
    return F.coalesce((F.col("state") == ReadState.OK.value) & _of_run(views), F.lit(False))


def nameless() -> Column:
    """Whether an output carries no identity at all, not even a damaged one or that of another run."""
    return F.col("state").isin(ReadState.UNDECODABLE.value, UNMAPPED)


def reads_of_run(views: Views) -> DataFrame:
    """The final read of records of this run: the identity, `topic_partition` and `offset`."""
    return views.reads.where(readable() & _of_run(views)).select(*INPUT, "topic_partition", "offset")


def _of_run(views: Views) -> Column:
    return F.col("run") == views.meta.run_id


def _first_reads(views: Views) -> DataFrame:
    """Where the final read holds each record: the least and greatest `topic_partition`, and the least offset,
    which is the record's first if the two are the same partition."""
    of_record = reads_of_run(views).groupBy(*INPUT)
    return of_record.agg(
        F.min("topic_partition").alias("low_topic_partition"),
        F.max("topic_partition").alias("high_topic_partition"),
        F.min("offset").alias("low_offset"),
    )


def _rows_of_outputs(views: Views, application: ApplicationMeta) -> DataFrame:
    rows = outputs_of_run(views, application)
    if application.outputs_per_input > 1:
        # An output counts once, however often the journal has it.
        rows = rows.groupBy(*INPUT, "topic_partition", "offset").agg(F.min("written_ns").alias("written_ns"))
    return rows.groupBy(*INPUT).agg(
        F.count("*").alias("rows"),
        F.min("topic_partition").alias("out_topic_partition"),
        F.min("offset").alias("out_offset"),
        F.min("written_ns").alias("written_ns"),
    )


def _removed_by_policy(policy: Policy) -> tuple[Column, Column]:
    """Two conditions on absent inputs, never null: retention or a step of the experiment has deleted it after
    it was acknowledged; and one of these, or compaction, may have removed it."""
    offset = F.col("acked_offset")
    known = offset.isNotNull()
    below = F.coalesce(offset < F.col("log_start_offset"), F.lit(False))
    old = old_enough(policy)
    recreated = known & sent_by(policy.recreated_ns)
    removed = recreated | (below & (old | deleted_on_purpose(policy, offset, F.col("sent_to"))))
    compacted = F.col("key").isNotNull() & F.lit(policy.compacts)
    unclear = ~known & (old | sent_by(policy.deleted_ns))
    acked = F.col("outcome").eqNullSafe(SendOutcome.ACKED.value)
    return removed & acked, removed | compacted | unclear

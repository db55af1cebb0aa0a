"""Findings about records: facts, context, the class of each record, its evidence."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.evidence.findings import is_of
from checkers.evidence.leadership import leader_spans, with_acknowledger, with_tenures
from checkers.evidence.same_offset import with_reports
from checkers.evidence.windows import open_windows
from checkers.found import Found
from checkers.journals.footers import row_count
from checkers.journals.topic_partition import has_no_partition, partition_of
from checkers.journals.views import IDENTITY, Scratch, Views, readable
from checkers.judgement.summary import NOT_COMMITTED
from checkers.records import classes
from checkers.records.chunks import SEQ_CHUNK_BITS, compare_chunks
from checkers.records.context import with_context
from checkers.records.facts import RowFilter, facts_of_records, ordinary, with_txn_outcome
from checkers.records.lookups import Lookups, acked_but_absent, lookups_of, with_lookups
from checkers.records.order import first_offsets, in_order, late_records
from harness.model.finding_class import FindingClass
from harness.model.journal import ReadState


def find(views: Views, scratch: Scratch, *, chunk_bits: int = SEQ_CHUNK_BITS) -> tuple[Found, int]:
    """Find the class of every record; 2^chunk_bits sequence numbers are compared as a whole first.

    Returns: also the number of rows by which the journal of sends has sends more than once.
    """
    sends = with_txn_outcome(views)
    chunks = compare_chunks(views, sends, scratch, bits=chunk_bits)

    def facts_of(reads: DataFrame, keep_rows: RowFilter) -> DataFrame:
        return facts_of_records(views, sends, reads, keep_rows, repeated=bool(chunks.repeated))

    facts, lookups = None, Lookups()
    if chunks.differing:
        are_ordinary = ordinary(transactional=bool(views.files["committed"]))
        unusual = facts_of(chunks.reads, chunks.rows_to_check).where(~are_ordinary)
        # With their context: where an engine joins rows with the bounds, it takes the result for a large one,
        # and no longer broadcasts it.
        facts = scratch.materialize("facts", with_context(unusual, views))
        lookups = lookups_of(facts)
    positions = first_offsets(sends, facts, chunks.reads, elsewhere=bool(lookups.elsewhere))
    if not in_order(positions, row_count(views.files["sends"])):
        late = scratch.materialize("late", late_records(positions))
        rest = late
        if facts is not None:
            ours = facts.where(F.col("run") == views.meta.run_id)
            rest = late.join(ours.select("producer", "seq"), ["producer", "seq"], "left_anti")
        # They are ordinary, or of chunks that do not differ, so nothing has to be looked up for them.

        def of_rest(rows: DataFrame) -> DataFrame:
            return rows.join(rest, ["producer", "seq"], "left_semi")

        more = facts_of(of_rest(views.reads.where(readable())), of_rest)
        more = with_context(more.where(F.col("run") == views.meta.run_id), views)
        facts = scratch.materialize("facts-of-late", more if facts is None else facts.unionByName(more))
        late = late.withColumn("run", F.lit(views.meta.run_id).cast("bigint"))
        facts = facts.join(late, list(IDENTITY), "left").withColumn("late", F.coalesce("late", F.lit(False)))
    elif lookups.records and facts is not None:
        facts = facts.withColumn("late", F.lit(False))
    else:
        return Found().with_problems(_again(chunks.repeated)), chunks.repeated
    facts = facts.withColumn("this_run", F.lit(views.meta.run_id).cast("bigint"))
    rows = with_lookups(views, sends, facts, chunks, lookups)

    found = findings_of(
        classes.CLASSES,
        rows,
        {
            "partition": partition_of(F.coalesce("topic_partition", "read_from")),
            "key": F.when(F.col("send_rows") > 0, F.col("key")).otherwise(F.col("first_key")),
            "reader": F.col("live_reader"),
            "replaced_epoch": F.col("epoch_at_acked_offset"),
        },
        evidence=lambda classified: with_evidence(views, classified, facts, lookups, chunks.repeated),
    )
    return found.with_problems(_again(chunks.repeated)), chunks.repeated


def _again(repeated: int) -> str | None:
    if not repeated:
        return None
    return f"the sends journal holds {repeated:,} sends more than once, so the verdict is unknown"


def with_evidence(
    views: Views, rows: DataFrame, facts: DataFrame, lookups: Lookups, repeated: int
) -> DataFrame:
    """Classified records (`rows` of `with_lookups`, with `finding`) with `place` (string), `held_by`
    (array<int>), `acked_by`, `acked_epoch`, `reports`, `true_reports` (int) and `windows` (string) added, as
    `checkers.evidence.findings.FINDINGS` has them. `facts` are of all records, from which the lost ones are;
    `repeated` is the number of sends that the journal holds more than once.
    """
    lost = is_of(FindingClass.LOST)
    missing = lost & ~F.col("not_committed")
    nobody = F.array().cast("array<int>")
    held: Column = F.lit(None).cast("array<int>")
    if views.files["replicas"]:
        held = F.when(missing, nobody)
        if lookups.absent:
            rows = rows.join(held_by(views.replicas, facts.where(acked_but_absent())), list(IDENTITY), "left")
            held = F.when(missing, F.coalesce("held_by", nobody))
            # Where the client has named no partition, a replica's file tells which it was.
            named = F.col("topic_partition")
            known = F.when(missing & has_no_partition(named), F.coalesce("held_in", named)).otherwise(named)
            rows = rows.withColumn("topic_partition", known)
    until_the_end = lost | is_of(FindingClass.VANISHED)
    columns = {
        "place": F.when(lost, _at_acked_offset()),
        "held_by": held,
        "epoch_at_acked_offset": F.when(missing, F.col("epoch_at_acked_offset")),
        "windows": open_windows(views.meta.windows, F.col("sent_ns"), F.col("closed_ns"), until_the_end),
    }
    not_known = F.lit(None).cast("int")
    unknown = ("acked_by", "acked_epoch", "reports", "true_reports")
    if not lookups.absent + lookups.not_committed:
        return rows.withColumns(columns | dict.fromkeys(unknown, not_known))
    spans = leader_spans(views.samples, views.meta.topic) if views.files["samples"] else ()
    read = views.meta.final_read
    bounds = [bound for bound in (read.bounds if read is not None else ()) if bound.topic == views.meta.topic]
    rows = with_tenures(rows, spans, bounds, lost)
    absent = None if lookups.much_is_absent(views) else facts.where(acked_but_absent())
    rows = with_reports(rows, views, absent, missing, each_once=not repeated)
    replaced_in = F.when(missing & F.col("overwritten"), F.col("epoch_at_acked_offset"))
    if spans:
        rows = with_acknowledger(rows, replaced_in)
    else:
        columns |= dict.fromkeys(("acked_by", "acked_epoch"), not_known)
    return rows.withColumns(columns)


def held_by(replicas: DataFrame, missing: DataFrame) -> DataFrame:
    """One row per record of `missing` (with the identity) that a replica's file holds, by the journal
    `replicas`: the identity, `held_by` (array<int>, node ids of the brokers, ascending), and `held_in`, the
    (lowest) `topic_partition` in which they hold it."""
    mine = replicas.where(F.col("state") == ReadState.OK.value).select(*IDENTITY, "broker", "topic_partition")
    mine = mine.join(missing.select(*IDENTITY), list(IDENTITY), "left_semi").distinct()
    return mine.groupBy(*IDENTITY).agg(
        F.sort_array(F.collect_set("broker")).alias("held_by"), F.min("topic_partition").alias("held_in")
    )


def _at_acked_offset() -> Column:
    """What is at the acknowledged offset of a lost record."""
    replaced = F.col("overwritten") | F.col("damaged_at_acked_offset")
    return (
        F.when(F.col("not_committed"), F.lit(NOT_COMMITTED))
        .when(replaced, F.lit("overwritten"))
        .when(F.col("acked_offset") >= F.col("end_offset"), F.lit("tail"))
        .otherwise(F.lit("unknown"))
    )

"""Findings about records: facts, context, the class of each record, its evidence."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.evidence.findings import is_of
from checkers.evidence.leadership import leader_spans, leaders_in_time
from checkers.evidence.windows import open_windows
from checkers.journals.footers import rows_of
from checkers.journals.topic_partition import partition_of
from checkers.journals.views import IDENTITY, Scratch, Views
from checkers.judgement.summary import NOT_COMMITTED
from checkers.records.chunks import SEQ_CHUNK_BITS, compare_chunks
from checkers.records.context import with_context
from checkers.records.facts import RowFilter, facts_of_records, ordinary, with_txn_outcome
from checkers.records.lookups import Lookups, acked_but_absent, lookups_of, with_lookups
from checkers.records.order import first_offsets, in_order, late_records
from harness.model.journal import ReadState
from harness.model.result import FindingClass


@dataclass(frozen=True)
class RecordsFound:
    """Findings about records as `checkers.evidence.findings.FINDINGS` (None: there are none), reasons for an
    unknown verdict, and the number of rows by which the journal of sends has sends more than once."""

    findings: DataFrame | None
    problems: tuple[str, ...]
    repeated: int


def find(views: Views, scratch: Scratch, *, chunk_bits: int = SEQ_CHUNK_BITS) -> RecordsFound:
    """Find the class of every record; 2^chunk_bits sequence numbers are compared as a whole first."""
    sends = with_txn_outcome(views)
    chunks = compare_chunks(views, sends, scratch, bits=chunk_bits)

    def facts_of(keep_rows: RowFilter) -> DataFrame:
        return facts_of_records(views, sends, keep_rows, repeated=bool(chunks.repeated))

    facts, lookups = None, Lookups()
    if chunks.differing:
        are_ordinary = ordinary(transactional=bool(views.files["committed"]))
        unusual = facts_of(chunks.rows_to_check).where(~are_ordinary)
        # With their context: where an engine joins rows with the bounds, it takes the result for a large one,
        # and no longer broadcasts it.
        facts = scratch.materialize("facts", with_context(unusual, views))
        lookups = lookups_of(facts)
    positions = first_offsets(views, sends, facts, elsewhere=bool(lookups.elsewhere))
    if not in_order(positions, rows_of(views.files["sends"])):
        late = scratch.materialize("late", late_records(positions))
        rest = late
        if facts is not None:
            ours = facts.where(F.col("run") == views.meta.run_id)
            rest = late.join(ours.select("producer", "seq"), ["producer", "seq"], "left_anti")
        # They are ordinary, or of chunks that do not differ, so nothing has to be looked up for them.
        more = facts_of(lambda rows: rows.join(rest, ["producer", "seq"], "left_semi"))
        more = with_context(more.where(F.col("run") == views.meta.run_id), views)
        facts = scratch.materialize("facts-of-late", more if facts is None else facts.unionByName(more))
        late = late.withColumn("run", F.lit(views.meta.run_id).cast("bigint"))
        facts = facts.join(late, list(IDENTITY), "left").withColumn("late", F.coalesce("late", F.lit(False)))
    elif lookups.records and facts is not None:
        facts = facts.withColumn("late", F.lit(False))
    else:
        return RecordsFound(None, (), chunks.repeated)
    facts = facts.withColumn("this_run", F.lit(views.meta.run_id).cast("bigint"))
    rows = with_lookups(views, sends, facts, chunks, lookups)

    findings, problems = findings_of(
        "record",
        rows,
        {
            "partition": partition_of(F.coalesce("topic_partition", "read_from")),
            "key": F.when(F.col("send_rows") > 0, F.col("key")).otherwise(F.col("first_key")),
            "reader": F.col("live_reader"),
            "replaced_epoch": F.col("epoch_at_acked_offset"),
        },
        evidence=lambda found: with_evidence(views, found, facts, lookups),
    )
    return RecordsFound(findings, tuple(problems), chunks.repeated)


def with_evidence(views: Views, rows: DataFrame, facts: DataFrame, lookups: Lookups) -> DataFrame:
    """Classified records (`rows` of `with_lookups`, with `finding`) with `place` (string), `held_by`
    (array<int>), `acked_by`, `acked_epoch` (int) and `windows` (string) added, as
    `checkers.evidence.findings.FINDINGS` has them. `facts` are of all records, from which the lost ones are.
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
    until_the_end = lost | is_of(FindingClass.VANISHED)
    columns = {
        "place": F.when(lost, _place()),
        "held_by": held,
        "epoch_at_acked_offset": F.when(missing, F.col("epoch_at_acked_offset")),
        "windows": open_windows(views.meta.windows, F.col("sent_ns"), F.col("closed_ns"), until_the_end),
    }
    asked = views.files["samples"] and (lookups.absent + lookups.not_committed)
    spans = leader_spans(views.samples, views.meta.topic) if asked else ()
    if spans:
        schema = "leader_partition int, begun bigint, ended bigint, acked_by int, acked_epoch int"
        leaders = F.broadcast(views.spark.createDataFrame(list(map(tuple, leaders_in_time(spans))), schema))
        led = F.when(lost, partition_of(F.col("topic_partition"))) == F.col("leader_partition")
        rows = rows.join(leaders, led & F.col("closed_ns").between(F.col("begun"), F.col("ended")), "left")
    else:
        columns |= dict.fromkeys(("acked_by", "acked_epoch"), F.lit(None).cast("int"))
    return rows.withColumns(columns)


def held_by(replicas: DataFrame, missing: DataFrame) -> DataFrame:
    """One row per record of `missing` (with the identity) that a replica's file holds, by the journal
    `replicas`: the identity and `held_by` (array<int>, node ids of the brokers, ascending)."""
    mine = replicas.where(F.col("state") == ReadState.OK.value).select(*IDENTITY, "broker")
    mine = mine.join(missing.select(*IDENTITY), list(IDENTITY), "left_semi").distinct()
    return mine.groupBy(*IDENTITY).agg(F.sort_array(F.collect_list("broker")).alias("held_by"))


def _place() -> Column:
    """What is at the acknowledged offset of a lost record."""
    replaced = F.col("overwritten") | F.col("damaged_at_acked_offset")
    return (
        F.when(F.col("not_committed"), F.lit(NOT_COMMITTED))
        .when(replaced, F.lit("overwritten"))
        .when(F.col("acked_offset") >= F.col("end_offset"), F.lit("tail"))
        .otherwise(F.lit("unknown"))
    )

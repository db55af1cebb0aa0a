"""Findings about records: facts, context, the class of each record, its evidence."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.journals.footers import rows_of
from checkers.journals.scratch import Scratch
from checkers.journals.views import IDENTITY, Views
from checkers.judgement.policy import Policy
from checkers.records.chunks import SEQ_CHUNK_BITS, compare_chunks
from checkers.records.context import with_context
from checkers.records.evidence import columns_of_findings, with_evidence
from checkers.records.facts import RowFilter, facts_of_records, ordinary
from checkers.records.lookups import Lookups, lookups_of, with_lookups
from checkers.records.order import first_offsets, in_order, late_records
from checkers.records.sends import with_txn_outcome


@dataclass(frozen=True)
class RecordsFound:
    """Findings about records as `checkers.evidence.findings.FINDINGS` (None: there are none), reasons for an
    unknown verdict, and the number of rows by which the journal of sends has sends more than once."""

    findings: DataFrame | None
    problems: tuple[str, ...]
    repeated: int


def find(views: Views, scratch: Scratch, *, chunk_bits: int = SEQ_CHUNK_BITS) -> RecordsFound:
    """Find the class of every record.

    Args:
        chunk_bits: chunks of 2^chunk_bits sequence numbers are compared as a whole first.
    """
    transactional = bool(views.files["committed"])
    sends = with_txn_outcome(views)
    chunks = compare_chunks(views, sends, scratch, bits=chunk_bits)

    def facts_of(keep_rows: RowFilter) -> DataFrame:
        return facts_of_records(views, sends, keep_rows, repeated=bool(chunks.repeated))

    def in_context(facts: DataFrame) -> DataFrame:
        return with_context(facts, views.bounds, Policy.of(views.meta), transactional=transactional)

    facts, lookups = None, Lookups()
    if chunks.differing:
        unusual = facts_of(chunks.rows_to_check).where(~ordinary(transactional=transactional))
        # With their context: where an engine joins rows with the bounds, it takes the result for a large one,
        # and no longer broadcasts it.
        facts = scratch.materialize("facts", in_context(unusual))
        lookups = lookups_of(facts)
    positions = first_offsets(views, sends, facts, elsewhere=bool(lookups.elsewhere))
    if not in_order(positions, rows_of(views.files["sends"])):
        late = scratch.materialize("late", late_records(positions))
        rest = late
        if facts is not None:
            rest = late.join(facts.select("producer", "seq"), ["producer", "seq"], "left_anti")
        # They are ordinary, or of chunks that do not differ, so nothing has to be looked up for them.
        more = facts_of(lambda rows: rows.join(rest, ["producer", "seq"], "left_semi"))
        more = in_context(more.where(F.col("run") == views.meta.run_id))
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
        columns_of_findings(),
        evidence=lambda found: with_evidence(views, found, facts, lookups),
    )
    return RecordsFound(findings, tuple(problems), chunks.repeated)

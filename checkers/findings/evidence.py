"""The evidence of each finding: names instead of numbers, replicas that hold the record, open faults, leader
epochs, a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.checks import detail_of
from checkers.checks.base import PRESENT
from checkers.checks.sentences import BAD_DELIVERY, BAD_VALUE
from checkers.facts.columns import OUTCOMES
from checkers.facts.encoding import decode, literal, name_of, partition_of
from checkers.facts.measure import RunFacts
from checkers.findings.leadership_history import LeadershipHistory, with_acknowledging_leader
from checkers.findings.record_context import broadcast_if_small
from checkers.journals.load import RunFrames, schema_of
from harness.model.journal import ReadState
from harness.model.result import FindingClass
from harness.model.run import FaultWindow

FINDINGS = schema_of(
    "finding string, producer int, seq bigint, partition int, key bigint, step int, outcome string, "
    "sent_ns bigint, closed_ns bigint, acked_offset bigint, error string, offsets array<bigint>, copies int, "
    "epochs int, place string, held_by array<int>, windows string, detail string, reader string, "
    "count bigint, txn bigint, acked_by int, acked_epoch int, replaced_epoch int"
)
"""The findings journal, one row per finding; columns that do not apply are null.

`partition` is the one sent to (of a phantom or a corrupt value: the one read from). `offsets` are the first 5
at which the final read holds it, sorted; `copies` is the number of its places, `epochs` the number of leader
epochs in which they were written. `place` says what is at the acknowledged offset of a lost record:
"overwritten" (something else), "tail" (the log ends before it), "not committed" (the record itself, but
readers of committed records do not get it), "unknown" (none of these, or no offset was reported). `held_by`
are the brokers whose own files hold a lost record (null: no replica's files were read). `windows` are the
names of the faults that were open between send and report (of a lost or vanished record: at any time since it
was sent), joined by " + ". `detail` is a sentence for people. `reader` is the live reader that got it (of a
finding about deliveries: the reader or group), `count` the number of deliveries or offsets that the finding
stands for, `txn` the producer's transaction. Of a lost record: `acked_by` and `acked_epoch` are the broker
that led when it was acknowledged and its leader epoch, as brokers themselves reported; `replaced_epoch` is
the epoch of the record in its place.
"""

_FOR_EVER = 2**63 - 1
_LOST = f"finding = '{FindingClass.LOST}'"


def evidence(
    rows: DataFrame, frames: RunFrames, facts: RunFacts, leadership: LeadershipHistory, lost: int
) -> DataFrame:
    """Findings of records, as `FINDINGS`.

    Args:
        rows: facts whose `finding` is named.
        leadership: which broker led when, as brokers reported.
        lost: the number of lost records; 0 leaves out the evidence of losses.
    """
    rows = _with(
        rows.where("finding IS NOT NULL"),
        {
            "place": f"""CASE WHEN NOT ({_LOST}) THEN NULL WHEN not_committed THEN 'not committed'
                WHEN overwritten OR overwritten_badly THEN 'overwritten'
                WHEN acked_offset >= end_offset THEN 'tail' ELSE 'unknown' END"""
        },
    )
    if lost:
        missing = F.expr(f"{_LOST} AND NOT not_committed")
        rows = _with_holders(rows, frames, missing, lost)
        rows = with_acknowledging_leader(rows, leadership, F.expr(_LOST))
    else:
        nothing = {"held_by": "array<int>", "acked_by": "int", "acked_epoch": "int"}
        rows = _with(rows, {name: f"cast(NULL AS {kind})" for name, kind in nothing.items()})
    rows = _with(
        rows,
        {
            "partition": partition_of("coalesce(spot, seen_spot)"),
            "outcome": decode("outcome", OUTCOMES),
            "windows": open_windows(frames.meta.windows),
            "reader": decode("live_reader", [reader.name for reader in frames.readers]),
            "count": "cast(NULL AS bigint)",
            "replaced_epoch": f"CASE WHEN {_LOST} AND NOT not_committed THEN epoch_there END",
            "epochs": f"CASE WHEN {PRESENT} THEN greatest(epochs, 1) ELSE epochs END",
            "sent_to": name_of("spot", facts.codes),
            "first_at": name_of("seen_spot", facts.codes),
            "elsewhere": name_of("away_spot", facts.codes),
            "this_run": f"{frames.meta.run_id}L",
        },
    )
    rows = _with(
        rows,
        {
            "detail": detail_of("record"),
            "key": "CASE WHEN send_rows > 0 THEN key ELSE first_key END",
        },
    )
    return rows.select(*FINDINGS.names)


def _with(rows: DataFrame, columns: dict[str, str]) -> DataFrame:
    """Rows with columns of SQL expressions."""
    return rows.withColumns({name: F.expr(text) for name, text in columns.items()})


def _with_holders(rows: DataFrame, frames: RunFrames, wanted: Column, count: int) -> DataFrame:
    """Rows with `held_by`, for those in `wanted`."""
    if frames.replicas is None:
        return rows.withColumn("held_by", F.lit(None).cast("array<int>"))
    identity = ["run", "producer", "seq"]
    held = (
        frames.replicas.where(F.col("state") == ReadState.OK.value)
        .join(broadcast_if_small(rows.where(wanted).select(*identity), count), identity)
        .groupBy(*identity)
        .agg(F.array_sort(F.collect_set("broker")).alias("held_by"))
    )
    rows = rows.join(broadcast_if_small(held, count), identity, "left")
    nobody = F.array().cast("array<int>")
    return rows.withColumn("held_by", F.when(wanted, F.coalesce(F.col("held_by"), nobody)))


def open_windows(windows: Sequence[FaultWindow]) -> str:
    """Names of the fault windows that overlap [sent, closed]; for lost and vanished records, [sent, end of
    run] (SQL).

    A send without a report counts as open until the end.
    """
    gone = f"finding IN ('{FindingClass.LOST}', '{FindingClass.VANISHED}')"
    until = f"CASE WHEN {gone} THEN {_FOR_EVER} ELSE coalesce(closed_ns, {_FOR_EVER}) END"
    names = []
    for window in windows:
        closed_ns = _FOR_EVER if window.closed_ns is None else window.closed_ns
        overlaps = f"{until} >= {window.opened_ns} AND sent_ns <= {closed_ns}"
        names.append(f"CASE WHEN {overlaps} THEN {literal(window.name)} END")
    return f"concat_ws(' + ', {', '.join(names)})" if names else "''"


_OF_BAD_VALUE = {
    "finding": f"'{FindingClass.CORRUPT.value}'",
    "producer": "producer",
    "seq": "seq",
    "partition": "partition",
    "key": "key",
    "offsets": "array(offset)",
    "epochs": "1",
}


def _bad(reads: DataFrame) -> DataFrame:
    return reads.where(F.col("state").isin(ReadState.CORRUPT.value, ReadState.UNDECODABLE.value))


def corrupt_values(frames: RunFrames) -> DataFrame:
    """One finding per value of the final read that does not decode or whose CRC does not match; its identity
    is the one that the value claims."""
    return as_findings(_bad(frames.reads), _OF_BAD_VALUE | {"copies": "1", "detail": BAD_VALUE})


def corrupt_deliveries(frames: RunFrames, live: DataFrame) -> DataFrame:
    """One finding per live reader and place at which that reader got a damaged value and the final read did
    not.

    The damage was in one leader's log only, or temporary. `count` is the number of deliveries; no copy is in
    the log.
    """
    place = ["topic", "partition", "offset"]
    rest = ("producer", "seq", "key", "state")
    given = (
        _bad(live)
        .join(_bad(frames.reads).select(*place).distinct(), place, "left_anti")
        .groupBy("source", *place)
        .agg(F.count("*").alias("given"), *(F.any_value(name).alias(name) for name in rest))
        .withColumn("by", F.array(*(F.lit(reader.name) for reader in frames.readers))[F.col("source")])
    )
    return as_findings(
        given,
        _OF_BAD_VALUE
        | {
            "copies": "0",
            "reader": "`by`",
            "count": "given",
            "detail": f"""
                concat('live reader ', `by`, ' got what the final read does not hold: ', {BAD_DELIVERY})""",
        },
    )


def as_findings(rows: DataFrame, known: dict[str, str]) -> DataFrame:
    """Rows as `FINDINGS` from SQL expressions by column; the rest is null (`windows` empty)."""
    known = {"windows": "''"} | known
    return rows.selectExpr(
        *(
            f"cast({known.get(field.name, 'NULL')} AS {field.dataType.simpleString()}) AS {field.name}"
            for field in FINDINGS.fields
        )
    )

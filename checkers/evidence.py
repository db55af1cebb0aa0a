"""What goes with each finding: its copies, what stands in its place, which replicas hold it, open faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.classify import IDENTITY, READABLE, error_names
from checkers.load import RunFrames, columns, local_frame
from checkers.messages import OF_VALUE, of_record
from checkers.policy import retention
from checkers.scan import OUTCOMES, Codes, decode, name_of, partition_of, spot, spot_number
from harness.model.journal import ReadState
from harness.model.result import FindingClass
from harness.model.run import FaultWindow

FINDINGS = columns(
    "finding string, producer int, seq bigint, partition int, key bigint, step int, outcome string, "
    "sent_ns bigint, closed_ns bigint, acked_offset bigint, error string, offsets array<bigint>, copies int, "
    "epochs int, place string, held_by array<int>, windows string, detail string"
)
"""The findings journal, one row a finding; columns that do not apply are null.

`partition` is the one sent to (of a phantom or a corrupt value: the one read from). `offsets` are the first 5
at which it was read, sorted; `copies` how many places there are, `epochs` under how many leader epochs they
were written. `place` says of a lost record what stands at its acknowledged offset: "overwritten" (something
else), "tail" (the log ends before it), "unknown" (neither, or no offset was reported). `held_by` are the
brokers whose own files hold a lost record (null: no replica's files were read). `windows` are the names of
the faults that were open between send and report (of a lost record: at any time since it was sent), joined
by " + ". `detail` is a sentence for people.
"""

MOST_OFFSETS = 5
_FOR_EVER = 2**63 - 1


SMALL = 100_000
"""Up to so many records travel to the journals, rather than the journals to them (about 5 MB)."""


@dataclass(frozen=True)
class Needs:
    """How many records need more evidence; what nobody needs is not joined."""

    several: int
    """Findings that were read more than once."""
    lost: int
    """Acknowledged records that are absent."""


def evidence(frames: RunFrames, codes: Codes, found: DataFrame, needs: Needs) -> DataFrame:
    """All findings of a run, as `FINDINGS`.

    Args:
        found: output of `classify`; read several times, so it should be cached.
        needs: what `found` holds; a 0 that should be more leaves that evidence out.
    """
    present = F.col("read_rows") > 0
    rows = found.where(F.col("finding").isNotNull()).withColumns(
        {
            "offsets": F.when(present, F.array("first_offset")).otherwise(F.array().cast("array<bigint>")),
            "copies": present.cast("int"),
            "epochs": present.cast("int"),
            "place": F.lit(None).cast("string"),
            "held_by": F.lit(None).cast("array<int>"),
            "unreadable": F.lit(None).cast("boolean"),
            "log_start_offset": F.lit(None).cast("bigint"),
            "end_offset": F.lit(None).cast("bigint"),
        }
    )
    if needs.several:
        rows = _with_copies(rows, frames, codes, needs.several)
    if needs.lost:
        rows = _with_losses(rows, frames, codes, needs.lost)
    return _finished(rows, frames, codes).unionByName(_corrupt_values(frames))


def _with_copies(rows: DataFrame, frames: RunFrames, codes: Codes, several: int) -> DataFrame:
    """`offsets`, `copies` and `epochs` of what was read more than once."""
    wanted = _hinted(rows.where(F.col("read_rows") > 1).select(*IDENTITY), several)
    at = F.struct(spot(F.col("topic"), F.col("partition"), codes).alias("spot"), F.col("offset"))
    copies = (
        frames.reads.where(F.col("state").isin(*READABLE))
        .select(*IDENTITY, at.alias("at"), "leader_epoch")
        .join(wanted, list(IDENTITY))
        .groupBy(*IDENTITY)
        .agg(F.collect_set("at").alias("places"), F.collect_set("leader_epoch").alias("eras"))
    )
    sorted_offsets = F.array_sort(F.transform("places", lambda place: place["offset"]))
    return rows.join(_hinted(copies, several), list(IDENTITY), "left").withColumns(
        {
            "offsets": F.coalesce(F.slice(sorted_offsets, 1, MOST_OFFSETS), F.col("offsets")),
            "copies": F.coalesce(F.size("places"), F.col("copies")),
            "epochs": F.coalesce(F.greatest(F.size("eras"), F.lit(1)), F.col("epochs")),
        }
    )


def _with_losses(rows: DataFrame, frames: RunFrames, codes: Codes, count: int) -> DataFrame:
    """What is known of absent acknowledged records; those that retention explains become `expired`."""
    meta = frames.meta
    is_lost = F.col("finding") == FindingClass.LOST.value
    lost = _hinted(rows.where(is_lost).select(*IDENTITY, "spot", "acked_offset"), count)
    instead = (
        frames.reads.select(
            spot(F.col("topic"), F.col("partition"), codes).alias("spot"),
            F.col("offset").alias("acked_offset"),
            (~F.col("state").isin(*READABLE)).alias("bad"),
        )
        .join(lost, ["spot", "acked_offset"])
        .groupBy(*IDENTITY)
        .agg(F.bool_and("bad").alias("bad"))
    )
    final = meta.final_read
    bounds = local_frame(
        frames.sends.sparkSession,
        [
            (spot_number(bound.topic, bound.partition, codes), bound.log_start_offset, bound.end_offset)
            for bound in (final.bounds if final else ())
        ],
        columns("spot bigint, start bigint, end bigint"),
    )
    rows = (
        rows.drop("held_by", "log_start_offset", "end_offset", "unreadable")
        .join(_hinted(instead, count), list(IDENTITY), "left")
        .join(F.broadcast(bounds), "spot", "left")
        .withColumnsRenamed({"start": "log_start_offset", "end": "end_offset", "bad": "unreadable"})
    )
    if frames.replicas is None:
        rows = rows.withColumn("held_by", F.lit(None).cast("array<int>"))
    else:
        held = (
            frames.replicas.where(F.col("state") == ReadState.OK.value)
            .join(_hinted(lost.select(*IDENTITY), count), list(IDENTITY))
            .groupBy(*IDENTITY)
            .agg(F.array_sort(F.collect_set("broker")).alias("held_by"))
        )
        rows = rows.join(_hinted(held, count), list(IDENTITY), "left")
    kept = retention(meta.topic_config, meta.cluster.properties).newest_deletable_ns(
        final.finished_ns if final else None
    )
    below_start = F.col("acked_offset") < F.col("log_start_offset")
    explained = below_start & (F.col("sent_ns") <= F.lit(kept).cast("bigint"))
    rows = rows.withColumn(
        "finding",
        F.when(is_lost & explained, F.lit(FindingClass.EXPIRED.value)).otherwise(F.col("finding")),
    )
    place = (
        F.when(F.col("unreadable").isNotNull(), F.lit("overwritten"))
        .when(F.col("acked_offset") >= F.col("end_offset"), F.lit("tail"))
        .otherwise(F.lit("unknown"))
    )
    nobody = F.lit(None) if frames.replicas is None else F.array()
    return rows.withColumns(
        {
            "place": F.when(is_lost, place),
            "held_by": F.when(is_lost, F.coalesce(F.col("held_by"), nobody.cast("array<int>"))),
        }
    )


def _hinted(records: DataFrame, count: int) -> DataFrame:
    return F.broadcast(records) if count <= SMALL else records


def _finished(rows: DataFrame, frames: RunFrames, codes: Codes) -> DataFrame:
    """Numbers turned back into names, windows and messages added."""
    elsewhere = F.when(F.col("first_spot") != F.col("spot"), F.col("first_spot")).otherwise(
        F.col("last_spot")
    )
    rows = rows.withColumns(
        {
            "partition": partition_of(F.coalesce("spot", "first_spot")),
            "outcome": decode(F.col("outcome"), OUTCOMES),
            "error": decode(F.col("error"), error_names(codes)),
            "windows": _windows(frames.meta.windows),
            "sent_to": name_of(F.col("spot"), codes),
            "first_at": name_of(F.col("first_spot"), codes),
            "elsewhere": name_of(elsewhere, codes),
        }
    )
    rows = rows.withColumns(
        {
            "detail": of_record(frames.meta.run_id),
            "key": F.when(F.col("send_rows") > 0, F.col("key")).otherwise(F.col("first_key")),
        }
    )
    return rows.select(*FINDINGS.names)


def _windows(windows: Sequence[FaultWindow]) -> Column:
    """Names of the fault windows that touch [sent, closed]; of a lost record, all that were open since then.

    A send without a report was open to the end.
    """
    lost = F.col("finding") == FindingClass.LOST.value
    until = F.when(lost, F.lit(_FOR_EVER)).otherwise(F.coalesce(F.col("closed_ns"), F.lit(_FOR_EVER)))
    names = []
    for window in windows:
        opened_before = until >= F.lit(window.opened_ns)
        closed_after = F.col("sent_ns") <= F.lit(_FOR_EVER if window.closed_ns is None else window.closed_ns)
        names.append(F.when(opened_before & closed_after, F.lit(window.name)))
    return F.concat_ws(" + ", *names) if names else F.lit("")


def _corrupt_values(frames: RunFrames) -> DataFrame:
    """One finding a value read that does not check or decode; identity is what it claims to be."""
    known = {
        "finding": f"'{FindingClass.CORRUPT.value}'",
        "producer": "producer",
        "seq": "seq",
        "partition": "partition",
        "key": "key",
        "offsets": "array(offset)",
        "copies": "1",
        "epochs": "1",
        "windows": "''",
        "detail": OF_VALUE,
    }
    bad = frames.reads.where(F.col("state").isin(ReadState.CORRUPT.value, ReadState.UNDECODABLE.value))
    return bad.selectExpr(
        *(
            f"cast({known.get(field.name, 'NULL')} AS {field.dataType.simpleString()}) AS {field.name}"
            for field in FINDINGS.fields
        )
    )

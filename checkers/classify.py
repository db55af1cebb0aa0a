"""Which records have a finding: one groupBy over sends and reads together.

Every row of both journals becomes one row of numbers; grouped by identity they tell all there is to tell
about a record. Strings, evidence and messages are added afterwards (`checkers.evidence`), and only to the
records that have a finding. A full outer join of the journals would sort both of them instead.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.load import RunFrames
from checkers.scan import OTHER_ERROR, OUTCOMES, Codes, encode, partition_of, spot
from harness.model.journal import Outcome, ReadState
from harness.model.result import FindingClass

IDENTITY = ("run", "producer", "seq")
READABLE = (ReadState.OK.value, ReadState.FOREIGN.value)
"""States of values whose identity can be believed."""


def classify(frames: RunFrames, codes: Codes) -> DataFrame:
    """One row a record (identity) that has a finding, or that the sends journal holds more than once.

    Columns: `run`, `producer`, `seq`; `finding` (null only for repeated sends); `send_rows`, `read_rows`
    (bigint); of the send, null for a phantom: `spot` (`scan.spot`), `key`, `step`, `outcome` (index
    in `scan.OUTCOMES`), `sent_ns`, `closed_ns`, `acked_offset`, `error` (index in `codes.errors`); of the
    reads, null when absent: `first_spot`, `last_spot`, `first_offset`, `last_offset`, `first_key`,
    `last_key`.

    `lost` here still includes what retention may explain; values that do not check (`corrupt`,
    `undecodable`) are no part of this, their identity is not to be trusted.
    """
    # Hardly any record repeats within a journal: adding up before the shuffle would only cost.
    rows = _sends(frames, codes).unionByName(_reads(frames, codes)).repartition(*IDENTITY)
    send, read = F.col("is_send"), ~F.col("is_send")

    def of_send(name: str) -> Column:
        return F.max(F.when(send, F.col(name)))

    records = rows.groupBy(*IDENTITY).agg(
        F.count(F.when(send, 1)).alias("send_rows"),
        F.count(F.when(read, 1)).alias("read_rows"),
        F.count(F.when(read, F.col("key"))).alias("keyed"),
        *(of_send(name).alias(name) for name in ("spot", "key", "step", "outcome", "sent_ns", "closed_ns")),
        of_send("offset").alias("acked_offset"),
        of_send("error").alias("error"),
        F.min(F.when(read, F.col("spot"))).alias("first_spot"),
        F.max(F.when(read, F.col("spot"))).alias("last_spot"),
        F.min(F.when(read, F.col("offset"))).alias("first_offset"),
        F.max(F.when(read, F.col("offset"))).alias("last_offset"),
        F.min(F.when(read, F.col("key"))).alias("first_key"),
        F.max(F.when(read, F.col("key"))).alias("last_key"),
    )
    found = records.withColumn("finding", _finding())
    return found.where(F.col("finding").isNotNull() | (F.col("send_rows") > 1)).drop("keyed")


def _finding() -> Column:
    """The class of one record; the first that applies is the one it is counted in."""
    present = F.col("read_rows") > 0
    outcome = F.col("outcome")
    acked, unconfirmed, rejected, indeterminate = (
        outcome == OUTCOMES.index(word)
        for word in (Outcome.ACKED, Outcome.UNCONFIRMED, Outcome.REJECTED, Outcome.INDETERMINATE)
    )
    # Partition -1: the client did not say where it sent to, so any one partition is the right one.
    told = partition_of(F.col("spot")) >= 0
    wanted = F.when(told, F.col("spot")).otherwise(F.col("first_spot"))
    elsewhere = (F.col("first_spot") != wanted) | (F.col("last_spot") != wanted)
    same_key = (
        F.col("first_key").eqNullSafe(F.col("key"))
        & F.col("last_key").eqNullSafe(F.col("key"))
        & F.col("keyed").isin(0, F.col("read_rows"))
    )
    # Elsewhere is settled before: what is left has all its copies in one partition.
    twice = F.col("first_offset") != F.col("last_offset")
    chain = F.when(F.col("send_rows") == 0, F.lit(FindingClass.PHANTOM.value))
    for condition, finding in (
        (present & elsewhere, FindingClass.MISPLACED),
        (present & ~same_key, FindingClass.CORRUPT),
        (present & rejected, FindingClass.REJECTED_PRESENT),
        (present & twice, FindingClass.DUPLICATE),
        (present & (indeterminate | unconfirmed), FindingClass.RECOVERED),
        (~present & acked, FindingClass.LOST),
        (~present & unconfirmed, FindingClass.UNCONFIRMED_ABSENT),
    ):
        chain = chain.when(condition, F.lit(finding.value))
    return chain


def _sends(frames: RunFrames, codes: Codes) -> DataFrame:
    return frames.sends.select(
        F.lit(True).alias("is_send"),
        F.lit(frames.meta.run_id).cast("bigint").alias("run"),
        "producer",
        "seq",
        spot(F.col("topic"), F.col("partition"), codes).alias("spot"),
        "offset",
        "key",
        "step",
        encode(F.col("outcome"), OUTCOMES).alias("outcome"),
        "sent_ns",
        "closed_ns",
        encode(F.col("error"), codes.errors, others=True).alias("error"),
    )


def _reads(frames: RunFrames, codes: Codes) -> DataFrame:
    nothing = {"step": "int", "outcome": "int", "sent_ns": "bigint", "closed_ns": "bigint", "error": "int"}
    return frames.reads.where(F.col("state").isin(*READABLE)).select(
        F.lit(False).alias("is_send"),
        "run",
        "producer",
        "seq",
        spot(F.col("topic"), F.col("partition"), codes).alias("spot"),
        "offset",
        "key",
        *(F.lit(None).cast(kind).alias(name) for name, kind in nothing.items()),
    )


def error_names(codes: Codes) -> tuple[str, ...]:
    """What the `error` indices of `classify` stand for."""
    return (*codes.errors, OTHER_ERROR)

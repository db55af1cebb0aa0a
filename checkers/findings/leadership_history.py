"""Who led a partition when, as the brokers themselves told the sampler."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.journals.footers import JournalFile
from checkers.journals.load import columns, local_frame
from harness.model.storage import open_parquet

MOST_SPANS = 10_000
_FOR_EVER = 2**63 - 1

LeaderSpan = tuple[int, int, int, int, int]
"""Partition, first and last moment (ns), broker, leader epoch."""


@dataclass(frozen=True)
class LeadershipHistory:
    """Spans of time in which a broker told that it led a partition of the run's topic in a leader epoch."""

    spans: tuple[LeaderSpan, ...]


def beliefs(files: Sequence[JournalFile], topic: str) -> LeadershipHistory:
    """Read off the samples. A span lasts until the broker tells of another leader, or of another epoch of
    its own; a broker that is cut off may go on to believe that it leads, so spans may overlap."""
    told: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    silent: dict[tuple[int, int], list[int]] = defaultdict(list)
    for file in files:
        with open_parquet(file.path) as parquet:
            table = parquet.read(columns=["at_ns", "broker", "topic", "partition", "leader", "leader_epoch"])
        table = table.filter(pc.equal(table.column("topic"), topic))
        for row in table.to_pylist():
            place = row["partition"], row["broker"]
            if row["leader"] == row["broker"] and row["leader_epoch"] is not None:
                told[place].append((row["at_ns"], row["leader_epoch"]))
            else:
                silent[place].append(row["at_ns"])
    spans: list[LeaderSpan] = []
    for (partition, broker), moments in told.items():
        moments.sort()
        ends = sorted(silent[partition, broker])
        begun, epoch = moments[0]
        for at, now in [*moments[1:], (_FOR_EVER, -1)]:
            if now != epoch:
                # Until it told of another leader, or of another epoch of its own.
                silence = bisect_left(ends, begun)
                end = min(ends[silence], at) if silence < len(ends) else at
                spans.append((partition, begun, end, broker, epoch))
                begun, epoch = at, now
    return LeadershipHistory(tuple(sorted(spans)[:MOST_SPANS]))


def with_ack(rows: DataFrame, belief: LeadershipHistory, wanted: Column) -> DataFrame:
    """`acked_by`, `acked_epoch`: the broker that led the partition when the report came, and in which epoch.

    If several believed to lead, the one of the lowest epoch: it is what the others replaced.
    """
    if not belief.spans:
        return rows.withColumns({"acked_by": F.lit(None).cast("int"), "acked_epoch": F.lit(None).cast("int")})
    table = (
        local_frame(
            rows.sparkSession,
            list(belief.spans),
            columns("in_partition int, begun bigint, ended bigint, broker int, epoch int"),
        )
        .groupBy("in_partition")
        .agg(F.array_sort(F.collect_list(F.struct("epoch", "begun", "ended", "broker"))).alias("spans"))
    )
    partition = F.pmod(F.col("spot"), F.lit(2**32)).cast("int")
    then = F.get(
        F.filter(
            "spans",
            lambda span: (span["begun"] <= F.col("closed_ns")) & (F.col("closed_ns") <= span["ended"]),
        ),
        F.lit(0),
    )
    rows = rows.join(F.broadcast(table), partition == F.col("in_partition"), "left")
    rows = rows.withColumn("then", F.when(wanted, then))
    return rows.withColumns(
        {"acked_by": F.col("then")["broker"], "acked_epoch": F.col("then")["epoch"]}
    ).drop("then", "spans", "in_partition")

"""Which broker led a partition when, as the brokers themselves reported to the sampler."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.journals.footers import JournalFile
from checkers.journals.load import local_frame, schema_of
from harness.model.storage import open_parquet

MOST_SPANS = 10_000
_FOR_EVER = 2**63 - 1

LeaderSpan = tuple[int, int, int, int, int]
"""Partition, first and last moment (ns), broker, leader epoch."""


@dataclass(frozen=True)
class LeadershipHistory:
    """Spans of time in which a broker reported that it led a partition of the run's topic in a leader
    epoch."""

    spans: tuple[LeaderSpan, ...]


def read_leadership(files: Sequence[JournalFile], topic: str) -> LeadershipHistory:
    """The spans in the samples.

    A span lasts until the broker reports another leader, or another epoch of its own. A broker that is cut
    off may still believe that it leads, so spans may overlap.
    """
    led: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    not_led: dict[tuple[int, int], list[int]] = defaultdict(list)
    for file in files:
        with open_parquet(file.path) as parquet:
            table = parquet.read(columns=["at_ns", "broker", "topic", "partition", "leader", "leader_epoch"])
        table = table.filter(pc.equal(table.column("topic"), topic))
        for row in table.to_pylist():
            place = row["partition"], row["broker"]
            if row["leader"] == row["broker"] and row["leader_epoch"] is not None:
                led[place].append((row["at_ns"], row["leader_epoch"]))
            else:
                not_led[place].append(row["at_ns"])
    spans: list[LeaderSpan] = []
    for (partition, broker), moments in led.items():
        moments.sort()
        ends = sorted(not_led[partition, broker])
        begun, epoch = moments[0]
        for at, now in [*moments[1:], (_FOR_EVER, -1)]:
            if now != epoch:
                # Until it reported another leader, or another epoch of its own.
                next_end = bisect_left(ends, begun)
                end = min(ends[next_end], at) if next_end < len(ends) else at
                spans.append((partition, begun, end, broker, epoch))
                begun, epoch = at, now
    return LeadershipHistory(tuple(sorted(spans)[:MOST_SPANS]))


def with_acknowledging_leader(rows: DataFrame, leadership: LeadershipHistory, wanted: Column) -> DataFrame:
    """Rows with `acked_by` and `acked_epoch`: the broker that led the partition when the report came, and its
    leader epoch.

    If several brokers believed that they led, it is the one of the lowest epoch, which the others replaced.
    """
    if not leadership.spans:
        return rows.withColumns({"acked_by": F.lit(None).cast("int"), "acked_epoch": F.lit(None).cast("int")})
    table = (
        local_frame(
            rows.sparkSession,
            list(leadership.spans),
            schema_of("in_partition int, begun bigint, ended bigint, broker int, epoch int"),
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

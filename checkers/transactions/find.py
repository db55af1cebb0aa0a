"""Findings about transactions that poll, for runs that have any."""

from __future__ import annotations

from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.classes.classify import findings_of
from checkers.evidence.windows import open_windows
from checkers.found import Found
from checkers.groups.anomalies import FAILED
from checkers.journals.footers import row_count
from checkers.journals.views import Scratch, Views, readable
from checkers.sql import ddl
from checkers.transactions import classes
from checkers.transactions.cycles import CYCLES, TXN_BITS, cycle_rules
from harness.model.journal import TxnOutcome
from harness.model.run import ReaderInfo

_RECORD = ("producer", "seq")
_ABOUT = ("topic_partition", "offset", "next_offset")


def find(views: Views, scratch: Scratch) -> Found:
    """Findings about the transactions of producers that poll in them."""
    readers = [reader for reader in views.readers if reader.producer is not None]
    if not readers or not row_count(views.files["txns"]):
        return Found()
    rules = partial(cycle_rules, topics=views.topics)
    edges = edges_of(views, scratch, readers).withColumn("all", F.lit(0))
    cycles = scratch.materialize(
        "transaction-cycles", edges.groupBy("all").applyInArrow(lambda table: rules(table), ddl(CYCLES))
    )
    kinds = {row.kind: row.reason for row in cycles.select("kind", "reason").distinct().collect()}
    if FAILED in kinds:
        why = f"the check of transactions failed ({kinds[FAILED]}), so the verdict is unknown"
        return Found().with_problems(why)
    if not kinds:
        return Found()
    columns = {"windows": open_windows(views.meta.windows, F.col("at_ns"), F.col("until_ns"), F.lit(False))}
    return findings_of(classes.CLASSES, cycles, columns)


def edges_of(views: Views, scratch: Scratch, readers: list[ReaderInfo]) -> DataFrame:
    """The edges of `checkers.transactions.cycles`, and a row of kind "txn" for each transaction: `kind`
    (string), `source`, `target` (bigint: numbers of transactions), `topic_partition`, `offset`, `next_offset`
    (bigint; of "txn" the begin and the end, in ns). Aborted transactions have none: what nobody may read is
    no version. The order of versions is that of the final read of committed records.
    """
    txns = views.transactions.withColumn("node", _node())
    aborted = F.col("outcome") == TxnOutcome.ABORTED.value
    written = (
        views.sends.where(F.col("txn").isNotNull())
        .join(txns.where(aborted).select("producer", "txn"), ["producer", "txn"], "left_anti")
        .select(*_RECORD, _node().alias("writer"))
    )
    in_order = Window.partitionBy("topic_partition").orderBy("offset")
    log = views.committed.where(readable() & (F.col("run") == views.meta.run_id))
    versions = scratch.materialize(
        "versions",
        log.join(written, [*_RECORD]).select(
            "topic_partition",
            "offset",
            "writer",
            F.lead("offset").over(in_order).alias("next_offset"),
            F.lead("writer").over(in_order).alias("next_writer"),
        ),
    )
    whose = pa.table(
        {"reader": [reader.name for reader in readers], "producer": [reader.producer for reader in readers]}
    )
    first, count = F.col("polled_from"), F.col("polled")
    positions = (
        txns.where(~aborted & (count > 0))
        .join(F.broadcast(views.spark.createDataFrame(whose)), "producer")
        .select("node", "reader", F.explode(F.sequence(first, first + count - 1)).alias("position"))
    )
    received = views.live.where(readable() & (F.col("run") == views.meta.run_id))
    received = received.select("reader", "position", "topic_partition", "offset", *_RECORD)
    polled = scratch.materialize("polled", positions.join(received, ["reader", "position"]))
    last = polled.groupBy("node", "topic_partition").agg(F.max("offset").alias("offset"))
    node, writer, following = F.col("node"), F.col("writer"), F.col("next_writer")
    none = F.lit(None).cast("bigint")
    committed = F.col("outcome") == TxnOutcome.COMMITTED.value
    times = none, F.col("begun_ns"), F.when(committed, F.col("ended_ns"))
    parts = [
        _edges("ww", versions, writer, following),
        _edges("wr", polled.join(written, [*_RECORD]).withColumn("next_offset", none), writer, node),
        _edges("rw", last.join(versions, ["topic_partition", "offset"]), node, following),
        _edges("txn", txns.where(~aborted), node, none, times),
    ]
    return reduce(DataFrame.unionByName, parts)


def _node() -> Column:
    return F.shiftleft(F.col("producer").cast("bigint"), TXN_BITS) + F.col("txn")


def _edges(
    kind: str, rows: DataFrame, source: Column, target: Column, about: tuple[Column, ...] | None = None
) -> DataFrame:
    """Rows as edges; one without a target, or to its own source, is none."""
    kept = rows if kind == "txn" else rows.where(source != target)
    about = about or tuple(F.col(name) for name in _ABOUT)
    named = [column.alias(name) for column, name in zip(about, _ABOUT, strict=True)]
    return kept.select(F.lit(kind).alias("kind"), source.alias("source"), target.alias("target"), *named)

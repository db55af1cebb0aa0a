"""The general plan: Spark shuffles the rows of a block together, for journals in any order and of any origin.

The blocks are those of `checkers.facts.planning` and the same code computes their facts. The difference is
how rows reach a task: Spark reads every row once and sends it to the task of its block, instead of the task
reading row groups itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.facts.block import READ_COLUMNS, SEND_COLUMNS, BlockFacts
from checkers.facts.columns import OTHER, OUTCOMES, READABLE, ColumnBatch, integers
from checkers.facts.encoding import spot
from checkers.facts.outputs import OUTPUT_COLUMNS, OutputRules
from checkers.facts.planning import BLOCK_ROWS, MOST_PRODUCERS, Bands
from checkers.facts.reading import REPLICA_COLUMNS, SendWords, read_txns
from checkers.facts.tasks import Later, RunContext, TaskReport, select, select_outputs
from checkers.journals.frames import (
    LIVE_READ,
    OUTPUTS_READ,
    READS_READ,
    REPLICAS_READ,
    all_sends,
    journal_frame,
    local_frame,
    schema_of,
)
from checkers.journals.load import Journals
from checkers.running import ANSWER_DDL, answer_batch
from harness.model.errors import CheckError
from harness.model.journal import ReadState

_SEND, _FINAL, _COMMITTED, _LIVE, _REPLICA, _OUTPUT = range(6)
_NUMBERS = (
    *("run", "producer", "seq", "spot", "key", "offset"),
    *("epoch", "source", "step", "sent_ns", "closed_ns", "txn"),
)


def bands_of(spark: SparkSession, files: Journals, block_rows: int = BLOCK_ROWS) -> Bands:
    """Bands of a run, from a first pass over all its sends.

    Raises:
        CheckError: there are more than `MOST_PRODUCERS` producers.
    """
    found = (
        all_sends(spark, files)
        .groupBy("producer")
        .agg(F.min("seq").alias("low"), F.max("seq").alias("high"), F.count(F.lit(1)).alias("rows"))
        .limit(MOST_PRODUCERS + 1)
        .collect()
    )
    if len(found) > MOST_PRODUCERS:
        raise CheckError(
            "the sends journal has too many producers",
            expected=f"at most {MOST_PRODUCERS:,}",
            found="more",
            next_step="number the producers of one client together before they are imported",
        )
    producer, low, high = (
        np.array([row[name] for row in found], np.int64) for name in ("producer", "low", "high")
    )
    return Bands.of(producer, low, high, rows=sum(row.rows for row in found), block_rows=block_rows)


def shuffled_reports(
    spark: SparkSession, files: Journals, context: RunContext, bands: Bands, later: Mapping[int, Later]
) -> list[TaskReport]:
    """Run the task of every block."""
    answers = _blocks(spark, files, context, bands).mapInArrow(_ShuffleTask(context, later), ANSWER_DDL)
    return [TaskReport.from_bytes(bytes(row.answer)) for row in answers.collect()]


def _blocks(spark: SparkSession, files: Journals, context: RunContext, bands: Bands) -> DataFrame:
    """All rows of sends, reads and replicas, one block per partition.

    Columns: `kind` (int), `block` (int), the numbers of `_NUMBERS` (bigint), `word` and `error` (string).
    """
    journals = [
        (_FINAL, files.final, READS_READ, -1),
        (_COMMITTED, files.committed, READS_READ, -1),
        *((_LIVE, parts, LIVE_READ, number) for number, parts in enumerate(files.live)),
    ]
    parts = [_sends(all_sends(spark, files), context)]
    parts += [
        _reads(journal_frame(spark, of, schema), kind, source, context.topics)
        for kind, of, schema, source in journals
        if of
    ]
    if files.replicas:
        parts.append(_replicas(journal_frame(spark, files.replicas, REPLICAS_READ)))
    if files.outputs and context.outputs is not None:
        outputs = journal_frame(spark, files.outputs, OUTPUTS_READ)
        parts.append(_outputs(outputs, context.outputs, context.topics))
    rows = reduce(DataFrame.unionByName, parts)
    limits = list(
        zip(
            *(column.tolist() for column in (bands.producer, bands.low, bands.high, bands.width)), strict=True
        )
    )
    table = local_frame(spark, limits, schema_of("producer bigint, low bigint, high bigint, width bigint"))
    inside = F.col("seq").between(F.col("low"), F.col("high"))
    # A range of more than 2^63 numbers cannot be subtracted in 64 bits: it is one block.
    band = F.coalesce(F.expr("try_subtract(seq, low) div width"), F.lit(0))
    stray = bands.count + F.pmod(F.hash("run", "producer", "seq"), F.lit(bands.count))
    block = F.when(inside, F.least(band, F.lit(bands.count - 1))).otherwise(stray).cast("int")
    return (
        rows.join(F.broadcast(table), "producer", "left")
        .withColumn("block", block)
        .drop("low", "high", "width")
        .repartitionById(2 * bands.count, F.col("block"))
    )


def _sends(sends: DataFrame, context: RunContext) -> DataFrame:
    return sends.select(
        F.lit(_SEND).alias("kind"),
        F.lit(context.run).cast("bigint").alias("run"),
        *(_big(name) for name in ("producer", "seq", "key", "offset", "step", "sent_ns", "closed_ns", "txn")),
        F.expr(spot("topic", "partition", context.topics)).alias("spot"),
        *_nothing("epoch", "source"),
        F.col("outcome").alias("word"),
        "error",
    )


def _reads(reads: DataFrame, kind: int, source: int, topics: tuple[str, ...]) -> DataFrame:
    return reads.where(F.col("state").isin(*READABLE)).select(
        F.lit(kind).alias("kind"),
        *(_big(name) for name in ("run", "producer", "seq", "key", "offset")),
        F.expr(spot("topic", "partition", topics)).alias("spot"),
        F.col("leader_epoch").cast("bigint").alias("epoch"),
        F.lit(source).cast("bigint").alias("source"),
        *_nothing("step", "sent_ns", "closed_ns", "txn"),
        *_nothing("word", "error", kind="string"),
    )


def _replicas(replicas: DataFrame) -> DataFrame:
    return replicas.where(F.col("state") == ReadState.OK.value).select(
        F.lit(_REPLICA).alias("kind"),
        *(_big(name) for name in ("run", "producer", "seq")),
        F.col("broker").cast("bigint").alias("source"),
        *_nothing("key", "offset", "spot", "epoch", "step", "sent_ns", "closed_ns", "txn"),
        *_nothing("word", "error", kind="string"),
    )


def _outputs(outputs: DataFrame, rules: OutputRules, topics: tuple[str, ...]) -> DataFrame:
    counted = F.col("state") == ReadState.OK.value
    if rules.committed_only:
        counted &= F.col("committed")
    return outputs.where(counted).select(
        F.lit(_OUTPUT).alias("kind"),
        *(_big(name) for name in ("run", "producer", "seq", "offset")),
        F.expr(spot("topic", "partition", topics)).alias("spot"),
        # The end of the millisecond, as in `checkers.facts.reading.outputs_of`.
        F.expr("timestamp_ms * 1000000 + 999999").alias("closed_ns"),
        *_nothing("key", "epoch", "source", "step", "sent_ns", "txn"),
        *_nothing("word", "error", kind="string"),
    )


def _nothing(*names: str, kind: str = "bigint") -> list[Column]:
    return [F.lit(None).cast(kind).alias(name) for name in names]


def _big(name: str) -> Column:
    return F.col(name).cast("bigint").alias(name)


@dataclass(frozen=True)
class _ShuffleTask:
    """For `mapInArrow` over `_blocks`: one report per block."""

    context: RunContext
    later: Mapping[int, Later]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts: list[tuple[ColumnBatch, SendWords]] = []
        sent_words = SendWords()
        for batch in batches:
            parts.append((self._rows(pa.Table.from_batches([batch]), sent_words), sent_words))
        if not parts:
            return
        names = (*_NUMBERS, "kind", "block", "word", "outcome", "error")
        rows = ColumnBatch.joined([part for part, _ in parts], names)
        for block in np.unique(rows["block"]).tolist():
            here = rows if (rows["block"] == block).all() else rows.where(rows["block"] == block)
            report = select(
                self.context,
                block,
                self._block_rows(here),
                sent_words,
                self.later.get(block, {}),
                replicas=self._replica_rows(here),
            )
            if self.context.outputs is not None:
                block_rows, outputs = self._block_rows(here), self._output_rows(here)
                select_outputs(self.context, self.context.outputs, block_rows, outputs, report)
            yield answer_batch(report.to_bytes())

    def _rows(self, table: pa.Table, sent_words: SendWords) -> ColumnBatch:
        columns = {name: integers(table.column(name)) for name in (*_NUMBERS, "kind", "block")}
        columns["word"] = sent_words.outcomes.code(table.column("word"))
        columns["error"] = sent_words.errors.code(table.column("error"))
        known = [OUTCOMES.index(word) if word in OUTCOMES else OTHER for word in sent_words.outcomes.names]
        columns["outcome"] = np.array([*known, OTHER], np.int64)[np.maximum(columns["word"], -1)]
        return ColumnBatch(columns)

    def _block_rows(self, rows: ColumnBatch) -> BlockFacts:
        def of(kind: int, names: tuple[str, ...]) -> ColumnBatch:
            chosen = rows["kind"] == kind
            return ColumnBatch({name: rows[name][chosen] for name in names})

        return BlockFacts(
            run=self.context.run,
            sends=of(_SEND, (*SEND_COLUMNS, "word")),
            final=of(_FINAL, READ_COLUMNS),
            committed=of(_COMMITTED, READ_COLUMNS) if self.context.transactional else None,
            live=of(_LIVE, READ_COLUMNS),
            txns=read_txns(self.context.txns),
            committed_readers=self.context.committed_readers,
        )

    def _output_rows(self, rows: ColumnBatch) -> ColumnBatch:
        chosen = rows.where(np.flatnonzero(rows["kind"] == _OUTPUT))
        names = {name: "closed_ns" if name == "moment" else name for name in OUTPUT_COLUMNS}
        return ColumnBatch({name: chosen[column] for name, column in names.items()})

    def _replica_rows(self, rows: ColumnBatch) -> ColumnBatch:
        chosen = rows.where(np.flatnonzero(rows["kind"] == _REPLICA))
        columns = {name: chosen["source" if name == "broker" else name] for name in REPLICA_COLUMNS}
        return ColumnBatch(columns)

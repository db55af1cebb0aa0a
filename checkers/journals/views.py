"""The journals of a run as DataFrames: what the pipeline, and `kafka-chaos sql`, ask their questions of.

Each view has the columns of its journal (`harness.model.journal`), of the files that can be read; a journal
without files has no rows. The journals of a subject are asked for by their names (`Views.journal`). Rows with
a topic and a partition also have `topic_partition` (bigint, `checkers.journals.topic_partition`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.journals.footers import constant_values, distinct_values, row_count
from checkers.journals.load import RunJournals
from checkers.journals.topic_partition import number_of, topic_partition
from checkers.judgement.policy import recreated
from checkers.sql import ddl, sql_types, union
from harness.model.journal import ReadState, SendOutcome
from harness.model.storage import StoragePath, spark_path, storage_path

IDENTITY = ("run", "producer", "seq")
"""What identifies a record: the run's id, the producer's number, and the record's number."""

_PATTERN = re.compile(r"([\[\]{}*?\\])")
"""Characters that mean something in a pattern of Hadoop (`org.apache.hadoop.fs.GlobPattern`)."""


def _view(name: str) -> cached_property[DataFrame]:
    """The view of the journal of this name in `checkers.journals.load.JOURNALS`."""
    return cached_property(lambda views: views.journal(name))


@dataclass(frozen=True)
class Views(RunJournals):
    """The journals of one run, each also as a DataFrame.

    `topics` are the names of all topics in the run's journals, sorted, and then that of the run's topic once
    for each time that it was created again, for the topics that were deleted
    (`checkers.journals.created_again`). `repeated_sends` is the number of rows by which the journal of sends
    has sends more than once (None: not known yet).
    """

    spark: SparkSession
    topics: tuple[str, ...]
    repeated_sends: int | None = None

    @classmethod
    def of(cls, spark: SparkSession, journals: RunJournals) -> Views:
        meta, files = journals.meta, journals.files
        bounds = meta.final_read.bounds if meta.final_read is not None else ()
        topics = {meta.topic, *(bound.topic for bound in bounds)}
        naming = (name for name, journal in journals.journals.items() if journal.names_topics)
        topics |= distinct_values((file for name in naming for file in files[name]), "topic")
        earlier = [meta.topic] * len(recreated(meta))
        return cls(**vars(journals), spark=spark, topics=(*sorted(topics), *earlier))

    @property
    def recreated_ns(self) -> tuple[int, ...]:
        """When the run's topic was deleted and created again, in order of time."""
        return recreated(self.meta)

    @cached_property
    def sends(self) -> DataFrame:
        """All sends, with `run`, the run's id. One that a crash left open is `indeterminate`, unless a part
        file holds it too."""
        sends = self.journal("sends")
        if row_count(self.files["opened"]):
            opened = self.journal("opened").withColumn("outcome", F.lit(SendOutcome.INDETERMINATE.value))
            sends = sends.unionByName(opened.join(sends, ["producer", "seq"], "left_anti"))
        return sends.withColumn("run", F.lit(self.meta.run_id).cast("bigint"))

    reads = _view("final")
    """The final read."""
    committed = _view("committed")
    """The second final read, of committed records only."""

    @cached_property
    def live(self) -> DataFrame:
        """What the live readers got, with `read_committed` (boolean): the reader reads committed records
        only."""
        names = [reader.name for reader in self.readers if reader.committed]
        rows = self.journal("live")
        return rows.withColumn("read_committed", F.col("reader").isin(names) if names else F.lit(False))

    transactions = _view("txns")
    assignments = _view("assignments")
    commits = _view("commits")
    offsets = _view("offsets")
    samples = _view("samples")
    replicas = _view("replicas")

    @cached_property
    def bounds(self) -> DataFrame:
        """The bounds of the final read, one row per partition: `topic_partition`, `log_start_offset`,
        `end_offset` (bigint) and `leader` (int)."""
        rows = [
            (
                number_of(self.topics, bound.topic, bound.partition),
                bound.log_start_offset,
                bound.end_offset,
                bound.leader,
            )
            for bound in (self.meta.final_read.bounds if self.meta.final_read is not None else ())
        ]
        return self.spark.createDataFrame(
            rows, "topic_partition bigint, log_start_offset bigint, end_offset bigint, leader int"
        )

    def journal(self, name: str) -> DataFrame:
        """The rows of the files of a journal, by its name in `journals`."""
        if name not in self._read:
            self._read[name] = self._rows(name)
        return self._read[name]

    @cached_property
    def _read(self) -> dict[str, DataFrame]:
        """The journals that were asked for."""
        return {}

    def _rows(self, name: str) -> DataFrame:
        schema = self.journals[name].schema
        files = [(storage_path(file.path), file.schema) for file in self.files[name]]
        rows = read_files(self.spark, schema, files)
        # A column of which the value is known need not be read.
        for column, value in constant_values(self.files[name]).items():
            rows = rows.withColumn(column, F.lit(value))
        if {"topic", "partition"} <= set(schema.names):
            return rows.withColumn("topic_partition", topic_partition(self.topics))
        return rows


def readable() -> Column:
    """Whether the identity of a value that was read can be trusted."""
    return F.col("state").isin(ReadState.OK.value, ReadState.FOREIGN.value)


def read_parquet(spark: SparkSession, columns: str, *paths: StoragePath) -> DataFrame:
    """Parquet files or folders by their literal names, in which an engine would take brackets for patterns;
    a column (`columns`, as Spark's DDL) that a file lacks is null."""
    return spark.read.schema(columns).parquet(*(readable_path(spark, path) for path in paths))


def read_files(
    spark: SparkSession, schema: pa.Schema, files: Iterable[tuple[StoragePath, pa.Schema]]
) -> DataFrame:
    """The rows of journal files, each with its own Arrow schema, with the columns of `schema`; a column that
    a file lacks is null. No files have no rows."""
    types, columns = sql_types(schema), ddl(schema)
    # Sail reads files together only if Arrow has encoded their columns alike, and a column of categories only
    # if it is left to find out the types, which it cannot tell. To Apache Spark all are the same.
    alike: defaultdict[tuple[pa.DataType | None, ...], list[str]] = defaultdict(list)
    for path, own_schema in files:
        kinds = (own_schema.field(name).type if name in own_schema.names else None for name in types)
        alike[tuple(kinds) if is_embedded(spark) else ()].append(readable_path(spark, path))
    parts = []
    for encoding, paths in alike.items():
        if not any(kind is not None and pa.types.is_dictionary(kind) for kind in encoding):
            parts.append(spark.read.schema(columns).parquet(*paths))
            continue
        known = zip(types.items(), encoding, strict=True)
        values = ((name, sql, F.lit(None) if kind is None else F.col(name)) for (name, sql), kind in known)
        typed = (value.cast(sql).alias(name) for name, sql, value in values)
        parts.append(spark.read.parquet(*paths).select(*typed))
    return union(parts) if parts else spark.createDataFrame([], columns)


def engine_path(spark: SparkSession, path: StoragePath) -> str:
    """A path as the engine names it to write to it."""
    return path.resolve().as_uri() if isinstance(path, Path) and is_embedded(spark) else spark_path(path)


def readable_path(spark: SparkSession, path: StoragePath) -> str:
    """A path as the engine names it to read from it, by its literal name. Apache Spark takes what it reads
    for a pattern, and what it writes for a name."""
    text = engine_path(spark, path)
    return text if is_embedded(spark) else _PATTERN.sub(r"\\\1", text)


_EMBEDDED: WeakKeyDictionary[SparkSession, bool] = WeakKeyDictionary()


def is_embedded(spark: SparkSession) -> bool:
    """Whether a session is one of Sail, whose catalog has that name."""
    if spark not in _EMBEDDED:
        _EMBEDDED[spark] = spark.sql("SELECT current_catalog()").collect()[0][0] == "sail"
    return _EMBEDDED[spark]


QUICKLY = {"compression": "snappy", "dictionary_enabled": "false", "statistics_enabled": "none"}
"""How what is read once or twice is written. Sail takes all of these, and needs half the time of its defaults
for files of the same size; Apache Spark passes over all but the first, which is its own default."""


@dataclass(frozen=True)
class Scratch:
    """A folder for the intermediate results of one check, written as Parquet once, so that what follows reads
    them instead of computing them again."""

    spark: SparkSession
    folder: StoragePath

    def materialize(self, name: str, rows: DataFrame) -> DataFrame:
        """The same rows, written to a folder of this name, which must be new."""
        rows.write.options(**QUICKLY).parquet(engine_path(self.spark, self.folder / name))
        return self.spark.read.schema(rows.schema).parquet(readable_path(self.spark, self.folder / name))

"""The journals of a run as DataFrames: what the pipeline, and `kafka-chaos sql`, ask their questions of.

Each view has the columns of its journal (`harness.model.journal`), of the files that can be read; a journal
without files has no rows. Rows with a topic and a partition also have `topic_partition` (bigint,
`checkers.journals.topic_partition`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.journals.footers import JournalFile, distinct_values, rows_of
from checkers.journals.load import JOURNALS, READS, RunJournals
from checkers.journals.topic_partition import number_of, topic_partition
from checkers.sql import ddl, sql_types
from harness.model.journal import ReadState, SendOutcome
from harness.model.storage import StoragePath, spark_path, storage_path

IDENTITY = ("run", "producer", "seq")
"""What identifies a record: the run's id, the producer's number, and the record's number."""

_PATTERN = re.compile(r"([\[\]{}*?\\])")
"""Characters that mean something in a pattern of Hadoop (`org.apache.hadoop.fs.GlobPattern`)."""


def _view(name: str) -> cached_property[DataFrame]:
    """The view of the journal of this name in `checkers.journals.load.JOURNALS`."""
    return cached_property(lambda views: views.rows(name))


@dataclass(frozen=True)
class Views(RunJournals):
    """The journals of one run, each also as a DataFrame.

    `embedded`: the session is one of Sail, which names files by URLs. `topics` are the names of all topics in
    the run's journals, sorted.
    """

    spark: SparkSession
    topics: tuple[str, ...]
    embedded: bool

    @classmethod
    def of(cls, spark: SparkSession, journals: RunJournals) -> Views:
        meta, files = journals.meta, journals.files
        bounds = meta.final_read.bounds if meta.final_read is not None else ()
        topics = {meta.topic, *(bound.topic for bound in bounds)}
        of_records = (file for name in ("sends", "opened", "outputs", *READS) for file in files[name])
        topics |= distinct_values(of_records, "topic")
        return cls(**vars(journals), spark=spark, topics=tuple(sorted(topics)), embedded=is_embedded(spark))

    @cached_property
    def sends(self) -> DataFrame:
        """All sends, with `run`, the run's id. One that a crash left open is `indeterminate`, unless a part
        file holds it too."""
        sends = self.rows("sends")
        if rows_of(self.files["opened"]):
            opened = self.rows("opened").withColumn("outcome", F.lit(SendOutcome.INDETERMINATE.value))
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
        rows = self.rows("live")
        return rows.withColumn("read_committed", F.col("reader").isin(names) if names else F.lit(False))

    transactions = _view("txns")
    assignments = _view("assignments")
    commits = _view("commits")
    offsets = _view("offsets")
    samples = _view("samples")
    replicas = _view("replicas")
    outputs = _view("outputs")
    application = _view("application")
    deliveries = _view("deliveries")
    """The deliveries to the members of share groups."""
    share_offsets = _view("share_offsets")
    share_events = _view("share_events")

    @cached_property
    def bounds(self) -> DataFrame:
        """The bounds of the final read, one row per partition: `topic_partition`, `log_start_offset`,
        `end_offset` (bigint) and `leader` (int)."""
        rows = [
            (
                number_of(self.topics, one.topic, one.partition),
                one.log_start_offset,
                one.end_offset,
                one.leader,
            )
            for one in (self.meta.final_read.bounds if self.meta.final_read is not None else ())
        ]
        return self.spark.createDataFrame(
            rows, "topic_partition bigint, log_start_offset bigint, end_offset bigint, leader int"
        )

    def rows(self, name: str) -> DataFrame:
        """The rows of the files of a journal."""
        files, schema = self.files[name], JOURNALS[name][1]
        coded = [file for file in files if self.embedded and _has_dictionary(file)]
        plain = [storage_path(file.path) for file in files if file not in coded]
        parts = [self._decoded(file, schema) for file in coded]
        if plain:
            parts.append(read_parquet(self.spark, ddl(schema), *plain))
        if not parts:
            parts = [self.spark.createDataFrame([], ddl(schema))]
        rows = reduce(DataFrame.unionByName, parts)
        if {"topic", "partition"} <= set(schema.names):
            return rows.withColumn("topic_partition", topic_partition(self.topics))
        return rows

    def _decoded(self, file: JournalFile, schema: pa.Schema) -> DataFrame:
        """A file whose columns Sail is left to find out, but cannot tell."""
        present = file.footer.schema.to_arrow_schema().names
        columns = [
            (F.col(name) if name in present else F.lit(None)).cast(kind).alias(name)
            for name, kind in sql_types(schema).items()
        ]
        return self.spark.read.parquet(readable_path(self.spark, storage_path(file.path))).select(*columns)


def readable() -> Column:
    """Whether the identity of a value that was read can be trusted."""
    return F.col("state").isin(ReadState.OK.value, ReadState.FOREIGN.value)


def read_parquet(spark: SparkSession, columns: str, *paths: StoragePath) -> DataFrame:
    """Parquet files or folders by their literal names, in which an engine would take brackets for patterns;
    a column (`columns`, as Spark's DDL) that a file lacks is null."""
    return spark.read.schema(columns).parquet(*(readable_path(spark, one) for one in paths))


def _has_dictionary(file: JournalFile) -> bool:
    """Whether a column is one of categories to Arrow, which Sail does not read as a string."""
    return any(pa.types.is_dictionary(field.type) for field in file.footer.schema.to_arrow_schema())


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


@dataclass(frozen=True)
class Scratch:
    """A folder for the intermediate results of one check, written as Parquet once, so that what follows reads
    them instead of computing them again."""

    spark: SparkSession
    folder: StoragePath

    def materialize(self, name: str, rows: DataFrame) -> DataFrame:
        """The same rows, written to a folder of this name, which must be new."""
        rows.write.parquet(engine_path(self.spark, self.folder / name))
        return self.spark.read.schema(rows.schema).parquet(readable_path(self.spark, self.folder / name))

"""The journals of a run as Spark DataFrames."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from checkers.journals.footers import JournalFile
from checkers.journals.load import Journals
from harness.model.journal import SendOutcome
from harness.model.storage import StoragePath, place, spark_path

_KINDS: dict[str, DataType] = {
    "int": IntegerType(),
    "bigint": LongType(),
    "boolean": BooleanType(),
    "string": StringType(),
    "double": DoubleType(),
    "binary": BinaryType(),
    "array<int>": ArrayType(IntegerType()),
    "array<bigint>": ArrayType(LongType()),
    "array<string>": ArrayType(StringType()),
}


def schema_of(text: str) -> StructType:
    """A schema from "name type, name type"; unlike Spark's own parser it needs no session."""
    fields = (field.strip().split(" ") for field in text.split(","))
    return StructType([StructField(name, _KINDS[kind]) for name, kind in fields])


SENDS_READ = schema_of(
    "producer int, seq bigint, topic string, partition int, key bigint, step int, sent_ns bigint, "
    "outcome string, closed_ns bigint, offset bigint, error string, txn bigint"
)
READS_READ = schema_of(
    "topic string, partition int, offset bigint, leader_epoch int, state string, run bigint, producer int, "
    "seq bigint, key bigint, value binary"
)
LIVE_READ = schema_of(
    "topic string, partition int, offset bigint, leader_epoch int, state string, run bigint, producer int, "
    "seq bigint, key bigint, session int, position bigint"
)
TXNS_READ = schema_of("producer int, txn bigint, outcome string")
OUTPUTS_READ = schema_of(
    "topic string, partition int, offset bigint, timestamp_ms bigint, state string, run bigint, "
    "producer int, seq bigint, committed boolean"
)
REPLICAS_READ = schema_of("broker int, state string, run bigint, producer int, seq bigint")

GLOB_PATHS = "__globPaths__"
"""Spark's own name for the option (`DataSource.GLOB_PATHS_KEY`)."""


def all_sends(spark: SparkSession, files: Journals) -> DataFrame:
    """All sends, with the columns of `SENDS_READ`. One that a crash left open is `indeterminate` unless a
    part file holds it too."""
    sends = journal_frame(spark, files.sends, SENDS_READ)
    if not sum(file.rows for file in files.opened):
        return sends
    opened = journal_frame(spark, files.opened, SENDS_READ)
    opened = opened.join(sends.select("producer", "seq"), ["producer", "seq"], "left_anti")
    return sends.unionByName(opened.withColumn("outcome", F.lit(SendOutcome.INDETERMINATE.value)))


def journal_frame(spark: SparkSession, files: Sequence[JournalFile], schema: StructType) -> DataFrame:
    """The rows of these files."""
    if not files:
        return local_frame(spark, [], schema)
    return read_parquet(spark, schema, *(place(file.path) for file in files))


def read_parquet(spark: SparkSession, schema: StructType, *paths: StoragePath) -> DataFrame:
    """Parquet files or directories by their literal names, in which Spark would take brackets for
    patterns."""
    return spark.read.option(GLOB_PATHS, "false").schema(schema).parquet(*map(spark_path, paths))


def local_frame(spark: SparkSession, rows: Sequence[tuple[int, ...]], schema: StructType) -> DataFrame:
    """Rows of numbers as one literal.

    `createDataFrame` would start Python workers, and one column expression per number takes minutes for
    thousands of partitions.
    """
    names = schema.names
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    return spark.range(1).select(F.inline(F.from_json(F.lit(text), ArrayType(schema))))

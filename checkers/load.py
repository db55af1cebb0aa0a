"""Journals of a saved run folder as Spark DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from harness.model.errors import JournalError
from harness.model.journal import (
    OPEN_SENDS,
    READS,
    READS_DIR,
    REPLICAS,
    REPLICAS_DIR,
    SENDS,
    SENDS_DIR,
    Outcome,
)
from harness.model.places import Place, matching, open_parquet, spark_path
from harness.model.run import RunMeta

_KINDS: dict[str, DataType] = {
    "int": IntegerType(),
    "bigint": LongType(),
    "string": StringType(),
    "binary": BinaryType(),
    "array<int>": ArrayType(IntegerType()),
    "array<bigint>": ArrayType(LongType()),
}


def columns(text: str) -> StructType:
    """A schema from "name type, name type"; unlike Spark's own parser it needs no session."""
    fields = (field.strip().split(" ") for field in text.split(","))
    return StructType([StructField(name, _KINDS[kind]) for name, kind in fields])


SENDS_READ = columns(
    "producer int, seq bigint, topic string, partition int, key bigint, step int, sent_ns bigint, "
    "outcome string, closed_ns bigint, offset bigint, error string"
)
READS_READ = columns(
    "topic string, partition int, offset bigint, leader_epoch int, state string, run bigint, producer int, "
    "seq bigint, key bigint, value binary"
)
REPLICAS_READ = columns("broker int, state string, run bigint, producer int, seq bigint")

_GLOB_PATHS = "__globPaths__"
"""Spark's own name for the option (`DataSource.GLOB_PATHS_KEY`)."""

_NEXT = "restore the file from a copy of the run folder, or run the experiment again"


@dataclass(frozen=True)
class RunFrames:
    """One run as the checks see it.

    `sends` has the columns of `SENDS_READ`, `reads` of `READS_READ`, `replicas` of `REPLICAS_READ` (None: no
    replica's files were read). `problems` say what is missing, each a reason why the verdict is unknown.
    """

    meta: RunMeta
    sends: DataFrame
    reads: DataFrame
    replicas: DataFrame | None
    problems: tuple[str, ...]


@dataclass(frozen=True)
class _Parts:
    files: tuple[Place, ...]
    rows: int
    problems: tuple[str, ...]


def load_run(spark: SparkSession, folder: Place, *, reads_folder: Place | None = None) -> RunFrames:
    """Open the journals of a run folder; of `reads_folder` the final read, if it lies elsewhere.

    Every Parquet file's footer is read first: a file without one (truncated, not Parquet) is left out and
    named in `problems`. `sends/open.parquet`, left by a crash, gives sends of unknown fate (`indeterminate`)
    unless a part file holds the same send. Files still being written (`*.tmp`) are ignored.

    Raises:
        JournalError: no run folder, one of another version, no sends journal, a journal of which no file can
            be read, or one with other columns than `harness.model.journal` defines.
    """
    folder = folder.resolve()
    meta = RunMeta.load(folder)
    if not (folder / SENDS_DIR).is_dir():
        raise JournalError(
            "the run has no sends journal",
            where=str(folder / SENDS_DIR),
            expected="part-*.parquet files",
            found="no such directory",
            next_step=_NEXT,
        )
    sends = _parts(folder / SENDS_DIR, "part-*.parquet", SENDS)
    reads_folder = reads_folder or folder / READS_DIR
    reads = _parts(reads_folder, "part-*.parquet", READS)
    left_open = _parts(folder / SENDS_DIR, OPEN_SENDS, SENDS)
    replicas = _parts(folder / REPLICAS_DIR, "part-*.parquet", REPLICAS)
    for parts, name in ((sends, SENDS_DIR), (reads, READS_DIR)):
        if parts.problems and not parts.files:
            raise JournalError(
                f"no file of the {name} journal can be read",
                where=str(folder / name),
                expected="Parquet files with a footer",
                found=parts.problems[0],
                next_step=_NEXT,
            )
    problems = [*sends.problems, *left_open.problems, *reads.problems, *replicas.problems]
    final = meta.final_read
    if not reads_folder.is_dir():
        problems.append(
            "the run has no reads journal (it ended before the final read), so the verdict is unknown"
        )
    elif final is not None and not reads.problems and reads.rows != final.records:
        problems.append(
            f"the reads journal holds {reads.rows:,} records, the final read says {final.records:,}, "
            "so the verdict is unknown"
        )
    all_sends = _frame(spark, sends.files, SENDS_READ)
    if left_open.rows:
        opened = _frame(spark, left_open.files, SENDS_READ)
        closed = all_sends.select("producer", "seq")
        opened = opened.join(closed, ["producer", "seq"], "left_anti")
        all_sends = all_sends.unionByName(opened.withColumn("outcome", F.lit(Outcome.INDETERMINATE.value)))
    return RunFrames(
        meta=meta,
        sends=all_sends,
        reads=_frame(spark, reads.files, READS_READ),
        replicas=_frame(spark, replicas.files, REPLICAS_READ) if replicas.files else None,
        problems=tuple(problems),
    )


def read_parquet(spark: SparkSession, schema: StructType, *paths: Place) -> DataFrame:
    """Parquet files or directories by their very names: Spark would take brackets and braces for patterns."""
    return spark.read.option(_GLOB_PATHS, "false").schema(schema).parquet(*map(spark_path, paths))


def _frame(spark: SparkSession, files: tuple[Place, ...], schema: StructType) -> DataFrame:
    if not files:
        return local_frame(spark, [], schema)
    return read_parquet(spark, schema, *files)


def local_frame(spark: SparkSession, rows: Sequence[tuple[int, ...]], schema: StructType) -> DataFrame:
    """A few rows of numbers as literals: `createDataFrame` would start Python workers for them."""
    fields = schema.fields
    none = F.struct(*(F.lit(None).cast(field.dataType).alias(field.name) for field in fields))
    values = [
        F.struct(
            *(F.lit(item).cast(to.dataType).alias(to.name) for item, to in zip(row, fields, strict=True))
        )
        for row in rows
    ]
    return spark.range(1 if rows else 0).select(F.inline(F.array(*(values or [none]))))


def _parts(folder: Place, pattern: str, schema: pa.Schema) -> _Parts:
    """The readable files of a journal, by their footers only."""
    files, rows, problems = [], 0, []
    for path in matching(folder, pattern):
        try:
            with open_parquet(path) as parquet:
                found, count = parquet.schema_arrow, parquet.metadata.num_rows
        except (OSError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0]
            name = f"{folder.name}/{path.name}"
            problems.append(f"journal part {name} cannot be read: {reason}, so the verdict is unknown")
            continue
        _check_columns(path, found, schema)
        files.append(path)
        rows += count
    return _Parts(tuple(files), rows, tuple(problems))


def _check_columns(path: Place, found: pa.Schema, schema: pa.Schema) -> None:
    for field in schema:
        index = found.get_field_index(field.name)
        kind = None if index < 0 else _plain(found.field(index).type)
        if kind != field.type:
            raise JournalError(
                "a journal does not have the expected columns",
                where=f"{path}, column {field.name}",
                expected=str(field.type),
                found="no such column" if kind is None else str(kind),
                next_step="check it with the version that wrote it, or run the experiment again",
            )


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type without the encoding that Arrow remembers in the file (dictionary, large offsets)."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_large_string(kind):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(kind) else kind

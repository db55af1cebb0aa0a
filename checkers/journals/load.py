"""Journals of a saved run folder as Spark DataFrames."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
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
from checkers.journals.missing_journals import ReadableJournal, missing_live, missing_reads
from harness.model.errors import JournalError
from harness.model.journal import (
    COMMITS,
    COMMITS_DIR,
    COMMITTED_DIR,
    LIVE_DIR,
    OPEN_SENDS,
    READS,
    READS_DIR,
    REPLICAS,
    REPLICAS_DIR,
    SAMPLES,
    SAMPLES_DIR,
    SENDS,
    SENDS_DIR,
    TRANSACTIONS,
    TRANSACTIONS_DIR,
    UNREADABLE,
    SendOutcome,
)
from harness.model.run import ReaderInfo, RunMeta
from harness.model.storage import StoragePath, matching, place, spark_path

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
REPLICAS_READ = schema_of(
    "broker int, topic string, partition int, offset bigint, leader_epoch int, control boolean, "
    "state string, run bigint, producer int, seq bigint, crc bigint"
)

GLOB_PATHS = "__globPaths__"
"""Spark's own name for the option (`DataSource.GLOB_PATHS_KEY`)."""

_NEXT = "restore the file from a copy of the run folder, or run the experiment again"


@dataclass(frozen=True)
class Journals:
    """The readable files of a run, by journal; `live` has those of each reader of `RunFrames.readers`."""

    sends: tuple[JournalFile, ...] = ()
    opened: tuple[JournalFile, ...] = ()
    final: tuple[JournalFile, ...] = ()
    committed: tuple[JournalFile, ...] = ()
    txns: tuple[JournalFile, ...] = ()
    live: tuple[tuple[JournalFile, ...], ...] = ()
    commits: tuple[JournalFile, ...] = ()
    samples: tuple[JournalFile, ...] = ()


@dataclass(frozen=True)
class RunFrames:
    """The journals of one run as DataFrames.

    `sends` has the columns of `SENDS_READ`, `reads` and `committed` of `READS_READ`, `live` of `LIVE_READ`
    and `source` (int, index into `readers`), `txns` of `TXNS_READ`, `replicas` of `REPLICAS_READ`. None:
    there is no such journal (no live readers, no final read of committed records, no replica's files were
    read). `problems` says what is missing; each is a reason for an unknown verdict.
    """

    meta: RunMeta
    sends: DataFrame
    reads: DataFrame
    committed: DataFrame | None
    live: DataFrame | None
    txns: DataFrame | None
    replicas: DataFrame | None
    readers: tuple[ReaderInfo, ...]
    files: Journals
    problems: tuple[str, ...]


def load_run(
    spark: SparkSession, folder: StoragePath, *, reads_folder: StoragePath | None = None
) -> RunFrames:
    """Open the journals of a run folder; the journal of the final read may be in another folder.

    Every Parquet file's footer is read first: a file without one (truncated, not Parquet) is left out and
    named in `problems`. A send in `sends/open.parquet`, which a crash leaves, is `indeterminate` unless a
    part file holds the same send. Files still being written (`*.tmp`) are ignored. Journals other than sends
    and reads may be absent; it is a problem if the run's metadata mention them.

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
    sends = _parts(folder / SENDS_DIR, SENDS)
    reads_folder = reads_folder or folder / READS_DIR
    reads = _parts(reads_folder, READS)
    left_open = _parts(folder / SENDS_DIR, SENDS, OPEN_SENDS)
    others = {
        name: _parts(folder / name, schema)
        for name, schema in (
            (COMMITTED_DIR, READS),
            (TRANSACTIONS_DIR, TRANSACTIONS),
            (COMMITS_DIR, COMMITS),
            (SAMPLES_DIR, SAMPLES),
            (REPLICAS_DIR, REPLICAS),
        )
    }
    readers = _readers(folder, meta)
    live = [_parts(folder / LIVE_DIR / reader.name, READS) for reader in readers]
    for parts, name in ((sends, SENDS_DIR), (reads, READS_DIR)):
        if parts.problems and not parts.files:
            raise JournalError(
                f"no file of the {name} journal can be read",
                where=str(folder / name),
                expected="Parquet files with a footer",
                found=parts.problems[0],
                next_step=_NEXT,
            )
    problems = [
        problem for parts in (sends, left_open, reads, *others.values(), *live) for problem in parts.problems
    ]
    problems += missing_reads(meta, reads_folder.is_dir(), reads, others[COMMITTED_DIR])
    problems += missing_live(meta, readers, live)
    if meta.transactional and not others[TRANSACTIONS_DIR].files and not others[TRANSACTIONS_DIR].problems:
        problems.append("the run is transactional but has no transactions journal, so the verdict is unknown")
    all_sends = _frame(spark, sends.files, SENDS_READ)
    if left_open.rows:
        opened = _frame(spark, left_open.files, SENDS_READ)
        closed = all_sends.select("producer", "seq")
        opened = opened.join(closed, ["producer", "seq"], "left_anti")
        all_sends = all_sends.unionByName(
            opened.withColumn("outcome", F.lit(SendOutcome.INDETERMINATE.value))
        )
    committed, txns, replicas = (
        others[name].files for name in (COMMITTED_DIR, TRANSACTIONS_DIR, REPLICAS_DIR)
    )
    deliveries = [
        _frame(spark, parts.files, LIVE_READ).withColumn("source", F.lit(number))
        for number, parts in enumerate(live)
    ]
    return RunFrames(
        meta=meta,
        sends=all_sends,
        reads=_frame(spark, reads.files, READS_READ),
        committed=_frame(spark, committed, READS_READ) if committed else None,
        live=reduce(DataFrame.unionByName, deliveries) if deliveries else None,
        txns=_frame(spark, txns, TXNS_READ) if txns else None,
        replicas=_frame(spark, replicas, REPLICAS_READ) if replicas else None,
        readers=readers,
        files=Journals(
            sends=sends.files,
            opened=left_open.files,
            final=reads.files,
            committed=committed,
            txns=txns,
            live=tuple(parts.files for parts in live),
            commits=others[COMMITS_DIR].files,
            samples=others[SAMPLES_DIR].files,
        ),
        problems=tuple(problems),
    )


def _readers(folder: StoragePath, meta: RunMeta) -> tuple[ReaderInfo, ...]:
    """Live readers in the metadata, and those that have only a folder."""
    named = {reader.name: reader for reader in meta.readers}
    there = [path.name for path in matching(folder / LIVE_DIR, "*") if path.is_dir()]
    return tuple(named.get(name, ReaderInfo(name=name)) for name in sorted({*named, *there}))


def read_parquet(spark: SparkSession, schema: StructType, *paths: StoragePath) -> DataFrame:
    """Parquet files or directories by their literal names, in which Spark would take brackets for
    patterns."""
    return spark.read.option(GLOB_PATHS, "false").schema(schema).parquet(*map(spark_path, paths))


def _frame(spark: SparkSession, files: tuple[JournalFile, ...], schema: StructType) -> DataFrame:
    if not files:
        return local_frame(spark, [], schema)
    return read_parquet(spark, schema, *(place(file.path) for file in files))


def local_frame(spark: SparkSession, rows: Sequence[tuple[int, ...]], schema: StructType) -> DataFrame:
    """Rows of numbers as one literal.

    `createDataFrame` would start Python workers, and one column expression per number takes minutes for
    thousands of partitions.
    """
    names = schema.names
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    return spark.range(1).select(F.inline(F.from_json(F.lit(text), ArrayType(schema))))


_COUNTED_WITHOUT = {
    "sends": "; records whose sends it held count as phantom",
    "reads": "; acknowledged records that it held count as lost",
}
"""What a file that cannot be read does to the counts of findings."""


def _parts(folder: StoragePath, schema: pa.Schema, pattern: str = "part-*.parquet") -> ReadableJournal:
    """The readable files of a journal; only their footers are read."""
    files, problems = [], []
    for path in matching(folder, pattern):
        try:
            file = JournalFile.open(path)
            found = file.footer.schema.to_arrow_schema()
        except UNREADABLE as error:
            reason = str(error).splitlines()[0]
            name = f"{folder.name}/{path.name}"
            then = _COUNTED_WITHOUT.get(folder.name, "")
            problems.append(f"journal part {name} cannot be read: {reason}{then}, so the verdict is unknown")
            continue
        _check_columns(path, found, schema)
        files.append(file)
    return ReadableJournal(tuple(files), tuple(problems))


def _check_columns(path: StoragePath, found: pa.Schema, schema: pa.Schema) -> None:
    for field in schema:
        index = found.get_field_index(field.name)
        kind = None if index < 0 else _without_encoding(found.field(index).type)
        if kind != field.type:
            raise JournalError(
                "a journal does not have the expected columns",
                where=f"{path}, column {field.name}",
                expected=str(field.type),
                found="no such column" if kind is None else str(kind),
                next_step="check it with the version that wrote it, or run the experiment again",
            )


def _without_encoding(kind: pa.DataType) -> pa.DataType:
    """A type without the encoding that Arrow remembers in the file (dictionary, large offsets)."""
    if pa.types.is_dictionary(kind):
        return _without_encoding(kind.value_type)
    if pa.types.is_large_string(kind):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(kind) else kind

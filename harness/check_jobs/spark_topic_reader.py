"""Reads a run's topic with Spark's Kafka source: executors read it, decode identities, and write the journal.

This is for topics that one process reads too slowly. It reads the offsets for which the run's final read was
proved complete (`RunMeta.final_read`), and writes a journal like that of the final reader, for all checks.
The leader epoch is null, because Spark's Kafka source does not return it; findings then count no epochs.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from checkers import cause_of, is_failure
from harness.model.errors import CheckError, JournalError
from harness.model.journal import READS
from harness.model.run import PartitionBounds, RunMeta
from harness.model.storage import StoragePath, spark_path
from workloads.records.record.carried_identity import IDENTITY_HEADER, decode_carried
from workloads.records.record.identity import STATES, UNDECODABLE, decode_keys

SPARK_READS_DIR = "spark-reads"
"""Its folder in a run folder, beside `reads/` of the final reader, which stays as it is."""
READER = "spark"
KEPT_BYTES = 4096
"""Maximum number of bytes kept of a value that is not ok, as in the final reader's journal."""

GROUP_BYTES = 4 * 2**20
"""Size of a row group of the journal: about 200,000 rows, so that each covers a small range of seq."""

_NO_TIMESTAMP = -1
"""What Kafka returns if the message format has no timestamp."""


def read_topic(spark: SparkSession, bootstrap: str, meta: RunMeta, target: StoragePath) -> None:
    """Read the topic within the bounds of the run's final read, and write READS as Parquet to `target`.

    Raises:
        JournalError: the run has no final read, so the bounds are not known.
        CheckError: brokers do not answer, or the topic no longer holds these offsets.
    """
    bounds = meta.final_read.bounds if meta.final_read is not None else ()
    if not bounds:
        raise JournalError(
            "the run has no final read, so it is not known which offsets to read",
            where=meta.experiment,
            expected="a finished run",
            found="no bounds in run.json",
            next_step="check it without --read-with spark",
        )
    try:
        rows = topic_frame(spark, bootstrap, bounds, meta.run_id)
        rows.write.mode("overwrite").option("parquet.block.size", GROUP_BYTES).parquet(spark_path(target))
    except Exception as error:
        if not is_failure(error):
            raise
        raise CheckError(
            "Spark could not read the topic, so nothing was checked; the journals are untouched",
            where=f"{bootstrap}, topic {', '.join(sorted({bound.topic for bound in bounds}))}",
            expected="the offsets of the run's final read",
            found=cause_of(error),
            next_step="check that the brokers of this run are up, or check without --read-with spark",
        ) from error


def topic_frame(
    spark: SparkSession, bootstrap: str, bounds: tuple[PartitionBounds, ...], run_id: int
) -> DataFrame:
    """The records in `[log_start_offset, end_offset)` of each partition, with the columns of READS.

    One Spark partition reads one Kafka partition and sorts its rows by producer and seq, so that each row
    group of the journal covers a small range, as in the final reader's journal. The frame is lazy.
    """
    starting, ending = offsets(bounds)
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": ",".join(sorted({bound.topic for bound in bounds})),
        "startingOffsets": starting,
        "endingOffsets": ending,
        # The checks decide what transactions hide, and missing records must be seen.
        "kafka.isolation.level": "read_uncommitted",
        "failOnDataLoss": "true",
        "includeHeaders": "true",
    }
    records = spark.read.format("kafka").options(**options).load()
    records = records.selectExpr(
        *("key", "value", "topic", "partition", "offset"),
        "unix_millis(timestamp) AS timestamp_ms",
        f"get(filter(headers, one -> one.key = '{IDENTITY_HEADER}'), 0).value AS identity",
    )
    read_ns = time.time_ns()
    rows = records.mapInArrow(
        lambda batches: (reads_of(batch, run_id, read_ns) for batch in batches), from_arrow_schema(READS)
    )
    return rows.sortWithinPartitions("producer", "seq", "offset")


def offsets(bounds: tuple[PartitionBounds, ...]) -> tuple[str, str]:
    """Spark's `startingOffsets` and `endingOffsets`, both JSON and with every partition, even empty ones."""
    starting: dict[str, dict[int, int]] = defaultdict(dict)
    ending: dict[str, dict[int, int]] = defaultdict(dict)
    for bound in bounds:
        starting[bound.topic][bound.partition] = bound.log_start_offset
        ending[bound.topic][bound.partition] = bound.end_offset
    return json.dumps(starting), json.dumps(ending)


def reads_of(batch: pa.RecordBatch, run_id: int, read_ns: int) -> pa.RecordBatch:
    """Rows of READS from records as `topic_frame` selects them; `identity` is the header of that name."""
    count = batch.num_rows
    values = batch.column("value").to_pylist()
    identities = batch.column("identity").to_pylist()
    decoded = decode_carried(values, run_id, lambda index: [(IDENTITY_HEADER, identities[index])])
    undecodable = decoded.state == UNDECODABLE
    kept: list[bytes | None] = [None] * count
    for index in np.flatnonzero(decoded.state).tolist():
        kept[index] = (values[index] or b"")[:KEPT_BYTES]
    stamps = batch.column("timestamp_ms").cast(pa.int64())
    columns = {
        "reader": pa.repeat(READER, count),
        "topic": batch.column("topic").cast(pa.string()),
        "partition": batch.column("partition").cast(pa.int32()),
        "offset": batch.column("offset").cast(pa.int64()),
        "timestamp_ms": pc.if_else(pc.equal(stamps, _NO_TIMESTAMP), pa.scalar(None, pa.int64()), stamps),
        "state": pa.array([state.value for state in STATES], pa.string()).take(pa.array(decoded.state)),
        "run": pa.array(decoded.run, mask=undecodable),
        "producer": pa.array(decoded.producer, mask=undecodable),
        "seq": pa.array(decoded.seq, mask=undecodable),
        "key": decode_keys(batch.column("key").to_pylist()),
        "value": pa.array(kept, pa.binary()),
        "read_ns": pa.array(np.full(count, read_ns, dtype=np.int64)),
    }
    # Spark's source has no leader epoch; session and position are those of live readers.
    absent = {field.name: pa.nulls(count, field.type) for field in READS if field.name not in columns}
    return pa.RecordBatch.from_pydict(columns | absent, schema=READS)

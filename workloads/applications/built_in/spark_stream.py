"""Copies a topic with Spark Structured Streaming, to another topic or to a table of Parquet files.

Its sinks (the variant of the program, and of a table the option `sink`) differ in what a driver that dies
between the write of a batch and its commit leaves:

    native       Spark's Kafka sink. At least once: the batch is written again.
    dedup        `foreachBatch` with a transactional producer, which commits the number of the batch in the
                 same transaction as its records; a batch whose number was committed is not written again.
                 Exactly once, for readers of committed records.
    file         Spark's file sink. Exactly once: `_spark_metadata` names the files of each batch.
    append       `foreachBatch` that appends Parquet files. At least once.

The state folder holds the checkpoint (and tables, if they are below it).
"""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from workloads.applications.built_in.built_in import CHECKPOINT
from workloads.applications.built_in.lifecycle import ready, say, stop_event
from workloads.applications.built_in.planted_deaths import PlantedDeath

_FAST_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Half the time to start; the code is not run long enough for the second compiler to pay."""
_POLL_SECONDS = 0.2
_SECONDS = 60.0


def main(options: argparse.Namespace) -> int:
    checkpoint = options.state / CHECKPOINT
    checkpoint.mkdir(parents=True, exist_ok=True)
    death = PlantedDeath(checkpoint, options.die_in_batch if options.die else None)
    death.clear()
    stopping = stop_event()
    spark = _session(options.jars)
    query = _start(_source(spark, options), options, checkpoint)
    death.plant(int(spark.sparkContext._gateway.proc.pid))  # type: ignore[union-attr]
    try:
        _await_first_trigger(query, stopping)
        ready()
        while not stopping.is_set() and not query.awaitTermination(_POLL_SECONDS):
            pass
    except (PySparkException, Py4JError, OSError) as error:
        # A signal to this process group ends the JVM too, and with it the query.
        if not stopping.wait(_POLL_SECONDS):
            death.die_if_planted()
            say(f"the query failed: {_first_line(error)}")
            return 3
    with suppress(PySparkException, Py4JError, OSError):
        query.stop()
        spark.stop()
    return 0


def _session(jars: Sequence[Path]) -> SparkSession:
    os.environ["JAVA_TOOL_OPTIONS"] = _FAST_JVM
    spark = (
        # A task is tried up to 8 times: a broker that is away for a moment does not end the query.
        SparkSession.builder.master("local[2,8]")
        .appName("kafka-chaos-application")
        .config("spark.jars", ",".join(map(str, jars)))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "512m")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _await_first_trigger(query: Any, stopping: threading.Event) -> None:
    """Wait until the query has compared its checkpoint with the topic, which may fail.

    Raises:
        PySparkException: it did.
    """
    while not stopping.is_set():
        if query.lastProgress is not None or query.status["message"].startswith("Waiting for"):
            return
        query.awaitTermination(_POLL_SECONDS)


def _source(spark: SparkSession, options: argparse.Namespace) -> DataFrame:
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", options.bootstrap)
        .option("subscribe", options.input)
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .option("failOnDataLoss", str(options.failOnDataLoss).lower())
        .option("kafka.isolation.level", options.isolation)
        .option("fetchOffset.numRetries", "20")
        .option("fetchOffset.retryIntervalMs", "500")
    )
    if options.maxOffsetsPerTrigger is not None:
        reader = reader.option("maxOffsetsPerTrigger", str(options.maxOffsetsPerTrigger))
    return reader.load()


def _start(records: DataFrame, options: argparse.Namespace, checkpoint: Path) -> Any:
    rows = records.select("key", "value", "headers")
    plain = records.select("key", "value", "partition", "offset")
    if options.variant == "native":
        writer = rows.writeStream.format("kafka").option("topic", options.output)
        writer = writer.option("kafka.bootstrap.servers", options.bootstrap)
    elif options.variant == "dedup":
        writer = rows.writeStream.foreachBatch(
            TransactionalBatches(options.bootstrap, options.output, options.state.name).write
        )
    elif options.sink == "file":
        writer = plain.writeStream.format("parquet").option("path", options.output)
    else:
        writer = plain.writeStream.foreachBatch(
            lambda batch, _: batch.write.mode("append").parquet(options.output)
        )
    return writer.option("checkpointLocation", str(checkpoint)).start()


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1:] or lines[:1] or [type(error).__name__])[0][:500]


class TransactionalBatches:
    """The sink of one application, which writes each batch once; `name` makes the transactional.id and the
    group.

    The number of the newest batch is the committed offset of a group of its own, which the transaction of the
    batch commits with its records (KIP-98). After a crash the transaction is either whole or aborted, so the
    number shows whether the batch must be written.
    """

    def __init__(self, bootstrap: str, topic: str, name: str) -> None:
        self._topic = topic
        identity = f"{topic}-{name}-batches"
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": identity, "linger.ms": 5}
        )
        self._group = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": identity, "enable.auto.commit": False}
        )
        # Fences a producer of this name that is still alive, and ends its transaction.
        self._producer.init_transactions(_SECONDS)

    def newest(self) -> int:
        """The number of the newest batch that is in the output; -1: none."""
        next_batch = self._group.committed([TopicPartition(self._topic, 0)], _SECONDS)[0]
        if next_batch.error is not None:
            raise RuntimeError(f"the number of the newest batch cannot be read: {next_batch.error}")
        return max(next_batch.offset, 0) - 1

    def write(self, batch: Any, number: int) -> None:
        """Write the batch unless it was written: a function for `foreachBatch`."""
        if number <= self.newest():
            return
        self._producer.begin_transaction()
        try:
            for row in batch.collect():
                headers = [(header.key, header.value) for header in row.headers or ()]
                self._produce(row.key, row.value, headers)
            next_batch = TopicPartition(self._topic, 0, number + 1)
            self._producer.send_offsets_to_transaction(
                [next_batch], self._group.consumer_group_metadata(), _SECONDS
            )
            self._producer.commit_transaction(_SECONDS)
        except BaseException:
            self._producer.abort_transaction(_SECONDS)
            raise

    def _produce(self, key: Any, value: Any, headers: list[tuple[str, Any]]) -> None:
        key, value = (None if part is None else bytes(part) for part in (key, value))
        while True:
            try:
                self._producer.produce(self._topic, value, key, headers=headers)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

"""Copies a topic with Apache Flink: KafkaSource to KafkaSink, with checkpoints, in a cluster of one process.

The values are copied, keys are not. `guarantee` is the sink's delivery guarantee. The newest checkpoint in
the state folder is the one that a restart continues from.
"""

from __future__ import annotations

import argparse
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from workloads.applications.built_in.jvm import start_jvm
from workloads.applications.built_in.lifecycle import ready, say, stop_event
from workloads.applications.built_in.planted_deaths import DeathBetweenCheckpoints

CHECKPOINTS = "checkpoints"
"""Their folder in the state folder."""
# Flink's own list for Java 17 (flink-dist, conf/config.yaml: env.java.opts.all), as far as it matters here.
_JAVA_17 = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in (
        "java.lang",
        "java.net",
        "java.io",
        "java.nio",
        "sun.nio.ch",
        "java.lang.reflect",
        "java.text",
        "java.time",
        "java.util",
        "java.util.concurrent",
        "java.util.concurrent.atomic",
        "java.util.concurrent.locks",
    )
)
_POLL_SECONDS = 0.2
_SECONDS = 5.0


def newest_checkpoint(state: Path) -> Path | None:
    """The newest complete checkpoint: `chk-N` of some job, with its `_metadata`."""
    checkpoints = []
    for folder in (state / CHECKPOINTS).glob("*/chk-*"):
        match = re.fullmatch(r"chk-(\d+)", folder.name)
        # A running job removes the one before.
        with suppress(FileNotFoundError):
            if match and (folder / "_metadata").exists():
                checkpoints.append((folder.stat().st_mtime, int(match[1]), folder))
    return max(checkpoints)[2] if checkpoints else None


class OutputSize:
    """Asks for the number of offsets of a topic, those of open transactions and of markers included."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic, self._last = topic, 0
        # Asked by its name, a topic that is not there yet would be created with the brokers' defaults.
        no_creation = {"allow.auto.create.topics": False}
        self._client = AdminClient(
            {"bootstrap.servers": bootstrap, "metadata.max.age.ms": 1000, **no_creation}
        )

    def __call__(self) -> int:
        """The number now, or the last known one while a broker does not answer."""
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        with suppress(KafkaException):
            partitions = (
                self._client.list_topics(self._topic, timeout=_SECONDS).topics[self._topic].partitions
            )
            wanted = dict.fromkeys(
                (TopicPartition(self._topic, partition) for partition in partitions), latest
            )
            ends = self._client.list_offsets(
                wanted, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=_SECONDS
            )
            self._last = sum(done.result().offset for done in ends.values())
        return self._last


def main(options: argparse.Namespace) -> int:
    (options.state / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
    stopping = stop_event()
    gateway = start_jvm(options.jars, ("-Xmx512m", *_JAVA_17))
    job = _start(gateway, options)
    death = DeathBetweenCheckpoints(
        options.state,
        lambda: newest_checkpoint(options.state),
        OutputSize(options.bootstrap, options.output),
        options.die_after if options.die else None,
    )
    ready()
    status = gateway.jvm.org.apache.flink.api.common.JobStatus
    while not stopping.wait(_POLL_SECONDS):
        seen = job.getJobStatus().get()
        if seen.equals(status.FAILED):
            say("the job failed")
            return 3
        if death.is_due():
            say("dies between two checkpoints, as planned")
            death.die(gateway.proc.pid)
    job.cancel().get()
    gateway.shutdown()
    return 0


def _start(gateway: Any, options: argparse.Namespace) -> Any:
    jvm = gateway.jvm
    flink = jvm.org.apache.flink
    settings = flink.configuration.Configuration()
    for name, value in _settings(options).items():
        settings.setString(name, value)
    environments = flink.streaming.api.environment.StreamExecutionEnvironment
    environment = environments.createLocalEnvironment(1, settings)
    environment.enableCheckpointing(options.checkpoint_ms)
    topics = gateway.new_array(jvm.String, 1)
    topics[0] = options.input
    source = (
        flink.connector.kafka.source.KafkaSource.builder()
        .setBootstrapServers(options.bootstrap)
        .setTopics(topics)
        .setGroupId(options.group)
        .setStartingOffsets(flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer.earliest())
        .setProperty("isolation.level", "read_committed")
        .setDeserializer(
            flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema.valueOnly(
                _class(gateway, "org.apache.kafka.common.serialization.ByteArrayDeserializer")
            )
        )
        .build()
    )
    guarantee = options.guarantee.upper().replace("-", "_")
    sink = (
        flink.connector.kafka.sink.KafkaSink.builder()
        .setBootstrapServers(options.bootstrap)
        .setDeliveryGuarantee(flink.connector.base.DeliveryGuarantee.valueOf(guarantee))
        .setTransactionalIdPrefix(options.group)
        .setRecordSerializer(
            flink.connector.kafka.sink.KafkaRecordSerializationSchema.builder()
            .setTopic(options.output)
            .setKafkaValueSerializer(
                _class(gateway, "org.apache.kafka.common.serialization.ByteArraySerializer")
            )
            .build()
        )
    )
    producer = {"transaction.timeout.ms": "60000", **options.producer}
    for name, value in producer.items():
        sink.setProperty(name, value)
    watermarks = flink.api.common.eventtime.WatermarkStrategy.noWatermarks()
    environment.fromSource(source, watermarks, "input").uid("input").sinkTo(sink.build()).uid("output")
    return environment.executeAsync("kafka-chaos")


def _settings(options: argparse.Namespace) -> dict[str, str]:
    settings = {
        "state.backend.type": "hashmap",
        "state.checkpoints.dir": (options.state / CHECKPOINTS).resolve().as_uri(),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.mode": "EXACTLY_ONCE",
        "execution.checkpointing.tolerable-failed-checkpoints": "100",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "1 s",
        "taskmanager.memory.network.min": "16m",
        "taskmanager.memory.network.max": "16m",
        "taskmanager.memory.managed.size": "16m",
    }
    if (newest := newest_checkpoint(options.state)) is not None:
        settings["execution.savepoint.path"] = newest.resolve().as_uri()
    return settings


def _class(gateway: Any, name: str) -> Any:
    return gateway.jvm.Class.forName(name)

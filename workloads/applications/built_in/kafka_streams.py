"""Copies a topic with Kafka Streams: one source node, one sink node, no state.

`guarantee` is Streams' `processing.guarantee`; the group is its `application.id`, and so the consumer group
and the prefix of its transactional ids. Values, keys, headers and timestamps are copied.
"""

from __future__ import annotations

import argparse
import threading
from typing import Any

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from workloads.applications.built_in.jvm import LOG_TO_STDERR, start_jvm
from workloads.applications.built_in.lifecycle import ready, say, stop_event

_POLL_SECONDS = 0.2
_SESSION_MS = 6000
"""A restarted instance gets partitions only when the session of the killed one has ended; Kafka's default is
45 s."""


def settings(options: argparse.Namespace) -> dict[str, str]:
    """The settings of Streams, the user's last."""
    bytes_serde = "org.apache.kafka.common.serialization.Serdes$ByteArraySerde"
    return {
        "application.id": options.group,
        "bootstrap.servers": options.bootstrap,
        "state.dir": str(options.state),
        "default.key.serde": bytes_serde,
        "default.value.serde": bytes_serde,
        "processing.guarantee": options.guarantee,
        "commit.interval.ms": str(options.commit_interval_ms),
        "consumer.auto.offset.reset": "earliest",
        "consumer.session.timeout.ms": str(_SESSION_MS),
        "consumer.heartbeat.interval.ms": "1500",
        **options.settings,
    }


def main(options: argparse.Namespace) -> int:
    stopping = stop_event()
    mark = options.state / "started"
    if options.raised_limit is not None and mark.exists():
        _set_limit(options.bootstrap, options.output, options.raised_limit)
    mark.touch()
    gateway = start_jvm(options.jars, ("-Xmx256m", *LOG_TO_STDERR))
    jvm = gateway.jvm
    properties = jvm.java.util.Properties()
    for name, value in settings(options).items():
        properties.setProperty(name, value)
    builder = jvm.org.apache.kafka.streams.StreamsBuilder()
    builder.stream(options.input).to(options.output)
    streams = jvm.org.apache.kafka.streams.KafkaStreams(builder.build(), properties)
    streams.start()
    code = _until_stopped(streams, stopping)
    gateway.shutdown()
    return code


def _set_limit(bootstrap: str, topic: str, size: int) -> None:
    entry = ConfigEntry("max.message.bytes", str(size), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result()


def _until_stopped(streams: Any, stopping: threading.Event) -> int:
    announced = False
    while not stopping.wait(_POLL_SECONDS):
        state = streams.state().toString()
        if state == "RUNNING" and not announced:
            announced = True
            ready()
        if state in ("ERROR", "NOT_RUNNING"):
            say(f"Kafka Streams has ended with the state {state}")
            return 3
    streams.close()
    return 0

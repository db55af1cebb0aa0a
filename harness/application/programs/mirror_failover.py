"""A consumer of a topic that MirrorMaker 2 mirrors, and that fails over to the mirror.

A consumer in `--group` reads the input, writes each record to the output, and commits. MirrorMaker mirrors
the input, and translates the offsets of the group. When the consumer has processed `--restart-at` records,
MirrorMaker is restarted. At `--fail-over-at` records the consumer waits until no newer translated offset
comes, and goes on in the mirror, at the translated offsets. So what the output holds twice was read twice
because of the translation, and what it lacks was passed over.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from harness.application.kafka_jars import connect_jars
from harness.application.programs.arguments import assignments, java_parser
from harness.application.programs.broker_count import replicas_for
from harness.application.programs.connect_settings import aliases, failover_settings
from harness.application.programs.java_settings import LOG_TO_STDERR, java_map
from harness.application.programs.jvm_process import start_jvm
from harness.application.programs.lifecycle import jars, ready, say, stop_event

CHECKPOINT = "checkpoint.json"
"""The input's offsets up to which the application has processed it in the mirror, by partition; written after
the failover only."""
_POLL_SECONDS = 0.2
_BATCH = 100
_STEADY_SECONDS = 12.0
_TRANSLATE_SECONDS = 10
Offsets = dict[int, int]


def parser() -> argparse.ArgumentParser:
    made = java_parser(__doc__, "failover")
    made.add_argument("--restart-at", type=int, required=True)
    made.add_argument("--fail-over-at", type=int, required=True)
    return made


class Mirror:
    """MirrorMaker in this process's JVM."""

    def __init__(self, gateway: Any, options: argparse.Namespace) -> None:
        self._gateway, self._options = gateway, options
        self._source, target = aliases(options.input)
        mirror = gateway.jvm.org.apache.kafka.connect.mirror
        self._flow = mirror.SourceAndTarget(self._source, target)
        self.topic = f"{self._source}.{options.input}"
        self._start()

    def _start(self) -> None:
        options = self._options
        settings = failover_settings(
            bootstrap=options.bootstrap,
            topic=options.input,
            group=options.group,
            replicas=replicas_for(options.bootstrap),
        )
        merged = java_map(self._gateway, {**settings, **assignments(options.setting)})
        self._maker = self._gateway.jvm.org.apache.kafka.connect.mirror.MirrorMaker(merged)
        self._maker.start()
        # The connector of checkpoints has a task only once the group exists.
        while not self._runs("MirrorSourceConnector"):
            time.sleep(_POLL_SECONDS)

    def _runs(self, connector: str) -> bool:
        try:
            tasks = self._maker.connectorStatus(self._flow, connector).tasks()
        except Py4JError:
            return False  # It has no configuration yet.
        return tasks.size() > 0 and all(tasks.get(one).state() == "RUNNING" for one in range(tasks.size()))

    def stop(self) -> None:
        self._maker.stop()
        self._maker.awaitStop()

    def restart(self) -> None:
        self.stop()
        self._start()

    def translated(self) -> Offsets:
        """The group's newest translated offset of each partition of the mirror."""
        jvm = self._gateway.jvm
        properties = java_map(self._gateway, {"bootstrap.servers": self._options.bootstrap})
        found = jvm.org.apache.kafka.connect.mirror.RemoteClusterUtils.translateOffsets(
            properties,
            self._source,
            self._options.group,
            jvm.java.time.Duration.ofSeconds(_TRANSLATE_SECONDS),
        )
        return {
            entry.getKey().partition(): entry.getValue().offset()
            for entry in found.entrySet()
            if entry.getKey().topic() == self.topic
        }


class Copier:
    """Copies batches of a topic to the output."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._producer = Producer({"bootstrap.servers": options.bootstrap, "linger.ms": 5})
        self._output = options.output
        self.consumer = Consumer(
            {
                "bootstrap.servers": options.bootstrap,
                "group.id": options.group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )

    def copy(self, most: int) -> int:
        """Copy at most this number of records, and wait until they are in the output."""
        taken = 0
        for message in self.consumer.consume(min(most, _BATCH), _POLL_SECONDS):
            if message.error() is None:
                self._producer.produce(self._output, message.value(), message.key())
                taken += 1
        self._producer.flush()
        return taken


def main() -> int:
    options = parser().parse_args()
    options.state.mkdir(parents=True, exist_ok=True)
    stopping = stop_event()
    gateway = start_jvm(jars() or connect_jars(options.version), ("-Xmx384m", *LOG_TO_STDERR))
    mirror = Mirror(gateway, options)
    copier = Copier(options)
    copier.consumer.subscribe([options.input])
    ready()
    done, restarted = 0, False
    while done < options.fail_over_at and not stopping.is_set():
        limit = options.fail_over_at if restarted else options.restart_at
        if taken := copier.copy(limit - done):
            copier.consumer.commit(asynchronous=False)
        done += taken
        if done >= options.restart_at and not restarted:
            _steady(lambda: _ends(copier.consumer, mirror.topic))
            mirror.restart()
            restarted = True
    offsets = _steady(mirror.translated)
    say(f"fails over after {done} records, to the offsets {offsets}")
    mirror.stop()
    copier.consumer.unsubscribe()
    places = _ends(copier.consumer, mirror.topic)
    copier.consumer.assign([TopicPartition(mirror.topic, one, offsets.get(one, 0)) for one in places])
    while not stopping.is_set():
        copier.copy(_BATCH)
        save_checkpoint(
            options.state, copier.consumer.position([TopicPartition(mirror.topic, one) for one in places])
        )
    gateway.shutdown()
    return 0


def _ends(consumer: Consumer, topic: str) -> Offsets:
    """The end of each partition."""
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    return {one: consumer.get_watermark_offsets(TopicPartition(topic, one), 30)[1] for one in partitions}


def _steady(look: Any) -> Offsets:
    """What is found once it has not changed for a while."""
    found: Offsets = look()
    since = time.monotonic()
    while time.monotonic() - since < _STEADY_SECONDS:
        time.sleep(_POLL_SECONDS)
        if (newer := look()) != found:
            found, since = newer, time.monotonic()
    return found


def save_checkpoint(state: Path, places: list[TopicPartition]) -> None:
    """Save the positions that are known."""
    done = {place.partition: place.offset for place in places if place.offset >= 0}
    scratch = state / f".{CHECKPOINT}"
    scratch.write_text(json.dumps(done))
    scratch.replace(state / CHECKPOINT)


def read_checkpoint(state: Path) -> Offsets:
    """What `save_checkpoint` saved; a mirror without gaps has the offsets of its source."""
    try:
        saved = json.loads((state / CHECKPOINT).read_text())
    except FileNotFoundError:
        return {}
    return {int(partition): int(offset) for partition, offset in saved.items()}


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Py4JError as error:
        say(str(error).splitlines()[0])
        sys.exit(3)

"""Feeds a file with the records of a topic, each exactly once, whatever kills the process.

A line is `partition:offset:Base64 of the value`. The file itself tells where to go on: after the offset of the
last line of each partition. A torn last line is cut off. So what a reader of the file doubles comes from that
reader.
"""

from __future__ import annotations

import base64
import threading
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

_POLL_SECONDS = 0.2
_BATCH = 500


def fed_line(partition: int, offset: int, value: bytes) -> bytes:
    return b"%d:%d:%s\n" % (partition, offset, base64.b64encode(value))


def value_of_line(line: bytes) -> bytes:
    """The value of the record that a line holds.

    Raises:
        ValueError: it is no such line.
    """
    return base64.b64decode(line.split(b":", 2)[2], validate=True)


def continue_at(file: Path) -> dict[int, int]:
    """Cut a torn last line off; returns the next offset of each partition that has lines."""
    if not file.exists():
        return {}
    content = file.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with file.open("r+b") as stream:
            stream.truncate(len(whole))
    found: dict[int, int] = {}
    for line in whole.splitlines():
        partition, offset, _ = line.split(b":", 2)
        found[int(partition)] = int(offset) + 1
    return found


class Feeder(threading.Thread):
    """Feeds the file until the process ends."""

    def __init__(self, bootstrap: str, topic: str, file: Path) -> None:
        super().__init__(daemon=True, name="feeder")
        self._topic, self._file = topic, file
        self._next = continue_at(file)
        file.touch()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "feeder",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )

    def run(self) -> None:
        partitions = self._consumer.list_topics(self._topic, timeout=30).topics[self._topic].partitions
        self._consumer.assign(
            [TopicPartition(self._topic, one, self._next.get(one, OFFSET_BEGINNING)) for one in partitions]
        )
        with self._file.open("ab") as stream:
            while True:
                messages = self._consumer.consume(_BATCH, _POLL_SECONDS)
                lines = [
                    fed_line(one.partition(), one.offset(), one.value())
                    for one in messages
                    if one.error() is None and one.value() is not None
                ]
                stream.write(b"".join(lines))
                stream.flush()

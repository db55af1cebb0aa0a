"""Feeds a file with the records of a topic, each exactly once, whatever kills the process.

A line is a JSON object: partition, offset and the Base64 of the value. The file itself says where to
continue: after the offset of the last line of each partition. A torn last line is cut off. So what a reader
of the file doubles comes from that reader.
"""

from __future__ import annotations

import base64
import json
import threading
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

_POLL_SECONDS = 0.2
_BATCH = 500


def fed_line(partition: int, offset: int, value: bytes) -> bytes:
    """The line of a record; an application's identity `{json: $.value}` finds the value."""
    text = base64.b64encode(value).decode()
    return json.dumps({"partition": partition, "offset": offset, "value": text}).encode() + b"\n"


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
        record = json.loads(line)
        found[record["partition"]] = record["offset"] + 1
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
                stream.write(b"".join(filter(None, map(_line_of, messages))))
                stream.flush()


def _line_of(message: Message) -> bytes | None:
    partition, offset, value = message.partition(), message.offset(), message.value()
    if message.error() is not None or partition is None or offset is None or value is None:
        return None
    return fed_line(partition, offset, value)

"""A distributed worker of Kafka Connect with one connector.

`mirror` mirrors the input to the output topic, `file-source` sends the lines of a file that a thread of this
process feeds from the input, `file-sink` writes the values of the input as lines of Base64 to a file of the
folder of the output.
"""

from __future__ import annotations

import argparse
import base64
import json
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from harness.subjects.connect_settings import (
    EXACTLY_ONCE,
    FILE_SINK,
    FILE_SOURCE,
    Clusters,
    connector_settings,
    worker_settings,
)
from harness.subjects.jvm import LOG_TO_STDERR, java_map, start_jvm, watch_tasks
from harness.subjects.lifecycle import say, stop_event

_REQUEST_SECONDS = 60.0
_CONNECTOR = "subject"
_FEED_SECONDS = 0.2
_BATCH = 500


def main(options: argparse.Namespace) -> int:
    stopping = stop_event()
    # Its sink has no guarantee to choose.
    once = "guarantee" in options and options.guarantee == EXACTLY_ONCE
    clusters = Clusters.of(options.bootstrap, options.output_bootstrap)
    topic, output = options.input, options.output
    if options.variant == FILE_SOURCE:
        file = options.state / "lines"
        Feeder(options.bootstrap, options.input, file).start()
        topic = str(file)
    elif options.variant == FILE_SINK:
        Path(options.output).mkdir(parents=True, exist_ok=True)
        output = str(Path(options.output) / "lines.txt")
    connector = connector_settings(
        options.variant, clusters=clusters, topic=topic, output=output, group=options.group, exactly_once=once
    )
    worker = worker_settings(
        clusters=clusters, group=options.group, exactly_once=once, commit_ms=options.commit_interval_ms
    )
    gateway = start_jvm(options.jars, ("-Xmx384m", *LOG_TO_STDERR))
    cli = gateway.jvm.org.apache.kafka.connect.cli.ConnectDistributed(
        gateway.new_array(gateway.jvm.String, 0)
    )
    connect = cli.startConnect(java_map(gateway, {**worker, **options.settings}))
    url = connect.rest().advertisedUrl().toString().rstrip("/")
    _configure(url, connector)
    return watch_tasks(gateway, lambda: _states(url), connect.stop, stopping)


def _configure(url: str, settings: dict[str, str]) -> None:
    """Create the connector, unless the worker has it with these settings from before it was killed."""
    path = f"{url}/connectors/{_CONNECTOR}/config"
    present = _request(path)
    if present is None or {name: value for name, value in present.items() if name != "name"} != settings:
        _request(path, settings)


def _states(url: str) -> list[str]:
    """The states of the connector's tasks."""
    status = _request(f"{url}/connectors/{_CONNECTOR}/status")
    return [] if status is None else [one["state"] for one in status["tasks"]]


def _request(url: str, content: dict[str, str] | None = None) -> Any:
    """The answer of the worker to GET, or to PUT with a content; None: what is asked for does not exist yet.

    Raises:
        SystemExit: it refuses the content.
    """
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(
        url, data, {"Content-Type": "application/json"}, method="GET" if data is None else "PUT"
    )
    try:
        with urllib.request.urlopen(request, timeout=_REQUEST_SECONDS) as answer:
            return json.load(answer)
    except TimeoutError:
        # It is still reading its topics, for example up to the end of a killed worker's transaction.
        return _request(url, content)
    except urllib.error.HTTPError as error:
        if data is None:
            return None
        say(f"the worker refuses the connector: {error.read().decode(errors='replace')[:500]}")
        raise SystemExit(3) from error


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
    """Feeds a file with the records of a topic until the process ends, each exactly once, whatever kills it.

    A line is a JSON object: partition, offset and the Base64 of the value. The file itself says where to
    continue: after the offset of the last line of each partition. A torn last line is cut off. So what a
    reader of the file doubles comes from that reader.
    """

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
                messages = self._consumer.consume(_BATCH, _FEED_SECONDS)
                stream.write(b"".join(filter(None, map(_line_of, messages))))
                stream.flush()


def _line_of(message: Message) -> bytes | None:
    partition, offset, value = message.partition(), message.offset(), message.value()
    if message.error() is not None or partition is None or offset is None or value is None:
        return None
    return fed_line(partition, offset, value)

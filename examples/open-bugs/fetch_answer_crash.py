"""The process ends with a segmentation fault when a consumer's Fetch is answered for a topic whose id is all
zeros, and the answer names a leader of its partition (KIP-951).

Apache Kafka answers with the id that was asked for. Tansu 0.6.0 answers so for a topic that has been deleted,
which `--bootstrap` shows, by the arm `deleted` alone. The other arms need no broker: this process answers the
three requests that a consumer makes. kio has to be installed, with any version of confluent-kafka.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
import uuid
from datetime import timedelta
from functools import partial
from io import BytesIO
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kio.schema.api_versions.v0 import response as versions
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v16 import response as fetch
from kio.schema.metadata.v12 import response as metadata
from kio.schema.types import BrokerId, TopicName
from kio.serial import entity_writer
from kio.static.primitive import Records, i16, i32, i32Timedelta, i64
from trials import trials

TOPIC, TOPIC_ID, ZEROS = "gone", uuid.UUID(int=1), uuid.UUID(int=0)
PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18
NO_DELAY: Any = i32Timedelta.parse(timedelta())
BROKER = BrokerId(1)
SECONDS = 5.0


def fetch_answer(answered_id: uuid.UUID, error: ErrorCode, leader: int, port: int) -> Any:
    """An answer to a Fetch: an error for the topic's partition; `leader` -1: it names no leader."""
    named = fetch.LeaderIdAndEpoch(leader_id=BrokerId(leader), leader_epoch=i32(0 if leader > 0 else -1))
    partition = fetch.PartitionData(
        partition_index=i32(0),
        error_code=error,
        high_watermark=i64(0),
        current_leader=named,
        aborted_transactions=(),
        records=Records(b""),  # librdkafka refuses null, which the schema allows and Kafka does not send.
    )
    node = fetch.NodeEndpoint(node_id=BROKER, host="127.0.0.1", port=i32(port), rack=None)
    return fetch.FetchResponse(
        throttle_time=NO_DELAY,
        error_code=ErrorCode.none,
        session_id=i32(0),
        responses=(fetch.FetchableTopicResponse(topic_id=answered_id, partitions=(partition,)),),
        node_endpoints=(node,),
    )


class Broker:
    """Broker 1 with one topic of one partition. It answers each Fetch with `fetched`."""

    def __init__(self, answered_id: uuid.UUID, error: ErrorCode, leader: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self.fetched = partial(fetch_answer, answered_id, error, leader, self.port)
        self.fetches = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._server.accept()
            threading.Thread(target=self._serve, args=(client.makefile("rwb"),), daemon=True).start()

    def _serve(self, stream: Any) -> None:
        while length := stream.read(4):
            request = stream.read(struct.unpack(">i", length)[0])
            key, version, correlation = struct.unpack_from(">hhi", request)
            answer = BytesIO()
            body = self._answer(key, version)
            answer.write(struct.pack(">i", correlation))
            # A flexible header has tags, but for ApiVersions.
            answer.write(b"" if key == API_VERSIONS else b"\0")
            entity_writer(type(body))(answer, body)
            stream.write(struct.pack(">i", answer.tell()) + answer.getvalue())
            stream.flush()

    def _answer(self, key: int, version: int) -> Any:
        if key == API_VERSIONS:
            # A newer request than this version is answered in it, with an error, and comes again. Without
            # Produce the client takes the broker for one with old batches, and asks with an old Fetch.
            offered = ((PRODUCE, 3, 9), (FETCH, 16, 16), (METADATA, 12, 12), (API_VERSIONS, 0, 0))
            return versions.ApiVersionsResponse(
                error_code=ErrorCode.unsupported_version if version else ErrorCode.none,
                api_keys=tuple(
                    versions.ApiVersion(api_key=i16(api), min_version=i16(least), max_version=i16(most))
                    for api, least, most in offered
                ),
            )
        if key == METADATA:
            broker = metadata.MetadataResponseBroker(
                node_id=BROKER,
                host="127.0.0.1",
                port=i32(self.port),
                rack=None,
            )
            partition = metadata.MetadataResponsePartition(
                error_code=ErrorCode.none,
                partition_index=i32(0),
                leader_id=BROKER,
                leader_epoch=i32(0),
                replica_nodes=(BROKER,),
                isr_nodes=(BROKER,),
            )
            topic = metadata.MetadataResponseTopic(
                error_code=ErrorCode.none,
                name=TopicName(TOPIC),
                topic_id=TOPIC_ID,
                partitions=(partition,),
            )
            return metadata.MetadataResponse(
                throttle_time=NO_DELAY,
                brokers=(broker,),
                controller_id=BROKER,
                topics=(topic,),
            )
        self.fetches += 1
        time.sleep(0.1)
        return self.fetched()


def poll(bootstrap: str, seconds: float) -> str:
    """Read the partition for some seconds."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "log_level": 0})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    errors: set[str] = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        message = consumer.poll(0.5)
        error = None if message is None else message.error()
        if error is not None:
            errors.add(error.name())
    return f"the consumer went on, told of {', '.join(sorted(errors)) or 'no error'}"


def answered(answered_id: uuid.UUID, error: ErrorCode, leader: int) -> str:
    broker = Broker(answered_id, error, leader)
    told = poll(f"127.0.0.1:{broker.port}", SECONDS)
    return told if broker.fetches else "not tried: no Fetch came"


def deleted(bootstrap: str | None) -> str:
    """Delete a topic of real brokers, or of those of another kind, while a consumer reads it."""
    if bootstrap is None:
        return "not tried: needs --bootstrap"
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
    deletion = threading.Timer(SECONDS, lambda: admin.delete_topics([TOPIC])[TOPIC].result(30))
    deletion.start()
    told = poll(bootstrap, 3 * SECONDS)
    deletion.join()
    return told


if __name__ == "__main__":
    unknown = ErrorCode.unknown_topic_or_partition
    trials(
        {
            "an id of zeros, and a leader": lambda **_: answered(ZEROS, unknown, 1),
            "control, an id of zeros": lambda **_: answered(ZEROS, unknown, -1),
            "control, the topic's id, and a leader": lambda **_: answered(TOPIC_ID, unknown, 1),
            "deleted": deleted,
        },
        options=("bootstrap",),
        is_crash=True,
    )

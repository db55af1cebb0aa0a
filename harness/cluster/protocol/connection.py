"""A connection to one named broker, over the Kafka protocol, for its own view of the cluster.

A client library chooses the broker that answers; proofs need the answer of *this* broker. Message classes
come from kio (generated from Kafka's own definitions); this module has the connection only. Versions used
(Metadata 7, ListOffsets 5, DescribeQuorum 0, ApiVersions none) are understood by brokers from 2.8 to 4.x,
except DescribeQuorum, which ZooKeeper clusters do not have.
"""

from __future__ import annotations

import io
import socket
import struct
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from kio.schema.api_versions import v0 as versions_v0
from kio.schema.describe_quorum import v0 as quorum_v0
from kio.schema.errors import ErrorCode
from kio.schema.list_offsets import v5 as offsets_v5
from kio.schema.metadata import v7 as metadata_v7
from kio.schema.types import BrokerId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8, i32, i64

from harness.cluster.protocol.auth import BrokerAuth
from harness.model.broker_views import BrokerView, PartitionState
from harness.model.kafka_protocol import api_name
from workloads.records.journal.parquet_parts import ClosesAtEnd

CLIENT_ID = "kafka-chaos"
LATEST, EARLIEST = -1, -2
DEBUGGING_REPLICA, CONSUMER = -2, -1
"""ListOffsets replica ids: with -2 any replica answers with its own log end offset, with -1 only the leader
answers, with its high watermark."""

_T = TypeVar("_T")


Offered = Mapping[int, tuple[int, int]]
"""The requests that a broker offers: API key -> lowest and highest version."""


def missing_version(offered: Offered, key: int, version: int) -> str | None:
    """What is offered of an API in place of this version, in words; None: the version is offered."""
    low, high = offered.get(key, (0, -1))
    if low <= version <= high:
        return None
    return f"versions {low} to {high}" if high >= 0 else "no version of it"


class NotOfferedError(OSError):
    """The broker does not offer a request, by its answer to ApiVersions; it was not sent."""


def error_name(code: ErrorCode) -> str | None:
    """Kafka's name of an error; None: no error."""
    return None if code == ErrorCode.none else code.name.upper()


def request_header(request: Any, correlation: int, client: str = CLIENT_ID) -> bytes:
    """The header of a request of kio, as it goes over the wire; `request` may be its class."""
    header_type = request.__header_schema__
    header = header_type(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=i32(correlation),
        client_id=client,
    )
    buffer = io.BytesIO()
    entity_writer(header_type)(buffer, header)
    return buffer.getvalue()


def by_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """The numbers of partitions by topic, from (topic, partition)."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


class BrokerConnection(ClosesAtEnd):
    """One TCP connection to one broker, used by one thread; `login` is what it does first (None: nothing),
    and `client_id` its name for the broker. `offered` are the requests that the broker offers (None: not
    asked): others are not sent, because a system that does not know a request closes the connection.

    Raises OSError (time-outs included) from every request when the broker does not answer; the connection
    is then closed and opened anew by the next request. NotOfferedError, which is one, if it was not sent.
    """

    def __init__(
        self, broker: int, host: str, port: int, timeout: float = 1.0, login: BrokerAuth | None = None
    ) -> None:
        self.broker = broker
        self.client_id = CLIENT_ID
        self.offered: Offered | None = None
        self._login = login
        self._address = (host, port)
        self._timeout = timeout
        self._socket: socket.socket | None = None
        self._correlation = 0

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def api_versions(self) -> Offered:
        """The requests that this broker offers (KIP-35)."""
        answer = self.ask(versions_v0.ApiVersionsRequest(), versions_v0.ApiVersionsResponse)
        return {int(key.api_key): (int(key.min_version), int(key.max_version)) for key in answer.api_keys}

    def metadata(self, topics: Iterable[str] | None) -> metadata_v7.MetadataResponse:
        """Metadata as this broker holds it; None asks for all topics. Never creates a topic."""
        named = metadata_v7.request.MetadataRequestTopic
        names = None if topics is None else tuple(named(name=TopicName(name)) for name in topics)
        request = metadata_v7.MetadataRequest(topics=names, allow_auto_topic_creation=False)
        return self.ask(request, metadata_v7.MetadataResponse)

    def offsets(
        self, partitions: Iterable[tuple[str, int]], *, timestamp: int, replica_id: int
    ) -> dict[tuple[str, int], int]:
        """Offsets by (topic, partition); partitions that this broker answers with an error are left out."""
        answers = self.list_offsets(partitions, timestamp=timestamp, replica_id=replica_id)
        return {where: offset for where, (error, offset) in answers.items() if error is None and offset >= 0}

    def list_offsets(
        self, partitions: Iterable[tuple[str, int]], *, timestamp: int, replica_id: int
    ) -> dict[tuple[str, int], tuple[str | None, int]]:
        """(error, offset) by (topic, partition)."""
        topics = []
        for topic, numbers in by_topic(partitions).items():
            wanted = tuple(
                offsets_v5.request.ListOffsetsPartition(partition_index=i32(number), timestamp=i64(timestamp))
                for number in numbers
            )
            topics.append(offsets_v5.request.ListOffsetsTopic(name=TopicName(topic), partitions=wanted))
        request = offsets_v5.ListOffsetsRequest(
            replica_id=BrokerId(replica_id), isolation_level=i8(0), topics=tuple(topics)
        )
        answer = self.ask(request, offsets_v5.ListOffsetsResponse)
        return {
            (topic.name, part.partition_index): (error_name(part.error_code), int(part.offset))
            for topic in answer.topics
            for part in topic.partitions
        }

    def controller(self) -> int | None:
        """Node id of the controller as this broker believes, in a ZooKeeper cluster; None: it knows of none.
        (In a KRaft cluster a broker names any broker that lives: KIP-590.)"""
        number = int(self.metadata(()).controller_id)
        return None if number < 0 else number

    def quorum_leader(self) -> int | None:
        """Node id of the active controller (KIP-595); None where there is none or no such quorum."""
        return next((int(part.leader_id) for part in self._quorum() if part.leader_id >= 0), None)

    def lagging_voters(self) -> tuple[int, ...]:
        """The controllers whose metadata log ends below its high watermark, as the active one reports it."""
        return tuple(
            int(voter.replica_id)
            for part in self._quorum()
            for voter in part.current_voters
            if voter.log_end_offset < part.high_watermark
        )

    def _quorum(self) -> list[quorum_v0.response.PartitionData]:
        """The state of the metadata log's quorum; empty if there is none, or if the broker does not
        report it."""
        log = quorum_v0.request.TopicData(
            topic_name=TopicName("__cluster_metadata"),
            partitions=(quorum_v0.request.PartitionData(partition_index=i32(0)),),
        )
        request = quorum_v0.DescribeQuorumRequest(topics=(log,))
        try:
            answer = self.ask(request, quorum_v0.DescribeQuorumResponse)
        except NotOfferedError:
            return []
        parts = (part for topic in answer.topics for part in topic.partitions)
        return [part for part in parts if part.error_code == 0]

    def view(self, topics: Iterable[str]) -> BrokerView:
        """Everything this broker believes about `topics`, in four requests (not the controller: see
        `quorum_leader`, which a broker must ask the controllers for and so may hang alone)."""
        metadata = self.metadata(topics)
        parts = {
            (topic.name, part.partition_index): part
            for topic in metadata.topics
            if topic.name is not None and topic.error_code == 0
            for part in topic.partitions
        }
        # The high watermark is asked before the log ends: both move, and this order never shows a
        # high watermark above a log end that was really below it.
        marks = self.offsets(parts, timestamp=LATEST, replica_id=CONSUMER) if parts else {}
        starts = self.offsets(parts, timestamp=EARLIEST, replica_id=DEBUGGING_REPLICA) if parts else {}
        ends = self.offsets(parts, timestamp=LATEST, replica_id=DEBUGGING_REPLICA) if parts else {}
        return BrokerView(
            broker=self.broker,
            answered=True,
            brokers=tuple(sorted(int(node.node_id) for node in metadata.brokers)),
            partitions=tuple(
                PartitionState(
                    topic=where[0],
                    partition=int(part.partition_index),
                    leader=int(part.leader_id),
                    leader_epoch=int(part.leader_epoch),
                    replicas=tuple(int(node) for node in part.replica_nodes),
                    isr=tuple(int(node) for node in part.isr_nodes),
                    log_start_offset=starts.get(where),
                    log_end_offset=ends.get(where),
                    high_watermark=marks.get(where),
                )
                for where, part in parts.items()
            ),
        )

    def view_or_silence(self, topics: Iterable[str]) -> BrokerView:
        """As `view`; if the broker does not answer, the view says so."""
        try:
            return self.view(topics)
        except OSError:
            return BrokerView(broker=self.broker, answered=False)

    def ask(self, request: Any, answer: type[_T]) -> _T:
        """Send a message of kio and wait for its answer, which is of the class `answer`."""
        self._require_offered(request)
        try:
            reply: _T = self._exchange(request, answer)
            return reply
        except (OSError, EOFError) as error:
            self.close()
            raise OSError(f"broker {self.broker} did not answer: {error}") from error

    def _require_offered(self, request: Any) -> None:
        key, version = int(request.__api_key__), int(request.__version__)
        has = None if self.offered is None else missing_version(self.offered, key, version)
        if has is not None:
            raise NotOfferedError(
                f"broker {self.broker} does not offer {api_name(key)} in version {version}: it offers {has} "
                "(its answer to ApiVersions)"
            )

    def _exchange(self, request: Any, answer: type[Any]) -> Any:
        if self._socket is None:
            self._open()
        assert self._socket is not None
        self._correlation += 1
        buffer = io.BytesIO()
        entity_writer(type(request))(buffer, request)
        body = request_header(request, self._correlation, self.client_id) + buffer.getvalue()
        self._socket.sendall(struct.pack(">i", len(body)) + body)
        (length,) = struct.unpack(">i", self._receive(4))
        data = self._receive(length)
        _, read = entity_reader(answer.__header_schema__)(data, 0)
        return entity_reader(answer)(data, read)[0]

    def _open(self) -> None:
        self._socket = socket.create_connection(self._address, timeout=self._timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._login is not None:
            self._socket = self._login.secure(self._socket, self._address[0])
            self._login.log_in(self._exchange)

    def opened(self) -> socket.socket:
        """The connection itself, for bytes that are no messages of kio. Raises OSError (as requests do)."""
        try:
            self._open()
        except EOFError as error:
            raise OSError(f"broker {self.broker} did not answer: {error}") from error
        assert self._socket is not None
        return self._socket

    def _receive(self, count: int) -> bytes:
        assert self._socket is not None
        chunks = []
        while count:
            chunk = self._socket.recv(count)
            if not chunk:
                raise EOFError("the connection was closed")
            chunks.append(chunk)
            count -= len(chunk)
        return b"".join(chunks)

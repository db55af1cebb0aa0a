"""Commits of offsets as raw requests of many groups at once, through one named broker.

A client library sends commits to the coordinator that it finds, and one at a time for a group. These go to
the broker that is named, whether it is the coordinator or not, each over a connection of its own, so that
they fill its queue. The groups have no members, as those of consumers that assign partitions by hand.
OffsetCommit version 2 is understood by brokers from 2.8 to 4.x.
"""

from __future__ import annotations

import io
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from kio.schema.errors import ErrorCode
from kio.schema.offset_commit import v2
from kio.schema.types import GroupId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32, i64, i64Timedelta

from harness.cluster.protocol.connection import error_name, request_header

NO_ANSWER = "NO_ANSWER"
"""The error of a commit whose connection was closed, or whose answer did not come in time."""
_CHUNK = 262_144
_LENGTH = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class AnsweredCommit:
    """The answer to the commit of one group; `error` None: it is done. Times are ns since the epoch."""

    group: str
    asked_ns: int
    at_ns: int
    error: str | None


def commit_body(
    topic: str, partition: int, offset: int, *, entries: int = 1, retention: float | None = None
) -> bytes:
    """The body of a request without the group's name at its beginning: `entries` times the same commit, which
    expires after `retention` seconds (None: as the broker is set)."""
    entry = v2.request.OffsetCommitRequestPartition(
        partition_index=i32(partition), committed_offset=i64(offset), committed_metadata=""
    )
    of_topic = v2.request.OffsetCommitRequestTopic(name=TopicName(topic), partitions=(entry,) * entries)
    kept = timedelta(milliseconds=-1) if retention is None else timedelta(seconds=retention)
    request = v2.OffsetCommitRequest(
        group_id=GroupId(""), member_id="", retention_time=i64Timedelta.parse(kept), topics=(of_topic,)
    )
    buffer = io.BytesIO()
    entity_writer(v2.OffsetCommitRequest)(buffer, request)
    # An empty name is its length alone.
    return buffer.getvalue()[2:]


def commit_message(group: str, body: bytes) -> bytes:
    """A whole request, as it goes over the wire."""
    name = group.encode()
    data = request_header(v2.OffsetCommitRequest, 1) + struct.pack(">h", len(name)) + name + body
    return _LENGTH.pack(len(data)) + data


def error_of(answer: bytes) -> str | None:
    """The error of an answer, which is that of its last entry; None: the offset is committed."""
    _, read = entity_reader(v2.OffsetCommitResponse.__header_schema__)(answer, 0)
    message, _ = entity_reader(v2.OffsetCommitResponse)(answer, read)
    codes = [part.error_code for topic in message.topics for part in topic.partitions]
    return error_name(codes[-1]) if codes else error_name(ErrorCode.unknown_server_error)


class _Connection:
    """One connection with one request on its way."""

    def __init__(self, group: str, address: tuple[str, int], message: bytes) -> None:
        self.group = group
        self.socket = socket.create_connection(address, timeout=5)
        self.socket.setblocking(False)
        self.asked_ns = time.time_ns()
        self._rest = memoryview(message)
        self._answer = b""

    @property
    def sent(self) -> bool:
        return not self._rest

    def send(self) -> None:
        self._rest = self._rest[self.socket.send(self._rest[:_CHUNK]) :]

    def receive(self) -> bytes | None:
        """The whole answer; None: there is more to come.

        Raises:
            OSError: the broker has closed the connection.
        """
        data = self.socket.recv(_CHUNK)
        if not data:
            raise OSError("the connection was closed")
        self._answer += data
        if len(self._answer) < _LENGTH.size:
            return None
        whole = _LENGTH.size + _LENGTH.unpack(self._answer[: _LENGTH.size])[0]
        return self._answer[_LENGTH.size : whole] if len(self._answer) >= whole else None


class CommitFlood:
    """One commit for each of these groups, over as many connections to `address`; `answered` gets each
    answer. Call `send`, then `collect`."""

    def __init__(
        self,
        address: tuple[str, int],
        groups: Iterable[str],
        body: bytes,
        answered: Callable[[AnsweredCommit], None],
    ) -> None:
        self._answered = answered
        self._selector = selectors.DefaultSelector()
        self._open: set[_Connection] = set()
        for group in groups:
            try:
                connection = _Connection(group, address, commit_message(group, body))
            except OSError:
                answered(AnsweredCommit(group, time.time_ns(), time.time_ns(), NO_ANSWER))
                continue
            self._open.add(connection)
            self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)

    def send(self, seconds: float) -> None:
        """Write all requests, for at most `seconds`; answers that come meanwhile are taken."""
        deadline = time.monotonic() + seconds
        while any(not connection.sent for connection in self._open) and time.monotonic() < deadline:
            self._step(0.1)

    def collect(self, seconds: float) -> None:
        """Take answers until every request has its own, for at most `seconds`; what is still open then has no
        answer. Closes all connections."""
        deadline = time.monotonic() + seconds
        while self._open and time.monotonic() < deadline:
            self._step(0.1)
        for connection in list(self._open):
            self._close(connection, NO_ANSWER)
        self._selector.close()

    def _step(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            connection: _Connection = key.data
            try:
                if not connection.sent:
                    connection.send()
                    if connection.sent:
                        self._selector.modify(connection.socket, selectors.EVENT_READ, connection)
                elif (answer := connection.receive()) is not None:
                    self._close(connection, error_of(answer))
            except BlockingIOError:
                continue
            except OSError:
                self._close(connection, NO_ANSWER)

    def _close(self, connection: _Connection, error: str | None) -> None:
        self._selector.unregister(connection.socket)
        connection.socket.close()
        self._open.discard(connection)
        self._answered(AnsweredCommit(connection.group, connection.asked_ns, time.time_ns(), error))

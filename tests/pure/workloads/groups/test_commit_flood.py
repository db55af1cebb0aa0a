"""Raw commits of many groups: the bytes of a request, and what becomes of answers that do not come."""

from __future__ import annotations

import io
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.offset_commit.v2 import request as commit_request
from kio.schema.offset_commit.v2 import response as commit_response
from kio.schema.request_header.v1.header import RequestHeader
from kio.schema.response_header.v0.header import ResponseHeader
from kio.schema.types import TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32

from workloads.groups.commit_flood import (
    NO_ANSWER,
    AnsweredCommit,
    CommitFlood,
    commit_body,
    commit_message,
    error_of,
)

pytestmark = pytest.mark.pure


def answer(*codes: ErrorCode) -> bytes:
    buffer = io.BytesIO()
    entity_writer(ResponseHeader)(buffer, ResponseHeader(correlation_id=i32(1)))
    parts = tuple(
        commit_response.OffsetCommitResponsePartition(partition_index=i32(0), error_code=code)
        for code in codes
    )
    topic = commit_response.OffsetCommitResponseTopic(name=TopicName("t"), partitions=parts)
    entity_writer(commit_response.OffsetCommitResponse)(
        buffer, commit_response.OffsetCommitResponse(topics=(topic,))
    )
    return buffer.getvalue()


def test_a_request_is_what_kafka_defines() -> None:
    message = commit_message("app-7", commit_body("t", 2, 40, entries=3, retention=0.1))
    (length,) = struct.unpack(">i", message[:4])
    assert length == len(message) - 4
    header, read = entity_reader(RequestHeader)(message, 4)
    assert (int(header.request_api_key), int(header.request_api_version)) == (8, 2)
    request, end = entity_reader(commit_request.OffsetCommitRequest)(message, 4 + read)
    assert end + 4 + read == len(message)
    assert (request.group_id, request.member_id) == ("app-7", "")
    assert int(request.generation_id_or_member_epoch) == -1
    assert request.retention_time.total_seconds() == 0.1
    (topic,) = request.topics
    assert topic.name == "t"
    assert [(int(one.partition_index), int(one.committed_offset)) for one in topic.partitions] == [
        (2, 40)
    ] * 3


@pytest.mark.parametrize(
    ("codes", "error"),
    [
        ((ErrorCode.none,), None),
        ((ErrorCode.not_coordinator,) * 2, "NOT_COORDINATOR"),
        ((), "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_the_error_of_an_answer(codes: tuple[ErrorCode, ...], error: str | None) -> None:
    assert error_of(answer(*codes)) == error


@pytest.fixture
def broker() -> Iterator[tuple[str, int]]:
    """Answers the first connection in two pieces, closes the second, and is silent to the third."""
    server = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def serve() -> None:
        for number in range(3):
            connection, _ = server.accept()
            (length,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
            connection.recv(length, socket.MSG_WAITALL)
            if number == 0:
                data = answer(ErrorCode.none)
                connection.sendall(struct.pack(">i", len(data)) + data[:3])
                connection.sendall(data[3:])
            if number == 1:
                connection.close()
            else:
                held.append(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()
    thread.join(10)
    for one in (*held, server):
        one.close()


def test_every_group_gets_an_answer_or_none(broker: tuple[str, int]) -> None:
    found: list[AnsweredCommit] = []
    flood = CommitFlood(broker, ["a", "b", "c"], commit_body("t", 0, 1, entries=2000), found.append)
    flood.send(10)
    flood.collect(5)
    assert {one.group: one.error for one in found} == {"a": None, "b": NO_ANSWER, "c": NO_ANSWER}
    assert all(one.asked_ns <= one.at_ns for one in found)


def test_a_broker_that_is_not_there_gives_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    found: list[AnsweredCommit] = []
    flood = CommitFlood(address, ["a"], commit_body("t", 0, 1), found.append)
    flood.send(1)
    flood.collect(1)
    assert [(one.group, one.error) for one in found] == [("a", NO_ANSWER)]

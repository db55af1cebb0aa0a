"""Heads of requests and answers, read from bytes that come piece by piece."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from harness.cluster.proxy.frames import AnswerHead, NotKafka, RequestHead, answer_head, request_head
from tests.support.kafka_frames import produce, request

pytestmark = pytest.mark.pure

MOST = 1 << 20


def first_head(frame: bytes, read: Any = request_head) -> Any:
    """What is read when the bytes come one by one; no head may be told from fewer than are asked for."""
    wanted = 1
    for end in range(1, len(frame) + 1):
        found = read(memoryview(frame)[:end], MOST)
        if not isinstance(found, int):
            assert end >= wanted
            return found
        assert found > end
        wanted = found
    raise AssertionError("no head")


@pytest.mark.parametrize("client", [None, "", "producer-1", "x" * 300])
@pytest.mark.parametrize("version", [3, 8, 9, 13])
@pytest.mark.parametrize("transaction", [None, "t", "t" * 200])
@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_a_produce_request(client: str | None, version: int, transaction: str | None, acks: int) -> None:
    frame = produce(version, client=client, transaction=transaction, acks=acks, correlation=77)
    assert first_head(frame) == RequestHead(len(frame), 0, version, 77, client, acks != 0)
    assert request_head(memoryview(frame + b"more"), MOST) == first_head(frame)


def test_any_other_request_is_answered() -> None:
    frame = request("Metadata", 12, client="c", correlation=5)
    assert first_head(frame) == RequestHead(len(frame), 3, 12, 5, "c", True)


def test_an_answer() -> None:
    frame = struct.pack(">ii", 10, 99) + bytes(6)
    assert first_head(frame, answer_head) == AnswerHead(14, 99)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"GET / HTTP/1.1\r\n", "it begins with b'GET '"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "TLS"),
        (struct.pack(">i", MOST + 1) + bytes(20), f"a frame of {MOST + 1} bytes, above the limit of {MOST}"),
        (struct.pack(">i", -1) + bytes(20), "no message of Kafka"),
        (struct.pack(">i", 3) + bytes(20), "no message of Kafka"),
        (struct.pack(">ihhih", 20, 5000, 0, 1, -1) + bytes(20), "API key 5000"),
        (struct.pack(">ihhih", 20, 3, -5, 1, -1) + bytes(20), "version -5"),
        (struct.pack(">ihhih", 20, 3, 1, 1, 500) + bytes(20), "no request"),
        (struct.pack(">ihhih", 10, 0, 8, 1, -1), "before its acks"),
    ],
)
def test_what_is_no_request_is_named(data: bytes, says: str) -> None:
    with pytest.raises(NotKafka) as found:
        request_head(memoryview(data), MOST)
    assert says in str(found.value)

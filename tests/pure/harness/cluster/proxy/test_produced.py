"""What the first Produce request of a client asks for, from real frames."""

from __future__ import annotations

import io
import struct
from datetime import timedelta
from typing import Any

import pytest
from kio.index import load_request_schema
from kio.schema.types import TopicName
from kio.serial import entity_writer
from kio.static.primitive import i16, i32, i32Timedelta

from harness.cluster.proxy.frames import RequestHead
from harness.cluster.proxy.produced import Produced, has_producer_id
from tests.support.builders.batches import batch

pytestmark = pytest.mark.pure


def frame(acks: int, records: bytes, version: int = 9) -> bytes:
    """A Produce request of client "shop" to the topic "orders"."""
    kind: Any = load_request_schema(0, version)
    topic: Any = kind.__annotations__["topic_data"].__args__[0]
    partition: Any = topic.__annotations__["partition_data"].__args__[0]
    body = kind(
        transactional_id=None,
        acks=i16(acks),
        timeout=i32Timedelta.parse(timedelta(seconds=1)),
        topic_data=(
            topic(name=TopicName("orders"), partition_data=(partition(index=i32(0), records=records),)),
        ),
    )
    buffer = io.BytesIO()
    entity_writer(kind)(buffer, body)
    head = struct.pack(">hhih", 0, version, 7, 4) + b"shop" + b"\0"
    return struct.pack(">i", len(head) + len(buffer.getvalue())) + head + buffer.getvalue()


def head(client: str | None = "shop", key: int = 0, version: int = 9) -> RequestHead:
    return RequestHead(100, key, version, 7, client, True)


@pytest.mark.parametrize(
    ("acks", "pid", "words"),
    [(-1, 77, ("all", True)), (-1, -1, ("all", False)), (1, -1, ("1", False)), (0, -1, ("0", False))],
)
def test_the_first_request_of_a_client_is_read(acks: int, pid: int, words: tuple[str, bool]) -> None:
    produced = Produced()
    assert produced.lacks(head())
    produced.note(head(), frame(acks, batch(0, 1, pid=pid)))
    (row,) = produced.status()
    assert (row["client"], row["topic"], row["version"]) == ("shop", "orders", 9)
    assert (row["acks"], row["idempotent"]) == words
    assert not produced.lacks(head())
    assert produced.lacks(head("another"))
    assert not produced.lacks(head("another", key=1))


def test_what_cannot_be_read_is_not_looked_at_again() -> None:
    produced = Produced()
    produced.note(head(), b"\0\0\0\4nope")
    assert produced.status() == []
    assert not produced.lacks(head())


def test_old_formats_have_no_producer_id() -> None:
    data = bytearray(batch(0, 1, pid=77))
    assert has_producer_id(bytes(data))
    assert not has_producer_id(bytes(data[:50]))
    data[16] = 1
    assert not has_producer_id(bytes(data))

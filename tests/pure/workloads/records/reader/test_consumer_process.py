"""What goes between a consumer in a process of its own and its caller."""

from __future__ import annotations

import io

import pytest
from confluent_kafka import KafkaError, Message, TopicPartition

from workloads.records.reader.consumer_process import decode, encode, receive, send_message

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    "value", [None, True, 3, "text", b"bytes", {"group.id": "g"}, [], [1, [2, "x"]], [("k", b"v")]]
)
def test_plain_values_come_back(value: object) -> None:
    expected = [["k", b"v"]] if value == [("k", b"v")] else value
    assert decode(encode(value)) == expected


def test_a_record_comes_back_whole() -> None:
    record = Message(
        topic="t",
        partition=2,
        offset=7,
        key=b"k",
        value=b"v",
        headers=[("h", b"1")],
        error=None,
        timestamp=(1, 99),
        leader_epoch=4,
    )
    back = decode(encode(record))
    assert isinstance(back, Message), "journals call the methods of this class"
    assert (back.topic(), back.partition(), back.offset(), back.key(), back.value()) == (
        "t",
        2,
        7,
        b"k",
        b"v",
    )
    assert (back.headers(), back.timestamp(), back.leader_epoch()) == ([("h", b"1")], (1, 99), 4)
    assert back.error() is None


def test_the_end_of_a_partition_and_its_error_come_back() -> None:
    ended = Message(
        topic="t", partition=0, offset=10, error=KafkaError(KafkaError._PARTITION_EOF, "at the end")
    )
    back = decode(encode([ended]))
    (message,) = back
    assert (message.error().code(), message.error().str()) == (KafkaError._PARTITION_EOF, "at the end")
    assert message.offset() == 10


def test_a_place_comes_back() -> None:
    back = decode(encode(TopicPartition("t", 1, 5)))
    assert (back.topic, back.partition, back.offset, back.error) == ("t", 1, 5, None)


def test_messages_are_told_apart_and_the_end_is_noticed() -> None:
    stream = io.BytesIO()
    send_message(stream, ("call", "consume", [1, 0.5], [["timeout", 2]]))
    send_message(stream, ("done",))
    stream.seek(0)
    assert receive(stream) == ("call", "consume", [1, 0.5], [["timeout", 2]])
    assert receive(stream) == ("done",)
    with pytest.raises(EOFError):
        receive(stream)

"""The topics and partitions that messages name."""

from __future__ import annotations

import pytest

from harness.cluster.proxy import bodies
from harness.model.kafka_protocol import API_KEYS
from harness.model.request_rules import NamedPartition
from tests.support.kafka_frames import TOPIC_ID, answer, produce, request

pytestmark = pytest.mark.pure

ID = str(TOPIC_ID)


def test_of_requests() -> None:
    def named(api: str, version: int, frame: bytes) -> set[NamedPartition]:
        found = bodies.partitions(bodies.read_request(API_KEYS[api], version, frame))
        return {one for one in found if one.partition is not None}

    assert named("Produce", 8, produce(8, partitions=(0, 5))) == {
        NamedPartition("t", None, 0),
        NamedPartition("t", None, 5),
    }
    assert named("Produce", 13, produce(13)) == {NamedPartition(None, ID, 0)}
    markers = (
        {"topics": ({"name": "a", "partition_indexes": (1, 2)}, {"name": "b", "partition_indexes": (3,)})},
    )
    found = named("WriteTxnMarkers", 1, request("WriteTxnMarkers", 1, markers=markers))
    assert found == {NamedPartition("a", None, 1), NamedPartition("a", None, 2), NamedPartition("b", None, 3)}
    changed = ({"topic_id": TOPIC_ID, "partitions": ({"partition_index": 4},)},)
    assert named("AlterPartition", 3, request("AlterPartition", 3, topics=changed)) == {
        NamedPartition(None, ID, 4)
    }


def test_of_answers() -> None:
    frame = answer("Fetch", 12, responses=({"topic": "t", "partitions": ({"partition_index": 6},)},))
    assert NamedPartition("t", None, 6) in set(bodies.partitions(bodies.read_answer(1, 12, frame)))


def test_messages_without_topics_name_none() -> None:
    assert list(bodies.partitions(bodies.read_request(12, 4, request("Heartbeat", 4)))) == []


def test_what_cannot_be_read_says_so() -> None:
    with pytest.raises(bodies.Unreadable):
        bodies.read_request(0, 99, produce(8))
    with pytest.raises(bodies.Unreadable):
        bodies.read_request(0, 8, produce(8)[:-20])
    with pytest.raises(bodies.Unreadable):
        bodies.read_request(5000, 0, produce(8))
    assert bodies.newest_version(API_KEYS["Produce"]) >= 12
    assert bodies.newest_version(5000) == -1

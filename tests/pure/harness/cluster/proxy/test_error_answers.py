"""Answers with an error, read back by kio: where the code stands, and for which topics and partitions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType

from harness.cluster.proxy import bodies
from harness.cluster.proxy.error_answers import empty, error_answer, with_error
from harness.cluster.proxy.frames import RequestHead, answer_head, request_head
from tests.support.kafka_frames import TOPIC_ID, answer, produce, request

pytestmark = pytest.mark.pure

ID = str(TOPIC_ID)
TOP = "top"
KEYS = ("topic_id", "topic", "name", "key", "group_id", "partition_index", "index", "partition")


def placed(entity: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a message has an error: the names and numbers on the way to it."""
    for name in KEYS:
        value = getattr(entity, name, None)
        path += (
            ()
            if value is None or isinstance(value, tuple)
            else (str(value) if name == "topic_id" else value,)
        )
    for field in dataclasses.fields(entity):
        value = getattr(entity, field.name)
        if isinstance(value, ErrorCode) and value != ErrorCode.none:
            yield path or (TOP,)
        for one in value if isinstance(value, tuple) else ():
            if dataclasses.is_dataclass(one):
                yield from placed(one, path)


def head_of(frame: bytes) -> RequestHead:
    found = request_head(memoryview(frame), 1 << 20)
    assert isinstance(found, RequestHead)
    return found


def parts(**names: Any) -> tuple[dict[str, Any], ...]:
    """Two partitions by one field."""
    ((name, numbers),) = names.items()
    return tuple({name: number} for number in numbers)


FETCH = ({"topic": "t", "partitions": parts(partition=(0, 2))},)
BY_ID = ({"topic_id": TOPIC_ID, "partitions": parts(partition_index=(1,))},)


@pytest.mark.parametrize(
    ("frame", "code", "where"),
    [
        *(
            (produce(one, partitions=(0, 1)), "NOT_ENOUGH_REPLICAS", [("t", 0), ("t", 1)])
            for one in range(3, 13)
        ),
        (produce(13), "NOT_LEADER_OR_FOLLOWER", [(ID, 0)]),
        *(
            (request("Fetch", one, topics=FETCH), "NOT_LEADER_OR_FOLLOWER", [("t", 0), ("t", 2)])
            for one in (4, 11, 12)
        ),
        (request("Fetch", 12, topics=FETCH), "FETCH_SESSION_ID_NOT_FOUND", [(TOP,)]),
        (request("Fetch", 13, topics=()), "NOT_LEADER_OR_FOLLOWER", [(TOP,)]),
        (
            request("OffsetCommit", 8, topics=({"name": "t", "partitions": parts(partition_index=(3,))},)),
            "NOT_COORDINATOR",
            [("t", 3)],
        ),
        (
            request("OffsetFetch", 5, topics=({"name": "t", "partition_indexes": (1, 2)},)),
            "UNSTABLE_OFFSET_COMMIT",
            [("t", 1), ("t", 2)],
        ),
        (
            request("OffsetFetch", 5, topics=({"name": "t", "partition_indexes": (1,)},)),
            "NOT_COORDINATOR",
            [(TOP,)],
        ),
        (
            request(
                "OffsetFetch",
                8,
                groups=({"group_id": "g", "topics": ({"name": "t", "partition_indexes": (1,)},)},),
            ),
            "STALE_MEMBER_EPOCH",
            [("g",)],
        ),
        (
            request(
                "WriteTxnMarkers", 1, markers=({"topics": ({"name": "t", "partition_indexes": (0, 1)},)},)
            ),
            "NOT_LEADER_OR_FOLLOWER",
            [("t", 0), ("t", 1)],
        ),
        (request("AlterPartition", 3, topics=BY_ID), "INELIGIBLE_REPLICA", [(ID, 1)]),
        (request("AlterPartition", 3, topics=BY_ID), "NOT_CONTROLLER", [(TOP,)]),
        (request("EndTxn", 3), "CONCURRENT_TRANSACTIONS", [(TOP,)]),
        (
            request("AddPartitionsToTxn", 3, v3_and_below_topics=({"name": "t", "partitions": (0, 1)},)),
            "CONCURRENT_TRANSACTIONS",
            [("t", 0), ("t", 1)],
        ),
        (request("FindCoordinator", 1), "COORDINATOR_NOT_AVAILABLE", [(TOP,)]),
        (
            request("FindCoordinator", 4, coordinator_keys=("a", "b")),
            "COORDINATOR_NOT_AVAILABLE",
            [("a",), ("b",)],
        ),
        (request("Metadata", 12, topics=({"name": "t"},)), "LEADER_NOT_AVAILABLE", [("t",)]),
        (
            request("ListOffsets", 7, topics=({"name": "t", "partitions": parts(partition_index=(1,))},)),
            "FENCED_LEADER_EPOCH",
            [("t", 1)],
        ),
        (request("DeleteTopics", 3, topic_names=("t", "u")), "NOT_CONTROLLER", [("t",), ("u",)]),
        (request("Heartbeat", 4), "REBALANCE_IN_PROGRESS", [(TOP,)]),
        (request("ShareFetch", 1, topics=BY_ID), "NOT_LEADER_OR_FOLLOWER", [(ID, 1)]),
    ],
)
def test_where_the_code_stands(frame: bytes, code: str, where: list[Any]) -> None:
    head = head_of(frame)._replace(correlation=42)
    made = error_answer(head, frame, code)
    assert made is not None
    assert answer_head(memoryview(made), 1 << 20).correlation == 42  # type: ignore[union-attr]
    assert list(placed(bodies.read_answer(head.key, head.version, made))) == where


def test_offsets_of_an_error_are_not_offsets() -> None:
    frame = produce(8)
    made = error_answer(head_of(frame), frame, "NOT_ENOUGH_REPLICAS")
    assert made is not None
    part = bodies.read_answer(0, 8, made).responses[0].partition_responses[0]
    assert (part.base_offset, part.log_append_time) == (-1, None)


def test_a_request_that_names_nothing_has_no_place_for_an_error() -> None:
    frame = request("Metadata", 9, topics=())
    assert error_answer(head_of(frame), frame, "LEADER_NOT_AVAILABLE") is None


def test_a_newer_version_has_no_answer_of_ours() -> None:
    head = head_of(produce(8))._replace(version=99)
    assert error_answer(head, produce(8), "NOT_ENOUGH_REPLICAS") is None
    assert with_error(head, answer("Produce", 8), "NOT_ENOUGH_REPLICAS") is None


def test_the_brokers_answer_gets_the_error() -> None:
    of_broker = {"index": 1, "base_offset": 77}
    frame = answer(
        "Produce", 8, responses=({"name": "t", "partition_responses": (of_broker,)},), correlation=9
    )
    made = with_error(head_of(produce(8))._replace(correlation=9), frame, "REQUEST_TIMED_OUT")
    assert made is not None
    assert list(placed(bodies.read_answer(0, 8, made))) == [("t", 1)]


VERSIONS = [
    (key, version)
    for key, name in api_key_map.items()
    for version, kinds in schema_name_map[name].items()
    if EntityType.response in kinds
]


def test_an_empty_answer_of_every_version_is_read_back() -> None:
    for key, version in VERSIONS:
        made = empty(load_response_schema(key, version))
        assert bodies.read_answer(key, version, bodies.answer_frame(made, 1)) == made

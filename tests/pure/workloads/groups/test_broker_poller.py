"""Asking every broker without a pause, against brokers that answer from a script."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType
from typing import Any, Self, cast

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.offset_fetch.v8.response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kio.schema.types import TopicName
from kio.static.primitive import i32, i32Timedelta, i64

from harness.cluster.protocol.client_requests import CommittedOffset, fetch_offsets_of_groups
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.group_journal import OFFSETS
from tests.support.journal_rows import Rows, until
from workloads.groups.pollers import BrokerPoller

pytestmark = pytest.mark.pure

NOW = i32Timedelta.parse(timedelta(0))


class Broker:
    """A broker that has committed `offset` for every group; `error` is the whole group's."""

    def __init__(self, offset: int = -1, error: ErrorCode = ErrorCode.none) -> None:
        self.offset, self.error = offset, error
        self.failure: Exception | None = None
        self.asked: list[Any] = []


class Connection:
    def __init__(self, number: int, broker: Broker) -> None:
        self.broker, self._broker = number, broker

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None: ...

    def ask(self, request: Any, _: Any) -> OffsetFetchResponse:
        self._broker.asked.append(request)
        if self._broker.failure is not None:
            raise self._broker.failure
        return OffsetFetchResponse(
            throttle_time=NOW, groups=tuple(self._answer(one) for one in request.groups)
        )

    def _answer(self, group: Any) -> OffsetFetchResponseGroup:
        parts = tuple(
            OffsetFetchResponsePartitions(
                partition_index=number,
                committed_offset=i64(self._broker.offset),
                committed_leader_epoch=i32(-1),
                metadata="",
                error_code=ErrorCode.none,
            )
            for number in group.topics[0].partition_indexes
        )
        topics = (OffsetFetchResponseTopics(name=TopicName("t"), partitions=parts),)
        whole = self._broker.error
        return OffsetFetchResponseGroup(
            group_id=group.group_id, topics=() if whole else topics, error_code=whole
        )


def of(broker: int, journal: Rows) -> list[tuple[str, int | None, str | None]]:
    return [(row["group"], row["offset"], row["error"]) for row in journal.rows if row["broker"] == broker]


def questions(brokers: dict[int, Broker]) -> tuple[BrokerPoller, Rows]:
    rows = Rows(OFFSETS)

    def connect(number: int, _: float) -> BrokerConnection:
        return cast(BrokerConnection, Connection(number, brokers[number]))

    return BrokerPoller(connect, list(brokers), "t", rows), rows


def test_an_answer_is_an_offset_or_none_or_an_error_of_the_group() -> None:
    broker = Broker()
    connection = cast(BrokerConnection, Connection(1, broker))
    assert fetch_offsets_of_groups(connection, "t", {"g": 2}, stable=True) == {"g": CommittedOffset(None)}
    assert [int(one) for one in broker.asked[0].groups[0].topics[0].partition_indexes] == [2]
    broker.offset = 5
    assert fetch_offsets_of_groups(connection, "t", {"g": 0, "h": 0}, stable=False) == {
        "g": CommittedOffset(5),
        "h": CommittedOffset(5),
    }
    assert [one.require_stable for one in broker.asked] == [True, False]
    broker.error = ErrorCode.not_coordinator
    assert fetch_offsets_of_groups(connection, "t", {"g": 0}, stable=False) == {
        "g": CommittedOffset(None, error="NOT_COORDINATOR")
    }


def test_what_changes_in_the_answers_of_each_broker_is_journaled() -> None:
    old, new = Broker(offset=5), Broker(error=ErrorCode.not_coordinator)
    asking, rows = questions({1: old, 2: new})
    asking.ask({"g": 0}, 60)
    until(lambda: len(rows.rows) == 2)
    old.failure, new.error = OSError("gone"), ErrorCode.none
    until(lambda: len(rows.rows) == 3)
    new.offset = 5
    until(lambda: len(rows.rows) == 4)
    asking.end()
    assert of(1, rows) == [("g", 5, None)]
    assert of(2, rows) == [("g", None, "NOT_COORDINATOR"), ("g", None, None), ("g", 5, None)]
    assert all(row["asked_ns"] <= row["at_ns"] and row["source"] == "fetch" for row in rows.rows)
    assert asking.failures == []


def test_a_failure_that_is_no_silence_is_kept() -> None:
    broken = Broker()
    broken.failure = ValueError("not Kafka")
    asking, rows = questions({1: broken})
    asking.ask({"g": 0}, 60)
    until(lambda: bool(asking.failures))
    asking.end()
    assert (rows.rows, str(asking.failures[0])) == ([], "not Kafka")


def test_it_ends_by_itself() -> None:
    asking, rows = questions({1: Broker(offset=5)})
    asking.ask({"g": 0}, 1)
    until(lambda: not any(thread.is_alive() for thread in asking._threads))
    assert of(1, rows)[:1] == [("g", 5, None)]

"""Asking for committed offsets, against coordinators that answer from a script."""

from __future__ import annotations

import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.schema.offset_fetch.v5.response import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i32Timedelta, i64

from harness.cluster.protocol.client_requests import CommittedOffset, fetch_offsets
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.group_journal import OFFSETS
from harness.run.run_clients import AnsweredCommits
from tests.support.journal_rows import Rows, until
from workloads.groups.pollers import CoordinatorPoller

pytestmark = pytest.mark.pure

NOW = i32Timedelta.parse(timedelta(0))


class Cluster:
    """Brokers 1 and 2. `coordinator` is who coordinates, `offset` what the group has committed, by broker."""

    def __init__(self) -> None:
        self.coordinator = 1
        self.offset: dict[int, int] = {1: -1, 2: -1}
        self.error = ErrorCode.none
        self.silent: set[int] = set()
        self.asked = 0

    def connect(self, broker: int, _timeout: float) -> BrokerConnection:
        return cast(BrokerConnection, Connection(self, broker))


class Connection:
    def __init__(self, cluster: Cluster, broker: int) -> None:
        self.cluster, self.broker = cluster, broker

    def close(self) -> None: ...

    def ask(self, request: Any, _: Any) -> Any:
        if self.broker in self.cluster.silent:
            raise OSError("silent")
        if type(request).__name__ == "FindCoordinatorRequest":
            return FindCoordinatorResponse(
                throttle_time=NOW,
                error_code=ErrorCode.none,
                error_message=None,
                node_id=BrokerId(self.cluster.coordinator),
                host="",
                port=i32(0),
            )
        self.cluster.asked += 1
        partitions = tuple(
            OffsetFetchResponsePartition(
                partition_index=number,
                committed_offset=i64(self.cluster.offset[self.broker]),
                committed_leader_epoch=i32(4),
                metadata="",
                error_code=self.cluster.error,
            )
            for number in request.topics[0].partition_indexes
        )
        topic = OffsetFetchResponseTopic(name=TopicName("t"), partitions=partitions)
        return OffsetFetchResponse(throttle_time=NOW, topics=(topic,), error_code=ErrorCode.none)


def seen(journal: Rows) -> list[tuple[int, int | None, str | None]]:
    return [(row["broker"], row["offset"], row["error"]) for row in journal.rows]


def asking(cluster: Cluster) -> tuple[CoordinatorPoller, Rows]:
    rows = Rows(OFFSETS)
    return CoordinatorPoller(cluster.connect, (1, 2), {"r-0": "g"}, [("t", 0)], rows), rows


def test_an_answer_is_an_offset_or_none_with_its_error() -> None:
    cluster = Cluster()
    connection = cluster.connect(1, 1.0)
    assert fetch_offsets(connection, "g", [("t", 0)]) == {("t", 0): CommittedOffset(None, 4)}
    cluster.offset[1], cluster.error = 7, ErrorCode.not_coordinator
    assert fetch_offsets(connection, "g", [("t", 0)]) == {("t", 0): CommittedOffset(7, 4, "NOT_COORDINATOR")}


def test_what_repeats_is_journaled_once_and_a_commit_is_asked_about_soon() -> None:
    cluster = Cluster()
    one, rows = asking(cluster)
    one.start()
    until(lambda: len(rows.rows) == 1)
    cluster.offset[1] = 5
    one.answered({"reader": "r-0", "topic": "t", "partition": 0, "offset": 5})
    until(lambda: len(rows.rows) == 2)
    asked = cluster.asked
    one.answered({"reader": "r-0", "topic": "t", "partition": 0, "offset": 5})
    until(lambda: cluster.asked > asked + 1)
    one.stop()
    assert seen(rows) == [(1, None, None), (1, 5, None)]
    assert all(row["asked_ns"] <= row["at_ns"] and row["source"] == "fetch" for row in rows.rows)
    assert one.failure is None


def test_the_next_coordinator_is_asked_when_the_first_one_is_silent() -> None:
    cluster = Cluster()
    cluster.offset = {1: 5, 2: 3}
    one, rows = asking(cluster)
    one.start()
    until(lambda: len(rows.rows) == 1)
    cluster.silent, cluster.coordinator = {1}, 2
    until(lambda: len(rows.rows) == 2)
    one.stop()
    assert seen(rows) == [(1, 5, None), (2, 3, None)]


def test_at_the_end_it_asks_until_the_last_commit_is_there() -> None:
    cluster = Cluster()
    cluster.offset[1] = 4
    one, rows = asking(cluster)
    one.answered({"reader": "r-0", "topic": "t", "partition": 0, "offset": 5})
    one.answered({"reader": "of another group", "topic": "t", "partition": 0, "offset": 9})
    began = time.monotonic()
    one.last(seconds=0.8)
    assert time.monotonic() - began >= 0.8
    assert seen(rows) == [(1, 4, None), (1, 4, None)], "the last round is journaled though it repeats"
    cluster.offset[1] = 5
    one.last(seconds=60)
    assert seen(rows)[2:] == [(1, 5, None)] * len(rows.rows[2:])


def test_only_answers_without_an_error_are_told() -> None:
    rows, told = Rows(), list[dict[str, Any]]()
    watching: Any = SimpleNamespace(commit_answered=told.append)
    sink = AnsweredCommits(rows, [watching])
    sink.append({"error": "ILLEGAL_GENERATION"})
    sink.append({"error": None})
    assert (len(rows.rows), told) == (2, [{"error": None}])

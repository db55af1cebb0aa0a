"""A leader must name one end of a partition, whichever request asks for it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from harness.cluster import fetched_logs
from harness.cluster.external import ExternalCluster
from harness.cluster.fetched_logs import doubtful_end
from harness.cluster.protocol.client_requests import FetchAnswer
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.run import PartitionBounds
from harness.spec.cluster import ClusterSpec, ExternalClusterSpec

pytestmark = pytest.mark.pure

BOUND = PartitionBounds(topic="t", partition=2, log_start_offset=0, end_offset=12, leader=7, leader_epoch=0)


def answered(monkeypatch: pytest.MonkeyPatch, high_watermark: int, error: str | None = None) -> None:
    def fetch(_: object, topic: str, partition: int, offset: int, **__: object) -> FetchAnswer:
        assert (topic, partition, offset) == ("t", 2, 12)
        return FetchAnswer(error, high_watermark, high_watermark, 0, b"")

    monkeypatch.setattr(fetched_logs, "fetch", fetch)


def doubts() -> list[str]:
    return doubtful_end(cast("BrokerConnection", None), BOUND)


def test_equal_answers_leave_no_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, 12)
    assert doubts() == []


@pytest.mark.parametrize("mark", [11, 20])
def test_two_ends_are_told_with_the_requests_that_gave_them(
    monkeypatch: pytest.MonkeyPatch, mark: int
) -> None:
    answered(monkeypatch, mark)
    (told,) = doubts()
    assert told.startswith("partition 2: broker 7 answered ListOffsets (latest) with 12")
    assert f"Fetch with the high watermark {mark}" in told


def test_an_error_and_silence_are_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, -1, "OFFSET_OUT_OF_RANGE")
    assert doubts() == [
        "partition 2: broker 7 answered ListOffsets (latest) with 12, "
        "and a Fetch there with OFFSET_OUT_OF_RANGE"
    ]

    def silent(*_: object, **__: object) -> Any:
        raise OSError("broker 7 did not answer: timed out")

    monkeypatch.setattr(fetched_logs, "fetch", silent)
    (told,) = doubts()
    assert told.endswith("was not answered: broker 7 did not answer: timed out")


def test_a_cluster_asks_the_leader_of_each_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, 20)
    spec = ClusterSpec(brokers=1, existing=ExternalClusterSpec(bootstrap_servers="a:1"))
    cluster = ExternalCluster(spec)
    cluster.set_brokers({7: ("h", 1)})
    assert len(cluster.doubtful_ends([BOUND])) == 1
    answered(monkeypatch, 12)
    assert cluster.doubtful_ends([BOUND]) == []

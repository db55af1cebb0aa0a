"""Steps that initialise a transactional.id: what a coordinator is asked, and what is kept of its answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.init_producer_id.v4 import InitProducerIdResponse
from kio.schema.types import ProducerId
from kio.static.primitive import i16, i32Timedelta

from harness.cluster.live import LiveCluster
from harness.model.errors import ClusterError
from workloads.java import producer_ids
from workloads.java.init_producer_id import InitProducerId
from workloads.java.producer_ids import initialise

pytestmark = pytest.mark.pure

NOW = i32Timedelta.parse(timedelta())
BUSY = ErrorCode.concurrent_transactions


class Coordinator:
    """A cluster whose brokers coordinate in turn, and each of its connections. It raises the epoch of a
    producer by one for each request, after it has given the answers that it is told to."""

    def __init__(
        self, *first: ErrorCode | OSError, brokers: Sequence[int | None] = (2,), last: int = -1
    ) -> None:
        self.first = list(first)
        self.brokers = list(brokers)
        self.epoch = last
        self.asked: list[tuple[str | None, int, int]] = []

    def coordinator(self, key: str, *, transactional: bool, within: float) -> int | None:
        assert (key, transactional) == ("t", True)
        assert within > 0
        return self.brokers[0] if len(self.brokers) == 1 else self.brokers.pop(0)

    def connection(self, number: int, timeout: float) -> Coordinator:
        assert number in (1, 2)
        assert timeout > 1
        return self

    def __enter__(self) -> Coordinator:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ask(self, request: Any, _: Any) -> Any:
        self.asked.append((request.transactional_id, int(request.producer_id), int(request.producer_epoch)))
        refusal = self.first.pop(0) if self.first else ErrorCode.none
        if isinstance(refusal, OSError):
            raise refusal
        if refusal is not ErrorCode.none:
            return InitProducerIdResponse(throttle_time=NOW, error_code=refusal, producer_epoch=i16(-1))
        self.epoch += 1
        return InitProducerIdResponse(
            throttle_time=NOW,
            error_code=ErrorCode.none,
            producer_id=ProducerId(7),
            producer_epoch=i16(self.epoch),
        )


def answer_of(cluster: Coordinator, **given: Any) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    step = InitProducerId.model_validate({"name": "init", "of": "writer", "within": 30, **given})
    initialise(step, cast(LiveCluster, cluster), "t", rows)
    (row,) = rows
    return {**row, "detail": json.loads(row["detail"])}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer_ids, "_PAUSE", 0.0)


def test_whoever_has_the_id_is_fenced_and_asked_again_while_its_transaction_is_aborted() -> None:
    cluster = Coordinator(BUSY, BUSY, last=4)
    row = answer_of(cluster)
    assert cluster.asked == [("t", -1, -1)] * 3, "an id and an epoch would be those of its owner"
    assert (row["ask"], row["question"], row["broker"]) == ("init", "init_producer_id", 2)
    assert (row["error"], row["number"]) == (None, 5)
    assert row["detail"] == {"producer_id": 7, "answers": {"CONCURRENT_TRANSACTIONS": 2, "NONE": 1}}


def test_the_epoch_is_raised_by_the_id_and_the_epoch_of_the_answer_before() -> None:
    cluster = Coordinator()
    row = answer_of(cluster, epoch=4)
    assert cluster.asked == [("t", -1, -1), ("t", 7, 0), ("t", 7, 1), ("t", 7, 2)]
    assert row["number"] == 3, "the producer itself makes it 4"


def test_an_answer_that_was_lost_is_asked_for_again_and_a_coordinator_that_moved_is_found() -> None:
    cluster = Coordinator(
        ErrorCode.none, OSError("gone"), ErrorCode.not_coordinator, brokers=(1, 2, 2), last=-1
    )
    row = answer_of(cluster, epoch=2)
    assert cluster.asked == [("t", -1, -1), *[("t", 7, 0)] * 3]
    assert (row["broker"], row["number"]) == (2, 1)
    assert row["detail"]["answers"] == {"NONE": 2, "NO_ANSWER": 1, "NOT_COORDINATOR": 1}


def test_an_error_for_good_is_kept_and_the_run_goes_on() -> None:
    cluster = Coordinator(ErrorCode.unknown_server_error)
    row = answer_of(cluster)
    assert (row["error"], row["number"]) == ("UNKNOWN_SERVER_ERROR", None)
    assert len(cluster.asked) == 1


@pytest.mark.parametrize(
    ("cluster", "found"),
    [
        (Coordinator(last=9), "epoch 10, answers {'NONE': 1}"),
        (Coordinator(ErrorCode.none, ErrorCode.producer_fenced), "{'NONE': 1, 'PRODUCER_FENCED': 1}"),
        (Coordinator(brokers=[None]), "no coordinator"),
    ],
)
def test_an_epoch_that_is_not_reached_ends_the_run(cluster: Coordinator, found: str) -> None:
    with pytest.raises(ClusterError, match=r"a transactional\.id was not initialised") as raised:
        answer_of(cluster, epoch=4)
    assert found in str(raised.value)
    assert "epoch 3" in str(raised.value)

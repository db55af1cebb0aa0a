"""A rival of a producer, against librdkafka's mock cluster, with clients that fence as real brokers do."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from tests.support.transactional_producers import Rows, TransactionalProducers
from workloads.records.config.workload_spec import TransactionSpec, WorkloadSpec
from workloads.records.producer.orders import RivalOrder

pytestmark = pytest.mark.mock

SPEC = WorkloadSpec(transactions=TransactionSpec(records=20))
FENCED = KafkaException(KafkaError(KafkaError._FENCED, "a newer producer has its id", fatal=True))
TIMED_OUT = KafkaException(KafkaError(KafkaError._TIMED_OUT, "again", retriable=True))


class Fencing(Producer):
    """Refuses to commit once another client with its transactional.id has been initialised."""

    newest: ClassVar[dict[str, int]] = {}

    def __init__(self, config: dict[str, Any], **more: Any) -> None:
        super().__init__(config, **more)
        self.named = config["transactional.id"]

    def init_transactions(self, timeout: float) -> None:  # type: ignore[override]
        super().init_transactions(timeout)
        self.newest[self.named] = id(self)

    def commit_transaction(self, timeout: float) -> None:  # type: ignore[override]
        if self.newest[self.named] != id(self):
            raise FENCED
        super().commit_transaction(timeout)


class ToldLate(Fencing):
    """Once its commit is refused, the next poll raises the fatal error too, as confluent-kafka does where no
    poll came between the refusal of a record and the commit."""

    told = True

    def commit_transaction(self, timeout: float) -> None:
        try:
            super().commit_transaction(timeout)
        except KafkaException:
            self.told = False
            raise

    def poll(self, timeout: float = -1) -> int:
        if not self.told:
            self.told = True
            raise FENCED
        return super().poll(timeout)


class Unanswered(Fencing):
    """The second of two clients is never initialised."""

    made: ClassVar[list[int]] = []

    def __init__(self, config: dict[str, Any], **more: Any) -> None:
        super().__init__(config, **more)
        self.made.append(id(self))

    def init_transactions(self, timeout: float) -> None:
        if id(self) == self.made[0]:
            super().init_transactions(timeout)
        else:
            raise TIMED_OUT


class Refused(Unanswered):
    """The second of two clients is refused."""

    made: ClassVar[list[int]] = []

    def init_transactions(self, timeout: float) -> None:
        if id(self) != self.made[0]:
            raise FENCED
        super().init_transactions(timeout)


def met(case: TransactionalProducers, *, same_id: bool) -> tuple[Rows, Rows]:
    """The journals of a producer that writes 20 records, meets a rival, and of 41 more."""
    case.write(0, 20)
    case.producers.begin_rival(1, RivalOrder("rival", 0, 30, same_id))
    assert case.producers.finish(time.monotonic() + 60)
    case.write(2, 41)
    sends, txns = case.journals()
    assert Counter((row["producer"], row["step"]) for row in sends if row["step"] == 1) == {
        (0, 1): 60,
        (1, 1): 30,
    }
    between = [row["sent_ns"] for row in sends if (row["producer"], row["step"]) == (1, 1)]
    mine = sorted(row["sent_ns"] for row in sends if (row["producer"], row["step"]) == (0, 1))
    assert mine[29] < min(between) <= max(between) < mine[30]
    return sends, txns


def writers(sends: Rows) -> dict[int, int]:
    """How many records of the last step each producer sent."""
    return dict(Counter(row["producer"] for row in sends if row["step"] == 2))


def of(txns: Rows, producer: int, number: int) -> tuple[str, str, int, str | None]:
    (row,) = [one for one in txns if (one["producer"], one["txn"]) == (producer, number)]
    return row["asked"], row["outcome"], row["records"], row["error"]


@pytest.mark.parametrize("client", [Fencing, ToldLate])
def test_a_producer_whose_id_is_taken_is_fenced_and_sends_no_more(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str, client: type[Fencing]
) -> None:
    case = TransactionalProducers(tmp_path, mock_bootstrap, mock_topic, SPEC, client=client)
    sends, txns = met(case, same_id=True)
    assert of(txns, 0, 1) == ("commit", "aborted", 60, "_FENCED")
    assert of(txns, 1, 0) == ("commit", "committed", 20, None)
    assert of(txns, 1, 1) == ("commit", "committed", 10, None)
    assert writers(sends) == {1: 41}
    assert case.producers.problems == ()


def test_the_control_a_rival_with_an_id_of_its_own_fences_nobody(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str
) -> None:
    case = TransactionalProducers(tmp_path, mock_bootstrap, mock_topic, SPEC, client=Fencing)
    sends, txns = met(case, same_id=False)
    assert of(txns, 0, 1) == ("commit", "committed", 60, None)
    assert {row["outcome"] for row in txns} == {"committed"}
    assert writers(sends) == {0: 21, 1: 20}


def test_a_commit_that_is_let_through_is_journaled_as_one(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str
) -> None:
    """The mock cluster itself does not fence: the check has to find what Kafka did."""
    sends, txns = met(TransactionalProducers(tmp_path, mock_bootstrap, mock_topic, SPEC), same_id=True)
    assert of(txns, 0, 1) == ("commit", "committed", 60, None)
    assert writers(sends) == {0: 21, 1: 20}


def test_a_rival_that_is_refused_is_a_problem_and_fences_nobody(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str
) -> None:
    case = TransactionalProducers(tmp_path, mock_bootstrap, mock_topic, SPEC, client=Refused)
    case.producers.begin_rival(0, RivalOrder("rival", 0, 5, True))
    assert case.producers.finish(time.monotonic() + 60)
    case.write(1, 10)
    (problem,) = case.producers.problems
    assert problem.startswith("producer 1: ")
    assert "init_transactions: _FENCED" in problem
    sends, txns = case.journals()
    assert of(txns, 0, 0) == ("commit", "committed", 10, None)
    assert {row["producer"] for row in sends} == {0}


def test_a_run_can_end_while_a_rival_is_awaited(tmp_path: Path, mock_bootstrap: str, mock_topic: str) -> None:
    case = TransactionalProducers(tmp_path, mock_bootstrap, mock_topic, SPEC, client=Unanswered)
    case.producers.begin_rival(0, RivalOrder("rival", 0, 5, True))
    deadline = time.monotonic() + 60
    while case.producers.progress().acked < 5:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not case.producers.finish(time.monotonic() + 0.2)
    sends, txns = case.journals(0.1)
    assert [row["producer"] for row in sends] == [0] * 5
    assert of(txns, 0, 0) == ("commit", "committed", 5, None)


def test_the_rival_of_processed_records_has_a_number_of_its_own(
    tmp_path: Path, mock_bootstrap: str, mock_topic: str
) -> None:
    spec = WorkloadSpec(transactions=TransactionSpec(), process={"members": 2})
    case = TransactionalProducers(tmp_path, mock_bootstrap, mock_topic, spec)
    case.producers.begin_rival(0, RivalOrder("rival", 0, 1, True))
    assert case.producers.finish(time.monotonic() + 60)
    assert {row["producer"] for row in case.journals()[0]} == {0, 3}

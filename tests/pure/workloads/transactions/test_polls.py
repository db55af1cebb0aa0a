"""What transactions poll, and what is journaled of it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from harness.spec.experiment import Experiment
from workloads.records.config.workload_spec import TransactionSpec, WorkloadSpec
from workloads.records.producer.transactions import TransactionManager
from workloads.transactions.polls import Polls

pytestmark = pytest.mark.pure


class Reader:
    records = 0


class Client:
    """Every call succeeds."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: 0


def test_each_record_is_taken_once_and_no_more_than_a_transaction_may() -> None:
    reader = Reader()
    polls = Polls(reader, 3)
    assert polls.take() == (0, 0)
    reader.records = 5
    assert [polls.take(), polls.take(), polls.take()] == [(0, 3), (3, 2), (5, 0)]


def test_a_transaction_polls_before_it_ends_and_journals_what() -> None:
    reader, rows = Reader(), []

    class Journal:
        def append(self, row: dict[str, Any]) -> None:
            rows.append(row)

    txns = TransactionManager(
        Client,
        Client(),
        TransactionSpec(records=1, poll_after=0.01),
        producer=0,
        seed=1,
        journal=Journal(),
        take=lambda: None,
        until=lambda: None,
        patience=1.0,
        polls=Polls(reader, 10),
    )
    for received in (0, 4, 4, 6):
        txns.begin()
        # It may be received while the transaction is open.
        reader.records = received
        txns.end()
    assert [(row["polled_from"], row["polled"]) for row in rows] == [
        (None, None),
        (0, 4),
        (None, None),
        (4, 2),
    ]


def test_every_producer_has_a_reader_if_transactions_poll() -> None:
    spec = WorkloadSpec(producers=2, transactions=TransactionSpec(poll="read_committed"))
    assert [(one.name, one.committed, one.group) for one in spec.poll_readers] == [
        ("polls-0", True, None),
        ("polls-1", True, None),
    ]
    assert WorkloadSpec(producers=2, transactions=TransactionSpec()).poll_readers == ()


@pytest.mark.parametrize(("name", "fits"), [("polls-1", False), ("polls-2", True)])
def test_another_reader_must_not_have_the_name_of_such_a_reader(name: str, fits: bool) -> None:
    experiment = {
        "name": "e",
        "title": "t",
        "topic": {"partitions": 1, "replication_factor": 1},
        "workload": {"producers": 2, "transactions": {"poll": "read_committed"}},
        "readers": [{"name": name}],
        "steps": [{"write": {"name": "w", "records": 1}}],
        "arms": [{"name": "a"}],
    }
    if fits:
        Experiment.model_validate(experiment)
        return
    with pytest.raises(ValidationError, match="'polls-1' is the name of the reader of a producer"):
        Experiment.model_validate(experiment)

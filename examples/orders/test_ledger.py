"""The ledger under chaos: nothing is missing from it, whatever dies."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_chaos import ConsumerJournal

APPLICATION = Path(__file__).with_name("ledger.py")


class Ledger:
    """The application under test, as a process of its own."""

    def __init__(self, path: Path, *more: str) -> None:
        self.path = path
        self.journal = path.with_suffix(".journal")
        self.more = more

    @contextmanager
    def running(self, bootstrap: str, topic: str) -> Iterator[None]:
        arguments = ["--bootstrap", bootstrap, "--topic", topic, "--ledger", str(self.path)]
        arguments += ["--journal", str(self.journal), *self.more]
        process = subprocess.Popen([sys.executable, str(APPLICATION), *arguments])
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=60)

    def journals(self) -> list[ConsumerJournal]:
        """What the members of the group did: here there is one."""
        return [ConsumerJournal.read(self.journal)] if self.journal.exists() else []

    def lines(self) -> list[tuple[int, int]]:
        """(partition, offset) of every record in the ledger; a line that is half written does not count."""
        if not self.path.exists():
            return []
        whole, _, _ = self.path.read_text().rpartition("\n")
        return [(line["partition"], line["offset"]) for line in map(json.loads, whole.splitlines())]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.jsonl")


@pytest.mark.chaos("kill-leader", arms=["acks=all-idempotent"])
def test_our_producer_settings_lose_nothing(chaos):
    result = chaos()
    result.assert_lost(0)
    result.assert_duplicates(0)


def test_the_ledger_misses_nothing_when_a_leader_dies(chaos, ledger):
    with (
        chaos.started("kill-leader", arm="acks=all-idempotent") as run,
        ledger.running(run.bootstrap, run.topic),
    ):
        result = run.wait()
        result.assert_delivered(ledger.journals, within=90)
        assert set(ledger.lines()) >= set(ledger.journals()[0].positions())


def test_a_ledger_that_commits_before_it_writes_is_found_out(chaos, tmp_path):
    careless = Ledger(tmp_path / "careless.jsonl", "--commit-first")
    with (
        chaos.started("kill-leader", arm="acks=all-idempotent") as run,
        careless.running(run.bootstrap, run.topic),
    ):
        result = run.wait()
        # Nothing is missing, since it was not killed in between; it would have been.
        with pytest.raises(AssertionError, match="commit_ahead: ledger-1 of group ledger committed"):
            result.assert_delivered(careless.journals, within=90)


def test_two_ledgers_that_take_all_partitions_by_hand_are_found_out(chaos, tmp_path):
    both = [
        Ledger(tmp_path / f"{name}.jsonl", "--by-hand", "--name", name) for name in ("ledger-1", "ledger-2")
    ]
    with chaos.started("kill-leader", arm="acks=all-idempotent") as run:
        with both[0].running(run.bootstrap, run.topic), both[1].running(run.bootstrap, run.topic):
            result = run.wait()
            # Each has every order, so that each order is in the books twice.
            result.assert_delivered(both[0].lines, within=90)
            result.assert_delivered(both[1].lines, within=90)
        with pytest.raises(AssertionError, match=r"two_owners: ledger-. and ledger-. of group ledger owned"):
            result.assert_delivered([*both[0].journals(), *both[1].journals()])


def test_orders_sent_while_a_broker_is_frozen_reach_the_ledger(kafka_cluster, chaos, ledger):
    kafka_cluster.admin().create("orders", partitions=1, replication_factor=3, config={})
    # The first broker asked may be the frozen one, for which the client would wait 60 s by default.
    producer = Producer(
        {
            "bootstrap.servers": kafka_cluster.bootstrap,
            "enable.idempotence": True,
            "socket.timeout.ms": 5000,
        }
    )
    with ledger.running(kafka_cluster.bootstrap, "orders"):
        with chaos.fault({"pause": {"target": {"leader": 0}}}, on=kafka_cluster, topic="orders"):
            for number in range(500):
                producer.produce("orders", f"order {number}".encode())
            assert producer.flush(60) == 0
        deadline = 300
        while len(set(ledger.lines())) < 500 and deadline:
            deadline -= 1
            producer.poll(0.2)
    assert {offset for _, offset in ledger.lines()} >= set(range(500))

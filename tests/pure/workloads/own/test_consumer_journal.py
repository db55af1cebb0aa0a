"""The journal of a member of the user's own group: what goes in, and what another process reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from harness.model.errors import BadInput, JournalError
from workloads.own.consumer_journal import ConsumerJournal

pytestmark = pytest.mark.pure


def told(journal: ConsumerJournal) -> list[tuple[str, tuple[tuple[int, int | None], ...], str | None]]:
    return [(one.event, one.places, one.error) for one in journal.events]


def test_each_call_takes_what_the_client_gives() -> None:
    journal = ConsumerJournal("g", "a")
    journal.assigned([TopicPartition("t", 0), TopicPartition("t", 1, 7), 2, (3, 9)])
    journal.processed([Message(topic="t", partition=0, offset=5), (1, 7)])
    journal.committed([TopicPartition("t", 0, 6)], asked_ns=3)
    journal.committed([(1, 8)], error=KafkaError(KafkaError.ILLEGAL_GENERATION))
    journal.revoked([0])
    journal.lost([1])
    assert [one[:2] for one in told(journal)] == [
        ("assigned", ((0, None), (1, 7), (2, None), (3, 9))),
        ("processed", ((0, 5), (1, 7))),
        ("committed", ((0, 6),)),
        ("committed", ((1, 8),)),
        ("revoked", ((0, None),)),
        ("lost", ((1, None),)),
    ]
    assert journal.events[2].asked_ns == 3
    assert journal.events[2].error is None
    assert "ILLEGAL_GENERATION" in str(journal.events[3].error)
    assert journal.positions() == [(0, 5), (1, 7)]


def test_the_callbacks_are_those_of_a_subscription() -> None:
    journal = ConsumerJournal("g", "a")
    callbacks = journal.callbacks()
    for name in ("on_assign", "on_revoke", "on_lost"):
        callbacks[name](None, [TopicPartition("t", 4)])
    assert [one[0] for one in told(journal)] == ["assigned", "revoked", "lost"]


class Consumer:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def commit(self, *, asynchronous: bool, **wanted: Any) -> Any:
        assert not asynchronous
        self.asked.append(wanted)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_commit_is_journaled_with_its_times_and_answer() -> None:
    journal = ConsumerJournal("g", "a")
    done = Consumer([TopicPartition("t", 0, 6), TopicPartition("t", 1, -1001)])
    assert journal.commit(done) is done.answer
    assert told(journal) == [("committed", ((0, 6),), None)]
    assert journal.events[0].asked_ns is not None
    assert journal.events[0].asked_ns <= journal.events[0].at_ns
    refused = Consumer(KafkaException(KafkaError(KafkaError.REBALANCE_IN_PROGRESS)))
    with pytest.raises(KafkaException):
        journal.commit(refused, [TopicPartition("t", 0, 9)])
    assert told(journal)[1][:2] == ("committed", ((0, 9),))
    assert "REBALANCE_IN_PROGRESS" in str(journal.events[1].error)


def test_another_process_reads_what_was_told_before_it_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first = ConsumerJournal("g", "a", path=path, session_ms=6000)
    first.assigned([0])
    first.processed([(0, 5)])
    again = ConsumerJournal("g", "a", path=path, session_ms=6000)
    again.committed([(0, 6)], asked_ns=2)
    with path.open("a") as file:
        file.write('{"event": "proces')
    read = ConsumerJournal.read(path)
    assert (read.group, read.member, read.session_ms) == ("g", "a", 6000)
    assert read.events == [*first.events, *again.events]


@pytest.mark.parametrize("text", ["", "nothing\n", '{"event": "begin"}\n', '{"group": 1}\n[]\n'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(JournalError, match="a consumer's journal cannot be read"):
        ConsumerJournal.read(path)
    with pytest.raises(JournalError):
        ConsumerJournal.read(tmp_path / "none")


@pytest.mark.parametrize("wrong", ["0", None, (1, 2, 3)])
def test_what_is_no_partition_is_refused(wrong: object) -> None:
    with pytest.raises(BadInput, match="cannot take this"):
        ConsumerJournal("g", "a").assigned([wrong])
    with pytest.raises(BadInput, match="cannot take this"):
        ConsumerJournal("g", "a").processed([TopicPartition("t", 0)])


def test_an_event_that_is_no_record_was_not_processed() -> None:
    journal = ConsumerJournal("g", "a")
    ended = Message(topic="t", partition=0, offset=5, error=KafkaError(KafkaError._PARTITION_EOF))
    journal.processed([Message(topic="t", partition=0, offset=4), ended])
    assert journal.events[-1].places == ((0, 4),)

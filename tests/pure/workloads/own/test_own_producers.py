"""A run whose producers are the user's: when its steps end, what is taken over, and what is in doubt."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import BadInput
from harness.model.journal import OPEN_SENDS, SENDS_DIR, TRANSACTIONS, SendOutcome, TxnOutcome
from harness.model.journal_reader import journal_rows
from workloads.journal.row_journal import RowJournal
from workloads.own.own_journal import OwnJournal
from workloads.own.own_producers import OwnProducers
from workloads.own.producer_folder import TARGET_FILE, ProducerFolder, ProducerTarget
from workloads.producer.send_journal import SendJournal

pytestmark = pytest.mark.pure

LONG = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> ProducerFolder:
    folder = ProducerFolder(tmp_path / "producers")
    folder.create(ProducerTarget(run_id=5, topic="t", bootstrap="there:9092"))
    return folder


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SendJournal]:
    with SendJournal(tmp_path / SENDS_DIR, "t") as journal:
        yield journal


def opened(folder: ProducerFolder, sends: int = 0) -> OwnJournal:
    number, own = folder.claim()
    journal = OwnJournal(own, number, "t")
    for _ in range(sends):
        seq = journal.send(-1, None, 10, -1)
        journal.report(seq, SendOutcome.ACKED, offset=seq, partition=0)
    return journal


def rows(tmp_path: Path) -> list[dict[str, Any]]:
    return sorted(journal_rows(tmp_path / SENDS_DIR), key=lambda row: (row["producer"], row["seq"]))


def test_a_step_ends_when_all_have_closed_and_what_they_sent_is_the_runs(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    run = OwnProducers(folder, 2, journal, None)
    assert not run.ready(0)
    first, second = opened(folder, 3), opened(folder)
    assert run.ready(0)
    run.start(2, seconds=LONG)
    first.send(1, b"12345678", 4, -1)
    assert not run.finish(time.monotonic())
    first.close()
    assert not run.finish(time.monotonic())
    second.close()
    assert run.finish()
    run.start(4, seconds=LONG)
    assert run.finish()
    progress = run.progress()
    assert (progress.sent, progress.acked, progress.indeterminate) == (4, 3, 1)
    assert not folder.over
    run.stop()
    assert folder.over
    run.close(LONG)
    journal.close()
    assert run.problems == ()
    found = rows(tmp_path)
    assert [(row["seq"], row["step"], row["outcome"], row["error"]) for row in found] == [
        (0, 2, "acked", None),
        (1, 2, "acked", None),
        (2, 2, "acked", None),
        (3, 2, "indeterminate", "_NO_REPORT"),
    ]
    assert [row["key"] for row in found] == [None, None, None, int.from_bytes(b"12345678")]
    assert [row["partition"] for row in found] == [0, 0, 0, 1]


def test_sends_belong_to_the_write_step_in_which_they_were_sent(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    run = OwnProducers(folder, 1, journal, None)
    producer = opened(folder, 1)
    for step in (1, 3):
        run.start(step, seconds=0.0)
        assert run.finish()
        producer.send(0, None, 1, -1)
    producer.close()
    run.close(LONG)
    journal.close()
    assert [row["step"] for row in rows(tmp_path)] == [1, 1, 3]


def test_a_journal_that_was_not_closed_is_a_problem_and_its_sends_are_kept(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    run = OwnProducers(folder, 2, journal, None)
    producer = opened(folder, 2)
    producer.send(0, None, 1, -1)
    producer._drain()
    producer._journal.flush()
    assert (producer.folder / SENDS_DIR / OPEN_SENDS).exists()
    run.close(0.0)
    journal.close()
    assert [row["outcome"] for row in rows(tmp_path)] == ["acked", "acked", "indeterminate"]
    assert run.problems == (
        "2 producer(s) of your own were expected, 1 opened a journal",
        "producer 0 has not closed its journal: what it sent last is not known",
    )
    producer.close()


def test_transactions_are_taken_over_if_the_experiment_expects_them(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    producer = opened(folder)
    producer.send(0, None, 1, 0)
    producer.transaction(
        0, begun_ns=1, ended_ns=2, asked="commit", outcome=TxnOutcome.COMMITTED, records=1, error=None
    )
    producer.close()
    unexpected = OwnProducers(folder, 1, journal, None)
    unexpected.close(LONG)
    assert "set `own: {transactional: true}`" in unexpected.problems[0]
    with RowJournal(tmp_path / "transactions", TRANSACTIONS) as transactions:
        expected = OwnProducers(folder, 1, journal, transactions)
        expected.close(LONG)
        assert expected.problems == ()
    assert [row["outcome"] for row in journal_rows(tmp_path / "transactions")] == ["committed"]


def test_events_in_json_lines_are_taken_over_and_bad_ones_are_a_problem(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    run = OwnProducers(folder, 1, journal, None)
    file = folder.path / "shop.jsonl"
    events: list[dict[str, Any]] = [
        {"event": "begin", "producer": 3, "run": 5, "topic": "t"},
        {"event": "sent", "seq": 0, "time_ms": 1000},
    ]
    file.write_text("".join(json.dumps(one) + "\n" for one in events))
    assert run.ready(0)
    run.start(0, seconds=LONG)
    assert not run.finish(time.monotonic())
    with file.open("a") as more:
        more.write('{"event": "end"}\n')
    assert run.finish()
    (folder.path / "cut.jsonl").write_text('{"event": "begin", "producer": 4, "run": 5, "topic": "t"}\n')
    (folder.path / "bad.jsonl").write_text('{"event": "start"}\n')
    run.close(0.0)
    journal.close()
    assert [(row["producer"], row["outcome"]) for row in rows(tmp_path)] == [(3, "indeterminate")]
    bad, cut = run.problems
    assert "bad.jsonl, line 1" in bad
    assert cut == "cut.jsonl does not end with `end`: what was sent last is not known"


def test_a_damaged_journal_is_a_problem(folder: ProducerFolder, journal: SendJournal) -> None:
    producer = opened(folder, 1)
    producer.close()
    (next((producer.folder / SENDS_DIR).glob("part-*"))).write_bytes(b"PAR1")
    foreign = opened(folder, 1)
    foreign.close()
    foreign.folder.rename(folder.path / "9")
    run = OwnProducers(folder, 2, journal, None)
    assert run.progress().sent == 1
    run.close(LONG)
    damaged, other = run.problems
    assert "a journal cannot be read" in damaged
    assert "sends of producer 9" in other


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"run_id": true, "topic": "t"}',
        '{"run_id": 1}',
        '{"run_id": 1, "topic": "t", "acks": 1}',
        '{"run_id": -1, "topic": "t"}',
        '{"run_id": 1, "topic": "t", "bootstrap": 5}',
    ],
)
def test_a_target_that_cannot_be_read_is_refused(text: str, folder: ProducerFolder) -> None:
    (folder.path / TARGET_FILE).write_text(text)
    with pytest.raises(BadInput, match="no folder for journals of producers"):
        folder.target()


def test_the_first_target_of_a_folder_stays(folder: ProducerFolder) -> None:
    assert folder.create(ProducerTarget(run_id=9, topic="u")).run_id == 5
    assert folder.environment() == {
        "KAFKA_CHAOS_JOURNAL": str(folder.path.resolve()),
        "KAFKA_CHAOS_TOPIC": "t",
        "KAFKA_CHAOS_RUN": "5",
        "KAFKA_CHAOS_BOOTSTRAP": "there:9092",
    }


@pytest.mark.parametrize("number", [-1, 2**31])
def test_a_number_that_no_producer_can_have_is_refused(number: int, folder: ProducerFolder) -> None:
    with pytest.raises(BadInput, match="cannot be the number of a producer"):
        folder.claim(number)


def test_any_key_of_8_bytes_is_kept(folder: ProducerFolder) -> None:
    producer = opened(folder)
    for key in (bytes(8), b"\xff" * 8, b"\x80" + bytes(7), b"7", None):
        producer.send(0, key, 1, -1)
    producer.close()
    keys = [row["key"] for row in journal_rows(producer.folder / SENDS_DIR)]
    # The smallest number stands for no key, to readers of the journal too.
    assert keys == [0, -1, None, None, None]

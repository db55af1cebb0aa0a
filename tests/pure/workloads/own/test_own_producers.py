"""A run whose producers are the user's: when its steps end, what is taken over, and what is in doubt."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import BadInput, JournalError
from harness.model.id_journal import SENT_IDS, SENT_IDS_DIR
from harness.model.journal import SENDS_DIR, TRANSACTIONS, SendOutcome, TxnOutcome
from harness.model.journal_reader import journal_rows
from workloads.own.client_settings import ClientSettings
from workloads.own.own_journal import BegunTransaction, OwnJournal
from workloads.own.own_producers import OwnProducers
from workloads.own.producer_folder import TARGET_FILE, ProducerFolder, ProducerTarget
from workloads.records.journal.row_journal import RowJournal
from workloads.records.producer.send_journal import SendJournal

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
    number, file = folder.claim()
    journal = OwnJournal(file, number, folder.target())
    for _ in range(sends):
        seq = sent(journal, -1, None, 10)
        journal.report(seq, SendOutcome.ACKED, at_ns=1, offset=seq, partition=0)
    return journal


def sent(journal: OwnJournal, partition: int, key: bytes | None, size: int, txn: int | None = None) -> int:
    return journal.sent(time.time_ns(), partition, key, size, txn)


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
    sent(first, 1, b"12345678", 4)
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


def test_keys_and_ids_of_records_are_kept(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    own = opened(folder, 1)
    own.sent(1, -1, b"customer-7", 4)
    own.sent(1, -1, b"order-11", 4, record_id="order-11")
    own.sent(1, -1, None, 4, record_id="order-12")
    own.close()
    with RowJournal(tmp_path / SENT_IDS_DIR, SENT_IDS) as names:
        OwnProducers(folder, 1, journal, None, ids=names).close(LONG)
    found = journal_rows(tmp_path / SENT_IDS_DIR)
    assert [(row["seq"], row["id"], row["key_text"]) for row in found] == [
        (1, None, "customer-7"),
        (2, "order-11", "order-11"),
        (3, "order-12", None),
    ]


def test_programs_are_told_when_the_first_step_begins(folder: ProducerFolder, journal: SendJournal) -> None:
    run = OwnProducers(folder, 1, journal, None)
    opened(folder).close()
    assert run.ready(0)
    assert not folder.begun
    run.start(0, seconds=LONG)
    assert folder.begun


def test_what_clients_say_of_themselves_is_kept_and_counts_for_their_sends(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    number, file = folder.claim()
    careless = OwnJournal(file, number, folder.target(), ClientSettings("x 1", "0", False))
    careless.report(sent(careless, 0, None, 1), SendOutcome.UNCONFIRMED, at_ns=1, partition=0)
    careless.close()
    opened(folder, 1).close()
    run = OwnProducers(folder, 2, journal, None)
    run.close(LONG)
    journal.close()
    assert (run.problems, run.opened) == ((), 2)
    assert run.settings == {0: ClientSettings("x 1", "0", False)}
    assert [row["outcome"] for row in rows(tmp_path)] == ["unconfirmed", "acked"]


def test_sends_belong_to_the_write_step_in_which_they_were_sent(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    run = OwnProducers(folder, 1, journal, None)
    producer = opened(folder, 1)
    for step in (1, 3):
        run.start(step, seconds=0.0)
        assert run.finish()
        sent(producer, 0, None, 1)
    producer.close()
    run.close(LONG)
    journal.close()
    assert [row["step"] for row in rows(tmp_path)] == [1, 1, 3]


def test_a_journal_that_was_not_closed_is_a_problem_and_its_sends_are_kept(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    run = OwnProducers(folder, 2, journal, None)
    producer = opened(folder, 2)
    sent(producer, 0, None, 1)
    run.close(0.0)
    journal.close()
    assert [row["outcome"] for row in rows(tmp_path)] == ["acked", "acked", "indeterminate"]
    cut, missing = run.problems
    assert cut == (
        "0.jsonl does not end with `end` within 0 s of the write steps (`own: {close_seconds: N}`): what was "
        "sent last is not known"
    )
    assert missing == (
        "2 producer(s) of your own were expected, 1 opened a journal; what a producer writes that is not "
        "wrapped is not accounted for: wrap each in run.journaled(producer), or in another process in "
        "kafka_chaos.journaled(producer) (docs/how-to/own-producer.md)"
    )
    producer.close()


def test_after_an_interrupted_wait_the_journals_are_taken_over_all_the_same(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ctrl-C while a run waits for the end of journals, after which it closes everything at once."""
    run = OwnProducers(folder, 1, journal, None)
    producer = opened(folder, 2)

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(time, "sleep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.close(LONG)
    run.close(0.0)
    journal.close()
    assert len(rows(tmp_path)) == 2
    producer.close()


def test_transactions_are_taken_over_if_the_experiment_expects_them(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    producer = opened(folder)
    sent(producer, 0, None, 1, txn=0)
    producer.transaction(BegunTransaction(0, 1, commit_requested=True), TxnOutcome.COMMITTED)
    producer.close()
    unexpected = OwnProducers(folder, 1, journal, None)
    unexpected.close(LONG)
    assert "set `own: {transactional: true}`" in unexpected.problems[0]
    with (
        SendJournal(tmp_path / "again", "t") as again,
        RowJournal(tmp_path / "transactions", TRANSACTIONS) as transactions,
    ):
        expected = OwnProducers(folder, 1, again, transactions)
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
        {"event": "sent", "seq": 1, "time_ms": 1000},
        {"event": "failed", "seq": 1, "time_ms": 1000, "error": "TimeoutException"},
    ]
    file.write_text("".join(json.dumps(one) + "\n" for one in events))
    assert run.ready(0)
    run.start(0, seconds=LONG)
    assert not run.finish(time.monotonic())
    progress = run.progress()
    assert (progress.sent, progress.indeterminate, progress.errors) == (2, 1, {"TimeoutException": 1})
    with file.open("a") as more:
        more.write('{"event": "end"}\n')
    assert run.finish()
    (folder.path / "cut.jsonl").write_text('{"event": "begin", "producer": 4, "run": 5, "topic": "t"}\n')
    (folder.path / "bad.jsonl").write_text('{"event": "start"}\n')
    run.close(0.0)
    journal.close()
    assert [(row["producer"], row["outcome"]) for row in rows(tmp_path)] == [(3, "indeterminate")] * 2
    bad, cut = run.problems
    assert "bad.jsonl, line 1" in bad
    assert cut.startswith("cut.jsonl does not end with `end` within 0 s of the write steps")


def test_a_damaged_journal_is_a_problem(folder: ProducerFolder, journal: SendJournal, tmp_path: Path) -> None:
    opened(folder, 1).close()
    with (folder.path / "0.jsonl").open("a") as file:
        file.write("PAR1\n")
    opened(folder, 1).close()
    foreign = (folder.path / "1.jsonl").read_text().replace('"run": 5', '"run": 6')
    (folder.path / "1.jsonl").write_text(foreign)
    run = OwnProducers(folder, 2, journal, None)
    assert run.progress().sent == 2
    run.close(0.0)
    journal.close()
    damaged, other = run.problems
    assert (
        "0.jsonl, line 5: a line is no JSON" in damaged.replace("\n", " ") or "a line is no JSON" in damaged
    )
    assert "of another run" in other
    assert [row["producer"] for row in rows(tmp_path)] == [0], "what stands before the damage is kept"


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


def test_any_key_of_8_bytes_is_kept(folder: ProducerFolder, journal: SendJournal, tmp_path: Path) -> None:
    producer = opened(folder)
    for key in (bytes(8), b"\xff" * 8, b"\x80" + bytes(7), b"7", None):
        sent(producer, 0, key, 1)
    producer.close()
    OwnProducers(folder, 1, journal, None).close(LONG)
    journal.close()
    # The smallest number stands for no key, to readers of the journal too.
    assert [row["key"] for row in rows(tmp_path)] == [0, -1, None, None, None]


def test_a_journal_that_cannot_be_written_refuses_the_next_send(folder: ProducerFolder) -> None:
    full = OwnJournal(Path("/dev/full"), 0, folder.target())
    with pytest.raises(JournalError, match="No space left on device"):
        full.raise_if_failed()
    full.report(0, SendOutcome.ACKED, at_ns=1)
    with pytest.raises(JournalError, match="a producer's journal cannot be written"):
        full.close()


def test_a_report_may_come_before_the_send_is_journaled(
    folder: ProducerFolder, journal: SendJournal, tmp_path: Path
) -> None:
    producer = opened(folder)
    producer.report(0, SendOutcome.ACKED, at_ns=1, offset=0, partition=0)
    sent(producer, 0, None, 1)
    producer.close()
    producer.report(0, SendOutcome.ACKED, at_ns=1, offset=0, partition=0)
    run = OwnProducers(folder, 1, journal, None)
    run.close(LONG)
    journal.close()
    assert run.problems == ()
    assert [row["outcome"] for row in rows(tmp_path)] == ["acked"]

"""The public `Journal`: what a program says is what a run reads, and what no run could use is refused."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import BadInput
from kafka_chaos import Journal, journaled
from tests.support.own_journals import taken_over
from workloads.own.journal_check import check_journals, refuse_unusable
from workloads.own.producer_folder import ProducerFolder, ProducerTarget
from workloads.records.config.id_spec import IdSpec
from workloads.records.record.carried_identity import IDENTITY_HEADER, IDENTITY_TEXT, decode_carried
from workloads.records.record.identity import OK

pytestmark = pytest.mark.pure

RUN = 2**62 + 1


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProducerFolder:
    """The folder of a run, as a program finds it in its environment."""
    folder = ProducerFolder(tmp_path / "producers")
    folder.create(ProducerTarget(RUN, "orders-1"))
    monkeypatch.setenv("KAFKA_CHAOS_JOURNAL", str(folder.path))
    return folder


def begun() -> Journal:
    return Journal.begin("pulsar 1", acks="1", idempotent=False, max_in_flight=5)


def test_what_a_program_says_is_what_a_run_reads(own: ProducerFolder) -> None:
    with begun() as journal:
        assert (journal.number, journal.topic) == (0, "orders-1")
        first, _ = journal.sent(
            "grüße", key=(7).to_bytes(8, "big"), partition=2, timestamp_ms=1_699_999_999_123
        )
        journal.acked(first, partition=2, offset=41)
        unnamed, _ = journal.sent(None)
        journal.acked(unnamed)
        failed, _ = journal.sent(b"x")
        journal.failed(failed, TimeoutError("after 30 s"))
        refused, _ = journal.sent(b"x")
        journal.refused(refused, "too large: ü")
        journal.sent(b"x")
    sends, _ = taken_over(own, 0)
    assert [(row["outcome"], row["error"], row["size"]) for row in sends] == [
        ("acked", None, 7),
        ("acked", None, 0),
        ("indeterminate", "TimeoutError", 1),
        ("rejected", "too_large:__", 1),
        ("indeterminate", "_NO_REPORT", 1),
    ]
    assert [row["partition"] for row in sends[:2]] == [2, -1]
    assert [row["offset"] for row in sends[:2]] == [41, None]
    assert [row["key"] for row in sends[:2]] == [7, None]
    assert [row["timestamp_ms"] for row in sends[:2]] == [1_699_999_999_123, None]
    _, (checked,) = check_journals(own.path)
    refuse_unusable([checked])
    assert str(checked.taken.settings).startswith(
        "ClientSettings(client='pulsar 1', acks='1', idempotent=False"
    )


@pytest.mark.parametrize("value", [None, b"", "grüße", b"\x00\xff", f"id {IDENTITY_TEXT}"])
def test_the_header_identifies_the_record(own: ProducerFolder, value: str | bytes | None) -> None:
    with begun() as journal:
        journal.sent(b"before")
        seq, header = journal.sent(value)
    assert header[0] == IDENTITY_HEADER
    content = value.encode() if isinstance(value, str) else value
    decoded = decode_carried([content], RUN, lambda _: [header])
    found = (decoded.state[0], decoded.run[0], decoded.producer[0], decoded.seq[0])
    assert found == (OK, RUN, 0, seq) == (OK, RUN, 0, 1)
    damaged = decode_carried([(content or b"") + b"!"], RUN, lambda _: [header])
    assert damaged.state[0] != OK
    assert own.exists


def test_transactions_end_as_the_program_says(own: ProducerFolder) -> None:
    with begun() as journal:
        for txn, end in enumerate((journal.committed, journal.aborted, journal.indeterminate)):
            journal.sent(b"x", txn=txn)
            end(txn)
        journal.aborted(3)
    sends, transactions = taken_over(own, 0)
    assert [(row["txn"], row["asked"], row["outcome"], row["records"]) for row in transactions] == [
        (0, "commit", "committed", 1),
        (1, "abort", "aborted", 1),
        (2, "commit", "indeterminate", 1),
        (3, "abort", "aborted", 0),
    ]
    assert [row["ended_ns"] is None for row in transactions] == [False, False, True, False]
    assert [row["begun_ns"] for row in transactions[:3]] == [row["sent_ns"] for row in sends]


def test_threads_share_a_journal(own: ProducerFolder) -> None:
    journal = begun()

    def send() -> None:
        for _ in range(200):
            seq, _ = journal.sent(b"x")
            journal.acked(seq, partition=0, offset=seq)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.end()
    sends, _ = taken_over(own, 0)
    assert [(row["seq"], row["offset"]) for row in sends] == [(seq, seq) for seq in range(800)]


def test_each_line_is_there_when_its_call_returns(own: ProducerFolder) -> None:
    journal = begun()
    file = own.path / "0.jsonl"

    def events() -> list[str]:
        return [json.loads(line)["event"] for line in file.read_text().splitlines()]

    assert events() == ["begin"]
    seq, _ = journal.sent(b"x")
    assert events() == ["begin", "sent"]
    journal.acked(seq)
    assert events() == ["begin", "sent", "acked"]
    journal.end()
    journal.end()
    journal.failed(seq, "late")
    assert events() == ["begin", "sent", "acked", "end"]
    with pytest.raises(ValueError, match="closed"):
        journal.sent(b"x")


def test_the_run_says_when_to_begin_and_when_to_stop(own: ProducerFolder) -> None:
    with begun() as journal:
        assert not journal.wait_begun(0)
        own.begin()
        assert journal.wait_begun(0)
        assert not journal.run_over
        own.end()
        assert journal.run_over


def test_without_a_run_the_program_names_the_folder_and_the_topic(tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    for number in (0, 1):
        journal = Journal.begin("x 1", acks="all", idempotent=True, journal=folder, topic="orders")
        assert journal.number == number
        journal.end()
    assert check_journals(folder)[0].topic == "orders"
    assert Journal.begin("x 1", acks="0", idempotent=False, journal=folder, producer_id=9).number == 9


def test_a_report_about_no_send_is_refused(own: ProducerFolder) -> None:
    with begun() as journal:
        for report in (
            journal.acked,
            lambda seq: journal.failed(seq, "x"),
            lambda seq: journal.refused(seq, "x"),
        ):
            with pytest.raises(BadInput, match="a report is about no send") as refused:
                report(0)
            assert refused.value.found == "seq 0"
    assert taken_over(own, 0) == ([], [])


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"acks": 1}, "'acks'"),
        ({"acks": "-1"}, "'acks'"),
        ({"idempotent": 1}, "'idempotent'"),
        ({"client": " "}, "'client'"),
        ({"max_in_flight": -1}, "'max_in_flight'"),
        ({"delivery_timeout_ms": 1.5}, "'delivery_timeout_ms'"),
        ({"transaction_timeout_ms": "60000"}, "'transaction_timeout_ms'"),
    ],
)
def test_a_setting_that_no_run_could_use_is_refused_at_once(
    own: ProducerFolder, wrong: dict[str, object], what: str
) -> None:
    settings = {"client": "x 1", "acks": "all", "idempotent": True, **wrong}
    with pytest.raises(BadInput, match=f"no usable {what}") as refused:
        Journal.begin(**settings)  # type: ignore[arg-type]
    assert refused.value.where == "kafka_chaos.Journal.begin"
    assert own.event_files() == []


def test_a_program_that_finds_no_folder_or_no_topic_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKA_CHAOS_JOURNAL", raising=False)
    with pytest.raises(BadInput, match="no folder for the journal") as refused:
        begun()
    assert refused.value.where == "kafka_chaos.Journal.begin"
    with pytest.raises(BadInput, match="no topic is named"):
        Journal.begin("x 1", acks="all", idempotent=True, journal=tmp_path / "none")


def test_records_have_the_ids_that_the_run_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ProducerFolder(tmp_path / "producers")
    folder.create(ProducerTarget(RUN, "orders-1", id=IdSpec(header="order")))
    monkeypatch.setenv("KAFKA_CHAOS_JOURNAL", str(folder.path))
    with begun() as journal:
        journal.sent(b"x", headers=[("order", b"order-11")])
        journal.sent(b"x")
    lines = [json.loads(line) for line in (folder.path / "0.jsonl").read_text().splitlines()]
    assert [line.get("id") for line in lines if line["event"] == "sent"] == ["order-11", None]


def sent_ids(folder: Path) -> list[str | None]:
    lines = [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.open()]
    return [line.get("id") for line in lines if line["event"] == "sent"]


def test_without_a_run_the_program_says_where_the_id_is(tmp_path: Path) -> None:
    place = {"json": "order_id"}
    for number in range(2):
        journal = Journal.begin(
            "x 1", acks="all", idempotent=False, journal=tmp_path / "sent", topic="orders", id=place
        )
        with journal:
            journal.sent(f'{{"order_id": {number}}}')
            journal.sent("no order")
    assert sent_ids(tmp_path / "sent") == ["0", None, "1", None]
    assert ProducerFolder(tmp_path / "sent").target().id == IdSpec(json="order_id")
    wrapped = journaled(Unsent(), journal=tmp_path / "sent", topic="orders")
    wrapped.produce("orders", b'{"order_id": 2}')
    assert sent_ids(tmp_path / "sent")[-1] == "2", "the folder says it already"
    wrapped.end()


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ({"header": "order"}, "elsewhere"),
        ({"json": "a", "key": True}, "this is no place of an id"),
        ({}, "this is no place of an id"),
        ({"column": "a"}, "this is no place of an id"),
    ],
)
def test_another_place_of_the_id_is_refused(tmp_path: Path, place: dict[str, Any], what: str) -> None:
    where = {"journal": tmp_path / "sent", "topic": "orders"}
    journaled(Unsent(), **where, id={"json": "order_id"}).end()
    with pytest.raises(BadInput, match=what) as caught:
        journaled(Unsent(), **where, id=place)
    assert "kafka_chaos.journaled" in str(caught.value)
    assert len(list((tmp_path / "sent").glob("*.jsonl"))) == 1, "nothing was opened"


def test_in_a_run_the_experiment_says_where_the_id_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ProducerFolder(tmp_path).create(ProducerTarget(RUN, "t", "all", "b:9092", IdSpec(json="order_id")))
    monkeypatch.setenv("KAFKA_CHAOS_JOURNAL", str(tmp_path))
    with pytest.raises(BadInput, match="the run says where records have an id") as caught:
        journaled(Unsent(), id={"json": "order_id"})
    assert "the field order_id of the value" in str(caught.value)
    assert not list(tmp_path.glob("*.jsonl"))


class Unsent:
    """A producer that sends nothing."""

    def produce(self, *_: Any, **__: Any) -> None:
        """Accept a record."""

    def poll(self, _timeout: float = 0) -> int:
        return 0

    def flush(self, _timeout: float = 0) -> int:
        return 0

    def purge(self, **_: bool) -> None:
        """Drop what waits."""

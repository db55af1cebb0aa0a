"""`own --check`: each mistake of a journal is one message, all files are read, and a run says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import BadInput
from harness.model.journal import SENDS_DIR
from workloads.own.journal_check import check_journals, refuse_unusable
from workloads.own.own_producers import OwnProducers
from workloads.own.producer_folder import ProducerFolder, ProducerTarget
from workloads.records.producer.send_journal import SendJournal

pytestmark = pytest.mark.pure

Event = dict[str, Any]
END: Event = {"event": "end"}


def begin(producer: int = 0, **more: Any) -> Event:
    return {"event": "begin", "producer": producer, "run": 5, "topic": "orders", **more}


def sent(seq: int, **more: Any) -> Event:
    return {"event": "sent", "seq": seq, "time_ms": 1000 + seq, **more}


def report(event: str, seq: int, **more: Any) -> Event:
    return {"event": event, "seq": seq, "time_ms": 2000 + seq, **more}


def write(folder: Path, name: str, *events: Event | str) -> None:
    folder.mkdir(exist_ok=True)
    lines = [one if isinstance(one, str) else json.dumps(one) + "\n" for one in events]
    (folder / name).write_text("".join(lines))


def refusal(folder: Path) -> BadInput:
    with pytest.raises(BadInput) as refused:
        refuse_unusable(check_journals(folder)[1])
    return refused.value


def of_a_run(folder: Path, to: Path) -> list[str]:
    """What a run says of the same files at its end."""
    with SendJournal(to / SENDS_DIR, "orders") as journal:
        producers = OwnProducers(ProducerFolder(folder), 1, journal, [])
        producers.close(0)
        return list(producers.problems)


def test_the_sends_of_each_producer_are_counted_by_outcome(tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    settings: dict[str, Any] = {"client": "franz-go 1.22.3", "acks": "all", "idempotent": True}
    reports = [report("acked", 0), report("failed", 1, error="x"), report("refused", 2, error="x")]
    transaction = [sent(4, txn=0), {"event": "committed", "txn": 0, "time_ms": 3000}]
    write(folder, "0.jsonl", begin(**settings), *map(sent, range(4)), *reports, *transaction, END)
    write(folder, "1.jsonl", begin(1), END)
    write(
        folder,
        "2.jsonl",
        begin(2, client="sarama 1", acks="0", idempotent=False),
        sent(0),
        report("acked", 0),
        END,
    )
    target, checked = check_journals(folder)
    assert (target.run_id, target.topic) == (5, "orders")
    assert [str(one) for one in checked] == [
        "0.jsonl: producer 0; franz-go 1.22.3 (acks=all, idempotent); sends 5: acked 1, rejected 1, "
        "indeterminate 3 (without a report 2); transactions 1 (`own: {transactional: true}`)",
        "1.jsonl: producer 1; settings of the arm; sends 0",
        "2.jsonl: producer 2; sarama 1 (acks=0, not idempotent); sends 1: unconfirmed 1",
    ]
    refuse_unusable(checked)
    assert check_journals(folder / "0.jsonl")[1][0].outcomes == checked[0].outcomes


@pytest.mark.parametrize(
    ("events", "what", "found"),
    [
        ([sent(0), END], "the events do not begin with `begin`", "the event 'sent'"),
        ([], "the events do not begin with `begin`", "nothing"),
        ([begin(1), '{"event": "sent", "se\n', END], "a line is no JSON", '"se'),
        ([begin(1), sent(0), '{"event": "acked", '], "and its last line has no line end", None),
        ([begin(1), report("acked", 0), END], "a report is about no open send", "no `sent` line for seq 0"),
        ([begin(1, run=6), END], "the events are of another run", "6"),
        ([begin(1, topic="other"), END], "the events are of another topic", "other"),
        ([begin(1), sent(0)], "1.jsonl does not end with `end`", None),
        ([begin(0), END], "producer 0 has a journal already", "a second file of producer 0"),
        ([begin(1), END, sent(0)], "there are lines after the event 'end'", "sent"),
        ([begin(1, client="x", acks="2"), END], "no usable 'acks'", '"2"'),
    ],
)
def test_each_mistake_is_one_message_and_the_one_of_a_run(
    tmp_path: Path, events: list[Event | str], what: str, found: str | None
) -> None:
    folder = tmp_path / "sent"
    write(folder, "0.jsonl", begin(), sent(0), report("acked", 0), END)
    write(folder, "1.jsonl", *events)
    refused = refusal(folder)
    assert what in refused.what
    assert str(folder / "1.jsonl") in str(refused.where)
    assert found is None or found in str(refused.found)
    assert refused.expected
    assert refused.next_step
    assert refused.others == ()
    ProducerFolder(folder).create(ProducerTarget(5, "orders"))
    (said,) = of_a_run(folder, tmp_path)
    # A run says also for how long it has waited, which nobody does here.
    waited = " within 0 s of the write steps (`own: {close_seconds: N}`)"
    assert said.splitlines()[0].replace(waited, "") == refused.what
    (folder / "1.jsonl").unlink()
    assert of_a_run(folder, tmp_path / "again") == []
    refuse_unusable(check_journals(folder)[1])


def test_all_files_are_read_and_the_run_is_that_of_the_first_that_begins(tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    write(folder, "0.jsonl", sent(0))
    write(folder, "1.jsonl", begin(1), sent(0))
    write(folder, "2.jsonl", begin(2, run=6), END)
    write(folder, "3.jsonl", begin(3), sent(0), END)
    _, checked = check_journals(folder)
    assert [str(one).partition(";")[0] for one in checked] == [
        "0.jsonl: not taken over",
        "1.jsonl: producer 1",
        "2.jsonl: not taken over",
        "3.jsonl: producer 3",
    ]
    refused = refusal(folder)
    assert [refused.what, *(one.what for one in refused.others)] == [
        "the events do not begin with `begin`",
        "1.jsonl does not end with `end`: what was sent last is not known",
        "the events are of another run",
    ]


def test_the_run_of_a_folder_that_a_run_has_made_is_the_run_s(tmp_path: Path) -> None:
    folder = ProducerFolder(tmp_path / "producers")
    folder.create(ProducerTarget(6, "orders"))
    write(folder.path, "0.jsonl", begin(), END)
    assert (refusal(folder.path).expected, refusal(folder.path).found) == ("6", "5")


@pytest.mark.parametrize(
    ("files", "what"),
    [
        (None, "there is no such folder"),
        ((), "the folder holds no journal"),
        (("x.json",), "holds no journal"),
    ],
)
def test_a_folder_without_journals_is_told(tmp_path: Path, files: tuple[str, ...] | None, what: str) -> None:
    folder = tmp_path / "sent"
    for name in files or ():
        write(folder, name, begin())
    if files == ():
        folder.mkdir()
    with pytest.raises(BadInput, match=what) as refused:
        check_journals(folder)
    assert refused.value.where == str(folder)


def test_of_the_folder_of_an_arm_the_right_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "producers").mkdir()
    with pytest.raises(BadInput) as refused:
        check_journals(tmp_path)
    assert refused.value.next_step == f"name {tmp_path / 'producers'}"


def test_without_any_begin_the_first_file_is_named(tmp_path: Path) -> None:
    write(tmp_path, "0.jsonl", sent(0))
    write(tmp_path, "1.jsonl", "no\n")
    with pytest.raises(BadInput, match="do not begin") as refused:
        check_journals(tmp_path)
    assert refused.value.where == f"{tmp_path / '0.jsonl'}, line 1"

"""Events of programs in other languages: what becomes of each, and the message for each bad line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.errors import BadInput
from harness.model.journal import SENDS_DIR
from harness.model.journal_reader import journal_rows
from workloads.own.json_events import open_events
from workloads.own.producer_folder import ProducerTarget
from workloads.own.take_over import import_events
from workloads.records.producer.send_journal import SendJournal

pytestmark = pytest.mark.pure

Event = dict[str, Any]
BEGIN: Event = {"event": "begin", "producer": 2, "run": 5, "topic": "orders"}
END: Event = {"event": "end"}


def sent(seq: int, **more: Any) -> Event:
    return {"event": "sent", "seq": seq, "time_ms": 1000 + seq, **more}


def report(event: str, seq: int, **more: Any) -> Event:
    return {"event": event, "seq": seq, "time_ms": 2000 + seq, **more}


def imported(
    tmp_path: Path, *events: Event | str, acks: str = "all", transactions: list[Event] | None = None
) -> str | None:
    file = tmp_path / "shop.jsonl"
    file.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in events))
    return import_file(file, acks, [] if transactions is None else transactions)


def import_file(file: Path, acks: str, transactions: list[Event], taken: Iterable[int] = ()) -> str | None:
    with SendJournal(file.parent / SENDS_DIR, "orders") as journal:
        return import_events(file, ProducerTarget(5, "orders", acks), journal, transactions, taken=set(taken))


def rows(tmp_path: Path) -> list[dict[str, Any]]:
    return list(journal_rows(tmp_path / SENDS_DIR))


def test_every_event_becomes_what_is_known_of_the_send(tmp_path: Path) -> None:
    done = imported(
        tmp_path,
        BEGIN,
        sent(0, partition=1, key="customer", size=20),
        sent(1, key_base64="AAAAAAAAAAc="),
        sent(2, key="anna"),
        "",
        report("acked", 1, partition=0, offset=17),
        sent(3),
        report("failed", 2, error="TimeoutException"),
        report("refused", 3, error="RecordTooLargeException"),
        report("acked", 0, partition=1),
        sent(4),
        END,
    )
    assert done is None
    found = sorted(rows(tmp_path), key=lambda row: row["seq"])
    assert [(row["producer"], row["seq"]) for row in found] == [(2, seq) for seq in range(5)]
    assert [(row["outcome"], row["error"]) for row in found] == [
        ("acked", None),
        ("acked", None),
        ("indeterminate", "TimeoutException"),
        ("rejected", "RecordTooLargeException"),
        ("indeterminate", "_NO_REPORT"),
    ]
    assert [row["offset"] for row in found] == [None, 17, None, None, None]
    assert [row["partition"] for row in found] == [1, 0, -1, -1, -1]
    # Readers know keys of 8 bytes.
    assert [row["key"] for row in found] == [int.from_bytes(b"customer"), 7, None, None, None]
    assert (found[1]["sent_ns"], found[1]["closed_ns"]) == (1_001_000_000, 2_001_000_000)


def test_the_time_that_a_record_was_given_is_journaled(tmp_path: Path) -> None:
    times = (1_699_999_999_123, 0, -1, -(2**63 - 1), 2**63 - 1)
    given = [sent(seq, timestamp_ms=time) for seq, time in enumerate(times)]
    assert imported(tmp_path, BEGIN, *given, sent(5), report("acked", 0, offset=1), END) is None
    found = sorted(rows(tmp_path), key=lambda row: row["seq"])
    # Kafka takes a negative time for none.
    expected = [1_699_999_999_123, 0, None, None, 2**63 - 1, None]
    assert [row["timestamp_ms"] for row in found] == expected


@pytest.mark.parametrize("time", ["1699999999123", 1.5, None, 2**63, True])
def test_the_time_of_a_record_is_a_whole_number_of_milliseconds(tmp_path: Path, time: object) -> None:
    with pytest.raises(BadInput, match="no usable 'timestamp_ms'"):
        imported(tmp_path, BEGIN, sent(0, timestamp_ms=time), END)


@pytest.mark.parametrize("given", ["", 7, "x" * 1001, "\ud800"])
def test_what_is_no_id_of_a_record_is_refused(given: object, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no usable 'id'"):
        imported(tmp_path, BEGIN, sent(0, id=given), END)


def test_without_acks_a_success_is_unconfirmed(tmp_path: Path) -> None:
    imported(tmp_path, BEGIN, sent(0), report("acked", 0, offset=5), acks="0")
    assert [(row["outcome"], row["offset"]) for row in rows(tmp_path)] == [("unconfirmed", None)]


def test_transactions_end_as_the_program_says(tmp_path: Path) -> None:
    found: list[Event] = []
    done = imported(
        tmp_path,
        BEGIN,
        sent(0, txn=0),
        sent(1, txn=1),
        {"event": "committed", "txn": 0, "time_ms": 3000},
        {"event": "aborted", "txn": 1, "time_ms": 3001, "error": "ProducerFencedException"},
        sent(2, txn=2),
        {"event": "indeterminate", "txn": 2, "time_ms": 3002},
        sent(3, txn=3),
        transactions=found,
    )
    assert done == "shop.jsonl does not end with `end`: what was sent last is not known"
    assert [(row["txn"], row["asked"], row["outcome"], row["records"]) for row in found] == [
        (0, "commit", "committed", 1),
        (1, "abort", "aborted", 1),
        (2, "commit", "indeterminate", 1),
        (3, "commit", "indeterminate", 1),
    ]
    assert [row["ended_ns"] for row in found] == [3_000_000_000, 3_001_000_000, None, None]


@pytest.mark.parametrize(
    ("events", "line", "what", "expected", "found"),
    [
        ([], 1, "the events do not begin with `begin`", "begin", "nothing"),
        ([sent(0)], 1, "the events do not begin with `begin`", "begin", "'sent'"),
        ([BEGIN, "{nonsense"], 2, "a line is no JSON", "one JSON object per line", "{nonsense"),
        ([BEGIN, "[1]"], 2, "a line is no event", "sent, acked", "[1]"),
        ([BEGIN, {"event": "send"}], 2, "a line is no event", "sent, acked", '"send"'),
        ([BEGIN, sent(0, offset=3)], 2, "has an unknown field", "key_base64", '"offset"'),
        ([BEGIN, sent(0), sent(2)], 3, "not numbered one after the other", "seq 1", "seq 2"),
        ([BEGIN, sent(0), "", sent(0)], 4, "not numbered one after the other", "seq 1", "seq 0"),
        ([BEGIN, sent(True)], 2, "no usable 'seq'", "a whole number from 0", "true"),
        ([BEGIN, {"event": "sent", "seq": 0}], 2, "no usable 'time_ms'", "a whole number", "none"),
        ([BEGIN, sent(0, time_ms=1.5)], 2, "no usable 'time_ms'", "a whole number", "1.5"),
        ([BEGIN, sent(0, partition=-2)], 2, "no usable 'partition'", "from -1", "-2"),
        ([BEGIN, sent(0, key=7)], 2, "the key cannot be read", "key_base64", '{"key": 7}'),
        ([BEGIN, sent(0, key_base64="?")], 2, "the key cannot be read", "Base64", '"?"'),
        ([BEGIN, sent(0, key="a", key_base64="YQ==")], 2, "the key cannot be read", "or neither", "YQ=="),
        ([BEGIN, sent(0, key="\ud800")], 2, "the key cannot be read", "`key` (text)", "ud800"),
        ([BEGIN, report("acked", 0)], 2, "about no open send", "a `sent` line", "no `sent` line for seq 0"),
        (
            [BEGIN, sent(0), report("acked", 0), report("acked", 0)],
            4,
            "about no open send",
            "one report for each send",
            "a second report for seq 0",
        ),
        ([BEGIN, sent(0), report("failed", 0)], 3, "no usable 'error'", "printable ASCII", "none"),
        ([BEGIN, sent(0), report("failed", 0, error="a b")], 3, "no usable 'error'", "spaces", '"a b"'),
        ([BEGIN, {**BEGIN, "producer": 3}], 2, "a second `begin`", "one file for each", "another producer"),
        ([BEGIN, END, sent(0)], 3, "lines after the event 'end'", "last line", "sent"),
        ([{**BEGIN, "run": 6}], 1, "of another run", "5", "6"),
        ([{**BEGIN, "topic": "u"}], 1, "of another topic", "orders", "u"),
        ([{**BEGIN, "topic": ""}], 1, "no usable 'topic'", "name of a topic", '""'),
        ([{**BEGIN, "topic": "t\x1b[2J"}], 1, "no usable 'topic'", "name of a topic", "u001b"),
        ([{**BEGIN, "acks": 1}], 1, "no usable 'acks'", '"all"', "1"),
        ([{**BEGIN, "producer": 2**31}], 1, "no usable 'producer'", "2147483647", "2147483648"),
        (
            [BEGIN, sent(0, txn=0), {"event": "aborted", "txn": 0, "time_ms": 1}, sent(1, txn=0)],
            4,
            "a transaction that has ended",
            "another txn",
            "txn 0",
        ),
        ([BEGIN, {"event": "aborted", "txn": 0, "time_ns": -1}], 2, "no usable 'time_ns'", "from 0", "-1"),
        (
            [BEGIN, {"event": "aborted", "txn": 0, "time_ms": 1, "asked": "b"}],
            2,
            "no usable 'asked'",
            '"commit" or "abort"',
            '"b"',
        ),
        (
            [BEGIN, {"event": "aborted", "txn": 0, "time_ms": 1, "answered": 1}],
            2,
            "no usable 'answered'",
            "true or false",
            "1",
        ),
        (
            [BEGIN, *[{"event": "aborted", "txn": 0, "time_ms": 1}] * 2],
            3,
            "a transaction ends twice",
            "one end",
            "txn 0",
        ),
    ],
)
def test_each_bad_line_is_one_message(
    events: list[Event | str], line: int, what: str, expected: str, found: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as refused:
        imported(tmp_path, *events)
    assert what in refused.value.what
    assert refused.value.where == f"{tmp_path / 'shop.jsonl'}, line {line}"
    assert expected in str(refused.value.expected)
    assert found in str(refused.value.found)
    assert "docs/how-to/own-producer.md" in str(refused.value.next_step)


def test_a_file_that_is_cut_off_or_missing_is_told(tmp_path: Path) -> None:
    file = tmp_path / "cut.jsonl"
    lines = [json.dumps(one) + "\n" for one in (BEGIN, sent(0))]
    file.write_text("".join(lines) + '{"event": "se')
    done = import_file(file, "all", [])
    assert 'no line end: the program ended while it wrote b\'{"event": "se\'' in str(done)
    assert [row["seq"] for row in rows(tmp_path)] == [0], "what a program wrote before it died is kept"
    with pytest.raises(BadInput, match="producer 2 has a journal already"):
        import_file(file, "all", [], taken=[2])
    file.write_text(lines[0][:-9])
    with pytest.raises(BadInput, match="the events do not begin with `begin`"):
        import_file(file, "all", [])
    with pytest.raises(BadInput, match="a file of events cannot be read"):
        open_events(tmp_path / "none.jsonl")


def test_more_can_be_told_of_times_and_of_transactions(tmp_path: Path) -> None:
    found: list[Event] = []
    events: list[Event] = [
        {"event": "sent", "seq": 0, "time_ns": 1_000_000_001, "txn": 0},
        {"event": "acked", "seq": 0, "time_ns": 1_000_000_002},
        {"event": "aborted", "txn": 0, "time_ns": 3, "begun_ns": 1, "asked": "commit", "answered": False},
        {"event": "aborted", "txn": 1, "time_ns": 4},
    ]
    imported(tmp_path, BEGIN, *events, END, transactions=found)
    (row,) = rows(tmp_path)
    assert (row["sent_ns"], row["closed_ns"]) == (1_000_000_001, 1_000_000_002)
    assert [(one["begun_ns"], one["asked"], one["ended_ns"], one["records"]) for one in found] == [
        (1, "commit", None, 1),
        (4, "abort", 4, 0),
    ]


def test_the_first_line_names_the_target(tmp_path: Path) -> None:
    file = tmp_path / "shop.jsonl"
    file.write_text(json.dumps({**BEGIN, "acks": "1"}) + "\n")
    assert open_events(file)[1] == ProducerTarget(5, "orders", "1")


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.sampled_from([BEGIN, END, sent(0), sent(1), report("acked", 0), report("failed", 1, error="x")])
        | st.dictionaries(st.sampled_from(["event", "seq", "txn"]), st.integers() | st.text() | st.none())
        | st.text(),
        max_size=8,
    ),
    st.booleans(),
)
def test_no_input_ends_in_anything_but_an_error_for_the_user(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Event | str], begun: bool
) -> None:
    folder = tmp_path_factory.mktemp("events")
    written = [one if isinstance(one, str) else json.dumps(one) for one in ([BEGIN] if begun else []) + lines]
    (folder / "x.jsonl").write_bytes("\n".join(written).encode(errors="surrogatepass"))
    refused: list[BadInput] = []
    try:
        import_file(folder / "x.jsonl", "all", [])
    except BadInput as error:
        refused.append(error)
    assert all("x.jsonl, line " in str(one.where) for one in refused)

"""What a member of a share group tells, over a client that is made up, and the rows that come of it."""

from __future__ import annotations

import io
import json
import threading
from typing import Any

import pytest

from workloads.records.record.identity import ValueBuilder
from workloads.share.member_loop import Answer, Given, MemberSettings, ShareError, Teller, run_member, word_of
from workloads.share.member_process import MemberJournal, ShareSinks

pytestmark = pytest.mark.pure

RUN = 77


def _settings(**changes: Any) -> MemberSettings:
    given = {
        "properties": {},
        "topic": "t",
        "run_id": RUN,
        "seed": "1/q-0/0",
        "acknowledge": "accept",
        "hold": 0.0,
        "explicit": True,
        "wait": True,
        "more": {},
    }
    return MemberSettings(**{**given, **changes})


def _record(offset: int, *, count: int = 1, value: bytes | None = None) -> Given:
    made = ValueBuilder(RUN, 0, 100, 1)(offset) if value is None else value
    return Given(partition=0, offset=offset, delivery_count=count, value=made, headers=None, message=offset)


class _Client:
    """Returns these batches; an exception in their place is raised."""

    def __init__(
        self, batches: list[Any], stop: threading.Event, lines: io.StringIO, commits: list[Any] | None = None
    ) -> None:
        self._batches, self._stop, self._lines = batches, stop, lines
        self._commits = commits or []
        self.refused: set[int] = set()
        self.calls: list[Any] = []
        self.told: list[int] = []
        self.later: list[Answer] = []

    def poll(self, seconds: float) -> list[Given]:  # noqa: ARG002 - as the client's
        self.calls.append("poll")
        if not self._batches:
            self._stop.set()
            return []
        batch = self._batches.pop(0)
        if isinstance(batch, ShareError):
            raise batch
        return list(batch)

    def acknowledge(self, record: Given, word: str) -> None:
        self.calls.append((record.offset, word))
        if record.offset in self.refused:
            raise ShareError("_STATE: not acquired", fatal=False)

    def commit(self, *, wait: bool) -> list[Answer]:
        self.calls.append("wait" if wait else "commit")
        # What was told before the brokers were.
        self.told.append(len(self._lines.getvalue().splitlines()))
        if self._commits and (found := self._commits.pop(0)) is not None:
            if isinstance(found, ShareError):
                raise found
            return list(found)
        return [(0, None, None)] if wait else []

    def answers(self) -> list[Answer]:
        found, self.later = self.later, []
        return found

    def close(self) -> None:
        self.calls.append("close")


class _Rows(list[dict[str, Any]]):
    pass


def _lived(
    batches: list[Any], *, commits: list[Any] | None = None, refused: tuple[int, ...] = (), **changes: Any
) -> tuple[_Client, list[dict[str, Any]], _Rows, _Rows]:
    """The client, the lines, and the rows of deliveries and events. `commits` are what it answers to commits
    (None: done; an exception is raised), `refused` the offsets that it lets nobody acknowledge."""
    stop, out = threading.Event(), io.StringIO()
    client = _Client(batches, stop, out, commits)
    client.refused.update(refused)
    run_member(_settings(**changes), client, Teller(out), stop)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    deliveries, events = _Rows(), _Rows()
    journal = MemberJournal(ShareSinks(deliveries, events), group="q-4d", member="q-0", session=0, topic="t")
    for line in lines:
        journal.take(line)
    journal.end()
    assert journal.deliveries == len(deliveries)
    return client, lines, deliveries, events


def test_a_delivery_is_told_before_it_is_acknowledged() -> None:
    client, lines, rows, events = _lived([[_record(0), _record(1)], [_record(2, count=2)]])
    assert client.calls[:4] == ["poll", (0, "accept"), (1, "accept"), "wait"]
    assert [next(iter(line)) for line in lines] == [
        *("joined", "given", "acknowledged", "answered", "given", "acknowledged", "answered"),
        *("closing", "closed"),
    ]
    assert client.told == [3, 6]
    assert [(row["offset"], row["delivery_count"], row["seq"]) for row in rows] == [
        (0, 1, 0),
        (1, 1, 1),
        (2, 2, 2),
    ]
    for row in rows:
        times = [row[name] for name in ("asked_ns", "acquired_ns", "acknowledged_ns", "answered_ns")]
        assert times == sorted(times)
        assert (row["state"], row["acknowledgement"], row["error"]) == ("ok", "accept", None)
    assert [event["event"] for event in events] == ["joined", "closing"]


def test_a_record_may_be_acquired_two_polls_before_it_is_returned() -> None:
    _, lines, rows, _ = _lived([[_record(number)] for number in range(4)])
    given = [line for line in lines if "given" in line]
    joined = lines[0]["joined"]
    assert rows[0]["asked_ns"] == rows[1]["asked_ns"] == joined
    assert joined < rows[2]["asked_ns"] <= given[0]["given"] < rows[3]["asked_ns"] <= given[1]["given"]


def test_implicit_acknowledgement_accepts_with_the_next_call() -> None:
    client, lines, rows, _ = _lived([[_record(0)], [_record(1)]], explicit=False, wait=False)
    assert client.calls == ["poll", "poll", "poll", "close"]
    assert [next(iter(line)) for line in lines][1:5] == ["given", "acknowledged", "given", "acknowledged"]
    assert [row["acknowledgement"] for row in rows] == ["accept", "accept"]
    assert all(row["answered_ns"] is None if "answered_ns" in row else True for row in rows)


def test_answers_that_come_later_are_of_single_records() -> None:
    stop, out = threading.Event(), io.StringIO()
    client = _Client([[_record(0), _record(1)]], stop, out)
    client.later = [(0, 1, "INVALID_RECORD_STATE")]
    deliveries, events = _Rows(), _Rows()
    journal = MemberJournal(ShareSinks(deliveries, events), group="q-4d", member="q-0", session=0, topic="t")
    journal.take({"given": 5, "asked": 4, "rows": [[0, 0, 1, "ok", RUN, 0, 0], [0, 1, 1, "ok", RUN, 0, 1]]})
    journal.take({"answered": 6, "rows": [[0, 0, None], [0, 1, None]]})
    assert not deliveries, "no acknowledgement was sent yet"
    journal.take({"acknowledged": 7, "rows": [[0, 0, "release"], [0, 1, "accept"]]})
    journal.take({"answered": 8, "rows": [[0, 1, "INVALID_RECORD_STATE"], [0, 9, None]]})
    assert [(row["offset"], row["error"], row["answered_ns"]) for row in deliveries] == [
        (1, "INVALID_RECORD_STATE", 8)
    ]
    # Given again before an answer came: the first delivery has none.
    journal.take({"given": 9, "asked": 8, "rows": [[0, 0, 2, "ok", RUN, 0, 0]]})
    journal.end()
    assert [(row["offset"], row["delivery_count"], row.get("answered_ns")) for row in deliveries[1:]] == [
        (0, 1, None),
        (0, 2, None),
    ]


@pytest.mark.parametrize("commit", [ShareError("_TIMED_OUT: no answer", fatal=False), [(1, None, None)]])
def test_the_next_answer_is_not_about_what_was_waited_for_in_vain(commit: Any) -> None:
    _, _, rows, _ = _lived([[_record(0)], [_record(1)]], commits=[commit])
    found = {row["offset"]: (row["acknowledgement"], row.get("answered_ns") is not None) for row in rows}
    assert found == {0: ("accept", False), 1: ("accept", True)}


def test_a_record_that_the_client_does_not_let_acknowledge_is_not_done() -> None:
    client, _, rows, events = _lived([[_record(0), _record(1)]], refused=(0,))
    assert client.calls[1:4] == [(0, "accept"), (1, "accept"), "wait"]
    assert {row["offset"]: row["error"] for row in rows} == {0: "_STATE", 1: None}
    assert [event["detail"] for event in events if event["event"] == "error"] == ["_STATE: not acquired"]


def test_an_error_is_told_and_one_that_ends_the_client_is_raised() -> None:
    _, _, rows, events = _lived([ShareError("_TRANSPORT: broken", fatal=False), [_record(0)]])
    assert [(event["event"], event["detail"]) for event in events][1] == ("error", "_TRANSPORT: broken")
    assert len(rows) == 1
    with pytest.raises(ShareError, match="fenced"):
        _lived([ShareError("fenced", fatal=True)])


def test_values_that_do_not_decode_are_kept_as_such() -> None:
    _, _, rows, _ = _lived([[_record(0, value=b"?")]])
    assert (rows[0]["state"], rows[0]["seq"]) == ("undecodable", None)


def test_mixed_acknowledgements_depend_on_the_seed_alone() -> None:
    mixed = _settings(acknowledge="mixed")
    words = [word_of(mixed, _record(number)) for number in range(400)]
    assert words == [word_of(mixed, _record(number)) for number in range(400)]
    assert {words.count("accept") > 220, words.count("release") > 40, words.count("reject") > 10} == {True}
    assert words != [word_of(_settings(acknowledge="mixed", seed="2/q-0/0"), _record(n)) for n in range(400)]
    assert word_of(_settings(acknowledge="reject"), _record(0)) == "reject"

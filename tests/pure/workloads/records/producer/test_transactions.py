"""How transactions end: what the client answers, and what is journaled of it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from workloads.records.clients import call_with_timeout, purge_and_close
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import TransactionSpec
from workloads.records.producer.transactions import ClientUnusable, TransactionManager

pytestmark = pytest.mark.pure

RETRY = KafkaException(KafkaError(KafkaError._TIMED_OUT, "again", retriable=True))
ABORT = KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT, "abort it", txn_requires_abort=True))
FENCED = KafkaException(KafkaError(KafkaError._FENCED, "another count_sends over", fatal=True))
OTHER = KafkaException(KafkaError(KafkaError._STATE, "nothing is set"))


class Client:
    """Answers each call with what its script holds for it; success where that is used up."""

    def __init__(self, **script: list[KafkaException]) -> None:
        self.script = {name: deque(answers) for name, answers in script.items()}
        self.calls: list[str] = []
        self.commit_seconds: list[float] = []
        self.dead = False

    def _answer(self, name: str) -> None:
        self.calls.append(name)
        left = self.script.get(name)
        if left:
            answer = left.popleft()
            self.dead = self.dead or answer.args[0].fatal()
            raise answer

    def init_transactions(self, _timeout: float) -> None:
        self._answer("init")

    def begin_transaction(self) -> None:
        self._answer("begin")

    def commit_transaction(self, timeout: float) -> None:
        self.commit_seconds.append(timeout)
        self._answer("commit")

    def abort_transaction(self, _timeout: float) -> None:
        self._answer("abort")

    def flush(self, _timeout: float) -> int:
        """A dead client of confluent-kafka 2.16 raises its fatal error here too."""
        self.calls.append("flush")
        if self.dead:
            raise FENCED
        return 0

    def poll(self, _timeout: float) -> int:
        return 0

    def purge(self, **_: bool) -> None:
        self.calls.append("purge")

    def close(self) -> None:
        self.calls.append("close")


LONG = 60.0
"""Seconds for which a stuck call would be waited for."""


class Stuck(Client):
    """Never returns from what is prepared, until the test is over."""

    def __init__(self, over: threading.Event) -> None:
        super().__init__()
        self.over = over

    def prepare(self) -> None:
        self.calls.append("prepare")
        self.over.wait(LONG)


class Case:
    """Transactions over scripted clients, the first of `clients` and then its successors."""

    def __init__(
        self, *clients: Client, spec: TransactionSpec | None = None, patience: float = 5.0, **more: Any
    ) -> None:
        self.rows: list[dict[str, Any]] = []
        self.until: float | None = None
        self.left = deque(clients[1:])
        self.made = TransactionManager(
            lambda: self.left.popleft() if self.left else Client(),
            clients[0],
            spec or TransactionSpec(records=10),
            producer=3,
            seed=1,
            journal=self,
            take=lambda: None,
            until=lambda: self.until,
            patience=patience,
            **more,
        )

    def append(self, row: dict[str, Any]) -> None:
        self.rows.append(row)

    def one(self, sends: int = 10, refusal: str | None = None) -> dict[str, Any]:
        self.made.begin()
        self.made.count_sends(sends, refusal)
        self.made.end()
        return self.rows[-1]


def brief(row: dict[str, Any]) -> tuple[str, str, str | None, bool]:
    return row["asked"], row["outcome"], row["error"], row["ended_ns"] is not None


ABORTING = TransactionSpec(records=10, abort=1.0)


@pytest.mark.parametrize(
    ("client", "spec", "refusal", "told"),
    [
        (Client(), None, None, ("commit", "committed", None, True)),
        # It goes on in the background, and nobody knows how it ends.
        (Client(commit=[RETRY]), None, None, ("commit", "indeterminate", "_TIMED_OUT", False)),
        (Client(commit=[ABORT]), None, None, ("commit", "aborted", "_MSG_TIMED_OUT", True)),
        (Client(commit=[ABORT], abort=[RETRY]), None, None, ("commit", "aborted", "_MSG_TIMED_OUT", True)),
        (
            Client(commit=[ABORT], abort=[FENCED]),
            None,
            None,
            ("commit", "indeterminate", "_MSG_TIMED_OUT", False),
        ),
        (Client(commit=[FENCED]), None, None, ("commit", "indeterminate", "_FENCED", False)),
        (Client(commit=[OTHER]), None, None, ("commit", "indeterminate", "_STATE", False)),
        # Nobody ever asked for a commit of these: whatever becomes of the abort, they are not committed.
        (Client(abort=[FENCED]), ABORTING, None, ("abort", "aborted", "_FENCED", False)),
        (Client(abort=[FENCED]), None, "_STATE", ("commit", "aborted", "_STATE", False)),
        (Client(), ABORTING, None, ("abort", "aborted", None, True)),
        (Client(), None, "_STATE", ("commit", "aborted", "_STATE", True)),
    ],
)
def test_what_the_client_answers_decides(
    client: Client,
    spec: TransactionSpec | None,
    refusal: str | None,
    told: tuple[str, str, str | None, bool],
) -> None:
    row = Case(client, spec=spec).one(refusal=refusal)
    assert brief(row) == told
    assert (row["producer"], row["txn"], row["records"]) == (3, 0, 10)
    assert client.calls.count("commit") == (told[0] == "commit" and refusal is None)


def test_records_are_waited_for_before_a_meant_abort() -> None:
    client = Client()
    Case(client, spec=ABORTING).one()
    assert client.calls == ["init", "begin", "flush", "abort"]


def test_a_fatal_error_gives_the_producer_a_new_client_that_is_initialised_first() -> None:
    first, second = Client(commit=[FENCED]), Client()
    case = Case(first, second)
    assert brief(case.one()) == ("commit", "indeterminate", "_FENCED", False)
    assert first.calls[-3:] == ["purge", "flush", "close"]
    assert brief(case.one()) == ("commit", "committed", None, True)
    assert second.calls == ["init", "begin", "commit"]
    assert [row["txn"] for row in case.rows] == [0, 1]


def test_a_commit_is_called_once_with_all_the_time_that_it_may_take() -> None:
    client = Client()
    case = Case(client, patience=300.0)
    case.one()
    assert client.calls.count("commit") == 1
    [seconds] = client.commit_seconds
    assert 290 < seconds <= 300


def test_the_end_of_the_run_shortens_a_commit_and_makes_no_new_client() -> None:
    client = Client(commit=[RETRY])
    case = Case(client, patience=300.0)
    case.made.begin()
    case.until = time.monotonic()
    case.made.end()
    assert brief(case.rows[-1]) == ("commit", "indeterminate", "_TIMED_OUT", False)
    assert client.commit_seconds == [1.0]
    assert case.made.client is client


def test_a_commit_that_does_not_return_is_given_up_when_the_run_ends() -> None:
    over = threading.Event()
    stuck, next_one = Stuck(over), Client()
    case = Case(stuck, next_one, patience=LONG)
    case.made.begin()

    def waits(_seconds: float) -> None:
        case.until = time.monotonic()
        stuck.prepare()

    stuck.commit_transaction = waits  # type: ignore[method-assign]
    try:
        case.made.end()
        assert brief(case.rows[-1]) == ("commit", "indeterminate", "_STUCK", False)
        # Not closed: that would wait for the call.
        assert stuck.calls == ["init", "begin", "prepare", "purge", "flush"]
        assert case.made.client is next_one
    finally:
        over.set()


def test_a_commit_that_does_not_return_is_given_up_some_time_after_its_time_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workloads.records.producer.transaction_calls.STUCK_SECONDS", 0.5)
    over = threading.Event()
    stuck = Stuck(over)
    stuck.commit_transaction = lambda _seconds: stuck.prepare()  # type: ignore[method-assign]
    try:
        assert brief(Case(stuck, patience=0.2).one()) == ("commit", "indeterminate", "_STUCK", False)
    finally:
        over.set()


@pytest.mark.parametrize(
    ("commit", "told"),
    [([FENCED], ("commit", "aborted", "_FENCED", True)), ([], ("commit", "committed", None, True))],
    ids=["refused as it must be", "let through: the client's word, for the check to judge"],
)
def test_a_successor_takes_over_before_the_commit(commit: list[KafkaException], told: Any) -> None:
    first, second = Client(), Client()
    case = Case(first, second, spec=TransactionSpec(records=10, fence_every=2))
    assert brief(case.one())[1] == "committed"
    first.script["commit"] = deque(commit)
    assert brief(case.one()) == told
    assert second.calls[0] == "init"
    assert first.calls[-5:] == ["flush", "commit", "purge", "flush", "close"]
    case.one()
    assert second.calls == ["init", "begin", "commit"]


SEND_REFUSED = KafkaException(KafkaError(KafkaError.INVALID_PRODUCER_EPOCH, "old", txn_requires_abort=True))


@pytest.mark.parametrize(
    ("client", "refusal", "told"),
    [
        (Client(commit=[FENCED]), None, ("commit", "aborted", "_FENCED", True)),
        (Client(commit=[RETRY]), None, ("commit", "indeterminate", "_TIMED_OUT", False)),
        (Client(commit=[SEND_REFUSED], abort=[FENCED]), None, ("commit", "aborted", "_FENCED", True)),
        (Client(commit=[SEND_REFUSED]), None, ("commit", "aborted", "INVALID_PRODUCER_EPOCH", True)),
        (Client(abort=[FENCED]), "_FENCED", ("commit", "aborted", "_FENCED", True)),
        (Client(), None, ("commit", "committed", None, True)),
    ],
)
def test_a_transaction_whose_id_was_taken_is_aborted_unless_its_commit_is_let_through(
    client: Client, refusal: str | None, told: tuple[str, str, str | None, bool]
) -> None:
    case = Case(client, Client(), spec=ABORTING)
    case.made.begin(drawn=False)
    case.made.count_sends(10, refusal)
    case.made.end(taken_over=True)
    assert brief(case.rows[-1]) == told
    assert case.made.client is client, "another one would fence the rival"


def test_where_no_successor_can_be_had_the_transaction_ends_as_any_other() -> None:
    case = Case(Client(), Client(init=[FENCED]), spec=TransactionSpec(records=10, fence_every=1))
    assert brief(case.one()) == ("commit", "committed", None, True)


def test_a_client_that_cannot_begin_is_replaced_but_not_for_ever() -> None:
    case = Case(Client(begin=[FENCED]), Client(begin=[OTHER]), Client())
    assert brief(case.one())[1] == "committed"
    hopeless = Case(*(Client(begin=[FENCED]) for _ in range(50)))
    with pytest.raises(ClientUnusable, match="_FENCED"):
        hopeless.made.begin()
    with pytest.raises(ClientUnusable, match="init_transactions: _FENCED"):
        Case(Client(init=[FENCED])).made.begin()


def test_room_counts_down_and_is_none_after_a_refusal() -> None:
    case = Case(Client())
    assert case.made.remaining_sends == 0
    case.made.begin()
    assert (case.made.remaining_sends, case.made.number) == (10, 0)
    case.made.count_sends(4, None)
    assert case.made.remaining_sends == 6
    case.made.count_sends(1, "_STATE")
    assert case.made.remaining_sends == 0


def test_a_client_that_never_returns_is_replaced_and_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """close() would wait for the call."""
    monkeypatch.setattr("workloads.records.producer.transaction_calls.STUCK_SECONDS", 1.0)
    over = threading.Event()
    stuck, next_one = Stuck(over), Client()
    case = Case(stuck, next_one, prepare=lambda client: client.prepare() if client is stuck else None)
    try:
        assert brief(case.one()) == ("commit", "aborted", "_STUCK", False)
        assert stuck.calls == ["init", "begin", "prepare", "purge", "flush"]
        assert brief(case.one()) == ("commit", "committed", None, True)
        assert next_one.calls == ["init", "begin", "commit"]
    finally:
        over.set()


def test_a_stuck_client_is_replaced_at_the_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends the run closes the client that is there then."""
    monkeypatch.setattr("workloads.records.producer.transaction_calls.STUCK_SECONDS", 1.0)
    over = threading.Event()
    stuck, next_one = Stuck(over), Client()
    case = Case(stuck, next_one, prepare=lambda client: client.prepare())
    case.until = time.monotonic()
    try:
        assert brief(case.one()) == ("commit", "aborted", "_STUCK", False)
        assert case.made.client is next_one
    finally:
        over.set()


def test_a_close_that_never_returns_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workloads.records.clients.STUCK_SECONDS", 1.0)
    over = threading.Event()
    client = Stuck(over)
    monkeypatch.setattr(client, "close", client.prepare)
    try:
        began = time.monotonic()
        purge_and_close(client)
        assert client.calls == ["purge", "flush", "prepare"]
        assert time.monotonic() - began < LONG
    finally:
        over.set()


def test_what_a_call_raises_is_raised_to_the_caller() -> None:
    def refused() -> None:
        raise FENCED

    with pytest.raises(KafkaException) as told:
        call_with_timeout(5, refused, "it")
    assert told.value is FENCED


def test_the_seed_draws_the_share_of_aborts() -> None:
    def drawn(abort: float) -> list[str]:
        case = Case(Client(), spec=TransactionSpec(records=1, abort=abort))
        return [case.one(1)["asked"] for _ in range(200)]

    assert set(drawn(0.0)) == {"commit"}
    assert 20 <= drawn(0.2).count("abort") <= 60
    assert drawn(0.2) == drawn(0.2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"acks": 1}, "needs acks=all"),
        ({"max.in.flight.requests.per.connection": 6}, "at most 5"),
        ({"retries": 0}, "needs retries above 0"),
        ({"transaction.timeout.ms": 5000}, "must not exceed transaction.timeout.ms"),
    ],
)
def test_settings_that_rule_out_transactions(given: dict[str, Any], says: str) -> None:
    made = ProducerSettings.model_validate(given)
    with pytest.raises(ValueError, match=says):
        made.check_transactional()


def test_a_transactional_producer_is_idempotent() -> None:
    made = ProducerSettings()
    made.check_transactional()
    config: Callable[..., dict[str, Any]] = made.to_librdkafka
    assert config("a:1")["enable.idempotence"] is False
    given = config("a:1", "me")
    assert (given["enable.idempotence"], given["transactional.id"]) == (True, "me")

"""A live reader over a scripted consumer: cut logs, lost partitions, commits that fail, followers."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import OFFSET_INVALID, OFFSET_STORED, KafkaError, KafkaException, Message, TopicPartition

from workloads.records import clients
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.reader import live_reader
from workloads.records.reader.consumer_process import ConsumerProcess
from workloads.records.reader.live_reader import LiveReader
from workloads.records.reader.reader_journal import ReaderSinks, Source
from workloads.records.record.identity import ValueBuilder

pytestmark = pytest.mark.pure

BUILD = ValueBuilder(9, 0, 40, 1)
Step = Callable[["Consumer"], list[Message]]


def message(partition: int, offset: int | None, error: KafkaError | None = None) -> Message:
    value = BUILD(offset or 0)
    return Message(
        topic="t",
        partition=partition,
        offset=OFFSET_INVALID if offset is None else offset,
        value=value,
        error=error,
        timestamp=(1, 5),
        leader_epoch=0,
    )


class Consumer:
    """Gives what its script holds, call by call; `bounds` are the log's (start, end) of every partition."""

    bounds = (0, 40)

    def __init__(self, config: dict[str, Any], script: deque[Step]) -> None:
        self.config = config
        self.script = script
        self.assigned: list[list[tuple[int, int]]] = []
        self.commits: list[list[tuple[int, int]]] = []
        self.commit_fails = False

    def memberid(self) -> str:
        return "member-1"

    def subscribe(self, _topics: list[str], on_assign: Any, on_revoke: Any, on_lost: Any) -> None:
        self.on_assign, self.on_revoke, self.on_lost = on_assign, on_revoke, on_lost

    def consume(self, _count: int, _seconds: float) -> list[Message]:
        if self.script:
            return self.script.popleft()(self)
        time.sleep(0.01)
        return []

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned.append([(place.partition, place.offset) for place in places])

    def incremental_assign(self, places: list[TopicPartition]) -> None:
        self.assign(places)

    def incremental_unassign(self, _places: list[TopicPartition]) -> None: ...

    def get_watermark_offsets(self, _place: TopicPartition, timeout: float) -> tuple[int, int]:
        assert timeout > 0
        return self.bounds

    def commit(self, offsets: list[TopicPartition], *, asynchronous: bool) -> Any:
        self.commits.append([(place.partition, place.offset) for place in offsets])
        if self.commit_fails:
            raise KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION))
        return None if asynchronous else offsets

    def unsubscribe(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def scripted_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The consumer of these tests has no rebalances but those of its script."""
    monkeypatch.setattr(live_reader, "_LEAVE_SECONDS", 0.0)


class Case:
    def __init__(self, folder: Path, spec: ReaderSpec, *script: Step) -> None:
        self.assignments: list[dict[str, Any]] = []
        self.commits: list[dict[str, Any]] = []
        self.folder = folder / "r"
        self.consumers: list[Consumer] = []
        steps = deque(script)

        def connect(config: dict[str, Any], **_: Any) -> Consumer:
            self.consumers.append(Consumer(config, steps))
            return self.consumers[-1]

        sinks = ReaderSinks(_Rows(self.assignments), _Rows(self.commits))
        self.reader = LiveReader(spec, "r", Source("a:1", "t", 2, 9, folder, sinks), connect)
        self.steps = steps

    @property
    def consumer(self) -> Consumer:
        return self.consumers[-1]

    def run(self, until: Callable[[], bool] = lambda: True) -> list[tuple[int, int, int]]:
        """Run the script to its end and until something holds; (session, partition, offset) a record."""
        self.reader.start()
        deadline = time.monotonic() + 60
        while self.steps or not until():
            assert self.reader.failure is None, self.reader.failure
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self.reader.close()
        self.reader.join()
        assert self.reader.failure is None
        rows = pq.read_table(self.folder).to_pylist()
        return [(row["session"], row["partition"], row["offset"]) for row in rows]

    def moved(self) -> list[tuple[int, str, int, int | None]]:
        return [(row["session"], row["event"], row["partition"], row["offset"]) for row in self.assignments]


class _Rows:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def append(self, row: dict[str, Any]) -> None:
        self._rows.append(row)


def given(*places: tuple[int, int]) -> Step:
    return lambda _: [message(*place) for place in places]


def reset(partition: int, offset: int | None) -> Step:
    return lambda _: [message(partition, offset, KafkaError(KafkaError._AUTO_OFFSET_RESET, "cut"))]


def places(*numbers: int) -> list[TopicPartition]:
    return [TopicPartition("t", number) for number in numbers]


@pytest.mark.parametrize(
    ("at", "goes_on"),
    [(21, 21), (99, 40), (None, 0)],
    ids=["where the log was cut", "no further than it goes", "from its start"],
)
def test_after_a_cut_reading_goes_on_in_a_new_session(tmp_path: Path, at: int | None, goes_on: int) -> None:
    case = Case(tmp_path, ReaderSpec(name="r"), given((0, 49), (1, 7)), reset(0, at))
    case.steps.append(lambda one: [] if len(one.assigned) < 2 else [message(0, goes_on)])
    rows = case.run(lambda: len(case.consumer.assigned) == 2)
    assert case.consumer.assigned == [[(0, 0), (1, 0)], [(0, goes_on)]]
    assert case.moved()[:3] == [(0, "assigned", 0, 0), (0, "assigned", 1, 0), (1, "assigned", 0, goes_on)]
    assert rows[:2] == [(0, 0, 49), (0, 1, 7)]


def test_an_eager_group_is_assigned_again_as_a_whole(tmp_path: Path) -> None:
    def joined(consumer: Consumer) -> list[Message]:
        consumer.on_assign(consumer, places(0, 1))
        return []

    spec = ReaderSpec(name="r", group="g", commits="manual", commit_every=3600)
    case = Case(tmp_path, spec, joined, given((1, 7)), reset(0, None))
    case.run(lambda: bool(case.consumer.assigned))
    assert case.consumer.assigned == [[(0, 0), (1, 8)]]
    assert OFFSET_STORED not in {offset for _, offset in case.consumer.assigned[0]}


def test_what_is_taken_away_is_committed_first_and_told(tmp_path: Path) -> None:
    def joined(consumer: Consumer) -> list[Message]:
        consumer.on_assign(consumer, places(0, 1))
        return [message(0, 3), message(1, 4)]

    def revoked(consumer: Consumer) -> list[Message]:
        consumer.on_revoke(consumer, places(0, 1))
        consumer.on_assign(consumer, places(1))
        return [message(1, 5)]

    def lost(consumer: Consumer) -> list[Message]:
        consumer.commit_fails = True
        consumer.on_lost(consumer, places(1))
        return []

    spec = ReaderSpec(name="r", group="g", commits="manual", commit_every=3600)
    case = Case(tmp_path, spec, joined, revoked, lost)
    assert case.run() == [(0, 0, 3), (0, 1, 4), (1, 1, 5)]
    assert case.consumer.commits == [[(0, 4), (1, 5)]], "what is lost cannot be committed any more"
    assert [(row["partition"], row["offset"], row["error"]) for row in case.commits] == [
        (0, 4, None),
        (1, 5, None),
    ]
    assert all(row["asked_ns"] <= row["at_ns"] for row in case.commits)
    assert {(row["kind"], row["member"]) for row in case.commits} == {("request", "member-1")}
    assert {row["member"] for row in case.assignments} == {"member-1"}
    assert [row[:3] for row in case.moved()] == [
        (0, "assigned", 0),
        (0, "assigned", 1),
        (0, "revoked", 0),
        (0, "revoked", 1),
        (1, "assigned", 1),
        (1, "lost", 1),
    ]


def test_a_commit_that_fails_is_journaled_with_its_error(tmp_path: Path) -> None:
    def joined(consumer: Consumer) -> list[Message]:
        consumer.commit_fails = True
        consumer.on_assign(consumer, places(0))
        return [message(0, 3)]

    spec = ReaderSpec(name="r", group="g", commits="manual", commit_every=0.01)
    case = Case(tmp_path, spec, joined)
    case.run(lambda: bool(case.commits))
    assert case.commits[0]["error"] == "ILLEGAL_GENERATION"


def test_the_clients_own_commits_come_with_what_they_say(tmp_path: Path) -> None:
    case = Case(tmp_path, ReaderSpec(name="r", group="g", commits="auto"))
    told = case.consumer.config["on_commit"]
    told(None, [TopicPartition("t", 0, 5), TopicPartition("t", 1, -1001)])
    told(KafkaError(KafkaError.REBALANCE_IN_PROGRESS), [TopicPartition("t", 0, 6)])
    assert [(row["partition"], row["offset"], row["error"]) for row in case.commits] == [
        (0, 5, None),
        (0, 6, "REBALANCE_IN_PROGRESS"),
    ]
    assert {(row["kind"], row["asked_ns"]) for row in case.commits} == {("auto", None)}


def test_an_answer_that_comes_later_is_journaled_with_the_time_of_asking(tmp_path: Path) -> None:
    def joined(consumer: Consumer) -> list[Message]:
        consumer.on_assign(consumer, places(0))
        return [message(0, 3)]

    spec = ReaderSpec(name="r", group="g", commits="manual", commit_every=0.01)
    case = Case(tmp_path, spec, joined)
    before = time.time_ns()

    def answer(consumer: Consumer) -> list[Message]:
        consumer.config["on_commit"](None, [TopicPartition("t", 0, 4)])
        return []

    case.run(lambda: bool(case.consumer.commits))
    assert {row["error"] for row in case.commits} == {"NO_ANSWER"}, "the client ended without an answer"
    case = Case(tmp_path / "answered", spec, joined, lambda _: time.sleep(0.02) or [], lambda _: [], answer)
    case.run()
    answered = case.commits[0]
    assert (answered["offset"], answered["kind"], answered["error"]) == (4, "request", None)
    assert before <= answered["asked_ns"] <= answered["at_ns"]


@pytest.mark.parametrize(
    ("broker", "leader", "records", "followers"),
    [(2, 1, 5, {2}), (1, 1, 5, set()), (2, 1, 0, set()), (-1, 1, 5, set())],
)
def test_fetching_from_a_follower_is_seen_in_the_statistics(
    tmp_path: Path, broker: int, leader: int, records: int, followers: set[int]
) -> None:
    case = Case(tmp_path, ReaderSpec(name="r", rack="r2"))
    state = {"broker": broker, "leader": leader, "rxmsgs": records}
    text = json.dumps({"topics": {"t": {"partitions": {"0": state, "-1": {**state, "broker": 7}}}}})
    case.consumer.config["stats_cb"](text)
    assert case.reader.followers == followers


def test_caught_up_counts_markers_at_the_end(tmp_path: Path) -> None:
    eof = KafkaError(KafkaError._PARTITION_EOF)
    case = Case(tmp_path, ReaderSpec(name="r"), given((0, 38), (1, 20)), lambda _: [message(0, 40, eof)])
    case.reader.catch_up()
    told: list[str] = []

    def caught_up() -> bool:
        done = case.reader.caught_up == {0}
        told.append(case.reader.unread)
        return done

    case.run(caught_up)
    assert told[-1].startswith("r is at 21 of partition 1")


def test_a_reader_that_has_no_offset_says_why(tmp_path: Path) -> None:
    def joined(consumer: Consumer) -> list[Message]:
        consumer.on_assign(consumer, places(0))
        return [message(0, None, KafkaError(KafkaError.NOT_COORDINATOR))]

    case = Case(tmp_path, ReaderSpec(name="r", group="g"), joined)
    assert case.reader.unread == "r is without partitions"
    told: list[str] = []

    def stuck() -> bool:
        done = case.reader.last_error is not None
        told.append(case.reader.unread)
        return done

    case.run(stuck)
    assert told[-1].startswith("r is at no offset of partition 0 (last error: NOT_COORDINATOR")


def test_a_reader_whose_client_does_not_close_fails_with_its_records_journaled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "CLOSE_SECONDS", 0.2)
    case = Case(tmp_path, ReaderSpec(name="r"), given((0, 0), (1, 0)))
    released = threading.Event()
    monkeypatch.setattr(case.consumer, "close", released.wait)
    case.reader.start()
    while case.steps:
        time.sleep(0.01)
    case.reader.close()
    case.reader.join()
    told = len(case.assignments)
    case.reader._revoked(None, [TopicPartition("t", 0)])
    case.reader._lost(None, [TopicPartition("t", 1)])
    case.reader._committed(None, [TopicPartition("t", 1, 1)])
    released.set()
    assert isinstance(case.reader.failure, clients.ClientStuck)
    assert pq.read_table(tmp_path).num_rows == 2
    assert len(case.assignments) == told
    assert case.commits == []


class _Leaving(Consumer):
    """Has an assignment queued, and a revocation after it, when it is unsubscribed; notes the order of what
    is done with it."""

    done: list[str]

    def unsubscribe(self) -> None:
        self.done = ["unsubscribe"]
        self.script.extend((self._assign, given((1, 0)), self._revoke))

    def close(self) -> None:
        self.done.append("close")

    def _assign(self, _: Any) -> list[Message]:
        self.done.append("assigned")
        self.on_assign(self, [TopicPartition("t", 1, 0)])
        return []

    def _revoke(self, _: Any) -> list[Message]:
        self.done.append("revoked")
        self.on_revoke(self, [TopicPartition("t", 0), TopicPartition("t", 1)])
        return []


@pytest.mark.parametrize("static", [False, True])
def test_what_the_group_has_queued_is_served_before_the_client_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, static: bool
) -> None:
    """A static member keeps its partitions when it is closed, so it does not unsubscribe."""
    monkeypatch.setattr(live_reader, "_LEAVE_SECONDS", 60.0)
    spec = ReaderSpec(name="r", group="g", commits="manual", assignor="cooperative-sticky", static=static)
    case = Case(tmp_path, spec)
    case.consumers[:] = [_Leaving({}, case.steps)]
    case.consumer.done = []
    monkeypatch.setattr(case.reader, "_consumer", case.consumer)
    case.reader._subscribe()
    case.reader._assignment.assigned(case.consumer, [TopicPartition("t", 0, 0)])
    case.reader._close_client()
    case.reader._journal.flush(last=True)
    served = [] if static else ["unsubscribe", "assigned", "revoked"]
    assert case.consumer.done == [*served, "close"]
    assert pq.read_table(case.folder).num_rows == (0 if static else 1)
    assert [row["partition"] for row in case.commits] == ([] if static else [1])


class _StuckProcess(ConsumerProcess):
    """A consumer whose close does not return until its process is killed."""

    def __init__(self) -> None:
        self.killed = threading.Event()

    def close(self) -> None:
        self.killed.wait()

    def kill(self) -> None:
        self.killed.set()


def test_the_process_of_a_client_that_does_not_close_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "CLOSE_SECONDS", 0.2)
    case = Case(tmp_path, ReaderSpec(name="r"))
    stuck = _StuckProcess()
    monkeypatch.setattr(case.reader, "_consumer", stuck)
    with pytest.raises(clients.ClientStuck):
        case.reader._close_client()
    assert stuck.killed.is_set()


def test_a_client_that_reads_nothing_more_ends_the_reader(tmp_path: Path) -> None:
    fenced = KafkaError(
        KafkaError._FATAL, "Static consumer fenced by other consumer with same group.instance.id"
    )

    def end(_consumer: Consumer) -> list[Message]:
        return [message(0, 0), message(0, None, fenced)]

    case = Case(tmp_path, ReaderSpec(name="r"), end)
    closed: list[bool] = []
    case.consumer.close = lambda: closed.append(True)  # type: ignore[method-assign]
    case.reader.start()
    case.reader.join()
    assert isinstance(case.reader.failure, KafkaException)
    assert closed == [True]
    # What came before it is journaled.
    assert pq.read_table(tmp_path).num_rows == 1

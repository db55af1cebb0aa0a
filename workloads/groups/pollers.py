"""Asks coordinators and brokers for the committed offsets of a run's groups.

A commit that was answered is lost if its coordinator forgets it. What the coordinator answers is therefore
journaled after every commit (several within a short time share one question), after it moved, and at the end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.cluster.protocol import admin
from harness.cluster.protocol.client_requests import CommittedOffset, fetch_offsets, fetch_offsets_of_groups
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.journal import RowSink
from workloads.groups.offset_rows import NewAnswers, TopicPartition

EVERY_SECONDS = 0.25
"""The least time between two questions about a group."""
_IDLE_SECONDS = 1.0
"""The time between two questions while nothing is committed."""
_SHARE = 0.1
"""The most of a processor that asking takes, where groups have very many partitions."""
_ANSWER_SECONDS = 1.0
_LAST_SECONDS = 15.0
_LAST_EVERY = 0.5
_PAUSE_SECONDS = 0.002
_SILENT_SECONDS = 0.05


@dataclass(eq=False)
class CoordinatorPoller:
    """Asks coordinators in one thread from `start` to `stop`; `last` asks again when all is committed.

    `groups` are by the readers that commit for them; `connect` opens a connection from a broker's id and a
    time-out in seconds; rows of `harness.model.group_journal.OFFSETS` go to `sink`.
    """

    connect: Callable[[int, float], BrokerConnection]
    brokers: Collection[int]
    groups: Mapping[str, str]
    partitions: Collection[TopicPartition]
    sink: RowSink

    def __post_init__(self) -> None:
        self._connections: dict[int, BrokerConnection] = {}
        self._coordinators: dict[str, tuple[int, float]] = {}
        self._answers = NewAnswers(self.sink)
        self._committed: dict[tuple[str, TopicPartition], int] = {}
        self._turn = 0
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="committed-offsets", daemon=True)
        self.failure: BaseException | None = None

    def answered(self, row: Mapping[str, Any]) -> None:
        """A commit was answered, a row of `harness.model.group_journal.COMMITS`; any thread may call it."""
        group = self.groups.get(row["reader"])
        if group is not None:
            self._committed[group, (row["topic"], row["partition"])] = row["offset"]
            self._wake.set()

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Ask from now on about groups whose reader has their name, too: rows of commits.
        To be called when the thread has ended."""
        for row in rows:
            self.groups = {**self.groups, row["reader"]: row["reader"]}
            if row["error"] is None:
                self.answered(row)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the connections; safe to call again."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        for connection in self._connections.values():
            connection.close()

    def last(self, seconds: float = _LAST_SECONDS) -> None:
        """Ask until two rounds give the same, without an error and with no less than was committed last; or
        until `seconds` are over. The last round is journaled whole."""
        self.stop()
        deadline = time.monotonic() + seconds
        now = self._ask_all()
        while time.monotonic() < deadline:
            time.sleep(_LAST_EVERY)
            before, now = now, self._ask_all()
            if now == before and self._complete(now):
                break
        self._answers = NewAnswers(self.sink)
        self._ask_all()
        self.stop()

    def _names(self) -> list[str]:
        return sorted(set(self.groups.values()))

    def _complete(self, found: Mapping[tuple[str, TopicPartition], CommittedOffset]) -> bool:
        """Whether every answer has arrived and has the offset that was committed last."""
        known = {where: answer.offset for where, answer in found.items() if answer.error is None}
        return len(known) == len(self._names()) * len(self.partitions) and all(
            (known.get(where) or 0) >= offset for where, offset in self._committed.items()
        )

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._wake.clear()
                began = time.thread_time()
                self._ask_all()
                took = time.thread_time() - began
                if not self._stop.wait(max(EVERY_SECONDS, took / _SHARE)):
                    self._wake.wait(_IDLE_SECONDS)
        except Exception as error:  # the run records it as a problem
            self.failure = error

    def _ask_all(self) -> dict[tuple[str, TopicPartition], CommittedOffset]:
        return {
            (group, where): answer for group in self._names() for where, answer in self._ask(group).items()
        }

    def _ask(self, group: str) -> dict[TopicPartition, CommittedOffset]:
        """Ask the coordinator, and journal what is new; empty: nobody answered."""
        broker = self._coordinator(group)
        if broker is None:
            return {}
        asked_ns = time.time_ns()
        try:
            answers = fetch_offsets(self._connection(broker), group, self.partitions)
        except OSError:
            self._coordinators.pop(group, None)
            return {}
        at_ns = time.time_ns()
        for partition, answer in answers.items():
            self._answers.append(group, partition, broker, answer, (asked_ns, at_ns))
        if any(answer.error is not None for answer in answers.values()):
            self._coordinators.pop(group, None)
        return answers

    def _coordinator(self, group: str) -> int | None:
        """The group's coordinator, by the first broker that answers; it is looked up again every second,
        because a former coordinator may still answer."""
        known, asked = self._coordinators.get(group, (None, 0.0))
        if known is not None and time.monotonic() < asked + _IDLE_SECONDS:
            return known
        for _ in self.brokers:
            self._turn += 1
            broker = sorted(self.brokers)[self._turn % len(self.brokers)]
            try:
                coordinator = admin.coordinator(self._connection(broker), group, transactional=False)
            except OSError:
                continue
            if isinstance(coordinator, int) and coordinator in self.brokers:
                self._coordinators[group] = (coordinator, time.monotonic())
                return coordinator
        return known

    def _connection(self, broker: int) -> BrokerConnection:
        if broker not in self._connections:
            self._connections[broker] = self.connect(broker, _ANSWER_SECONDS)
        return self._connections[broker]


@dataclass(eq=False)
class BrokerPoller:
    """Asks every broker without a pause what groups without members have committed in `topic` in one run. A
    new coordinator may answer from an old state for a few milliseconds only, which this sees.

    `connect` opens a connection from a broker's id and a time-out in seconds. What is new in the answers of a
    broker goes to `sink`, as rows of `harness.model.group_journal.OFFSETS`. Call `end` before it is closed.
    """

    connect: Callable[[int, float], BrokerConnection]
    brokers: Collection[int]
    topic: str
    sink: RowSink
    failures: list[BaseException] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def ask(self, partitions: Mapping[str, int], seconds: float, *, stable: bool = False) -> None:
        """Begin to ask every broker, each in a thread, about these groups: the partition of each by its name.
        `stable` is require_stable (KIP-447)."""
        deadline = time.monotonic() + seconds
        for broker in self.brokers:
            args = (broker, partitions, stable, deadline)
            thread = threading.Thread(target=self._run, args=args, name=f"offsets-{broker}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def end(self) -> None:
        """Stop asking; safe to call again."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, broker: int, partitions: Mapping[str, int], stable: bool, deadline: float) -> None:
        answers = NewAnswers(self.sink)
        pause = 0.0
        try:
            with self.connect(broker, _ANSWER_SECONDS) as connection:
                while time.monotonic() < deadline and not self._stop.wait(pause):
                    asked_ns = time.time_ns()
                    try:
                        offsets = fetch_offsets_of_groups(connection, self.topic, partitions, stable=stable)
                    except OSError:
                        pause = _SILENT_SECONDS
                        continue
                    pause, times_ns = _PAUSE_SECONDS, (asked_ns, time.time_ns())
                    for group, offset in offsets.items():
                        answers.append(group, (self.topic, partitions[group]), broker, offset, times_ns)
        except Exception as error:  # the run records it as a problem
            self.failures.append(error)

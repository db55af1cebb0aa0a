"""Asks every broker without a pause what is committed for groups without members.

`harness.run.offsets.coordinator_poller` asks a few times a second. A new coordinator may answer from an old
state for a few milliseconds only, which this sees.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from harness.model.journal import RowSink
from harness.protocol.connection import BrokerConnection
from harness.protocol.offset_fetch import CommittedOffset, fetch_offsets_of_groups
from harness.run.offsets.offset_rows import NewAnswers

_ANSWER_SECONDS = 1.0
_PAUSE_SECONDS = 0.002
_SILENT_SECONDS = 0.05

Question = Callable[[BrokerConnection], Mapping[str, CommittedOffset]]


@dataclass(eq=False)
class BrokerPoller:
    """The questions of one run about groups that have committed offsets of `topic`.

    `connect` opens a connection from a broker's id and a time-out in seconds. What is new in the answers of a
    broker goes to `sink`, as rows of `harness.model.journal.OFFSETS`. Call `end` before it is closed.
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
        question = partial(fetch_offsets_of_groups, topic=self.topic, partitions=partitions, stable=stable)
        for broker in self.brokers:
            thread = threading.Thread(
                target=self._run,
                args=(broker, question, partitions, deadline),
                name=f"offsets-{broker}",
                daemon=True,
            )
            self._threads.append(thread)
            thread.start()

    def end(self) -> None:
        """Stop asking; safe to call again."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, broker: int, question: Question, partitions: Mapping[str, int], deadline: float) -> None:
        try:
            with self.connect(broker, _ANSWER_SECONDS) as connection:
                self._ask(connection, question, partitions, deadline)
        except Exception as error:  # the run records it as a problem
            self.failures.append(error)

    def _ask(
        self,
        connection: BrokerConnection,
        question: Question,
        partitions: Mapping[str, int],
        deadline: float,
    ) -> None:
        journal = NewAnswers(self.sink)
        while time.monotonic() < deadline:
            asked_ns = time.time_ns()
            pause = _PAUSE_SECONDS
            try:
                answers = question(connection)
            except OSError:
                answers, pause = {}, _SILENT_SECONDS
            at_ns = time.time_ns()
            for group, one in answers.items():
                partition = (self.topic, partitions[group])
                journal.append(group, partition, connection.broker, one, (asked_ns, at_ns))
            if self._stop.wait(pause):
                return

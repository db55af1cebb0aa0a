"""Asks every broker without a pause what is committed for groups without members.

`harness.run.offsets.coordinator_poller` asks a few times a second. A new coordinator may answer from an old
state for a few milliseconds only, which this sees.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from harness.model.journal import RowSink
from harness.protocol.connection import BrokerConnection
from harness.protocol.offset_fetch import fetch_offsets_of_groups
from harness.run.offsets.offset_rows import NewAnswers

_ANSWER_SECONDS = 1.0
_PAUSE_SECONDS = 0.002
_SILENT_SECONDS = 0.05


@dataclass(eq=False)
class BrokerPoller:
    """Polls the offsets of `topic` that groups without members have committed in one run.

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
        for broker in self.brokers:
            thread = threading.Thread(
                target=self._run,
                args=(broker, partitions, stable, deadline),
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

    def _run(self, broker: int, partitions: Mapping[str, int], stable: bool, deadline: float) -> None:
        try:
            with self.connect(broker, _ANSWER_SECONDS) as connection:
                answers = NewAnswers(self.sink)
                while time.monotonic() < deadline:
                    pause = self._ask(connection, partitions, stable, answers)
                    if self._stop.wait(pause):
                        return
        except Exception as error:  # the run records it as a problem
            self.failures.append(error)

    def _ask(
        self, connection: BrokerConnection, partitions: Mapping[str, int], stable: bool, answers: NewAnswers
    ) -> float:
        """Ask once; returns the seconds until the next time."""
        asked_ns = time.time_ns()
        try:
            found = fetch_offsets_of_groups(connection, self.topic, partitions, stable=stable)
        except OSError:
            return _SILENT_SECONDS
        times_ns = (asked_ns, time.time_ns())
        for group, one in found.items():
            answers.append(group, (self.topic, partitions[group]), connection.broker, one, times_ns)
        return _PAUSE_SECONDS

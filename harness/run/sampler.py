"""Samples each broker's view of the cluster at a fixed interval into the journal, for the whole run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from harness.model.broker_views import TopologyView
from harness.model.journal import RowSink
from harness.protocol.connection import BrokerConnection

EVERY_SECONDS = 0.25
_CONTROLLER_EVERY = 4
"""The controller is queried with every fourth sample only, because a broker must forward this request."""


@dataclass(eq=False)
class Sampler:
    """Samples in one thread, with one connection per broker. `connect` opens a connection from a broker's id
    and a time-out in seconds; `latest` is the last complete view."""

    connect: Callable[[int, float], BrokerConnection]
    brokers: Iterable[int]
    topic: str
    sink: RowSink

    def __post_init__(self) -> None:
        # A partitioned or paused broker must not delay a sample for longer than one interval.
        self._connections = [self.connect(number, EVERY_SECONDS) for number in self.brokers]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._controller: int | None = None
        self.latest: TopologyView | None = None
        self.failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the connections; safe to call again."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        for connection in self._connections:
            connection.close()

    def _run(self) -> None:
        try:
            with ThreadPoolExecutor(max_workers=len(self._connections)) as pool:
                beat = 0
                due = time.monotonic()
                while not self._stop.is_set():
                    self._sample(pool, beat)
                    beat += 1
                    due = max(due + EVERY_SECONDS, time.monotonic())
                    self._stop.wait(due - time.monotonic())
        except Exception as error:  # the run records it as a problem
            self.failure = error

    def _sample(self, pool: ThreadPoolExecutor, beat: int) -> None:
        at_ns = time.time_ns()
        if beat % _CONTROLLER_EVERY == 0:
            self._controller = self._ask_controller(beat // _CONTROLLER_EVERY)
        views = pool.map(lambda one: one.view_or_silence((self.topic,)), self._connections)
        view = TopologyView(at_ns=at_ns, views=tuple(views))
        self.latest = view
        for row in rows(view, self._controller):
            self.sink.append(row)

    def _ask_controller(self, turn: int) -> int | None:
        try:
            return self._connections[turn % len(self._connections)].quorum_leader()
        except OSError:
            return None


def rows(view: TopologyView, controller: int | None) -> Iterator[dict[str, Any]]:
    """A view as rows of `harness.model.journal.SAMPLES`."""
    for broker_view in view.views:
        base = {
            "at_ns": view.at_ns,
            "broker": broker_view.broker,
            "answered": broker_view.answered,
            "controller": controller if broker_view.answered else None,
        }
        if not broker_view.partitions:
            yield base
        for state in broker_view.partitions:
            yield base | {
                "topic": state.topic,
                "partition": state.partition,
                "leader": state.leader,
                "leader_epoch": state.leader_epoch,
                "isr": list(state.isr),
                "log_start_offset": state.log_start_offset,
                "log_end_offset": state.log_end_offset,
                "high_watermark": state.high_watermark,
            }

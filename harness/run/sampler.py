"""Samples each broker's view of the cluster at a fixed interval into the journal, for the whole run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from harness.cluster.protocol.connection import BrokerConnection
from harness.model.broker_views import TopologyView
from harness.model.journal import SAMPLES, RowSink

EVERY_SECONDS = 0.25
_CONTROLLER_EVERY = 4
"""The controller is queried with every fourth sample only, because a broker must forward this request."""
_OF_PARTITION = SAMPLES.names[SAMPLES.names.index("topic") :]
"""The columns about a partition, which are fields of its `PartitionState`."""


@dataclass(eq=False)
class Sampler:
    """Samples until `stop`, in one thread, with one connection per broker. `connect` opens it from a broker's
    id and a time-out in seconds; rows of SAMPLES go to `sink`; `latest` is the last complete view."""

    connect: Callable[[int, float], BrokerConnection]
    brokers: Iterable[int]
    topic: str
    sink: RowSink

    def __post_init__(self) -> None:
        # A partitioned or paused broker must not delay a sample for longer than one interval.
        self._connections = [self.connect(number, EVERY_SECONDS) for number in self.brokers]
        self._stop = threading.Event()
        self._controller: int | None = None
        self.latest: TopologyView | None = None
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the connections; safe to call again."""
        self._stop.set()
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
        views = pool.map(lambda connection: connection.view_or_silence((self.topic,)), self._connections)
        self.latest = TopologyView(at_ns=at_ns, views=tuple(views))
        for view in self.latest.views:
            base = {
                "at_ns": at_ns,
                "broker": view.broker,
                "answered": view.answered,
                "controller": self._controller if view.answered else None,
            }
            if not view.partitions:
                self.sink.append(base)
            for state in view.partitions:
                self.sink.append(base | {name: getattr(state, name) for name in _OF_PARTITION})

    def _ask_controller(self, turn: int) -> int | None:
        try:
            return self._connections[turn % len(self._connections)].quorum_leader()
        except OSError:
            return None

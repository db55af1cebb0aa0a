"""An experiment under way in a thread, beside an application of the test; and errors that end its threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.model.errors import BadInput
from harness.pytest_plugin.chaos_result import ChaosResult
from workloads.own.confluent_producer import Report
from workloads.own.consumer_journal import ConsumerJournal
from workloads.own.delivered import delivered
from workloads.own.journaled import journaled
from workloads.own.producer_folder import PRODUCERS_DIR, TARGET_FILE, ProducerFolder

_TOPIC_SECONDS = 120.0


class Running:
    """One run under way. An application connects to `bootstrap` and consumes `topic`; with `client: own` it
    also writes it."""

    def __init__(self, bootstrap: str, results: Path) -> None:
        self.bootstrap, self._results = bootstrap, results
        self.topic = ""
        self._members: list[ConsumerJournal] = []
        self._topic_or_end = threading.Event()
        self._run: Future[ChaosResult] = Future()

    def start(self, work: Callable[[], ChaosResult]) -> None:
        """Begin; `work` calls `topic_created` once the topic exists."""

        def body() -> None:
            try:
                self._run.set_result(work())
            except BaseException as error:  # raised again in the test's own thread
                self._run.set_exception(error)
            finally:
                self._topic_or_end.set()

        threading.Thread(target=body, name="chaos", daemon=True).start()

    def topic_created(self, _arm: str, topic: str) -> None:
        """Note the topic of the run; called by the runner."""
        self.topic = topic
        self._topic_or_end.set()

    def await_topic(self) -> None:
        """Wait until the topic exists, or the run has ended.

        Raises:
            TimeoutError: neither happened in time. The error that broke the run.
        """
        if not self._topic_or_end.wait(_TOPIC_SECONDS):
            raise TimeoutError(f"the run had no topic within {_TOPIC_SECONDS:.0f} s")
        if self._run.done():
            self._run.result()

    def journaled(self, producer: Any, *, on_delivery: Report | None = None) -> Any:
        """Wrap a producer of your own, so that the run accounts for what it sends: see
        `kafka_chaos.journaled`. The experiment's workload must be `client: own`.

        Raises:
            BadInput: it is not, or the producer cannot be journaled.
        """
        return journaled(producer, journal=self._producers().path, on_delivery=on_delivery)

    def delivered(
        self,
        consumer: Any,
        *,
        member: str | None = None,
        group: str | None = None,
        journal: ConsumerJournal | None = None,
        explicit: bool = False,
    ) -> Any:
        """Wrap a consumer of your own, so that the test can check what it processed and committed of the
        run's topic: see `kafka_chaos.delivered`. `assert_delivered` of the result, called without journals,
        judges all consumers that were wrapped.

        Raises:
            BadInput: the consumer cannot be journaled, or its group is not known.
        """
        wrapped = delivered(
            consumer,
            member=member or f"member-{len(self._members)}",
            group=group,
            topic=self.topic,
            journal=journal,
            explicit=explicit,
        )
        self._members.append(wrapped.journal)
        return wrapped

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for a program of your own in another process: `KAFKA_CHAOS_JOURNAL`,
        `KAFKA_CHAOS_TOPIC`, `KAFKA_CHAOS_BOOTSTRAP` and `KAFKA_CHAOS_RUN`. The workload must be
        `client: own`."""
        return self._producers().environment()

    def _producers(self) -> ProducerFolder:
        """Where producers of the user's own journal."""
        for file in self._results.glob(f"*/*/{PRODUCERS_DIR}/{TARGET_FILE}"):
            folder = ProducerFolder(file.parent)
            if folder.target().topic == self.topic:
                return folder
        raise BadInput(
            "this run has producers of kafka-chaos",
            where=self.topic,
            expected="an experiment with `workload: {client: own}`",
            next_step="docs/how-to/own-producer.md shows one",
        )

    def wait(self) -> ChaosResult:
        """Wait until all faults are healed and all records are read back and checked; returns the result. An
        error that broke the run is raised here."""
        return replace(self._run.result(), members=self._members)

    def finish(self) -> None:
        """Wait for the end, and ignore errors."""
        self._run.exception()


class ThreadErrors:
    """Notes the errors that end threads of a test, such as that of a consumer under test, from `listen` to
    `stop`; the hook that was there is called too."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._before: Callable[[threading.ExceptHookArgs], object] | None = None

    def listen(self) -> None:
        if self._before is not None:
            return
        before = self._before = threading.excepthook

        def noted(error: threading.ExceptHookArgs) -> None:
            self.found.append(f"{error.exc_type.__name__}: {error.exc_value}")
            before(error)

        threading.excepthook = noted

    def stop(self) -> None:
        if self._before is not None:
            threading.excepthook, self._before = self._before, None

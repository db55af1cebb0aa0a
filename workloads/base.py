"""What a workload is to a run: the clients of one arm beside its producers and live readers.

The core knows none of them by name: it makes those that an arm asks for, from a list, and calls each in turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Protocol

from harness.model.frozen import Setting
from harness.model.journal import RowSink
from harness.model.run import FinalRead, ReaderInfo
from workloads.records.producer.orders import Polled
from workloads.records.producer.reports import Progress
from workloads.records.producer.send_journal import SendJournal
from workloads.records.reader.final_reader import AlsoWritten
from workloads.records.reader.reader_journal import ReaderSinks, Source
from workloads.records.reader.readers import Readers


class ArmProducers(Protocol):
    """What writes in an arm: producers of a client library, or the user's own."""

    def ready(self, seconds: float) -> bool:
        """Wait until they may begin, at most this number of seconds; returns whether they may."""

    def start(
        self,
        step: int,
        *,
        records: int | None = None,
        seconds: float | None = None,
        rate: float | None = None,
    ) -> None:
        """Begin a write step, and return at once."""

    def finish(self, deadline: float | None = None) -> bool:
        """Wait until the step has ended and every send has its report; returns whether they have."""

    def stop(self) -> None:
        """End the step early."""

    def close(self, seconds: float = ...) -> None:
        """End them, and wait for open reports, at most this number of seconds. Safe to call again."""

    def progress(self) -> Progress:
        """What was sent and reported so far."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong, in words."""


class InputSource(Protocol):
    """What offers records to an application that reads no topic, in place of a producer's client.
    `last_error` is "" if there was none."""

    last_error: str


class ArmClients(Protocol):
    """The producers' and readers' side of an arm, to which a workload may add its own.

    `sends` and `transactions` are the journals of producers (None: the arm has no transactions), `readers`
    the live readers of the topic in `source`, with their journals in `sinks`.
    """

    sends: SendJournal
    transactions: RowSink | None
    sinks: ReaderSinks
    source: Source
    readers: Readers


class RunningWorkload:
    """A workload in one arm of a run, from before its topic is created to after its final read. The methods
    are called in their order here; a workload has those that it needs."""

    @property
    def topics(self) -> tuple[str, ...]:
        """Its topics on the run's cluster, beside those that the producers write to; known from the start. It
        creates them itself (`create`), and the run deletes them."""
        return ()

    def groups(self) -> Mapping[str, str]:
        """The groups that it has on the brokers, by their names in the experiment; known from the start."""
        return {}

    def topic_config(self, topic: str, config: Mapping[str, Setting]) -> Mapping[str, Setting]:  # noqa: ARG002
        """The settings with which a topic of the run is created."""
        return config

    def create(self, stack: ExitStack, seconds: float) -> None:
        """Create topics and clusters of its own, each within `seconds`; leaving the stack ends them."""

    def created(self) -> None:
        """The topic and the metadata of the run are there."""

    def open(self, stack: ExitStack) -> None:
        """Open journals of its own, and begin to watch the brokers; leaving the stack, after `finish`, ends
        that."""

    def connect(self, clients: ArmClients, stack: ExitStack) -> None:
        """Make its clients; leaving the stack, before `finish`, closes them."""

    def polls(self) -> Mapping[int, Polled]:
        """What the transactions of producers take records from, by the number of the producer."""
        return {}

    def start(self) -> None:
        """Start its clients: the producers are ready, and the readers have started."""

    def instances(self) -> Any:
        """What faults see as nodes beside the cluster's: `ApplicationInstances` of
        `harness.cluster.cluster_with_application` (None: nothing). Called after `open`."""
        return None

    def await_state(self, wanted: Any, within: float) -> str | None:  # noqa: ARG002
        """Wait for a state of its own, as a wait step says; returns what is missing after `within` s."""
        return None

    def commit_answered(self, row: Mapping[str, Any]) -> None:
        """A commit of a reader was answered without an error, as a row of the journal of commits."""

    def grow(self, partitions: int) -> None:
        """The topic has at least this number of partitions from now on."""

    def end(self) -> list[str]:
        """End its clients, when all that was written has been read; returns what went wrong."""
        return []

    def abort(self) -> None:
        """End its clients at once, because the run broke."""

    def also_read(self, topic: str) -> AlsoWritten | None:  # noqa: ARG002
        """What the final read of a topic of the run writes beside its own rows."""
        return None

    def finish(self) -> list[str]:
        """Do what comes after the final read; returns what went wrong."""
        return []

    def final_read(self) -> FinalRead | None:
        """What its input holds, where the producers write to no topic (None: they do). Called after
        `finish`."""
        return None

    def readers(self) -> tuple[ReaderInfo, ...]:
        """What the metadata of the run say of its readers, so far."""
        return ()

    def meta(self) -> Mapping[str, Any]:
        """Its fields of the metadata of the run, so far."""
        return {}

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong so far, in words."""
        return ()

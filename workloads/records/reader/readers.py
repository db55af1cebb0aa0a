"""All live readers of a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException

from harness.model.errors import BadInput
from harness.model.run import ReaderInfo
from harness.model.secrets import format_settings
from workloads.records.clients import client_logger
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.journal.parquet_parts import ClosesAtEnd
from workloads.records.reader.consumer_process import ConsumerGone, ConsumerProcess
from workloads.records.reader.live_reader import LiveReader
from workloads.records.reader.reader_journal import Source

_POLL_SECONDS = 0.05
_NOWHERE = "127.0.0.1:9"


def check_settings(spec: ReaderSpec) -> None:
    """Let the client check the settings of a reader; no broker is asked.

    Raises:
        BadInput: it refuses them.
    """
    if spec.client == "java":
        # Its own client does, when it is created.
        return
    settings = spec.properties(_NOWHERE, spec.group or spec.name, member=spec.member_names[0])
    try:
        Consumer(settings, logger=client_logger()).close()
    except KafkaException as error:
        raise _refused(spec, error) from error


def _refused(spec: ReaderSpec, error: KafkaException) -> BadInput:
    own = {} if spec.assignor is None else {"assignor": spec.assignor}
    java = "the Java client", "Kafka's documentation (Consumer Configs)"
    name, page = java if spec.client == "java" else ("librdkafka", "librdkafka's CONFIGURATION.md")
    given = {"protocol": spec.protocol} | own if spec.protocol == "consumer" else {}
    return BadInput(
        "the Kafka client refuses the settings of a reader",
        where=f"reader {spec.name}: {format_settings({**given, **spec.extra})}",
        expected=f"properties and values that {name} knows and that fit together",
        found=error.args[0].str(),
        next_step=f"correct the named property; {page} lists them all",
    )


def _why(failure: BaseException) -> str:
    if isinstance(failure, KafkaException):
        error = failure.args[0]
        return f"{error.name()}: {error.str()}"
    return str(failure) if isinstance(failure, ConsumerGone) else repr(failure)


class Readers(ClosesAtEnd):
    """Live readers of one topic, each with a client, a thread and a journal of its own.

    Use as a context manager or call `close`. The journals of assignments and commits are the caller's.
    `clients` makes consumers of their settings, by the reader's name; the others are confluent-kafka's.

    Raises:
        BadInput: the client refuses a reader's settings.
    """

    def __init__(
        self,
        specs: Sequence[ReaderSpec],
        source: Source,
        clients: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self._partitions = source.partitions
        self._members: list[tuple[ReaderSpec, list[LiveReader]]] = []
        self._stop = threading.Event()
        self._closed = False
        for spec in specs:
            client = (clients or {}).get(spec.name, ConsumerProcess if spec.apart else Consumer)
            try:
                created = [LiveReader(spec, name, source, client) for name in spec.member_names]
            except KafkaException as error:
                raise _refused(spec, error) from error
            self._members.append((spec, created))
        self._clock = threading.Thread(target=self._restart, name="reader-restarts", daemon=True)

    def add(self, spec: ReaderSpec, members: Sequence[LiveReader]) -> None:
        """Add readers that were created by the caller; to be called before `start`."""
        self._members.append((spec, list(members)))

    def start(self) -> None:
        """Begin to read; the times of restarts are counted from now."""
        for reader in self._all():
            reader.start()
        self._clock.start()

    def catch_up(self, deadline: float) -> bool:
        """Wait until every reader, and every group together, has read each partition to its end.

        Args:
            deadline: a time.monotonic() value.

        Returns:
            False when the deadline came first.
        """
        self._stop.set()
        for reader in self._all():
            reader.catch_up()
        while self._behind():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    @property
    def unread(self) -> tuple[str, ...]:
        """Where the members are that `catch_up` waits for, in words."""
        return tuple(reader.unread for reader in self._behind())

    def _behind(self) -> list[LiveReader]:
        """The live members of readers and groups that have not read each partition to its end."""
        units: dict[str, list[LiveReader]] = {}
        for spec, members in self._members:
            # Several readers may be of one group.
            units.setdefault(spec.group or f"/{spec.name}", []).extend(members)
        late = [members for members in units.values() if not self._at_end(members)]
        return [reader for members in late for reader in members if reader.failure is None]

    def close(self, *, give_up: bool = False) -> None:
        """End every reader: it leaves its group, which makes automatic commits, and writes its journal. Safe
        to call again.

        `give_up`: do not wait for what a reader has in flight besides reading.
        """
        if self._closed:
            return
        self._closed = True
        self._stop.set()
        for reader in self._all():
            if give_up:
                reader.give_up()
            else:
                reader.close()
        for reader in self._all():
            reader.join()

    def members(self, name: str) -> list[LiveReader]:
        """The members of the reader with this name."""
        return next(members for spec, members in self._members if spec.name == name)

    def records(self) -> int:
        return sum(reader.records for reader in self._all())

    def infos(self) -> tuple[ReaderInfo, ...]:
        """A description of each reader, for the run's metadata."""
        return tuple(
            ReaderInfo(
                name=reader.name,
                group=spec.group,
                committed=spec.committed,
                protocol=spec.protocol,
                session_ms=spec.session_ms,
                rack=spec.rack,
                commits=reader.commits,
                client=spec.library,
                reset=spec.reset,
                producer=reader.producer,
                records=reader.records,
                closed=self._closed and reader.failure is None,
            )
            for spec, members in self._members
            for reader in members
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """Readers that ended early, and readers whose reading proves nothing."""
        problems = []
        for spec, members in self._members:
            problems += [
                f"reader {reader.name} ended early: {_why(reader.failure)}"
                for reader in members
                if reader.failure is not None
            ]
            if spec.rack is not None and self._closed and not any(member.followers for member in members):
                problems.append(f"reader {spec.name} has rack {spec.rack}, but never fetched from a follower")
        return tuple(problems)

    def _all(self) -> list[LiveReader]:
        return [reader for _, members in self._members for reader in members]

    def _at_end(self, members: list[LiveReader]) -> bool:
        alive = [reader for reader in members if reader.failure is None]
        done = frozenset[int]().union(*(reader.caught_up for reader in alive))
        behind = any(reader.behind for reader in alive)
        return not alive or (done.issuperset(range(self._partitions)) and not behind)

    def _restart(self) -> None:
        began = time.monotonic()
        due = sorted(
            (at, number % len(members), spec_number)
            for spec_number, (spec, members) in enumerate(self._members)
            for number, at in enumerate(spec.restarts)
        )
        for at, member, spec_number in due:
            members = self._members[spec_number][1]
            if self._stop.wait(max(0.0, began + at - time.monotonic())):
                return
            # Whoever leaves a group that has not been given a record yet gives nothing on.
            while not any(reader.received for reader in members):
                if self._stop.wait(_POLL_SECONDS):
                    return
            members[member].restart()

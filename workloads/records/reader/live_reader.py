"""One live reader: a consumer with its own thread that journals each record it receives during the faults."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from workloads.records.clients import ClientStuck, client_logger, close_consumer
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.reader.assignment import Assignment
from workloads.records.reader.batch import followers_fetched_from, sort_batch
from workloads.records.reader.consumer_process import ConsumerGone, ConsumerProcess
from workloads.records.reader.reader_journal import Commits, ReaderJournal, Source

BATCH = 2000
_POLL_SECONDS = 0.1
_QUERY_SECONDS = 1.0
_CHECK_SECONDS = 0.25
_LEAVE_SECONDS = 10.0


class LiveReader:
    """Reads a topic from its start until `close`, in a thread; `restart` and `crash` give it a new client.

    `received` is the number of records that its clients have returned, `clients` that of clients which have
    subscribed; `away` means that it has none now. `caught_up` are the partitions that it has read to the end
    since `catch_up` was called, `behind` means that one which was added during the run is not among them,
    `followers` are the brokers, other than the leader, that a reader with a rack has fetched from, `producer`
    is the number of the producer whose transactions take what it receives, `failure` is the exception that
    ended the thread early.
    """

    def __init__(
        self, spec: ReaderSpec, name: str, source: Source, client: Callable[..., Any] = Consumer
    ) -> None:
        self.name = name
        self.batch = spec.batch or BATCH
        self.commits: Literal["none", "auto", "manual", "before", "transaction"] = spec.commits
        self.received = 0
        self.clients = 0
        self.away = False
        self.caught_up: frozenset[int] = frozenset()
        self.behind = False
        self.followers: set[int] = set()
        self.producer: int | None = None
        self.last_error: str | None = None
        self.failure: BaseException | None = None
        self._spec = spec
        self._journal = ReaderJournal(source, name)
        self._topic = source.topic
        self._partitions = source.partitions
        group_id = spec.group or f"kafka-chaos-{spec.name}"
        self._config = {
            **spec.properties(source.bootstrap, group_id, source.security, member=name),
            "on_commit": self._committed,
            "stats_cb": self._statistics,
        }
        self._client = client
        # Created here, so that settings which the client refuses are reported before the run starts.
        self._consumer = client(self._config, logger=client_logger())
        self._by_hand = spec.group is None or spec.by_hand
        incremental = self._by_hand or spec.incremental
        self._assignment = Assignment(source.topic, self._journal, incremental=incremental)
        self._commits = Commits(self._journal, source.topic, "auto" if spec.commits == "auto" else "request")
        self._restart = threading.Event()
        self._crashed = threading.Event()
        self._back = threading.Event()
        self._back.set()
        self._catching_up = threading.Event()
        self._closing = threading.Event()
        self._given_up = False
        self._fatal: KafkaError | None = None
        self._checked = self._committed_at = 0.0
        self._thread = threading.Thread(target=self._run, name=f"reader-{name}", daemon=True)

    @property
    def records(self) -> int:
        """Records journaled so far."""
        return self._journal.records

    @property
    def unread(self) -> str:
        """What it has not read to its end, in words: where it is in which partitions, and its last error."""
        error = f" (last error: {self.last_error})" if self.last_error else ""
        return f"{self.name} is {self._assignment.words(self.caught_up)}{error}"

    def start(self) -> None:
        self._thread.start()

    def restart(self, *, away: bool = False) -> None:
        """Close the client as an application does when it ends, and continue with a new one; with `away`
        only when `come_back` is called."""
        if away:
            self._back.clear()
        self._restart.set()

    def crash(self, *, away: bool = False) -> None:
        """Kill the client's process, as if the application had crashed, and continue as after `restart`. The
        batch that is being processed is not journaled."""
        assert isinstance(self._consumer, ConsumerProcess), "checked when the experiment was made"
        if away:
            self._back.clear()
        self._crashed.set()
        self._consumer.kill()

    def come_back(self) -> None:
        """Create the client of a reader that is away."""
        self._back.set()

    def catch_up(self) -> None:
        """Begin to note in `caught_up` which partitions are read to the end."""
        self._back.set()
        self._catching_up.set()

    def close(self) -> None:
        """Ask the thread to end; `join` waits for it."""
        self._back.set()
        self._closing.set()

    def give_up(self) -> None:
        """As `close`; subclasses that do more than read also stop waiting for what is in flight."""
        self.close()

    def join(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._subscribe()
            self._checked = self._committed_at = time.monotonic()
            while not self._closing.is_set():
                try:
                    self._round()
                except ConsumerGone:
                    if not self._crashed.is_set():
                        raise
                    self._drop_after_crash()
                    self._renew()
                self._journal.flush()
            self._close_client()
        # Kept, not swallowed: it is a problem of the run.
        except BaseException as error:
            self.failure = error
        finally:
            self._journal.flush(last=True)

    def _round(self) -> None:
        """Receive a batch, process it and journal it, and do what is due.

        Raises:
            ConsumerGone: the client's process was killed.
            KafkaException: the client reads nothing more, for example since another static member has taken
                its place.
        """
        if self._restart.is_set():
            self._restart.clear()
            self._close_client()
            self._renew()
        records = self._receive(self._consumer.consume(self.batch, _POLL_SECONDS))
        if records and self._spec.commits == "before":
            self._commit(wait=True)
        if records and self._spec.takes and self._crashed.wait(self._spec.takes):
            raise ConsumerGone("the client was killed while its records were processed")
        self._journal.append_records(records)
        if self._fatal is not None:
            self._close_client()
            raise KafkaException(self._fatal)
        self._process(records)
        now = time.monotonic()
        if self._assignment.resets and now - self._checked >= _CHECK_SECONDS:
            self._checked = now
            self._assignment.apply_resets(self._consumer, self._bounds)
        elif self._catching_up.is_set() and now - self._checked >= _CHECK_SECONDS:
            self._checked = now
            self._update_caught_up()
        if self._spec.commits == "manual" and now - self._committed_at >= self._spec.commit_every:
            self._committed_at = now
            self._commit(wait=False)

    def _drop_after_crash(self) -> None:
        self._crashed.clear()
        self._commits.client_ended()
        self._assignment.drop_all(keep_positions=self._by_hand)

    def _renew(self) -> None:
        """Replace the client that was closed or killed, at once or when `come_back` is called."""
        self.away = True
        self._back.wait()
        self.away = False
        self._fatal = None
        self._consumer = self._client(self._config, logger=client_logger())
        self._subscribe()

    def _process(self, records: list[Any]) -> None:
        """A hook for subclasses that process the records, which are journaled by now."""

    def _subscribe(self) -> None:
        self.clients += 1
        if self._by_hand:
            self._assignment.take_all(self._consumer, self._partitions)
        else:
            assigned = self._assignment.assigned
            self._consumer.subscribe(
                [self._topic], on_assign=assigned, on_revoke=self._revoked, on_lost=self._lost
            )

    def _close_client(self) -> None:
        """Close the client; in a group its callbacks journal the partitions that are given up.

        Raises:
            ClientStuck: it did not end. What its callbacks may still bring is not journaled.
        """
        if self._by_hand:
            if self._spec.commits == "manual":
                self._commit(wait=True)
            self._journal.unassigned("revoked", sorted(self._assignment.partitions))
        elif not (self._spec.static or self._fatal or isinstance(self._consumer, ConsumerProcess)):
            self._leave_group()
        try:
            # The callbacks run in another thread meanwhile; this one waits for it.
            close_consumer(self._consumer, f"reader {self.name}")
        except ClientStuck:
            self._given_up = True
            if isinstance(self._consumer, ConsumerProcess):
                self._consumer.kill()
            raise
        self._commits.client_ended()
        self._assignment.partitions = set()

    def _leave_group(self) -> None:
        """Leave the group, and serve the rebalances that are queued, before close, which might not return
        otherwise. A static member would give up its partitions, so it is only closed."""
        self._consumer.unsubscribe()
        give_up = time.monotonic() + _LEAVE_SECONDS
        while time.monotonic() < give_up:
            batch = self._consumer.consume(self.batch, _POLL_SECONDS)
            if not batch and not self._assignment.partitions:
                break
            self._journal.append_records(self._receive(batch))

    def _committed(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Take the answer to a commit that was not waited for, or that the client made by itself."""
        if not self._given_up:
            self._commits.answered(error, partitions)

    def _revoked(self, _: Any, partitions: list[TopicPartition]) -> None:
        if self._given_up:
            return
        if self._spec.commits == "manual":
            self._commit(wait=True)
        self._assignment.drop("revoked", partitions)

    def _lost(self, _: Any, partitions: list[TopicPartition]) -> None:
        if not self._given_up:
            self._assignment.drop("lost", partitions)

    def _receive(self, batch: list[Any]) -> list[Any]:
        """Note the positions, ends of partitions and errors of a batch; returns its records."""
        sorted_batch = sort_batch(batch, self._assignment.positions)
        self._assignment.positions = sorted_batch.positions
        self._assignment.resets |= sorted_batch.resets
        self._fatal = sorted_batch.fatal or self._fatal
        self.last_error = sorted_batch.error or self.last_error
        self.received += len(sorted_batch.records)
        return sorted_batch.records

    def _update_caught_up(self) -> None:
        self.caught_up = self._assignment.read_to_end(self._bounds)
        left = self._assignment.partitions - self.caught_up
        self.behind = any(number >= self._partitions for number in left)

    def _bounds(self, partition: int) -> tuple[int, int] | None:
        """(log start, end) of what this reader may read: for read_committed, up to the last stable offset."""
        try:
            bounds: tuple[int, int] = self._consumer.get_watermark_offsets(
                TopicPartition(self._topic, partition), timeout=_QUERY_SECONDS
            )
        except KafkaException as error:
            self.last_error = str(error)
            return None
        return bounds

    def _commit(self, *, wait: bool) -> None:
        """Commit what is journaled; without `wait` the answer arrives in `on_commit`."""
        offsets = self._assignment.offsets()
        if offsets:
            self._commits.ask(self._consumer, offsets, wait=wait)

    def _statistics(self, text: str) -> None:
        self.followers |= followers_fetched_from(text, self._topic)

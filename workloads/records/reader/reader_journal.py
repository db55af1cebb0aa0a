"""The journals of one live reader: records, assignments and commits, each of which is journaled once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from harness.model.journal import READS, RowSink
from workloads.records.journal.parquet_parts import FLUSH_SECONDS, PartWriter
from workloads.records.reader.read_rows import rows_table
from workloads.records.record.carried_identity import Headers, decode_carried

CommitKind = Literal["request", "auto", "transaction"]


@dataclass(frozen=True, slots=True)
class ReaderSinks:
    """Journals that all readers of a run share."""

    assignments: RowSink
    commits: RowSink


class _Nowhere:
    def append(self, row: dict[str, Any]) -> None:
        raise ValueError(f"no journal takes this row: {row}")


NO_SINKS = ReaderSinks(_Nowhere(), _Nowhere())
"""The sinks of a run without readers."""


@dataclass(frozen=True, slots=True)
class Source:
    """The topic that the readers of a run read, and where they journal it: each in `folder`/NAME, and all in
    `sinks`. `security` holds the settings of TLS and SASL, by librdkafka's names."""

    bootstrap: str
    topic: str
    partitions: int
    run_id: int
    folder: Path
    sinks: ReaderSinks
    security: Mapping[str, str] | None = field(default=None, repr=False)


class ReaderJournal:
    """Journal of one reader in a folder of its own (created if absent); only the reader's thread may use it.

    `member` is the member id that goes with its assignments and commits.
    """

    def __init__(self, source: Source, reader: str) -> None:
        self._parts = PartWriter(source.folder / reader)
        self._reader = reader
        self._topic = source.topic
        self._run_id = source.run_id
        self._sinks = source.sinks
        self._waiting: list[pa.Table] = []
        self._flushed = time.monotonic()
        self.session = -1
        self.records = 0
        self.member: str | None = None

    def append_records(self, messages: list[Message]) -> None:
        """Append records in the order in which the client returned them."""
        if messages:
            values = [message.value() for message in messages]
            decoded = decode_carried(
                values, self._run_id, lambda index: cast(Headers, messages[index].headers())
            )
            at = (max(0, self.session), self.records)
            self._waiting.append(rows_table(self._reader, self._topic, messages, decoded, time.time_ns(), at))
            self.records += len(messages)

    def assigned(self, partition_offsets: Iterable[tuple[int, int | None]]) -> None:
        """Begin a new session with its new partitions, each as (partition, offset where reading begins)."""
        self.session += 1
        self._append_assignments("assigned", partition_offsets)

    def unassigned(self, event: str, partitions: Iterable[int]) -> None:
        """Journal partitions that were taken away; `event` is "revoked" or "lost"."""
        self._append_assignments(event, ((partition, None) for partition in partitions))

    def _append_assignments(self, event: str, partition_offsets: Iterable[tuple[int, int | None]]) -> None:
        now = time.time_ns()
        for partition, offset in partition_offsets:
            self._sinks.assignments.append(
                {
                    "reader": self._reader,
                    "session": max(0, self.session),
                    "at_ns": now,
                    "event": event,
                    "topic": self._topic,
                    "partition": partition,
                    "offset": offset,
                    "member": self.member,
                }
            )

    def committed(
        self,
        error: str | None,
        offsets: Iterable[TopicPartition],
        *,
        kind: CommitKind = "request",
        asked: Callable[[TopicPartition], int | None],
    ) -> None:
        """Journal a commit that was answered, failed, or got no answer. Entries without an offset had nothing
        to commit and are left out. `asked` gives the time of asking, in ns."""
        now = time.time_ns()
        for committed in offsets:
            if committed.offset >= 0:
                self._sinks.commits.append(
                    {
                        "reader": self._reader,
                        "session": max(0, self.session),
                        "at_ns": now,
                        "topic": self._topic,
                        "partition": committed.partition,
                        "offset": committed.offset,
                        "error": error if committed.error is None else committed.error.name(),
                        "kind": kind,
                        "asked_ns": asked(committed),
                        "member": self.member,
                    }
                )

    def flush(self, *, last: bool = False) -> None:
        """Write a part if it is due. The `last` part is written even without rows if there is no other.

        Raises:
            JournalError: it cannot be written.
        """
        now = time.monotonic()
        if not last and (now - self._flushed < FLUSH_SECONDS or not self._waiting):
            return
        if self._waiting or (last and not self._parts.wrote):
            self._parts.write(pa.concat_tables([*self._waiting, READS.empty_table()]).combine_chunks())
            self._waiting = []
        self._flushed = now


@dataclass(eq=False)
class Commits:
    """The commits that a reader asks for, whose clients follow each other: each is journaled once, with its
    answer or that none came. `kind` is that of commits whose answers come by the client's callback."""

    journal: ReaderJournal
    topic: str
    kind: CommitKind
    _asked: dict[tuple[int, int], deque[int]] = field(default_factory=dict)

    def ask(self, consumer: Any, offsets: Sequence[TopicPartition], *, wait: bool) -> None:
        """Commit these offsets; without `wait` the answer arrives by the client's callback (`answered`)."""
        now = time.time_ns()
        for topic_partition in offsets:
            self._asked.setdefault((topic_partition.partition, topic_partition.offset), deque()).append(now)
        try:
            answered = consumer.commit(offsets=offsets, asynchronous=not wait)
        except KafkaException as error:
            self.journal.committed(error.args[0].name(), offsets, asked=self._asked_at)
        else:
            if wait:
                self.journal.committed(None, answered, asked=self._asked_at)

    def answered(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Take the answer to a commit that was not waited for, or that the client made by itself."""
        name = None if error is None else error.name()
        self.journal.committed(name, partitions, kind=self.kind, asked=self._asked_at)

    def client_ended(self) -> None:
        """Journal the commits that a client has left without an answer: they may count all the same."""
        for (number, offset), times in list(self._asked.items()):
            unanswered = [TopicPartition(self.topic, number, offset)] * len(times)
            self.journal.committed("NO_ANSWER", unanswered, asked=self._asked_at)

    def _asked_at(self, topic_partition: TopicPartition) -> int | None:
        waiting = self._asked.get((topic_partition.partition, topic_partition.offset))
        if not waiting:
            return None
        asked = waiting.popleft()
        if not waiting:
            del self._asked[topic_partition.partition, topic_partition.offset]
        return asked

"""The commits that a reader asks for: each is journaled once, with its answer or that none came."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from workloads.reader.reader_journal import CommitKind, ReaderJournal


class Commits:
    """The commits of one reader, whose clients follow each other. `kind` is that of commits whose answers
    come by the client's callback."""

    def __init__(self, journal: ReaderJournal, topic: str, kind: CommitKind) -> None:
        self._journal = journal
        self._topic = topic
        self._kind: CommitKind = kind
        self._asked: dict[tuple[int, int], deque[int]] = {}

    def ask(self, consumer: Any, offsets: Sequence[TopicPartition], *, wait: bool) -> None:
        """Commit these offsets; without `wait` the answer arrives by the client's callback (`answered`)."""
        now = time.time_ns()
        for topic_partition in offsets:
            self._asked.setdefault((topic_partition.partition, topic_partition.offset), deque()).append(now)
        try:
            answered = consumer.commit(offsets=offsets, asynchronous=not wait)
        except KafkaException as error:
            self._journal.committed(error.args[0], offsets, asked=self._asked_at)
        else:
            if wait:
                self._journal.committed(None, answered, asked=self._asked_at)

    def answered(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Take the answer to a commit that was not waited for, or that the client made by itself."""
        self._journal.committed(error, partitions, kind=self._kind, asked=self._asked_at)

    def client_ended(self) -> None:
        """Journal the commits that a client has left without an answer: they may count all the same."""
        waiting, self._asked = self._asked, {}
        for (number, offset), times in waiting.items():
            for asked in times:
                self._journal.unanswered(TopicPartition(self._topic, number, offset), asked)

    def _asked_at(self, topic_partition: TopicPartition) -> int | None:
        waiting = self._asked.get((topic_partition.partition, topic_partition.offset))
        if not waiting:
            return None
        asked = waiting.popleft()
        if not waiting:
            del self._asked[topic_partition.partition, topic_partition.offset]
        return asked

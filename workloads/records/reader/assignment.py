"""The partitions that one reader has, where it is in each, and what happens to them, which is journaled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import OFFSET_STORED, TopicPartition

from workloads.records.reader.reader_journal import ReaderJournal

Bounds = Callable[[int], tuple[int, int] | None]
"""(log start, end) of a partition, as far as this reader may read; None: not known now."""


class Assignment:
    """What one reader reads of `topic`; only the reader's thread may change it.

    `partitions` are those that are assigned to it, `positions` the next offset by partition. `resets` holds
    offsets to read from that the log does not hold (None: a group has no offset yet), until `apply_resets`
    has chosen others. `incremental`: partitions are given and taken one by one, not as a whole.
    """

    def __init__(self, topic: str, journal: ReaderJournal, *, incremental: bool) -> None:
        self._topic = topic
        self._journal = journal
        self._incremental = incremental
        self.partitions: set[int] = set()
        self.positions: dict[int, int] = {}
        self.resets: dict[int, int | None] = {}

    def words(self, caught_up: frozenset[int]) -> str:
        """What is not read to its end, in words."""
        left = sorted(self.partitions - caught_up)
        places = [f"at {self.positions.get(number, 'no offset')} of partition {number}" for number in left]
        words = ", ".join(places) or "at the end of its partitions"
        return words if self.partitions else "without partitions"

    def take_all(self, consumer: Any, count: int) -> None:
        """Let the consumer read all partitions of the topic, each from its position or from its start."""
        self.partitions = set(range(count))
        self.positions = {number: self.positions.get(number, 0) for number in sorted(self.partitions)}
        self._journal.assigned(self.positions.items())
        consumer.assign([TopicPartition(self._topic, *offset) for offset in self.positions.items()])

    def assigned(self, consumer: Any, partitions: list[TopicPartition]) -> None:
        """Take partitions that the group has assigned: `on_assign` of the consumer."""
        # From here on consume() returns records of the new assignment only: the client drops those that it
        # had fetched under the old one (rd_kafka_purge_outdated_messages).
        new = [partition.partition for partition in partitions]
        if not self._incremental:
            self.partitions, self.positions, self.resets = set(), {}, {}
        self.partitions.update(new)
        self._journal.member = consumer.memberid() or None
        self._journal.assigned(
            (partition.partition, partition.offset if partition.offset >= 0 else None)
            for partition in partitions
        )

    def drop(self, event: str, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions that were taken from the reader."""
        numbers = [partition.partition for partition in partitions]
        self._journal.unassigned(event, numbers)
        for number in numbers:
            self.partitions.discard(number)
            self.positions.pop(number, None)
            self.resets.pop(number, None)

    def drop_all(self, *, keep_positions: bool) -> None:
        """Forget all partitions, since the client was killed."""
        self._journal.unassigned("lost", sorted(self.partitions))
        self.partitions, self.resets = set(), {}
        if not keep_positions:
            self.positions = {}

    def read_to_end(self, bounds: Bounds) -> frozenset[int]:
        """The partitions that are read to their end."""
        done = set()
        for number in sorted(self.partitions):
            limits = bounds(number)
            if limits is not None and self.positions.get(number, -1) >= limits[1]:
                done.add(number)
        return frozenset(done)

    def offsets(self) -> list[TopicPartition]:
        """The positions in the partitions that it has, as they are committed."""
        return [
            TopicPartition(self._topic, number, offset)
            for number, offset in sorted(self.positions.items())
            if number in self.partitions
        ]

    def apply_resets(self, consumer: Any, bounds: Bounds) -> None:
        """Where the log does not hold the offset to read from (or a group has no offset yet), continue at the
        log's begin or end. As the application decides that, it begins a new session. Partitions whose bounds
        are not known stay in `resets`."""
        resets, self.resets = self.resets, {}
        positions: dict[int, int] = {}
        for number, offset in resets.items():
            if number not in self.partitions:
                continue
            limits = bounds(number)
            if limits is None:
                self.resets[number] = offset
                continue
            low, high = limits
            positions[number] = low if offset is None or offset < 0 else min(max(offset, low), high)
        if not positions:
            return
        self.positions.update(positions)
        self._journal.assigned(sorted(positions.items()))
        new = [TopicPartition(self._topic, *position) for position in sorted(positions.items())]
        # The client refuses seek() for a partition that it no longer fetches, and the assignment of an eager
        # group can only be replaced as a whole.
        if self._incremental:
            consumer.incremental_unassign(new)
            consumer.incremental_assign(new)
        else:
            consumer.assign(
                [
                    TopicPartition(self._topic, number, self.positions.get(number, OFFSET_STORED))
                    for number in sorted(self.partitions)
                ]
            )

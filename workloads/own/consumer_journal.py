"""What the members of a consumer group of the user's did: owners, processed records, commits."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.model.errors import BadInput, JournalError

PartitionOffset = tuple[int, int | None]
"""Partition and offset (None: not known)."""
SESSION_MS = 45_000
_EVENTS = ("assigned", "revoked", "lost", "processed", "committed")


@dataclass(frozen=True, slots=True)
class MemberEvent:
    """One event of a member at `at_ns` (ns since the epoch). `event` is "assigned", "revoked", "lost",
    "processed" or "committed"; a commit was asked for at `asked_ns` (None: not known), and `error` is the
    answer's error (None: done)."""

    event: str
    at_ns: int
    places: tuple[PartitionOffset, ...]
    asked_ns: int | None = None
    error: str | None = None


@dataclass(eq=False)
class ConsumerJournal:
    """A journal of one member of a consumer group of yours, for `ChaosResult.assert_delivered`.

    Tell it what the member does: `assigned`, `revoked` and `lost` in the callbacks of the subscription
    (`callbacks` gives them ready-made), `processed` when a record is processed, and `committed` when a commit
    is answered (or let `commit` do it). With these `assert_delivered` finds commits that are lost, or ahead
    of what was processed, or made by a member that did not own the partition, and partitions with two owners.

    Args:
        group: the group.id.
        member: a name of the member, which no other member of the group has.
        path: also append each event to this file, one JSON object per line, so that a program in another
            process can journal and be killed at any time; `ConsumerJournal.read` reads it.
        session_ms: session.timeout.ms of the member (with `group.protocol=consumer` the brokers'
            group.consumer.session.timeout.ms), in milliseconds.
        topic: what is told of other topics is passed over; None: all that is told is of one topic.

    Times are those of the calls. Any thread may call the methods.
    """

    group: str
    member: str
    path: Path | str | None = None
    session_ms: int = SESSION_MS
    topic: str | None = None
    events: list[MemberEvent] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        # Written line by line: a killed process leaves the events that it journaled so far.
        self._file = None if self.path is None else Path(self.path).open("a", buffering=1)  # noqa: SIM115
        begin = {"group": self.group, "member": self.member, "session_ms": self.session_ms}
        self._write({"event": "begin", **begin})

    def assigned(self, partitions: Iterable[Any]) -> None:
        """Partitions were assigned to the member: numbers, `TopicPartition`s, or pairs of a partition and the
        offset from which it reads."""
        self._append("assigned", partitions)

    def revoked(self, partitions: Iterable[Any]) -> None:
        """The member gives partitions up; to be called before the callback of the subscription returns."""
        self._append("revoked", partitions)

    def lost(self, partitions: Iterable[Any]) -> None:
        """Partitions were taken from the member without its consent: its session had expired."""
        self._append("lost", partitions)

    def processed(self, records: Iterable[Any]) -> None:
        """Records are processed: `Message`s, or pairs of partition and offset. A `Message` that is an error,
        such as the end of a partition, is no record and is passed over."""
        self._append("processed", [record for record in records if not _is_error(record)])

    def committed(self, offsets: Iterable[Any], *, asked_ns: int | None = None, error: object = None) -> None:
        """A commit was answered: `TopicPartition`s, or pairs of a partition and the next offset to read.

        Args:
            asked_ns: `time.time_ns()` before the commit was asked for; None: not known.
            error: the error of the answer, or why there is none; None: the commit is done.
        """
        reason = None if error is None else str(error)
        offsets = list(offsets)
        for failed in (False, True):
            some = [offset for offset in offsets if (getattr(offset, "error", None) is not None) is failed]
            if some:
                said = str(some[0].error) if failed else reason
                self._append("committed", some, asked_ns, said)

    def commit(self, consumer: Any, offsets: Iterable[Any] | None = None, *, message: Any = None) -> Any:
        """Commit with a `confluent_kafka.Consumer`, wait for the answer, and journal it; returns what the
        consumer returns. Without `offsets` and `message`, the record up to which it commits, it commits what
        it has given to the application."""
        asked_ns = time.time_ns()
        told = {"message": message, "offsets": None if offsets is None else list(offsets)}
        wanted = {name: value for name, value in told.items() if value is not None}
        try:
            answered = consumer.commit(asynchronous=False, **wanted)
        except Exception as error:
            if wanted:
                behind = [] if message is None else [(message.partition(), message.offset() + 1)]
                self.committed(wanted.get("offsets", behind), asked_ns=asked_ns, error=error)
            raise
        self.committed([partition for partition in answered if partition.offset >= 0], asked_ns=asked_ns)
        return answered

    def on_commit(self, error: object, offsets: Iterable[Any]) -> None:
        """A callback for `on_commit` in the configuration of a `confluent_kafka.Consumer`, which journals the
        answers to its own commits (enable.auto.commit) and to asynchronous ones. When these were asked for is
        not known."""
        answered = [partition for partition in offsets if partition.offset >= 0]
        self.committed(answered, error=error)

    def callbacks(self) -> dict[str, Callable[[Any, list[Any]], None]]:
        """Callbacks for `confluent_kafka.Consumer.subscribe`, which journal owners and do nothing else."""
        return {
            "on_assign": lambda _, partitions: self.assigned(partitions),
            "on_revoke": lambda _, partitions: self.revoked(partitions),
            "on_lost": lambda _, partitions: self.lost(partitions),
        }

    def positions(self) -> list[tuple[int, int]]:
        """(partition, offset) of every record that was processed, in that order."""
        with self._lock:
            events = list(self.events)
        return [
            (partition, offset)
            for event in events
            if event.event == "processed"
            for partition, offset in event.places
            if offset is not None
        ]

    @classmethod
    def read(cls, path: Path | str) -> ConsumerJournal:
        """The journal that another process writes, or wrote, to this file. A last line that is not complete
        is ignored: that process was killed.

        Raises:
            JournalError: the file cannot be read, or is not such a journal.
        """
        try:
            lines = [json.loads(line) for line in Path(path).read_text().split("\n")[:-1]]
            first, *rest = lines
            journal = cls(first["group"], first["member"], session_ms=first["session_ms"])
            journal.events += [_event_of(line) for line in rest if line["event"] != "begin"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise JournalError(
                "a consumer's journal cannot be read",
                where=str(path),
                expected="lines that a ConsumerJournal with this path has written",
                found=f"{type(error).__name__}: {error}",
                next_step="docs/how-to/own-consumer.md shows one",
            ) from error
        return journal

    def _append(
        self, name: str, records: Iterable[Any], asked_ns: int | None = None, error: str | None = None
    ) -> None:
        told = list(records)
        ours = [one for one in told if self.topic is None or _topic_of(one) in (None, self.topic)]
        if told and not ours:
            return
        places = tuple(map(_partition_offset, ours))
        for partition, offset in places if name in ("processed", "committed") else ():
            if offset is None:
                raise _not_a_partition(f"partition {partition} without an offset", "an offset")
        event = MemberEvent(name, time.time_ns(), places, asked_ns, error)
        with self._lock:
            self.events.append(event)
            self._write(asdict(event))

    def _write(self, line: Mapping[str, object]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(line) + "\n")


def _event_of(line: Mapping[str, Any]) -> MemberEvent:
    if line["event"] not in _EVENTS:
        raise ValueError(f"there is no event {line['event']!r}")
    places = tuple((int(partition), offset) for partition, offset in line["places"])
    return MemberEvent(line["event"], int(line["at_ns"]), places, line["asked_ns"], line["error"])


def _is_error(one: Any) -> bool:
    """Whether it is a `Message` that tells of an error."""
    error = getattr(one, "error", None)
    return callable(error) and error() is not None


def _topic_of(one: Any) -> str | None:
    """The topic of a TopicPartition or a Message; numbers and pairs name none."""
    topic = getattr(one, "topic", None)
    named: str | None = topic() if callable(topic) else topic
    return named


def _partition_offset(one: Any) -> PartitionOffset:
    """Partition and offset of a number, a pair, a TopicPartition, or a Message."""
    if isinstance(one, int):
        return one, None
    if isinstance(one, tuple) and len(one) == 2 and all(isinstance(part, int) for part in one):
        return one[0], one[1]
    partition, offset = getattr(one, "partition", None), getattr(one, "offset", None)
    if callable(partition) and callable(offset):
        partition, offset = partition(), offset()
    if not isinstance(partition, int):
        raise _not_a_partition(repr(one)[:100], "a partition")
    return partition, offset if isinstance(offset, int) and offset >= 0 else None


def _not_a_partition(found: str, expected: str) -> BadInput:
    return BadInput(
        "a consumer's journal cannot take this",
        expected=f"{expected}: a TopicPartition, a Message, or a pair of partition and offset",
        found=found,
        next_step="docs/how-to/own-consumer.md shows each call",
    )

"""Makes the rows of `harness.model.journal.OFFSETS`: answers of brokers, and records in replicas' files."""

from __future__ import annotations

from typing import Any

from harness.model.journal import RowSink
from harness.protocol.offset_fetch import CommittedOffset
from workloads.log_format.offsets_topic import LoggedCommit

TopicPartition = tuple[str, int]


class NewAnswers:
    """Journals what brokers answer. Left out is an answer about a group's offset in a partition that repeats
    the one before it, from the same broker."""

    def __init__(self, sink: RowSink) -> None:
        self._sink = sink
        self._told: dict[tuple[str, TopicPartition], tuple[int, CommittedOffset]] = {}

    def append(
        self,
        group: str,
        partition: TopicPartition,
        broker: int,
        answer: CommittedOffset,
        times_ns: tuple[int, int],
    ) -> None:
        """Journal an answer; `times_ns` is when it was asked for and when it came."""
        if self._told.get((group, partition)) == (broker, answer):
            return
        self._told[group, partition] = (broker, answer)
        self._sink.append(answer_row(group, partition, broker, answer, times_ns))

    def forget(self) -> None:
        """Journal the next answers even if they repeat the last ones."""
        self._told.clear()


def answer_row(
    group: str, partition: TopicPartition, broker: int, answer: CommittedOffset, times_ns: tuple[int, int]
) -> dict[str, Any]:
    """The row of a coordinator's answer; `times_ns` is when it was asked for and when it came."""
    return _row(group, partition, "fetch", broker, answer, times_ns) | {"error": answer.error}


def logged_row(commit: LoggedCommit, broker: int, times_ns: tuple[int, int]) -> dict[str, Any]:
    """The row of a record in a broker's file; `times_ns` is when reading the file began and ended."""
    source = "logged-transaction" if commit.transactional else "logged"
    partition = (commit.topic, commit.partition)
    row = _row(commit.group, partition, source, broker, commit, times_ns)
    return row | {"log_offset": commit.log_offset}


def _row(
    group: str,
    partition: TopicPartition,
    source: str,
    broker: int,
    committed: CommittedOffset | LoggedCommit,
    times_ns: tuple[int, int],
) -> dict[str, Any]:
    return {
        "group": group,
        "topic": partition[0],
        "partition": partition[1],
        "asked_ns": times_ns[0],
        "at_ns": times_ns[1],
        "source": source,
        "broker": broker,
        "offset": committed.offset,
        "leader_epoch": committed.leader_epoch,
    }

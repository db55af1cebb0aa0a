"""Makes rows of `harness.model.group_journal.OFFSETS`: answers of brokers, and records in replicas' files."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from harness.cluster.live import LiveCluster
from harness.cluster.protocol.client_requests import CommittedOffset
from harness.model.errors import ClusterError, JournalError
from harness.model.journal import RowSink
from harness.model.progress import report_progress
from workloads.groups.offsets_topic import TOPIC, LoggedCommit, logged_commits, partition_of

TopicPartition = tuple[str, int]


class NewAnswers:
    """Journals what brokers answer. Left out is an answer about a group's offset in a partition that repeats
    the one before it, from the same broker."""

    def __init__(self, sink: RowSink) -> None:
        self._sink = sink
        self._newest: dict[tuple[str, TopicPartition], tuple[int, CommittedOffset]] = {}

    def append(
        self,
        group: str,
        partition: TopicPartition,
        broker: int,
        answer: CommittedOffset,
        times_ns: tuple[int, int],
    ) -> None:
        """Journal an answer; `times_ns` is when it was asked for and when it came."""
        if self._newest.get((group, partition)) == (broker, answer):
            return
        self._newest[group, partition] = (broker, answer)
        self._sink.append(answer_row(group, partition, broker, answer, times_ns))


def answer_row(
    group: str, partition: TopicPartition, broker: int, answer: CommittedOffset, times_ns: tuple[int, int]
) -> dict[str, Any]:
    """The row of a coordinator's answer; `times_ns` is when it was asked for and when it came."""
    return _row(group, partition, "fetch", broker, answer, times_ns) | {"error": answer.error}


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


def journal_logged_commits(
    cluster: LiveCluster, groups: Collection[str], topics: Collection[str], sink: RowSink
) -> None:
    """Journal what every replica's files of `__consumer_offsets` hold of these groups and topics. Of an
    existing cluster none are read: other groups' may be very large."""
    if cluster.spec.existing is not None:
        return
    # The broker that knows most partitions is asked for their replicas; without the topic there are none.
    known = [view.partitions for view in cluster.view((TOPIC,)).answered()]
    replicas = {state.partition: state.replicas for state in max(known, key=len, default=())}
    wanted = {partition_of(group, len(replicas)) for group in groups} if replicas else set()
    for number in sorted(wanted):
        for broker in replicas.get(number, ()):
            asked_ns = time.time_ns()
            try:
                commits = list(logged_commits(cluster.log_files(broker, TOPIC, number), groups))
            except (ClusterError, JournalError) as error:
                report_progress(f"the files of {TOPIC}-{number} on broker {broker} cannot be read: {error}")
                continue
            times_ns = (asked_ns, time.time_ns())
            for commit in commits:
                if commit.topic in topics and not commit.aborted:
                    source = "logged-transaction" if commit.transactional else "logged"
                    row = _row(
                        commit.group, (commit.topic, commit.partition), source, broker, commit, times_ns
                    )
                    sink.append(row | {"log_offset": commit.log_offset, "commit_ms": commit.timestamp_ms})

"""Journals the commits that replicas have in their own files of `__consumer_offsets`."""

from __future__ import annotations

import time
from collections.abc import Collection

from harness.cluster.live import LiveCluster
from harness.model.errors import ClusterError, JournalError
from harness.model.journal import RowSink
from harness.model.progress import report_progress
from harness.run.offsets.offset_rows import logged_row
from workloads.log_format.offsets_topic import TOPIC, logged_commits, partition_of


def journal_logged_commits(
    cluster: LiveCluster, groups: Collection[str], topics: Collection[str], sink: RowSink
) -> None:
    """Journal what every replica's files of `__consumer_offsets` hold of these groups and topics. Of an
    existing cluster none are read: other groups' may be very large."""
    if cluster.spec.existing is not None:
        return
    partitions = _partitions(cluster)
    wanted = {partition_of(group, len(partitions)) for group in groups} if partitions else set()
    for number in sorted(wanted):
        for broker in partitions.get(number, ()):
            asked_ns = time.time_ns()
            try:
                found = list(logged_commits(cluster.log_files(broker, TOPIC, number), groups))
            except (ClusterError, JournalError) as error:
                report_progress(f"the files of {TOPIC}-{number} on broker {broker} cannot be read: {error}")
                continue
            at_ns = time.time_ns()
            for one in found:
                if one.topic in topics and not one.aborted:
                    sink.append(logged_row(one, broker, (asked_ns, at_ns)))


def _partitions(cluster: LiveCluster) -> dict[int, tuple[int, ...]]:
    """The replicas of every partition of `__consumer_offsets`, from the broker that knows most partitions;
    empty: there is no such topic."""
    known = [view.partitions for view in cluster.view((TOPIC,)).answered()]
    return {state.partition: state.replicas for state in max(known, key=len, default=())}

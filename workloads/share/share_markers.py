"""Whether a share group has finished every record although its lag is not 0: markers of transactions count in
the lag, no member is given any, and without an acknowledgement of the gap that they make each is held by a
member for a lock, as often as the delivery limit says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.cluster.live import LiveCluster
from harness.model.broker_views import PartitionState
from harness.model.journal_reader import journal_batches
from workloads.records.log_format.segments import hidden_offsets
from workloads.share.share_admin import ShareStart

Offsets = npt.NDArray[np.int64]
_FINAL = pa.array(["accept", "reject"])


class MarkersLeft:
    """Compares, for one topic, what members have finished with the logs of the leaders. The journal of
    deliveries in `folder` has to be flushed; each log is read once for each high watermark."""

    def __init__(self, cluster: LiveCluster, topic: str, folder: Path) -> None:
        self._cluster = cluster
        self._topic = topic
        self._folder = folder
        self._markers: dict[tuple[int, int], Offsets] = {}

    def only(self, group: str, starts: Sequence[ShareStart], leaders: Mapping[int, PartitionState]) -> bool:
        """Whether everything that the group has not finished is a marker: each offset from its start to the
        high watermark is one, or a record that a member has accepted or rejected, and was answered so.

        Raises:
            ClusterError, JournalError: the files of a leader or the journal cannot be read.
        """
        if not starts or any(start.error is not None or start.start is None for start in starts):
            return False
        finished = _finished(self._folder, group)
        for start in starts:
            leader = leaders.get(start.partition)
            end = leader.high_watermark if leader is not None else None
            if leader is None or end is None or end != leader.log_end_offset:
                return False
            assert start.start is not None
            due = np.arange(start.start, end, dtype=np.int64)
            left = np.setdiff1d(due, finished.get(start.partition, due[:0]))
            if len(left) and not np.isin(left, self._of(start.partition, leader)).all():
                return False
        return True

    def _of(self, partition: int, leader: PartitionState) -> Offsets:
        key = partition, leader.high_watermark or 0
        if key not in self._markers:
            files = self._cluster.log_files(leader.leader, self._topic, partition)
            self._markers[key] = hidden_offsets(files).control
        return self._markers[key]


def _finished(folder: Path, group: str) -> dict[int, Offsets]:
    """The offsets by partition that members of a group have accepted or rejected for good."""
    offsets: dict[int, list[Offsets]] = {}
    columns = ["group", "partition", "offset", "acknowledgement", "answered_ns", "error"]
    for rows in journal_batches(folder, columns):
        final = pc.and_(pc.equal(rows["group"], group), pc.is_in(rows["acknowledgement"], _FINAL))
        answered = pc.and_(pc.is_valid(rows["answered_ns"]), pc.is_null(rows["error"]))
        mine = rows.filter(pc.and_(final, answered))
        for partition in pc.unique(mine["partition"]).to_pylist():
            here = mine.filter(pc.equal(mine["partition"], partition))
            offsets.setdefault(partition, []).append(here["offset"].to_numpy())
    return {partition: np.unique(np.concatenate(parts)) for partition, parts in offsets.items()}

"""What a final read did not get, by the files of brokers and by the journals.

Gaps in the offsets are explained by the files of the current leader. Partitions with acknowledged records
that were not read back are found with numpy, because the files of their replicas, segments and checkpoints,
must be copied into journals before the cluster is removed; the check itself runs on Spark. The container
engine reads the files, from running and stopped brokers, so no broker is trusted for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.cluster.live import LiveCluster
from harness.model.errors import ClusterError, JournalError
from harness.model.journal import (
    CHECKPOINTS,
    CHECKPOINTS_DIR,
    READS_DIR,
    REPLICAS_DIR,
    SENDS_DIR,
    ReadState,
    SendOutcome,
)
from harness.model.journal_reader import journal_batches
from harness.model.run import PartitionBounds
from workloads.records.journal.parquet_parts import PartWriter
from workloads.records.log_format.checkpoints import EPOCH_FILE, OFFSET_FILES, epoch_rows, offset_rows
from workloads.records.log_format.segments import Hidden, hidden_offsets, kept_offsets, replica_rows
from workloads.records.reader.digest import PartitionDigest

Digests = Mapping[int, PartitionDigest]


def gap_reasons(
    cluster: LiveCluster,
    bounds: tuple[PartitionBounds, ...],
    plain: Digests,
    committed: Digests | None,
    *,
    compacted: bool = False,
) -> list[str]:
    """One sentence for each partition with unexplained gaps: in a read_uncommitted read (`plain`), or in a
    read_committed one of the same offsets (`committed`). Empty: every gap is explained.

    No consumer gets control batches, and read_committed consumers get no records of aborted transactions. In
    a `compacted` topic an offset may be gone from the log itself (Kafka documentation, Log Compaction). Only
    the leader's files are used, because the leader answered the reads.
    """
    reasons: list[str] = []
    both = [plain] if committed is None else [plain, committed]
    hidden: dict[int, Hidden] = {}
    for bound in bounds:
        found_here = [digests[bound.partition] for digests in both if bound.partition in digests]
        if not any(digest.gaps for digest in found_here):
            continue
        try:
            files = cluster.log_files(bound.leader, bound.topic, bound.partition)
            offsets = hidden_offsets(files)
            if compacted:
                offsets = Hidden(np.union1d(offsets.control, _gone(files, found_here)), offsets.aborted)
            hidden[bound.partition] = offsets
        except (ClusterError, JournalError) as error:
            whose = f"partition {bound.partition} on its leader {bound.leader}"
            reasons.append(f"the files of {whose} cannot be read: {error}")
    control = {number: kinds.control for number, kinds in hidden.items()}
    reasons += unexplained_gaps(bounds, plain, control)
    if committed is not None:
        both_kinds = {number: np.union1d(kinds.control, kinds.aborted) for number, kinds in hidden.items()}
        reasons += [f"read_committed: {reason}" for reason in unexplained_gaps(bounds, committed, both_kinds)]
    return reasons


def _gone(files: Mapping[str, bytes], digests: list[PartitionDigest]) -> npt.NDArray[np.int64]:
    """The offsets of the gaps that are missing in the files too, ascending."""
    offsets = [np.arange(low, high, dtype=np.int64) for digest in digests for low, high in digest.gaps]
    empty = np.empty(0, dtype=np.int64)
    return np.setdiff1d(np.concatenate([empty, *offsets]), kept_offsets(files))


def unexplained_gaps(
    bounds: tuple[PartitionBounds, ...], digests: Digests, explained: Mapping[int, npt.NDArray[np.int64]]
) -> list[str]:
    """One sentence for each partition with gaps that `explained` (ascending offsets) does not cover."""
    reasons = []
    for bound in bounds:
        digest = digests.get(bound.partition)
        if digest is None or not digest.gaps:
            continue
        gaps = np.array(digest.gaps, dtype=np.int64)
        known = explained.get(bound.partition, np.empty(0, dtype=np.int64))
        inside = np.searchsorted(known, gaps[:, 1]) - np.searchsorted(known, gaps[:, 0])
        unexplained = gaps[inside < gaps[:, 1] - gaps[:, 0]]
        unlisted = digest.gap_count - len(gaps)
        if len(unexplained) or unlisted:
            low, high = (unexplained if len(unexplained) else gaps)[0].tolist()
            reasons.append(
                f"partition {bound.partition}: {len(unexplained) + unlisted} unexplained gap(s) in the "
                f"offsets, the first [{low}, {high})"
            )
    return reasons


def unread_partitions(folder: Path, topic: str, partitions: Collection[int]) -> frozenset[int]:
    """Those of the `partitions` of `topic` that may have held an acknowledged send whose identity was not
    read back: the partition that it was sent to, or all of them where the client has named none. Journals are
    streamed, with one byte of memory per send."""
    read: dict[int, np.ndarray] = defaultdict(lambda: np.zeros(0, dtype=bool))
    for batch in journal_batches(folder / READS_DIR, ["state", "producer", "seq"]):
        ours = batch.filter(pc.equal(batch["state"], ReadState.OK.value))
        for producer, seqs, _ in _by_producer(ours):
            read[producer] = _grown(read[producer], int(seqs.max()) + 1)
            read[producer][seqs] = True
    unread: set[int] = set()
    for batch in journal_batches(folder / SENDS_DIR, ["outcome", "producer", "seq", "topic", "partition"]):
        here = pc.equal(batch["topic"], topic)
        acked = batch.filter(pc.and_(here, pc.equal(batch["outcome"], SendOutcome.ACKED.value)))
        for producer, seqs, mine in _by_producer(acked):
            marks = _grown(read[producer], int(seqs.max()) + 1)
            unread.update(np.unique(mine["partition"].to_numpy()[~marks[seqs]]).tolist())
    return frozenset(partitions if any(number < 0 for number in unread) else unread)


def _by_producer(table: pa.Table) -> Iterator[tuple[int, np.ndarray, pa.Table]]:
    for producer in pc.unique(table["producer"]).to_pylist():
        mine = table.filter(pc.equal(table["producer"], producer))
        yield producer, mine["seq"].to_numpy(), mine


def _grown(marks: np.ndarray, size: int) -> np.ndarray:
    missing = size - len(marks)
    return marks if missing <= 0 else np.pad(marks, (0, max(missing, len(marks))))


def inspect_replicas(
    cluster: LiveCluster, topic: str, run_id: int, partitions: Collection[int], folder: Path
) -> tuple[tuple[int, ...], list[str]]:
    """Copy what every replica holds of these partitions into `folder`/replicas and `folder`/checkpoints.

    Returns the brokers whose files were read, and a sentence for everything that could not be read.
    """
    parts = PartWriter(folder / REPLICAS_DIR)
    problems: list[str] = []
    inspected: set[int] = set()
    checkpoints: list[dict[str, Any]] = []
    for number in sorted(partitions):
        state = cluster.view((topic,)).partition(topic, number)
        for broker in state.replicas if state else ():
            try:
                files = cluster.log_files(broker, topic, number)
                segments = {name: data for name, data in files.items() if name.endswith(".log")}
                rows = replica_rows(broker, topic, number, segments, run_id)
                epochs = files.get(EPOCH_FILE, b"").decode(errors="replace")
                checkpoints += epoch_rows(broker, topic, number, epochs)
            except (ClusterError, JournalError, ValueError) as error:
                problems.append(f"the files of partition {number} on broker {broker} cannot be read: {error}")
                continue
            if not segments:
                problems.append(f"broker {broker} has no segment file of partition {number}")
                continue
            parts.write(rows)
            inspected.add(broker)
    for broker in sorted(inspected):
        for name in OFFSET_FILES:
            try:
                text = cluster.log_dir_file(broker, name).decode(errors="replace")
                checkpoints += offset_rows(broker, name, text, topic)
            except (ClusterError, ValueError) as error:
                problems.append(f"{name} of broker {broker} cannot be read: {error}")
    PartWriter(folder / CHECKPOINTS_DIR).write(pa.Table.from_pylist(checkpoints, schema=CHECKPOINTS))
    return tuple(sorted(inspected)), problems

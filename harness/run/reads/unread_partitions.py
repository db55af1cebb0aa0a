"""Finds partitions with acknowledged records that were not read back, by streaming the journals with numpy.

This only decides which segment files to read before the cluster is removed; the check itself runs on Spark.
Memory: one byte per send.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harness.model.journal import READS_DIR, SENDS_DIR, ReadState, SendOutcome
from harness.model.journal_reader import journal_batches


def unread_partitions(folder: Path, topic: str) -> frozenset[int]:
    """Partitions of `topic` with at least one acknowledged send whose identity was not read back."""
    read: dict[int, np.ndarray] = {}
    for batch in journal_batches(folder / READS_DIR, ["state", "producer", "seq"]):
        ours = batch.filter(pc.equal(batch["state"], ReadState.OK.value))
        for producer, seqs, _ in _by_producer(ours):
            marks = _grown(read.get(producer), int(seqs.max()) + 1)
            marks[seqs] = True
            read[producer] = marks
    unread: set[int] = set()
    for batch in journal_batches(folder / SENDS_DIR, ["outcome", "producer", "seq", "topic", "partition"]):
        here = pc.equal(batch["topic"], topic)
        acked = batch.filter(pc.and_(here, pc.equal(batch["outcome"], SendOutcome.ACKED.value)))
        for producer, seqs, mine in _by_producer(acked):
            marks = _grown(read.get(producer), int(seqs.max()) + 1)
            unread.update(np.unique(mine["partition"].to_numpy()[~marks[seqs]]).tolist())
    return frozenset(unread)


def _by_producer(table: pa.Table) -> Iterator[tuple[int, np.ndarray, pa.Table]]:
    for producer in pc.unique(table["producer"]).to_pylist():
        mine = table.filter(pc.equal(table["producer"], producer))
        yield producer, mine["seq"].to_numpy(), mine


def _grown(marks: np.ndarray | None, size: int) -> np.ndarray:
    if marks is None:
        return np.zeros(size, dtype=bool)
    if len(marks) >= size:
        return marks
    return np.concatenate([marks, np.zeros(max(size, 2 * len(marks)) - len(marks), dtype=bool)])

"""Copies what every replica has on its disk, segment files and checkpoints, into journals.

The container engine reads the files, from running and stopped brokers, so no broker is trusted for them.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa

from harness.cluster.live import LiveCluster
from harness.model.errors import ClusterError, JournalError
from harness.model.journal import CHECKPOINTS, CHECKPOINTS_DIR, REPLICAS_DIR
from workloads.journal.parquet_parts import PartWriter
from workloads.log_format.checkpoints import EPOCH_FILE, OFFSET_FILES, epoch_rows, offset_rows
from workloads.log_format.segments import replica_rows


def inspect_replicas(
    cluster: LiveCluster,
    topic: str,
    run_id: int,
    partitions: Collection[int],
    folder: Path,
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

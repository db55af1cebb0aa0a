"""The final read, and the proof that it is complete.

Settle (see `harness.settled`), read every partition to its end, pause, settle again, read again: both
passes and both sets of bounds must be equal, and every missing offset be accounted for. Whatever was
acknowledged and yet not read is looked for in the replicas' own segment files before anyone calls it lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.apparent import unread_partitions
from harness.cluster import Cluster
from harness.model.errors import ClusterError, JournalError
from harness.model.journal import READS_DIR, REPLICAS, REPLICAS_DIR
from harness.model.run import FinalRead, PartitionBounds
from harness.settled import settle
from workloads.digest import PartitionDigest
from workloads.final_reader import read_range
from workloads.segments import replica_rows
from workloads.text_identity import BINARY, Codec

SETTLE_SECONDS = 90.0
READ_SECONDS = 600.0
PAUSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Subject:
    """The topic to be read, and what the experiment expects of it."""

    topic: str
    partitions: int
    isr: int
    run_id: int
    codec: Codec = BINARY


def final_read(cluster: Cluster, subject: Subject, folder: Path, say: Callable[[str], None]) -> FinalRead:
    """Read the topic to the end into `folder`/reads and prove that nothing was missed.

    Never raises for what the cluster does: a read that proves nothing is returned with the reasons why.
    """
    began = time.monotonic()
    reasons: list[str] = []
    say("waiting until every broker agrees")
    try:
        bounds = _settle(cluster, subject)
        settled_seconds = time.monotonic() - began
        say("final read, first pass")
        first = _read(cluster, subject, bounds, "final", folder)
        time.sleep(PAUSE_SECONDS)
        again = _settle(cluster, subject)
        say("final read, second pass")
        second = _read(cluster, subject, bounds, "final-again", None)
    except ClusterError as error:
        return FinalRead(complete=False, reasons=(str(error),), finished_ns=time.time_ns())
    if bounds != again:
        reasons.append("offsets or leaders changed between the two passes of the final read")
    reasons += differences(bounds, first, second)
    unread = unread_partitions(folder)
    gaps = {number for number, digest in first.items() if digest.gaps}
    inspected: tuple[int, ...] = ()
    if unread or gaps:
        say(f"reading the replicas' own files of partition(s) {sorted(unread | gaps)}")
        inspected, problems = inspect_replicas(cluster, subject, unread | gaps, folder)
        reasons += problems
        reasons += unexplained_gaps(bounds, first, folder)
    return FinalRead(
        complete=not reasons,
        reasons=tuple(reasons),
        bounds=bounds,
        records=sum(digest.records for digest in first.values()),
        settled_seconds=round(settled_seconds, 2),
        finished_ns=time.time_ns(),
        replicas_inspected=inspected,
    )


def differences(
    bounds: tuple[PartitionBounds, ...],
    first: Mapping[int, PartitionDigest],
    second: Mapping[int, PartitionDigest],
) -> list[str]:
    """Why two passes over the same bounds do not prove a complete read (none: they do)."""
    reasons = []
    for bound in bounds:
        passes = (first.get(bound.partition), second.get(bound.partition))
        one, two = passes
        if one is None or two is None or not (one.finished and two.finished):
            why = next((digest.problem for digest in passes if digest and digest.problem), "not reached")
            reasons.append(f"partition {bound.partition} was not read to its end {bound.end_offset}: {why}")
        elif one.content() != two.content():
            reasons.append(
                f"partition {bound.partition} read differently twice: {one.records} and {two.records} records"
            )
    return reasons


def inspect_replicas(
    cluster: Cluster, subject: Subject, partitions: set[int] | frozenset[int], folder: Path
) -> tuple[tuple[int, ...], list[str]]:
    """Copy what every replica's segment files hold of these partitions into `folder`/replicas.

    Returns the brokers whose files were read, and what could not be read.
    """
    target = folder / REPLICAS_DIR
    target.mkdir(exist_ok=True)
    problems: list[str] = []
    inspected: set[int] = set()
    part = 0
    for number in sorted(partitions):
        state = cluster.view((subject.topic,)).partition(subject.topic, number)
        for broker in state.replicas if state else ():
            try:
                files = cluster.log_files(broker, subject.topic, number)
                segments = {name: data for name, data in files.items() if name.endswith(".log")}
                rows = replica_rows(broker, subject.topic, number, segments, subject.run_id, subject.codec)
            except (ClusterError, JournalError) as error:
                problems.append(f"the files of partition {number} on broker {broker} cannot be read: {error}")
                continue
            if not segments:
                problems.append(f"broker {broker} has no segment file of partition {number}")
                continue
            pq.write_table(rows, target / f"part-{part:05d}.parquet")
            inspected.add(broker)
            part += 1
    return tuple(sorted(inspected)), problems


def unexplained_gaps(
    bounds: tuple[PartitionBounds, ...], digests: Mapping[int, PartitionDigest], folder: Path
) -> list[str]:
    """Offsets that the read passed over and that no control batch in the leader's own files explains."""
    reasons = []
    table = _replica_offsets(folder)
    for bound in bounds:
        digest = digests.get(bound.partition)
        if digest is None or not digest.gaps:
            continue
        of_leader = pc.and_(
            pc.equal(table["broker"], bound.leader), pc.equal(table["partition"], bound.partition)
        )
        control = np.unique(table.filter(pc.and_(of_leader, table["control"]))["offset"].to_numpy())
        unexplained = [gap for gap in digest.gaps if _within(control, gap) < gap[1] - gap[0]]
        if unexplained or digest.gap_count > len(digest.gaps):
            low, high = (unexplained or digest.gaps)[0]
            count = len(unexplained) + digest.gap_count - len(digest.gaps)
            reasons.append(
                f"partition {bound.partition}: {count} unexplained gap(s) in the offsets, "
                f"the first [{low}, {high})"
            )
    return reasons


def _replica_offsets(folder: Path) -> pa.Table:
    columns = ["broker", "partition", "offset", "control"]
    parts = sorted((folder / REPLICAS_DIR).glob("part-*.parquet"))
    nothing = REPLICAS.empty_table().select(columns)
    return pa.concat_tables([nothing, *(pq.read_table(part, columns=columns) for part in parts)])


def _within(offsets: npt.NDArray[np.int64], gap: tuple[int, int]) -> int:
    """How many of the ascending offsets lie in [low, high)."""
    low, high = np.searchsorted(offsets, gap)
    return int(high - low)


def _settle(cluster: Cluster, subject: Subject) -> tuple[PartitionBounds, ...]:
    return settle(cluster, subject.topic, subject.partitions, subject.isr, SETTLE_SECONDS)


def _read(
    cluster: Cluster, subject: Subject, bounds: tuple[PartitionBounds, ...], reader: str, folder: Path | None
) -> dict[int, PartitionDigest]:
    return read_range(
        cluster.bootstrap,
        topic=subject.topic,
        bounds={bound.partition: (bound.log_start_offset, bound.end_offset) for bound in bounds},
        run_id=subject.run_id,
        reader=reader,
        folder=folder / READS_DIR if folder else None,
        deadline=time.monotonic() + READ_SECONDS,
        codec=subject.codec,
    )

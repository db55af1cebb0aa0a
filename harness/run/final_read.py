"""The final read, and the proof that it is complete.

Settle (see `harness.cluster.convergence`), read every partition to its end, pause, settle again, read
again: both passes and both sets of bounds must be equal, and every missing offset be accounted for. Where
only leaders moved in between, a further pass takes the place of the second: two in a row must see no
change. Whatever was acknowledged and yet not read is looked for in the replicas' own segment files before
anyone calls it lost.

After transactions no transaction may be open any more: the marker that ends one would move the end. Then
every pass is made twice, read_uncommitted and read_committed. One that is open long after its
transaction.timeout.ms hangs (KIP-890): readers of committed records are read to where it begins, for they get
no further.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cluster.convergence import settle
from harness.cluster.live import LiveCluster
from harness.model.errors import ClusterError
from harness.model.journal import COMMITTED_DIR, READS_DIR
from harness.model.progress import report_progress
from harness.model.run import FinalRead, PartitionBounds
from harness.run.offset_gaps import gap_reasons
from harness.run.replica_logs import inspect_replicas
from harness.run.unread_partitions import unread_partitions
from workloads.reader.digest import PartitionDigest
from workloads.reader.final_reader import last_stable, read_range
from workloads.record.text_identity import BINARY, Codec

SETTLE_SECONDS = 90.0
READ_SECONDS = 600.0
PAUSE_SECONDS = 1.0
AGAIN = 3
"""Second passes, at most: the next is made when leaders moved since the pass before."""
TRANSACTION_MARGIN_SECONDS = 40.0
"""Coordinators look for transactions that timed out every 10 s
(transaction.abort.timed.out.transaction.cleanup.interval.ms), and may have to be elected first."""


@dataclass(frozen=True, slots=True)
class FinalReadTarget:
    """The topic to be read, and what the experiment expects of it. `transaction_seconds` - the producers'
    transaction.timeout.ms in seconds (None: nothing was transactional); `every_replica` - read the replicas'
    own files even if nothing is missing; `codec` - how its values are read; `compacted` - cleanup.policy may
    remove records in between; `first_part` - the number of its first file of records, where another topic's
    are there already."""

    topic: str
    partitions: int
    isr: int
    run_id: int
    transaction_seconds: float | None = None
    every_replica: bool = False
    codec: Codec = BINARY
    compacted: bool = False
    first_part: int = 0


Passes = dict[int, PartitionDigest]


def final_read(cluster: LiveCluster, subject: FinalReadTarget, folder: Path) -> FinalRead:
    """Read the topic to the end into `folder`/reads (and committed) and prove that nothing was missed.

    Never raises for what the cluster does: a read that proves nothing is returned with the reasons why.
    """
    began = time.monotonic()
    reasons: list[str] = []
    report_progress("waiting until every broker agrees")
    try:
        bounds, held = _ended(cluster, subject)
        settled_seconds = time.monotonic() - began
        report_progress("final read, first pass")
        first, first_committed = _both(cluster, subject, bounds, held, "final", folder)
        for remaining in reversed(range(AGAIN)):
            time.sleep(PAUSE_SECONDS)
            again = _settle(cluster, subject)
            report_progress("final read, second pass")
            second, second_committed = _both(cluster, subject, bounds, held, "final-again", None)
            reasons += differences(bounds, first, second)
            if first_committed is not None and second_committed is not None:
                different = differences(bounds, first_committed, second_committed)
                reasons += [f"read_committed: {reason}" for reason in different]
            if bounds == again or reasons or not remaining or _ends(bounds) != _ends(again):
                break
            # Leaders moved between the passes, as the preferred ones do a while after a failover: nothing is
            # wrong with what was read, but only a pair of passes that sees no such change proves it.
            bounds = again
    except ClusterError as error:
        return FinalRead(complete=False, reasons=(str(error),), finished_ns=time.time_ns())
    if bounds != again:
        reasons.append("offsets or leaders changed between the two passes of the final read")
    reasons += gap_reasons(cluster, bounds, first, first_committed, compacted=subject.compacted)
    unread = unread_partitions(folder, subject.topic)
    inspected: tuple[int, ...] = ()
    wanted = set(range(subject.partitions)) if subject.every_replica else unread
    if wanted:
        report_progress(f"reading the replicas' own files of partition(s) {sorted(wanted)}")
        inspected, problems = inspect_replicas(
            cluster, subject.topic, subject.run_id, wanted, folder, subject.codec
        )
        reasons += problems
    return FinalRead(
        complete=not reasons,
        reasons=tuple(reasons),
        bounds=bounds,
        records=sum(digest.records for digest in first.values()),
        committed_records=None
        if first_committed is None
        else sum(digest.records for digest in first_committed.values()),
        settled_seconds=round(settled_seconds, 2),
        finished_ns=time.time_ns(),
        replicas_inspected=inspected,
        held=tuple((subject.topic, number, place) for number, place in sorted(held.items())),
    )


def together(reads: Sequence[FinalRead]) -> FinalRead:
    """The final reads of several topics as one: complete if all are."""
    committed = [read.committed_records for read in reads if read.committed_records is not None]
    return FinalRead(
        complete=all(read.complete for read in reads),
        reasons=tuple(reason for read in reads for reason in read.reasons),
        bounds=tuple(bound for read in reads for bound in read.bounds),
        records=sum(read.records for read in reads),
        settled_seconds=reads[0].settled_seconds,
        finished_ns=reads[-1].finished_ns,
        committed_records=sum(committed) if committed else None,
        held=tuple(place for read in reads for place in read.held),
        replicas_inspected=tuple(sorted({one for read in reads for one in read.replicas_inspected})),
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


def _settle(cluster: LiveCluster, subject: FinalReadTarget) -> tuple[PartitionBounds, ...]:
    return settle(cluster, subject.topic, subject.partitions, subject.isr, SETTLE_SECONDS)


def _ended(
    cluster: LiveCluster, subject: FinalReadTarget
) -> tuple[tuple[PartitionBounds, ...], dict[int, int]]:
    """Settle, and go on doing so until no transaction is open: its coordinator aborts it in the end.

    Returns the bounds and, by partition, the last stable offset where one is open still, though it timed out
    long ago: nobody will end it any more, and no reader of committed records ever gets further.

    Raises:
        ClusterError: not settled, or a last stable offset is not told.
    """
    bounds = _settle(cluster, subject)
    if subject.transaction_seconds is None:
        return bounds, {}
    deadline = time.monotonic() + subject.transaction_seconds + TRANSACTION_MARGIN_SECONDS
    while held := held_back(bounds, _stable(cluster, subject, _numbers(bounds))):
        if time.monotonic() >= deadline:
            if min(held.values()) < 0:
                raise ClusterError(
                    "a last stable offset is not told",
                    where=subject.topic,
                    expected="the leader's answer",
                    found=f"none from the leader of partition(s) {sorted(held)}",
                    next_step="see the brokers' logs in the experiment's folder",
                )
            return bounds, held
        time.sleep(PAUSE_SECONDS)
        bounds = _settle(cluster, subject)
    return bounds, {}


def _ends(bounds: tuple[PartitionBounds, ...]) -> list[tuple[int, int, int]]:
    return [(bound.partition, bound.log_start_offset, bound.end_offset) for bound in bounds]


def _numbers(bounds: tuple[PartitionBounds, ...]) -> list[int]:
    return [bound.partition for bound in bounds]


def held_back(bounds: tuple[PartitionBounds, ...], stable: Mapping[int, int]) -> dict[int, int]:
    """The last stable offset of each partition that has a transaction open, by partition."""
    return {
        bound.partition: stable[bound.partition]
        for bound in bounds
        if stable[bound.partition] != bound.end_offset
    }


def _stable(cluster: LiveCluster, subject: FinalReadTarget, partitions: Iterable[int]) -> dict[int, int]:
    return last_stable(cluster.bootstrap, subject.topic, list(partitions), cluster.access.properties)


def _both(
    cluster: LiveCluster,
    subject: FinalReadTarget,
    bounds: tuple[PartitionBounds, ...],
    held: Mapping[int, int],
    reader: str,
    folder: Path | None,
) -> tuple[Passes, Passes | None]:
    """One pass; after transactions a second one of what read_committed readers are given, which is nothing
    from where they are held back."""
    plain = _read(cluster, subject, bounds, reader, folder / READS_DIR if folder else None)
    if subject.transaction_seconds is None:
        return plain, None
    target = folder / COMMITTED_DIR if folder else None
    given = tuple(
        bound.model_copy(update={"end_offset": held.get(bound.partition, bound.end_offset)})
        for bound in bounds
    )
    return plain, _read(cluster, subject, given, f"{reader}-committed", target, committed=True)


def _read(
    cluster: LiveCluster,
    subject: FinalReadTarget,
    bounds: tuple[PartitionBounds, ...],
    reader: str,
    folder: Path | None,
    *,
    committed: bool = False,
) -> Passes:
    return read_range(
        cluster.bootstrap,
        topic=subject.topic,
        bounds={bound.partition: (bound.log_start_offset, bound.end_offset) for bound in bounds},
        run_id=subject.run_id,
        reader=reader,
        folder=folder,
        deadline=time.monotonic() + READ_SECONDS,
        committed=committed,
        codec=subject.codec,
        first_part=subject.first_part,
        security=cluster.access.properties,
    )

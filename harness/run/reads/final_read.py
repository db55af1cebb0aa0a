"""The final read, and the proof that it is complete.

The brokers settle (see `harness.cluster.convergence`), every partition is read to its end, and after a pause
both are done again. Both passes and both sets of bounds must be equal, and every missing offset must be
accounted for. If only leaders moved between the passes, another pass replaces the second one: two consecutive
passes must see no change. Before a record is called lost, it is searched for in all replicas' segment files.

If producers were transactional, the read begins when no transaction is open any more, because the marker that
ends one would move the end. Every pass is then made twice, with read_uncommitted and with read_committed. A
transaction that is open long after its transaction.timeout.ms hangs (KIP-890): the read_committed pass then
ends where it begins, because consumers get no further.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cluster.convergence import settle
from harness.cluster.live import LiveCluster
from harness.model.errors import ClusterError
from harness.model.journal import COMMITTED_DIR, READS_DIR
from harness.model.progress import report_progress
from harness.model.run import FinalRead, PartitionBounds
from harness.run.reads.missing_records import gap_reasons, inspect_replicas, unread_partitions
from workloads.records.reader.digest import PartitionDigest
from workloads.records.reader.final_reader import AlsoWritten, RowMaker, last_stable, read_range

SETTLE_SECONDS = 90.0
READ_SECONDS = 600.0
PAUSE_SECONDS = 1.0
AGAIN = 3
"""Maximum number of second passes: another one is made if leaders moved since the pass before."""
TRANSACTION_MARGIN_SECONDS = 40.0
"""Coordinators look for timed-out transactions every 10 s
(transaction.abort.timed.out.transaction.cleanup.interval.ms), and may have to be elected first."""


@dataclass(frozen=True, slots=True)
class FinalReadTarget:
    """The topic to be read, and what the experiment expects of it.

    `isr` is the number of in-sync replicas of each partition; `transaction_seconds` the producers'
    transaction.timeout.ms in seconds (None: nothing was transactional). With `every_replica`, the files of
    all replicas are read even if nothing is missing. `compacted`: cleanup.policy may remove records between
    others. `first_part` is the number of its first file of records, if the folder has those of another topic.
    `also` is written beside the records.
    """

    topic: str
    partitions: int
    isr: int
    run_id: int
    transaction_seconds: float | None = None
    every_replica: bool = False
    compacted: bool = False
    first_part: int = 0
    also: AlsoWritten | None = None


Passes = Mapping[int, PartitionDigest]
Bounds = tuple[PartitionBounds, ...]
OnePass = Callable[[Bounds, Mapping[int, int], bool], tuple[Passes, Passes | None]]
"""Reads a topic within these bounds, of partitions with an open transaction up to their last stable offset;
only the first (True) keeps rows. Returns what read_uncommitted got, and read_committed (None: unused)."""


@dataclass(frozen=True, slots=True)
class TwoPasses:
    """What two passes over a topic got: the `first` one, with read_committed too (`committed`), within these
    bounds; `held` are last stable offsets of partitions whose transaction does not end. `reasons` say why
    they do not prove a complete read (empty: they do)."""

    bounds: Bounds
    held: dict[int, int]
    first: Passes
    committed: Passes | None
    reasons: tuple[str, ...]
    settled_seconds: float


def read_twice(cluster: LiveCluster, target: FinalReadTarget, one_pass: OnePass) -> TwoPasses:
    """Let the brokers settle and read the topic; do both again after a pause.

    Raises:
        ClusterError: the brokers do not settle.
    """
    began = time.monotonic()
    reasons: list[str] = []
    bounds, held = settle_transactions(cluster, target)
    settled_seconds = time.monotonic() - began
    first, committed = one_pass(bounds, held, True)
    for remaining in reversed(range(AGAIN)):
        time.sleep(PAUSE_SECONDS)
        again = settle_target(cluster, target)
        second, committed_again = one_pass(bounds, held, False)
        reasons += differences(bounds, first, second)
        if committed is not None and committed_again is not None:
            different = differences(bounds, committed, committed_again)
            reasons += [f"read_committed: {reason}" for reason in different]
        if bounds == again or reasons or not remaining or offsets_of(bounds) != offsets_of(again):
            break
        # Leaders moved between the passes, as happens when preferred leaders return a while after a
        # failover. The read may be right, but only two passes without such a change prove it.
        bounds = again
    reasons += cluster.doubtful_ends(bounds)
    if bounds != again:
        reasons.append("offsets or leaders changed between the two passes")
    return TwoPasses(bounds, held, first, committed, tuple(reasons), settled_seconds)


def final_read(cluster: LiveCluster, target: FinalReadTarget, folder: Path) -> FinalRead:
    """Read the topic to its end into `folder`/reads (and committed), and prove that nothing was missed.

    Failures of the cluster are not raised: the returned read is then incomplete, with the reasons.
    """

    def one_pass(bounds: Bounds, held: Mapping[int, int], first: bool) -> tuple[Passes, Passes | None]:
        """One read_uncommitted pass and, if producers were transactional, one read_committed pass."""
        report_progress(f"final read, {'first' if first else 'second'} pass")
        reader = "final" if first else "final-again"
        into, also = (folder / READS_DIR, target.also) if first else (None, None)
        plain = read_pass(cluster, target, bounds, reader, into, also=also)
        if target.transaction_seconds is None:
            return plain, None
        into = folder / COMMITTED_DIR if first else None
        return plain, read_pass(cluster, target, bounds, f"{reader}-committed", into, held=held)

    report_progress("waiting until every broker agrees")
    try:
        read = read_twice(cluster, target, one_pass)
    except ClusterError as error:
        return FinalRead(complete=False, reasons=(str(error),), finished_ns=time.time_ns())
    reasons = list(read.reasons)
    reasons += gap_reasons(cluster, read.bounds, read.first, read.committed, compacted=target.compacted)
    unread = unread_partitions(folder, target.topic, [bound.partition for bound in read.bounds])
    inspected: tuple[int, ...] = ()
    wanted = set(range(target.partitions)) if target.every_replica else unread
    if wanted:
        report_progress(f"reading the replicas' own files of partition(s) {sorted(wanted)}")
        inspected, problems = inspect_replicas(cluster, target.topic, target.run_id, wanted, folder)
        reasons += problems
    committed = None if read.committed is None else sum(digest.records for digest in read.committed.values())
    return FinalRead(
        complete=not reasons,
        reasons=tuple(reasons),
        bounds=read.bounds,
        records=sum(digest.records for digest in read.first.values()),
        committed_records=committed,
        settled_seconds=round(read.settled_seconds, 2),
        finished_ns=time.time_ns(),
        replicas_inspected=inspected,
        held=tuple((target.topic, number, offset) for number, offset in sorted(read.held.items())),
    )


def merge_reads(reads: Sequence[FinalRead]) -> FinalRead:
    """Merge the final reads of several topics into one, which is complete if all are."""
    committed = [read.committed_records for read in reads if read.committed_records is not None]
    return FinalRead(
        complete=all(read.complete for read in reads),
        reasons=tuple(reason for read in reads for reason in read.reasons),
        bounds=tuple(bound for read in reads for bound in read.bounds),
        records=sum(read.records for read in reads),
        settled_seconds=reads[0].settled_seconds,
        finished_ns=reads[-1].finished_ns,
        committed_records=sum(committed) if committed else None,
        held=tuple(position for read in reads for position in read.held),
        replicas_inspected=tuple(sorted({replica for read in reads for replica in read.replicas_inspected})),
    )


def differences(bounds: Bounds, first: Passes, second: Passes) -> list[str]:
    """The reasons why two passes over the same bounds do not prove a complete read (empty: they do)."""
    reasons = []
    for bound in bounds:
        one, two = first.get(bound.partition), second.get(bound.partition)
        if one is None or two is None or one.problem or two.problem:
            why = next((digest.problem for digest in (one, two) if digest and digest.problem), "not reached")
            reasons.append(f"partition {bound.partition} was not read to its end {bound.end_offset}: {why}")
        elif one.content() != two.content():
            reasons.append(
                f"partition {bound.partition} read differently twice: {one.records} and {two.records} records"
            )
    return reasons


def settle_target(cluster: LiveCluster, target: FinalReadTarget) -> Bounds:
    """Wait until every broker agrees on the topic, and return the bounds of its partitions.

    Raises:
        ClusterError: they do not agree in time.
    """
    return settle(cluster, target.topic, target.partitions, target.isr, SETTLE_SECONDS)


def settle_transactions(cluster: LiveCluster, target: FinalReadTarget) -> tuple[Bounds, dict[int, int]]:
    """Settle until no transaction is open; its coordinator aborts a timed-out one in the end.

    Returns the bounds and, for each partition with a transaction that is still open long after its time-out,
    the last stable offset: nothing will end that transaction, and read_committed consumers get no further.

    Raises:
        ClusterError: the brokers do not settle, or a leader does not return a last stable offset.
    """
    bounds = settle_target(cluster, target)
    if target.transaction_seconds is None:
        return bounds, {}
    deadline = time.monotonic() + target.transaction_seconds + TRANSACTION_MARGIN_SECONDS
    partitions = list(range(target.partitions))
    while held := held_back(
        bounds, last_stable(cluster.bootstrap, target.topic, partitions, cluster.access.properties)
    ):
        if time.monotonic() >= deadline:
            if min(held.values()) < 0:
                raise ClusterError(
                    "a last stable offset is not known",
                    where=target.topic,
                    expected="the leader's answer",
                    found=f"none from the leader of partition(s) {sorted(held)}",
                    next_step="see the brokers' logs in the experiment's folder",
                )
            return bounds, held
        time.sleep(PAUSE_SECONDS)
        bounds = settle_target(cluster, target)
    return bounds, {}


def offsets_of(bounds: Bounds) -> list[tuple[int, int, int]]:
    """Partition, log start offset and end offset of each."""
    return [(bound.partition, bound.log_start_offset, bound.end_offset) for bound in bounds]


def held_back(bounds: Bounds, stable: Mapping[int, int]) -> dict[int, int]:
    """Partition -> its last stable offset, for each partition that has an open transaction."""
    return {
        bound.partition: stable[bound.partition]
        for bound in bounds
        if stable[bound.partition] != bound.end_offset
    }


def read_pass(
    cluster: LiveCluster,
    target: FinalReadTarget,
    bounds: Bounds,
    reader: str,
    folder: Path | None = None,
    *,
    held: Mapping[int, int] | None = None,
    rows: RowMaker | None = None,
    also: AlsoWritten | None = None,
) -> Passes:
    """Read a topic once, within these bounds. With `held` it is read with read_committed, and the partitions
    named there end at their last stable offset."""
    ends = held or {}
    return read_range(
        cluster.bootstrap,
        topic=target.topic,
        bounds={
            bound.partition: (bound.log_start_offset, ends.get(bound.partition, bound.end_offset))
            for bound in bounds
        },
        run_id=target.run_id,
        reader=reader,
        folder=folder,
        deadline=time.monotonic() + READ_SECONDS,
        committed=held is not None,
        first_part=target.first_part,
        security=cluster.access.properties,
        rows=rows,
        also=also,
    )

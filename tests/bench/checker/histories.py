"""Run folders of any size, made by formula: each row is computed from its number, nothing grows in memory.

Records are numbered; record `n` is record `n // PRODUCERS` of producer `n % PRODUCERS`, and seq determines
the partition. The files are laid out and encoded as in a real run: sends in parts of about a second, each
with one row group per producer, sorted by seq; reads in one file per partition, in the order of their
offsets. Times and keys vary from record to record, so that the files have the size of real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from harness.model.journal import READS, READS_DIR, SENDS, SENDS_DIR
from harness.model.run import ClusterInfo, FinalRead, ImageInfo, PartitionBounds, RunMeta, StepInfo
from workloads.records.journal.parquet_parts import parquet_options

Numbers = npt.NDArray[np.int64]

RUN_ID, TOPIC = 4711, "bench"
PARTITIONS, PRODUCERS = 12, 4
"""12 partitions, as in the history of Jepsen's published cost."""
UNIT = PARTITIONS * PRODUCERS
"""Sizes are rounded up to a multiple of it, so that every partition holds equally many records of each
producer."""
START_NS, STEP_NS = 1_700_000_000_000_000_000, 4_000
GROUP_ROWS = 65_536
READ_GROUP_ROWS = 32_768
BURST = 1_000
"""Losses and duplicates of the heavy histories come in bursts of this many records of a partition."""
COPIES = 10
ONE_IN = 10_000

_PLANTED = {
    "lost": (2,),
    "duplicate": (3,),
    "misplaced": (5,),
    "rejected": (7,),
    "rejected_present": (11,),
    "indeterminate_absent": (13,),
    "indeterminate_present": (17, 18, 19),
    "unconfirmed_absent": (23,),
    "unconfirmed_present": (29,),
}
"""Remainders, modulo ONE_IN, of the numbers of the records with an anomaly in a clean history."""


@dataclass(frozen=True)
class Wrote:
    """What was written: sends, reads (rows), and the findings that a right check counts."""

    sends: int
    reads: int
    findings: dict[str, int]


def clean(folder: Path, records: int) -> Wrote:
    """Nearly all acknowledged and read once; of each class a few in ten thousand, and as many phantoms."""
    records = _rounded(records)
    phantoms = records // ONE_IN
    _write_sends(folder, records, offset_of=_rank, planted=True)
    per_partition = records // PARTITIONS
    reads = 0
    for partition in range(PARTITIONS):
        with _ReadsFile(folder, partition) as file:
            for ranks in _bursts(per_partition):
                number = _number(ranks, partition)
                absent = ("lost", "misplaced", "rejected", "indeterminate_absent", "unconfirmed_absent")
                kept = ~_planted(number, *absent)
                file.write(number[kept], ranks[kept])
            twice = _all_planted(records, "duplicate")
            twice = twice[_partition(twice) == partition]
            strays = _all_planted(records, "misplaced")
            strays = strays[_partition(strays) == (partition - 1) % PARTITIONS]
            ghosts = np.arange(partition, phantoms, PARTITIONS, dtype=np.int64)
            for late in (twice, strays):
                file.write_late(late % PRODUCERS, late // PRODUCERS, per_partition)
            file.write_late(np.full(len(ghosts), PRODUCERS), ghosts, per_partition)
            reads += file.rows
    _meta(folder, records, reads, end_offset=2 * per_partition)
    planted = {name: len(_all_planted(records, name)) for name in _PLANTED}
    findings = {name: planted[name] for name in ("lost", "duplicate", "misplaced", "rejected_present")} | {
        "phantom": phantoms,
        "recovered": planted["indeterminate_present"] + planted["unconfirmed_present"],
        "unconfirmed_absent": planted["unconfirmed_absent"],
    }
    return Wrote(records, reads, {name: count for name, count in findings.items() if count})


def half_lost(folder: Path, records: int) -> Wrote:
    """Every second burst of a partition is lost, its offsets overwritten by the burst after it."""
    records = _rounded(records)

    def offset_of(number: Numbers) -> Numbers:
        rank = _rank(number)
        return rank // (2 * BURST) * BURST + rank % BURST

    _write_sends(folder, records, offset_of=offset_of)
    reads = 0
    for partition in range(PARTITIONS):
        with _ReadsFile(folder, partition) as file:
            for ranks in _bursts(records // PARTITIONS):
                number = _number(ranks, partition)
                kept = ranks // BURST % 2 == 1
                file.write(number[kept], offset_of(number)[kept])
            reads += file.rows
    _meta(folder, records, reads, end_offset=records // PARTITIONS)
    return Wrote(records, reads, {"lost": records - reads})


def ten_times(folder: Path, records: int) -> Wrote:
    """Every record was written ten times, burst by burst, as retries without idempotence may do."""
    records = _rounded(records)

    def offset_of(number: Numbers) -> Numbers:
        rank = _rank(number)
        return rank // BURST * BURST * COPIES + rank % BURST

    _write_sends(folder, records, offset_of=offset_of)
    per_partition = records // PARTITIONS
    for partition in range(PARTITIONS):
        with _ReadsFile(folder, partition) as file:
            for ranks in _bursts(per_partition):
                number = np.repeat(_number(ranks, partition), COPIES)
                copy = np.tile(np.arange(COPIES, dtype=np.int64), len(ranks))
                file.write(number, offset_of(number) + copy * BURST)
    _meta(folder, records, records * COPIES, end_offset=(per_partition + BURST) * COPIES)
    return Wrote(records, records * COPIES, {"duplicate": records})


SHAPES: dict[str, Callable[[Path, int], Wrote]] = {
    "clean": clean,
    "half lost": half_lost,
    "ten times": ten_times,
}


def _rounded(records: int) -> int:
    return -(-records // UNIT) * UNIT


def _partition(number: Numbers) -> Numbers:
    return number // PRODUCERS % PARTITIONS


def _rank(number: Numbers) -> Numbers:
    """A record's place among those of its partition."""
    return number // UNIT * PRODUCERS + number % PRODUCERS


def _number(rank: Numbers, partition: int) -> Numbers:
    """The inverse of `_rank`."""
    return (rank // PRODUCERS * PARTITIONS + partition) * PRODUCERS + rank % PRODUCERS


def _mixed(number: Numbers) -> Numbers:
    """A number below 2^31 that looks random, and is the same for the same number."""
    mixed = number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(33)).astype(np.int64)


def _sent_ns(number: Numbers) -> Numbers:
    return START_NS + number * STEP_NS + _mixed(number) % STEP_NS


def _key(number: Numbers) -> Numbers:
    return _mixed(number // PRODUCERS) % 1000


def _planted(number: Numbers, *names: str) -> npt.NDArray[np.bool_]:
    return np.isin(number % ONE_IN, [rest for name in names for rest in _PLANTED[name]])


def _all_planted(records: int, name: str) -> Numbers:
    """The numbers of all records to which `name` happens."""
    rests = [np.arange(rest, records, ONE_IN, dtype=np.int64) for rest in _PLANTED[name]]
    return np.sort(np.concatenate(rests))


def _producer_groups(count: int) -> Iterator[Numbers]:
    """Numbers below `count` in the order of the sends journal: one producer's of one part at a time."""
    part = GROUP_ROWS * PRODUCERS
    for start in range(0, count, part):
        for producer in range(PRODUCERS):
            yield np.arange(start + producer, min(start + part, count), PRODUCERS, dtype=np.int64)


def _bursts(count: int) -> Iterator[Numbers]:
    """Ranks below `count`, some bursts at a time."""
    chunk = 32 * BURST
    for start in range(0, count, chunk):
        yield np.arange(start, min(start + chunk, count), dtype=np.int64)


def _write_sends(
    folder: Path, records: int, *, offset_of: Callable[[Numbers], Numbers], planted: bool = False
) -> None:
    (folder / SENDS_DIR).mkdir(parents=True)
    groups = _producer_groups(records)
    for part, first in enumerate(groups):
        path = folder / SENDS_DIR / f"part-{part:05}.parquet"
        with pq.ParquetWriter(path, SENDS, **parquet_options(SENDS)) as writer:
            for number in (first, *(next(groups) for _ in range(PRODUCERS - 1))):
                writer.write_table(_sends_table(number, offset_of(number), planted))


def _sends_table(number: Numbers, offset: Numbers, planted: bool) -> pa.Table:
    outcome = np.zeros(len(number), np.int8)
    if planted:
        for code, names in (
            (1, ("indeterminate_absent", "indeterminate_present")),
            (2, ("rejected", "rejected_present")),
            (3, ("unconfirmed_absent", "unconfirmed_present")),
        ):
            outcome[_planted(number, *names)] = code
    sent, count = _sent_ns(number), len(number)
    return _table(
        SENDS,
        {
            "producer": number % PRODUCERS,
            "seq": number // PRODUCERS,
            "topic": pa.repeat(TOPIC, count),
            "partition": _partition(number),
            "key": _key(number),
            "size": np.full(count, 100),
            "step": np.zeros(count),
            "sent_ns": sent,
            "outcome": pa.array(["acked", "indeterminate", "rejected", "unconfirmed"]).take(
                pa.array(outcome)
            ),
            "closed_ns": sent + 2_000_000 + _mixed(~number) % 1_000_000,
            "offset": pa.array(offset, mask=outcome != 0),
            "error": pa.array([None, "_MSG_TIMED_OUT", "MSG_SIZE_TOO_LARGE", None]).take(pa.array(outcome)),
        },
        count,
    )


class _ReadsFile:
    """`reads/part-PARTITION.parquet`."""

    def __init__(self, folder: Path, partition: int) -> None:
        target = folder / READS_DIR
        target.mkdir(exist_ok=True)
        self._partition = partition
        path = target / f"part-{partition:05}.parquet"
        self._writer = pq.ParquetWriter(path, READS, **parquet_options(READS))
        self.rows = self._late = 0

    def write(self, number: Numbers, offset: Numbers) -> None:
        order = np.argsort(offset, kind="stable")
        number, offset = number[order], offset[order]
        for start in range(0, len(number), READ_GROUP_ROWS):
            piece = slice(start, start + READ_GROUP_ROWS)
            self._rows(number[piece] % PRODUCERS, number[piece] // PRODUCERS, offset[piece])

    def write_late(self, producer: Numbers, seq: Numbers, end: int) -> None:
        """Records behind all others, at offsets from `end` on; a row group a producer."""
        for one in np.unique(producer):
            chosen = seq[producer == one]
            offset = end + self._late + np.arange(len(chosen), dtype=np.int64)
            self._rows(np.full(len(chosen), one), chosen, offset)
            self._late += len(chosen)

    def _rows(self, producer: Numbers, seq: Numbers, offset: Numbers) -> None:
        number, count = seq * PRODUCERS + producer, len(seq)
        columns = {
            "reader": pa.repeat("final", count),
            "topic": pa.repeat(TOPIC, count),
            "partition": np.full(count, self._partition),
            "offset": offset,
            "leader_epoch": np.zeros(count),
            "timestamp_ms": _sent_ns(number) // 1_000_000,
            "state": pa.repeat("ok", count),
            "run": np.full(count, RUN_ID),
            "producer": producer,
            "seq": seq,
            "key": _key(number),
            "read_ns": START_NS + offset * 100 + _mixed(number) % 100,
        }
        self._writer.write_table(_table(READS, columns, count))
        self.rows += count

    def __enter__(self) -> _ReadsFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()


def _table(schema: pa.Schema, columns: dict[str, object], count: int) -> pa.Table:
    """Columns that are not given are null."""
    nulls = pa.nulls(count)
    return pa.table(
        [
            given.cast(field.type) if isinstance(given, pa.Array) else pa.array(given).cast(field.type)
            for field in schema
            for given in (columns.get(field.name, nulls),)
        ],
        schema=schema,
    )


def _meta(folder: Path, records: int, reads: int, *, end_offset: int) -> None:
    end = START_NS + records * STEP_NS
    image = ImageInfo(reference="none", digest="none", origin="local", kafka_version="none")
    bounds = tuple(
        PartitionBounds(
            topic=TOPIC,
            partition=number,
            log_start_offset=0,
            end_offset=end_offset,
            leader=1,
            leader_epoch=0,
        )
        for number in range(PARTITIONS)
    )
    RunMeta(
        run_id=RUN_ID,
        experiment="bench",
        arm="bench",
        seed=0,
        topic=TOPIC,
        partitions=PARTITIONS,
        replication_factor=3,
        topic_config={},
        producer_config={},
        acks="1",
        idempotent=False,
        promise={},
        cluster=ClusterInfo(
            brokers=3,
            controllers=1,
            combined=False,
            profile="fast",
            properties={},
            image=image,
            start_seconds=0.0,
        ),
        versions={},
        started_ns=START_NS,
        ended_ns=end,
        steps=(StepInfo(index=0, name="write", kind="write", started_ns=START_NS, ended_ns=end),),
        final_read=FinalRead(
            complete=True, bounds=bounds, records=reads, finished_ns=end, replicas_inspected=(1,)
        ),
        finished=True,
    ).save(folder)

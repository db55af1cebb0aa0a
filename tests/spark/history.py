"""Hand-built runs: a few sends and reads as people would tell them, written as real run folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.model.journal import (
    OPEN_SENDS,
    READS,
    READS_DIR,
    REPLICAS,
    REPLICAS_DIR,
    SENDS,
    SENDS_DIR,
)
from harness.model.run import (
    ClusterInfo,
    FaultWindow,
    FinalRead,
    ImageInfo,
    PartitionBounds,
    RunMeta,
    StepInfo,
)

RUN = 4242
OTHER_RUN = 7
TOPIC = "t"
SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND
"""Times in histories are seconds after this moment."""
FINISHED = 100
"""When the final read ended."""

Row = dict[str, Any]


def ns(seconds: float | None) -> int | None:
    return None if seconds is None else T0 + round(seconds * SECOND)


def window(name: str, opened: float, closed: float | None, *, verified: bool = True) -> FaultWindow:
    return FaultWindow(
        name=name,
        kind="kill",
        target="leader",
        opened_ns=T0 + round(opened * SECOND),
        closed_ns=ns(closed),
        verified=verified,
    )


def step(index: int, name: str, started: float, ended: float | None, kind: str = "write") -> StepInfo:
    return StepInfo(
        index=index, name=name, kind=kind, started_ns=T0 + round(started * SECOND), ended_ns=ns(ended)
    )


def bounds(partition: int = 0, start: int = 0, end: int = 1000, leader: int = 1) -> PartitionBounds:
    return PartitionBounds(
        topic=TOPIC,
        partition=partition,
        log_start_offset=start,
        end_offset=end,
        leader=leader,
        leader_epoch=3,
    )


def run_meta(**changes: Any) -> RunMeta:
    """Metadata of a finished, complete run; `changes` replace fields."""
    image = ImageInfo(reference="kafka:test", digest="sha256:0", origin="local", kafka_version="4.3.1")
    cluster = ClusterInfo(
        brokers=3,
        controllers=1,
        combined=False,
        profile="fast",
        properties={},
        image=image,
        start_seconds=1.0,
    )
    final = FinalRead(
        complete=True, bounds=(bounds(),), finished_ns=ns(FINISHED), replicas_inspected=(1, 2, 3)
    )
    meta = RunMeta(
        run_id=RUN,
        experiment="hand-built",
        arm="only",
        seed=1,
        topic=TOPIC,
        partitions=1,
        replication_factor=3,
        topic_config={},
        producer_config={},
        acks="all",
        idempotent=False,
        promise={},
        cluster=cluster,
        versions={},
        started_ns=T0,
        ended_ns=ns(FINISHED),
        steps=(step(0, "write", 0, 50),),
        windows=(),
        final_read=final,
        finished=True,
    )
    return meta.model_copy(update=changes)


@dataclass
class History:
    """What clients saw. `producer` and `partition` are added to those of every row, so that many histories
    can stand in one run side by side."""

    producer: int = 0
    partition: int = 0
    sends: list[Row] = field(default_factory=list)
    opened: list[Row] = field(default_factory=list)
    reads: list[Row] = field(default_factory=list)
    replicas: list[Row] = field(default_factory=list)

    def send(
        self,
        seq: int,
        outcome: str = "acked",
        *,
        at: int | None = None,
        producer: int = 0,
        partition: int = 0,
        topic: str = TOPIC,
        key: int | None = None,
        step: int = 0,
        sent: float = 1.0,
        closed: float | None = 2.0,
        error: str | None = None,
        still_open: bool = False,
    ) -> History:
        (self.opened if still_open else self.sends).append(
            {
                "producer": self.producer + producer,
                "seq": seq,
                "topic": topic,
                "partition": self.partition + partition,
                "key": key,
                "size": 100,
                "step": step,
                "sent_ns": ns(sent),
                "outcome": outcome,
                "closed_ns": ns(closed),
                "offset": at,
                "error": error,
            }
        )
        return self

    def read(
        self,
        seq: int | None,
        *,
        at: int,
        producer: int | None = 0,
        partition: int = 0,
        topic: str = TOPIC,
        key: int | None = None,
        epoch: int | None = 0,
        state: str = "ok",
        run: int | None = RUN,
        value: bytes | None = None,
        reader: str = "final",
    ) -> History:
        self.reads.append(
            {
                "reader": reader,
                "topic": topic,
                "partition": self.partition + partition,
                "offset": at,
                "leader_epoch": epoch,
                "timestamp_ms": None,
                "state": state,
                "run": run,
                "producer": None if producer is None else self.producer + producer,
                "seq": seq,
                "key": key,
                "value": value,
                "read_ns": ns(FINISHED),
            }
        )
        return self

    def replica(
        self, broker: int, seq: int, *, at: int = 0, producer: int = 0, state: str = "ok", run: int = RUN
    ) -> History:
        self.replicas.append(
            {
                "broker": broker,
                "topic": TOPIC,
                "partition": self.partition,
                "offset": at,
                "leader_epoch": 0,
                "timestamp_ms": None,
                "control": False,
                "state": state,
                "run": run,
                "producer": self.producer + producer,
                "seq": seq,
            }
        )
        return self


def write_part(path: Path, rows: Sequence[Row], schema: pa.Schema) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path)


def write_run(
    folder: Path, *histories: History, meta: RunMeta | None = None, files: int = 1, reverse: bool = False
) -> Path:
    """Write a run folder of all these histories; `files` parts a journal, rows backwards if `reverse`."""
    for name, attribute, schema in (
        (SENDS_DIR, "sends", SENDS),
        (READS_DIR, "reads", READS),
        (REPLICAS_DIR, "replicas", REPLICAS),
    ):
        rows = [row for history in histories for row in getattr(history, attribute)]
        if name == REPLICAS_DIR and not rows:
            continue
        if reverse:
            rows.reverse()
        for number in range(files):
            write_part(folder / name / f"part-{number:05}.parquet", rows[number::files], schema)
    opened = [row for history in histories for row in history.opened]
    if opened:
        write_part(folder / SENDS_DIR / OPEN_SENDS, opened, SENDS)
    meta = meta or run_meta()
    if meta.final_read is not None:
        count = sum(len(history.reads) for history in histories)
        meta = meta.model_copy(update={"final_read": meta.final_read.model_copy(update={"records": count})})
    meta.save(folder)
    return folder


def findings_of(folder: Path) -> list[Row]:
    """The findings that a check left, ordered by identity and offset."""
    rows = pq.read_table(folder / "findings").to_pylist()
    return sorted(
        rows, key=lambda row: (row["producer"] or -1, row["seq"] or -1, row["finding"], row["offsets"])
    )

"""A check of a tiny run, so that an engine has compiled what a check needs before the first real one.

Apache Spark generates and compiles code for every query that it has not seen, and its JVM compiles what is
called often; the first check of a server therefore takes several times as long as the next ones.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from harness.model.journal import LIVE_DIR, READS, READS_DIR, SAMPLES, SAMPLES_DIR, SENDS, SENDS_DIR
from harness.model.run import FaultWindow, FinalRead, PartitionBounds, ReaderInfo, RunMeta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RUN, _TOPIC, _READER = 1, "warm-up", "reader"
_TOPIC_PARTITION = {"topic": _TOPIC, "partition": 0}
_SECOND = 1_000_000_000
_T0 = 1_700_000_000 * _SECOND
"""When the run began, in ns since the epoch."""

_OUTCOMES = ("acked", "acked", "acked", "acked", "indeterminate", "indeterminate", "rejected", "unconfirmed")
_READ = (0, 1, 2, 2, 4, 6)
"""Sequence numbers in the final read, by offset: number 3 is lost, number 2 is a duplicate, one of the two
indeterminate sends and the rejected one were written."""


def warm(spark: SparkSession) -> None:
    """Check a run of eight sends, with the usual findings, a reader, a fault, and samples of the leader.

    Raises:
        CheckError: the engine failed.
    """
    from checkers.check import check_run

    with tempfile.TemporaryDirectory(prefix="kafka-chaos-warm-up-") as folder:
        write_tiny_run(Path(folder))
        check_run(spark, Path(folder))


def write_tiny_run(folder: Path) -> None:
    """Write the run that `warm` checks."""
    sends = [
        {
            **_TOPIC_PARTITION,
            "producer": 0,
            "seq": seq,
            "key": seq,
            "size": 100,
            "step": 0,
            "sent_ns": _T0 + seq * _SECOND,
            "outcome": outcome,
            "closed_ns": _T0 + seq * _SECOND + _SECOND // 100,
            "offset": seq if outcome == "acked" else None,
            "error": None if outcome == "acked" else "_MSG_TIMED_OUT",
        }
        for seq, outcome in enumerate(_OUTCOMES)
    ]
    reads = [
        {
            **_TOPIC_PARTITION,
            "reader": "final",
            "offset": offset,
            "leader_epoch": 0,
            "state": "ok",
            "run": _RUN,
            "producer": 0,
            "seq": seq,
            "key": seq,
            "read_ns": _T0 + 20 * _SECOND + offset,
        }
        for offset, seq in enumerate(_READ)
    ]
    live = [row | {"reader": _READER, "session": 0, "position": row["offset"]} for row in reads]
    samples = [
        {
            **_TOPIC_PARTITION,
            "at_ns": _T0 + second * _SECOND,
            "broker": 1,
            "answered": True,
            "leader": 1 + second // 5,
            "leader_epoch": second // 5,
        }
        for second in range(10)
    ]
    for name, schema, rows in (
        (SENDS_DIR, SENDS, sends),
        (READS_DIR, READS, reads),
        (f"{LIVE_DIR}/{_READER}", READS, live),
        (SAMPLES_DIR, SAMPLES, samples),
    ):
        (folder / name).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / name / "part-00000.parquet")
    _meta().save(folder)


def _meta() -> RunMeta:
    end = _T0 + 30 * _SECOND
    bounds = PartitionBounds(
        topic=_TOPIC, partition=0, log_start_offset=0, end_offset=len(_READ), leader=2, leader_epoch=1
    )
    return RunMeta(
        run_id=_RUN,
        experiment=_TOPIC,
        arm=_TOPIC,
        topic=_TOPIC,
        partitions=1,
        replication_factor=2,
        acks="1",
        idempotent=False,
        readers=(ReaderInfo(name=_READER, group=_READER, records=len(_READ), closed=True),),
        started_ns=_T0,
        ended_ns=end,
        windows=(
            FaultWindow(
                name="kill",
                kind="kill",
                target="broker-1",
                opened_ns=_T0 + 2 * _SECOND,
                closed_ns=_T0 + 4 * _SECOND,
                verified=True,
            ),
        ),
        final_read=FinalRead(
            complete=True, bounds=(bounds,), records=len(_READ), finished_ns=end, replicas_inspected=(1, 2)
        ),
        finished=True,
    )

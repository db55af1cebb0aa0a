"""Time of a check against a plain pandas merge of the same journals: `python -m checkers.bench`.

Both read the same Parquet files and must count the same findings. Ours does more (evidence, findings on
disk, examples, availability); the merge is what one would write by hand, and needs all journals in memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.session import spark_session
from harness.model.journal import READS, READS_DIR, SENDS, SENDS_DIR
from harness.model.run import ClusterInfo, FinalRead, ImageInfo, PartitionBounds, RunMeta, StepInfo

RUN_ID, TOPIC, PARTITIONS, PRODUCERS = 4711, "bench", 6, 4
START_NS, STEP_NS = 1_700_000_000_000_000_000, 5_000
PART_ROWS = 500_000
ONE_IN_LOST, ONE_IN_TWICE, ONE_IN_UNKNOWN = 10_000, 20_000, 1_000


def write_run(folder: Path, records: int) -> None:
    """A run of that many sends, nearly all acknowledged and read once, parts of half a million rows."""
    index = np.arange(records, dtype=np.int64)
    producer, seq = (index % PRODUCERS).astype(np.int32), index // PRODUCERS
    partition = (seq % PARTITIONS).astype(np.int32)
    offset = index // PARTITIONS
    unknown = index % ONE_IN_UNKNOWN == 1
    lost = index % ONE_IN_LOST == 2
    twice = index % ONE_IN_TWICE == 3
    sent = START_NS + index * STEP_NS
    nothing = pa.nulls(records)
    sends = {
        "producer": producer,
        "seq": seq,
        "topic": pa.DictionaryArray.from_arrays(np.zeros(records, np.int32), [TOPIC]).cast(pa.string()),
        "partition": partition,
        "key": seq % 1000,
        "size": np.full(records, 100, np.int32),
        "step": np.zeros(records, np.int32),
        "sent_ns": sent,
        "outcome": pa.array(np.where(unknown, "indeterminate", "acked")),
        "closed_ns": sent + 3_000_000,
        "offset": pa.array(offset, mask=unknown),
        "error": pa.array(np.where(unknown, "_MSG_TIMED_OUT", ""), mask=~unknown),
    }
    kept = np.concatenate([index[~lost], index[twice]])
    again = np.concatenate([np.zeros(int((~lost).sum()), bool), np.ones(int(twice.sum()), bool)])
    rows = len(kept)
    reads = {
        "reader": pa.array(np.full(rows, "final")),
        "topic": pa.array(np.full(rows, TOPIC)),
        "partition": partition[kept],
        "offset": offset[kept] + again * records,
        "leader_epoch": np.zeros(rows, np.int32),
        "timestamp_ms": sent[kept] // 1_000_000,
        "state": pa.array(np.full(rows, "ok")),
        "run": np.full(rows, RUN_ID, np.int64),
        "producer": producer[kept],
        "seq": seq[kept],
        "key": seq[kept] % 1000,
        "value": nothing.slice(0, 0) if rows == 0 else pa.nulls(rows, pa.binary()),
        "read_ns": np.full(rows, START_NS, np.int64),
    }
    for name, columns, schema in ((SENDS_DIR, sends, SENDS), (READS_DIR, reads, READS)):
        (folder / name).mkdir(parents=True)
        size = len(columns[schema.names[0]])
        given = [columns.get(field.name, pa.nulls(size)) for field in schema]
        pairs = zip(given, schema, strict=True)
        table = pa.table([pa.array(column, field.type) for column, field in pairs], schema=schema)
        for part in range(0, table.num_rows, PART_ROWS):
            pq.write_table(
                table.slice(part, PART_ROWS), folder / name / f"part-{part // PART_ROWS:05}.parquet"
            )
    end = START_NS + records * STEP_NS
    bounds = tuple(
        PartitionBounds(
            topic=TOPIC,
            partition=number,
            log_start_offset=0,
            end_offset=2 * records,
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
            image=ImageInfo(reference="none", digest="none", origin="local", kafka_version="none"),
            start_seconds=0.0,
        ),
        versions={},
        started_ns=START_NS,
        ended_ns=end,
        steps=(StepInfo(index=0, name="write", kind="write", started_ns=START_NS, ended_ns=end),),
        final_read=FinalRead(
            complete=True, bounds=bounds, records=rows, finished_ns=end, replicas_inspected=(1,)
        ),
        finished=True,
    ).save(folder)


def check(spark: SparkSession, folder: Path) -> dict[str, int]:
    """Ours: a whole check, as `kafka-chaos check` does it."""
    return {finding.value: count for finding, count in check_run(spark, folder).findings.items()}


def merge(folder: Path) -> dict[str, int]:
    """The peer: a full outer merge on identity, in memory, counting only."""
    identity = ["producer", "seq"]
    sends = pd.read_parquet(folder / SENDS_DIR, columns=[*identity, "partition", "outcome"])
    reads = pd.read_parquet(folder / READS_DIR, columns=[*identity, "partition", "offset"])
    both = sends.merge(reads, how="outer", on=identity, suffixes=("", "_read"), indicator=True)
    present = both["_merge"] == "both"
    twice = both[present].groupby(identity)["offset"].nunique() > 1
    counts = {
        "lost": int(((both["_merge"] == "left_only") & (both["outcome"] == "acked")).sum()),
        "duplicate": int(twice.sum()),
        "phantom": int((both["_merge"] == "right_only").sum()),
        "misplaced": int((present & (both["partition"] != both["partition_read"])).sum()),
        "recovered": int((present & (both["outcome"] == "indeterminate")).sum()),
    }
    return {name: count for name, count in counts.items() if count}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m checkers.bench", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="sends (and about as many reads)")
    parser.add_argument("--repeats", type=int, default=5, help="timed runs of each, taken in turns")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-bench-") as scratch:
        folder = Path(scratch)
        write_run(folder, options.records)
        started = time.perf_counter()
        spark = spark_session(master=f"local[{options.cores}]")
        print(
            f"session start {time.perf_counter() - started:.1f} s; "
            f"{options.records:,} sends, {os.cpu_count()} cores"
        )
        turns: dict[str, Callable[[], dict[str, int]]] = {
            "check_run": lambda: check(spark, folder),
            "pandas merge": lambda: merge(folder),
        }
        times: dict[str, list[float]] = {name: [] for name in turns}
        for _ in range(options.repeats + 1):
            answers = []
            for name, work in turns.items():
                started = time.perf_counter()
                answers.append(work())
                times[name].append(time.perf_counter() - started)
        if answers[0] != answers[1]:
            raise SystemExit(f"they disagree: {answers[0]} against {answers[1]}")
        print(f"both count {answers[0]}")
        print(f"{'':14}{'first':>9}{'median':>9}{'min':>9}{'max':>9}  seconds")
        for name, (first, *rest) in times.items():
            print(f"{name:14}{first:9.2f}{statistics.median(rest):9.2f}{min(rest):9.2f}{max(rest):9.2f}")
        spark.stop()


if __name__ == "__main__":
    main()

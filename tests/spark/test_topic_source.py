"""Spark's own Kafka source against librdkafka's mock cluster: the topic is checked, not the journal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from tests.spark.history import RUN, History, bounds, run_meta, write_run
from tests.spark.standalone import environment
from tests.spark.test_cluster import ROOT
from workloads.client_log import client_logger
from workloads.identity import ValueBuilder, encode_key

pytestmark = [pytest.mark.spark, pytest.mark.soak]

PARTITIONS = 4
"""The mock cluster's topics have so many."""


def test_a_topic_is_checked_from_its_brokers(tmp_path: Path) -> None:
    """Its journal of reads is empty on purpose: whatever is found came from the brokers."""
    mock = Producer({"test.mock.num.brokers": 3}, logger=client_logger())
    brokers = mock.list_topics(timeout=30).brokers.values()
    bootstrap = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    client = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0}, logger=client_logger())
    build = ValueBuilder(RUN, 0, 100, 1)
    history = History()
    ends = [0] * PARTITIONS
    for seq in range(40):
        partition = seq % PARTITIONS
        history.send(seq, at=ends[partition], partition=partition, key=seq)
        if seq == 7:
            continue  # lost
        for _ in range(2 if seq == 8 else 1):
            client.produce("t", build(seq), encode_key(seq), partition)
            ends[partition] += 1
    client.produce("t", b"junk", None, 0)
    # Behind the bounds of the final read: not of this run.
    client.produce("t", build(99), None, 1)
    assert client.flush(30) == 0
    final = run_meta().final_read
    assert final is not None
    limits = tuple(bounds(number, 0, end + (number == 0)) for number, end in enumerate(ends))
    folder = tmp_path / "run"
    folder.mkdir()
    write_run(folder, history, meta=run_meta(final_read=final.model_copy(update={"bounds": limits})))
    # write_run counts the journal's reads; what the brokers hold is what the final read says.
    text = json.loads((folder / "run.json").read_text())
    text["final_read"]["records"] = sum(ends) + 1
    (folder / "run.json").write_text(json.dumps(text))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "harness.cli", "check", str(folder), "--json", "--quiet"),
            *("--spark-master", "local[1]", "--driver-memory", "1g"),
            *("--read-with", "spark", "--bootstrap", bootstrap),
        ],
        capture_output=True,
        text=True,
        env=environment() | {"PYTHONPATH": str(ROOT)},
        timeout=900,
        check=False,
    )
    arm = json.loads(done.stdout)["arms"][0] if done.stdout else {}
    assert arm, done.stderr
    assert arm["summary"] is not None, arm["meta"]["problems"]
    assert arm["summary"]["findings"] == {"lost": 1, "duplicate": 1, "corrupt": 1}
    assert arm["summary"]["problems"] == []
    rows = pq.read_table(folder / "spark-reads").to_pylist()
    assert len(rows) == sum(ends) + 1
    assert {row["reader"] for row in rows} == {"spark"}
    assert all(row["key"] == row["seq"] and row["timestamp_ms"] for row in rows if row["state"] == "ok")
    assert pq.read_table(folder / "reads").num_rows == 0

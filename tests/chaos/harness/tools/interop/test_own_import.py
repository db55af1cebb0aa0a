"""Journals of a program of one's own, without a run: imported with a final read, and checked."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.check_jobs.recheck import check_results
from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.result import VerdictWord
from harness.pytest_plugin.single_fault import open_fault
from harness.tools.interop.own_import import OwnImport, import_own
from workloads.own.journaled import journaled
from workloads.own.producer_folder import ProducerFolder

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

RECORDS = 300


def test_a_program_is_accounted_for_without_a_run(
    cluster: ManagedCluster, topic: str, tmp_path: Path
) -> None:
    sent = tmp_path / "sent"
    with journaled(Producer({"bootstrap.servers": cluster.bootstrap}), journal=sent, topic=topic) as producer:
        for number in range(RECORDS):
            producer.produce(topic, f"before {number}")
        producer.flush()
        kill = {"kill": {"target": {"leader": 0}}}
        with open_fault(cluster, kill, topic, tmp_path / "faults", 1, "fail"):
            for number in range(RECORDS):
                producer.produce(topic, f"behind {number}")
            assert producer.flush(120) == 0
    whole = tmp_path / "whole"
    meta = import_own(OwnImport((sent,), cluster.bootstrap), whole)
    assert meta.final_read is not None
    assert meta.final_read.complete, meta.final_read.reasons
    (arm,) = check_results(whole).arms
    assert arm.judgement.verdict is VerdictWord.VALID, arm.judgement
    assert arm.summary is not None
    assert arm.summary.outcomes == {"acked": 2 * RECORDS}
    # The control: a program that says that a record was acknowledged which is nowhere.
    run_id, now = ProducerFolder(sent).target().run_id, time.time_ns() // 1_000_000
    lines = [
        {"event": "begin", "producer": 9, "run": run_id, "topic": topic},
        {"event": "sent", "seq": 0, "time_ms": now},
        {"event": "acked", "seq": 0, "time_ms": now, "partition": 0, "offset": 2 * RECORDS},
        {"event": "end"},
    ]
    events = tmp_path / "liar.jsonl"
    events.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_own(OwnImport((sent, events), cluster.bootstrap), tmp_path / "short")
    (arm,) = check_results(tmp_path / "short").arms
    assert arm.judgement.verdict is VerdictWord.INVALID, arm.judgement
    assert arm.summary is not None
    assert arm.summary.findings == {FindingClass.LOST: 1}

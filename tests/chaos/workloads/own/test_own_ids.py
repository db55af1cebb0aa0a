"""A service that sends an order again when its send has timed out: the order is in the log twice, each record
of it once, and the orders are named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner

from harness.cli.app import app
from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.id_journal import LOG_IDS_DIR
from harness.model.journal_reader import journal_rows
from harness.model.result import ExperimentResult, VerdictWord
from harness.pytest_plugin.chaos_result import ChaosResult
from harness.spec.experiment_files import load
from tests.chaos.support.own_programs import OwnProgram, run_programs
from tests.chaos.support.suite import Started
from tests.support.history import findings_of

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

PAUSED = """
name: own-ids
title: The leader is paused for longer than a service waits for its answer
topic: {assignment: [[1, 2, 3]], config: {min.insync.replicas: 2}}
workload: {client: own, own: {id: {json: order.id}}}
together: true
steps:
  - write: {name: before, seconds: 2}
  - inject: {pause: {target: {leader: 0}}}
  - write: {name: paused, seconds: 4}
  - heal:
  - write: {name: after, seconds: 5}
arms:
  - {name: again, producer: {acks: all}, promise: {duplicate_id: ">= 1", reordered: any, duplicate: any}}
  - {name: once, producer: {acks: all, enable_idempotence: true}}
"""
SERVICE = """
import json, os, time
from confluent_kafka import Producer
from kafka_chaos import journaled

settings = json.loads(os.environ["SETTINGS"])
producer = journaled(Producer({
    "bootstrap.servers": os.environ["KAFKA_CHAOS_BOOTSTRAP"], "message.timeout.ms": settings["ms"],
    "enable.idempotence": not settings["again"], "linger.ms": 0}))
failed = []
producer.wait_begun(60)


def send(order):
    def told(error, message):
        if error is not None and settings["again"]:
            failed.append(order)
    value = json.dumps({"order": {"id": f"order-{order}"}})
    producer.produce(os.environ["KAFKA_CHAOS_TOPIC"], value, on_delivery=told)


number = 0
while not producer.run_over:
    send(number)
    number += 1
    producer.poll(0.01)
    while failed:
        send(failed.pop(0))
producer.close()
"""
PROGRAMS = {
    arm: OwnProgram((sys.executable, "-c", SERVICE), environment={"SETTINGS": settings})
    for arm, settings in (("again", '{"again": true, "ms": 1500}'), ("once", '{"again": false, "ms": 30000}'))
}


@pytest.fixture
def cluster(started: Started) -> ManagedCluster:
    return started(load("cut-then-kill").cluster)


def test_an_order_that_was_sent_again_is_found_by_its_number(cluster: ManagedCluster, results: Path) -> None:
    arms = run_programs(cluster, PAUSED, PROGRAMS, results)
    again, once = arms["again"], arms["once"]
    assert again.judgement.verdict is VerdictWord.INVALID
    assert again.summary is not None
    assert once.summary is not None
    assert FindingClass.DUPLICATE_ID not in once.summary.findings
    assert once.judgement.verdict is VerdictWord.VALID
    (folder,) = {path.parent for path in results.rglob(f"{again.folder}/run.json")}
    found = [row for row in findings_of(folder) if row["finding"] == "duplicate_id"]
    assert len(found) == again.summary.findings[FindingClass.DUPLICATE_ID]
    assert all(row["id"].startswith("order-") and row["copies"] >= 2 for row in found)
    # A send that the client itself has repeated, which is not idempotent here, may be there twice, too.
    sent_again = [row for row in found if row["count"] >= 2]
    assert sent_again
    for row in sent_again:
        assert "_MSG_TIMED_OUT after" in row["detail"], "the sends are told side by side"
        assert "; sent again: producer 0 seq " in row["detail"]
    # Some were sent when the leader had just gone on, and had to work through what had waited.
    assert "pause-1" in {row["windows"] for row in sent_again}
    assert_a_missed_order_is_named(folder, sent_again[0]["id"])


def assert_a_missed_order_is_named(folder: Path, order: str) -> None:
    """As by the application of a test that has processed all records but one copy of this order."""
    whole = ExperimentResult.model_validate_json((folder.parent / "result.json").read_text())
    ids = {(row["partition"], row["offset"]): row["id"] for row in journal_rows(folder / LOG_IDS_DIR)}
    missed = next(position for position, one in ids.items() if one == order)
    result = ChaosResult(whole, folder.parent).arm("again")
    result.assert_delivered(ids)
    with pytest.raises(AssertionError, match=r"1 record.s. were never processed") as failed:
        result.assert_delivered(ids.keys() - {missed})
    partition, offset = missed
    assert f"partition {partition}, offset {offset}, id {order}" in str(failed.value)


def test_a_list_of_orders_is_compared_with_a_topic(cluster: ManagedCluster, tmp_path: Path) -> None:
    """Of the acknowledged orders 9 is not in the topic, 7 is there twice; 11 timed out and is there, and 500
    has no line."""
    admin = cluster.admin()
    admin.create("orders-of-a-list", partitions=2, replication_factor=3, config={})
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for order in (*(number for number in range(200) if number != 9), 7, 500):
        producer.produce("orders-of-a-list", json.dumps({"order": {"id": f"order-{order}"}}))
    assert producer.flush(60) == 0
    rows = [f"order-{number},{'timeout' if number == 11 else 'ok'}" for number in range(200)]
    (tmp_path / "sent.csv").write_text("\n".join(("order_id,outcome", *rows)) + "\n")
    folder = tmp_path / "run"
    place = ["--id", "order_id", "--received-id", "json:order.id", "--folder", str(folder)]
    read = ["--topic", "orders-of-a-list", "--bootstrap-servers", cluster.bootstrap]
    for arguments, code in (
        (["import-ids", "--sent", str(tmp_path / "sent.csv"), *place, *read], 0),
        (["check", str(folder)], 1),
    ):
        done = CliRunner().invoke(app, [*arguments, "--quiet"])
        assert done.exit_code == code, done.output
    assert {(row["finding"], row["id"]) for row in findings_of(folder)} == {
        ("lost_id", "order-9"),
        ("duplicate_id", "order-7"),
        ("phantom_id", "order-500"),
    }
    admin.delete("orders-of-a-list")

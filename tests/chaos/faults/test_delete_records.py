"""Deleted records on real brokers: replicas begin later, a reader is reset, the check says expired."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from faults.delete_records import DeleteOldRecords
from faults.shared.fault_spec import InjectionContext
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.errors import ClusterError, FaultError
from harness.model.result import VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.experiment_files import parse
from tests.chaos.support.cluster_queries import PATIENCE, partition_state
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos

RUN = """
name: deletion
title: Records are deleted while they are written and read
topic: {partitions: 2, config: {min.insync.replicas: 2}}
workload: {rate: 300}
readers:
- {name: reader}
steps:
- write: {name: w, seconds: 8, faults: [{fault: {delete_records: {share: 1.0}}, at: 4, for: 1}]}
arms:
- {name: deleted, producer: {acks: all, enable.idempotence: true}}
- {name: control, producer: {acks: all, enable.idempotence: true}, without_faults: true}
"""


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}", seed="7")


def write(cluster: ManagedCluster, topic: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    for _ in range(records):
        producer.produce(topic, b"x")
    assert producer.flush(PATIENCE) == 0
    settle(cluster, topic, 1, 3, PATIENCE)


def test_half_of_the_records_are_deleted_on_every_replica(
    cluster: ManagedCluster, topic: str, prove: Prove, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FaultError, match="there are no records to delete"):
        DeleteOldRecords().aim(context(cluster, topic))
    write(cluster, topic, 100)
    with monkeypatch.context() as short:
        short.setattr("faults.delete_records.RecordsDeleted.proof_seconds", 1.0)
        unasked = DeleteOldRecords().aim(context(cluster, topic)).verify(context(cluster, topic))
    assert "still begins at offset 0" in unasked.what, "nothing was deleted yet"
    with prove(DeleteOldRecords(partition=0)) as shown:
        assert partition_state(cluster, topic).log_start_offset == 50
        assert "begins at offset 50, on every replica" in shown.what
        assert first_offset(cluster, topic, 10) == 50, "a reader below is reset to where the log begins"
    assert partition_state(cluster, topic).log_start_offset == 50


def first_offset(cluster: ManagedCluster, topic: str, position: int) -> int | None:
    """The offset of the first record that a consumer gets which begins at this position."""
    reader = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "below", "auto.offset.reset": "earliest"}
    )
    reader.assign([TopicPartition(topic, 0, position)])
    (message,) = reader.consume(1, PATIENCE)
    reader.close()
    assert message.error() is None
    offset: int | None = message.offset()
    return offset


def test_a_topic_that_is_only_compacted_refuses(cluster: ManagedCluster) -> None:
    name, admin = "only-compacted", cluster.admin()
    admin.create(name, partitions=1, replication_factor=3, config={"cleanup.policy": "compact"})
    settle(cluster, name, 1, 3, PATIENCE)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    producer.produce(name, b"x", key=b"k")
    assert producer.flush(PATIENCE) == 0
    settle(cluster, name, 1, 3, PATIENCE)
    with pytest.raises(ClusterError, match=r"POLICY_VIOLATION|policy"):
        DeleteOldRecords().aim(context(cluster, name)).apply(context(cluster, name))
    admin.delete(name)


@pytest.mark.soak
def test_what_was_deleted_is_expired_and_not_lost(cluster: ManagedCluster, results: Path) -> None:
    _, result = run_on(cluster, parse(RUN, "deletion"), Options(results=results, seed=3))
    deleted, control = result.arms
    for arm in result.arms:
        assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
        assert arm.summary is not None
    assert deleted.summary is not None
    assert control.summary is not None
    (window,) = deleted.meta.windows
    assert window.verified, window.evidence
    removed = sum(one.before or 0 for one in deleted.meta.deletions)
    assert {one.partition for one in deleted.meta.deletions} == {0, 1}
    assert deleted.summary.findings["expired"] == removed
    assert "lost" not in deleted.summary.findings
    assert "skipped" not in deleted.summary.findings
    assert control.meta.deletions == ()
    assert "expired" not in control.summary.findings

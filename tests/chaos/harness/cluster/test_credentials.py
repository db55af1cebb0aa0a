"""Clusters whose clients must come over TLS with a password: every client of ours does, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness.cluster.live import LiveCluster
from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.client_security import ClientSecurity
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment_files import parse
from harness.spec.security import SecuritySpec
from tests.chaos.support.cluster_queries import PATIENCE, await_answers
from tests.chaos.support.windows import not_proved

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

KILL = """
name: secured
title: The leader is killed where clients come over TLS, as a user
cluster: {security: {tls: true, sasl: scram}}
topic: {partitions: 3, replication_factor: 3, config: {min.insync.replicas: 2}}
workload: {rate: 1000, keys: 50}
readers:
  - {name: group, group: secured-group, members: 2, commits: manual, isolation: read_committed}
steps:
  - write:
      name: steady
      seconds: 8
      faults: [{fault: {kill: {target: {leader: 0}}}, at: 2, for: 4}]
  - ask: {name: who, of: {followers: 0}, what: [leader, high_watermark]}
arms:
  - {name: safe, producer: {acks: all, enable.idempotence: true}, promise: {lost: 0, duplicate: 0}}
  - name: transactions
    producer: {acks: all, enable.idempotence: true}
    workload: {rate: 500, transactions: {records: 50, abort: 0.2}}
    promise: {lost: 0, duplicate: 0}
"""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    spec = ClusterSpec(security=SecuritySpec(tls=True, sasl="scram"))
    with ManagedCluster(spec, log_folder=tmp_path_factory.mktemp("logs")) as started:
        yield started


def _run(cluster: ManagedCluster, text: str, results: Path) -> tuple[Path, tuple[ArmResult, ...]]:
    folder, result = run_on(cluster, parse(text, "test"), Options(results=results, seed=3))
    return folder, result.arms


def test_a_killed_leader_loses_nothing_and_every_client_gets_in(
    secured: ManagedCluster, results: Path
) -> None:
    folder, arms = _run(secured, KILL, results)
    for arm in arms:
        assert arm.summary is not None
        assert arm.judgement.verdict is VerdictWord.VALID, arm.judgement
        assert arm.judgement.as_promised
        assert arm.summary.count(FindingClass.LOST) == 0
        assert sum(arm.summary.acked_by_step.values()) > 100
        assert not_proved(arm.meta) == []
    password = secured.access.properties["sasl.password"].encode()
    left = [path for path in folder.rglob("*") if path.is_file() and password in path.read_bytes()]
    assert left == []


def test_the_java_client_gets_in(secured: ManagedCluster, results: Path) -> None:
    text = """
name: secured-java
title: The Java client where clients come over TLS, as a user
cluster: {security: {tls: true, sasl: scram}}
workload: {client: java}
steps: [{write: {name: some, records: 500}}]
arms: [{name: safe, producer: {acks: all, enable.idempotence: true}, promise: {lost: 0, duplicate: 0}}]
"""
    _, (arm,) = _run(secured, text, results)
    assert arm.judgement.verdict is VerdictWord.VALID, arm.judgement
    assert arm.summary is not None
    assert arm.summary.acked_by_step == {"some": 500}


def _refused_by_wire(cluster: LiveCluster, access: ClientSecurity) -> str:
    with (
        BrokerConnection(1, *cluster.endpoint(1), 10.0, access.login) as connection,
        pytest.raises(OSError, match="did not answer") as refused,
    ):
        connection.metadata(())
    return str(refused.value)


def _admitted(cluster: LiveCluster, access: ClientSecurity, seconds: float = 8) -> bool:
    """Whether librdkafka gets in. Who is refused is not told so, but tries again until the time is over."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0, **access.properties})
    try:
        client.list_topics(timeout=seconds)
    except KafkaException:
        return False
    return True


def test_nobody_else_gets_in(secured: ManagedCluster) -> None:
    right = secured.access
    wrong = replace(right, properties={**right.properties, "sasl.password": "wrong"})
    nameless = ClientSecurity({"security.protocol": "SSL", "ssl.ca.pem": right.properties["ssl.ca.pem"]})
    assert _admitted(secured, right, PATIENCE)
    for other in (wrong, nameless, ClientSecurity()):
        assert not _admitted(secured, other)
    assert "Authentication failed" in _refused_by_wire(secured, wrong)
    _refused_by_wire(secured, ClientSecurity())
    _refused_by_wire(secured, nameless)


def test_a_broker_that_an_authority_unknown_to_us_vouches_for_is_not_believed(
    secured: ManagedCluster,
) -> None:
    from harness.cluster.credentials import Authority

    given = {**secured.access.properties, "ssl.ca.pem": Authority("another").certificate}
    assert "not trusted" in _refused_by_wire(secured, ClientSecurity(given))
    assert not _admitted(secured, ClientSecurity(given))


@pytest.mark.parametrize(
    "spec",
    [
        ClusterSpec(security=SecuritySpec(tls=True)),
        ClusterSpec(security=SecuritySpec(sasl="plain")),
        ClusterSpec(security=SecuritySpec(tls=True, sasl="plain"), version="3.9.2"),
        ClusterSpec.model_validate(
            {"version": "2.8.2", "metadata": "zookeeper", "security": {"tls": True, "sasl": "scram"}}
        ),
    ],
    ids=["tls", "plain", "tls-plain-3.9", "tls-scram-2.8-zookeeper"],
)
def test_the_other_kinds(spec: ClusterSpec) -> None:
    with ManagedCluster(spec) as cluster:
        await_answers(cluster, cluster.broker_ids)
        assert _admitted(cluster, cluster.access, PATIENCE)
        assert not _admitted(cluster, ClientSecurity())

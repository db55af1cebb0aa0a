"""Proxies before brokers whose clients must come over TLS with a password: TLS ends at them, SASL passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.cluster import state_records
from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.cluster.running_cluster import attach
from harness.model.request_rules import RequestRule
from harness.model.result import VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.cluster import ClusterSpec, ExternalClusterSpec
from harness.spec.experiment_files import parse
from tests.chaos.support.cluster_queries import await_answers
from tests.chaos.support.windows import not_proved
from tests.support.proxies import addresses
from workloads.records.clients import client_logger

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

RUN = """
name: through-tls
title: Requests are refused and late, and the leader is killed, where clients come over TLS, as a user
cluster: {proxy: true, security: {tls: true, sasl: scram}}
topic: {partitions: 1, replication_factor: 3, config: {min.insync.replicas: 2}}
workload: {rate: 300, keys: 50}
readers: [{name: group, group: tls-group, members: 2, commits: manual}]
steps:
  - write:
      name: steady
      seconds: 30
      faults:
        - {fault: {requests: {on: {api: Produce}, do: error NOT_ENOUGH_REPLICAS}}, at: 1, for: 3}
        - {fault: {kill: {target: {leader: 0}}}, at: 6, for: 4}
        # Last, since a node that starts again has a proxy without rules.
        - fault: {latency: {target: {leader: 0}, to: {client: true}, delay_ms: 200, by: proxy}}
          at: 20
          for: 6
arms:
  - {name: safe, producer: {acks: all, enable.idempotence: true}, promise: {lost: 0, duplicate: 0}}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    spec = parse(RUN, "test").cluster
    with ManagedCluster(spec, log_folder=tmp_path_factory.mktemp("logs")) as started:
        yield started


def _refused(cluster: ManagedCluster) -> int:
    return sum(cluster.proxy(one).status()["listeners"]["CLIENT"]["refused"] for one in cluster.broker_ids)


def test_faults_by_request_act_where_clients_come_over_tls(cluster: ManagedCluster, results: Path) -> None:
    _, result = run_on(cluster, parse(RUN, "test"), Options(results=results, seed=3))
    (arm,) = result.arms
    assert arm.meta.problems == ()
    assert not_proved(arm.meta) == []
    assert {window.kind for window in arm.meta.windows} == {"requests", "latency", "kill"}
    assert arm.judgement.verdict is VerdictWord.VALID, arm.judgement
    assert arm.summary is not None
    assert arm.summary.acked_by_step["steady"] > 1000


def test_without_a_rule_nothing_is_refused(cluster: ManagedCluster, topic: str) -> None:
    before = _refused(cluster)
    given = {"bootstrap.servers": cluster.bootstrap, **cluster.access.properties}
    producer = Producer(given, logger=client_logger())
    errors: list[object] = []
    for _ in range(100):
        producer.produce(topic, b"v", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0
    assert len(errors) == 100
    assert [error for error in errors if error is not None] == []
    assert _refused(cluster) == before


def test_a_proxy_in_front_of_somebody_elses_cluster(
    cluster: ManagedCluster, topic: str, tmp_path: Path
) -> None:
    config = tmp_path / "client.properties"
    (tmp_path / "ca.pem").write_text(cluster.access.properties["ssl.ca.pem"])
    given = {**cluster.access.properties, "ssl.ca.location": str(tmp_path / "ca.pem")}
    del given["ssl.ca.pem"]
    config.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    existing = ExternalClusterSpec(bootstrap_servers=cluster.bootstrap, client_config=str(config))
    with ExternalCluster(ClusterSpec(brokers=3, existing=existing, proxy=True)) as theirs:
        client = {"bootstrap.servers": theirs.bootstrap, "client.id": "p", **theirs.access.properties}
        producer = Producer(client, logger=client_logger())
        known = producer.list_topics(timeout=30).brokers.values()
        assert {(one.host, one.port) for one in known} == set(addresses(theirs.bootstrap))
        rule = RequestRule(id="r", action="error", error="NOT_ENOUGH_REPLICAS", api=("Produce",), first=2)
        for broker in theirs.broker_ids:
            theirs.proxy(broker).add(rule)
        producer.produce(topic, b"v")
        assert producer.flush(60) == 0
        acted = [theirs.proxy(broker).counters("r")["acted"] for broker in theirs.broker_ids]
        assert sorted(acted) == [0, 0, 2]
        assert all(view.answered for view in theirs.view((topic,), timeout=5.0).views)


def test_another_process_starts_a_broker_with_its_proxy(cluster: ManagedCluster) -> None:
    (record,) = (one for one in state_records.recorded_clusters() if one.name == cluster.name)
    other = attach(cluster.client, record)
    assert other is not None
    other.kill(2)
    other.start_node(2)
    await_answers(cluster, (2,))
    other.close_shells()

"""Proxies on this machine before the brokers of a cluster that was started without any."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.model.finding_class import FindingClass
from harness.model.request_rules import RequestRule
from harness.model.result import VerdictWord
from harness.run.executor import Options, execute
from harness.run.preflight.feasibility import on_external_cluster
from harness.spec.cluster import ClusterSpec, ExternalClusterSpec
from harness.spec.experiment_files import parse
from tests.chaos.support.windows import not_proved
from tests.support.proxies import addresses

pytestmark = pytest.mark.chaos

WRITTEN = """
name: through-proxies
title: written and read through the proxies of an existing cluster
cluster: {proxy: true}
topic: {partitions: 3, config: {min.insync.replicas: 2}}
workload: {rate: 2000}
arms: [{name: safe, producer: {acks: all, enable.idempotence: true}}]
steps: [{write: {name: w, records: 5000}}]
"""


ASKED = """
name: asked
title: Faults that are requests to brokers, on an existing cluster
topic: {partitions: 2, config: {min.insync.replicas: 2}}
workload: {rate: 300, spread: client}
arms: [{name: safe, producer: {acks: all, enable.idempotence: true, extra: {client.id: theirs}}}]
steps:
- write:
    name: w
    seconds: 50
    faults:
    - fault: {requests: {on: {api: Produce, client: theirs, share: 0.2}, do: error NOT_ENOUGH_REPLICAS}}
      at: 1
      for: 6
    - {fault: {config_change: {set: {min.insync.replicas: 1}}}, at: 8, for: 5}
    - {fault: {config_change: {set: {num.io.threads: 9}, target: {broker: 1}}}, at: 14, for: 5}
    - {fault: {throttle: {client: theirs, produce: 500000}}, at: 20, for: 15}
    - {fault: {delete_records: {partition: 0, share: 0.5}}, at: 38, for: 1}
    - {fault: {add_partitions: {count: 1}}, at: 42, for: 1}
"""


@pytest.mark.soak
def test_faults_that_are_requests_act_on_it_and_are_undone(cluster: ManagedCluster, results: Path) -> None:
    (experiment,) = on_external_cluster([parse(ASKED, "asked")], cluster.bootstrap, None, None)
    ((_, result),) = execute([experiment], Options(results=results))
    (arm,) = result.arms
    assert arm.meta.problems == ()
    assert not_proved(arm.meta) == []
    assert len(arm.meta.windows) == 6
    assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
    assert arm.summary.count(FindingClass.EXPIRED) > 0


@pytest.mark.soak
def test_a_run_on_it_is_valid(cluster: ManagedCluster, results: Path) -> None:
    (experiment,) = on_external_cluster([parse(WRITTEN, "written")], cluster.bootstrap, None, None)
    assert experiment.cluster.proxy
    ((_, result),) = execute([experiment], Options(results=results))
    (arm,) = result.arms
    assert arm.meta.problems == ()
    assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
    assert arm.summary.outcomes == {"acked": 5000}


def test_its_clients_stay_with_the_proxies_and_rules_act(cluster: ManagedCluster, topic: str) -> None:
    existing = ExternalClusterSpec(bootstrap_servers=cluster.bootstrap)
    with ExternalCluster(ClusterSpec(brokers=3, existing=existing, proxy=True)) as proxied:
        producer = Producer({"bootstrap.servers": proxied.bootstrap, "client.id": "p"})
        known = producer.list_topics(timeout=30).brokers.values()
        assert {(one.host, one.port) for one in known} == set(addresses(proxied.bootstrap))
        for broker in proxied.broker_ids:
            rule = RequestRule(
                id="r", action="error", error="NOT_ENOUGH_REPLICAS", api=("Produce",), client="p", first=2
            )
            proxied.proxy(broker).add(rule)
        producer.produce(topic, b"v")
        assert producer.flush(60) == 0
        acted = [proxied.proxy(broker).counters("r")["acted"] for broker in proxied.broker_ids]
        assert sorted(acted) == [0, 0, 2]

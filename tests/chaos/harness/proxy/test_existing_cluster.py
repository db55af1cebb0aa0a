"""Proxies on this machine before the brokers of a cluster that was started without any."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.cluster.external import ExternalCluster
from harness.cluster.managed import ManagedCluster
from harness.model.request_rules import RequestRule
from harness.model.result import VerdictWord
from harness.preflight.feasibility import on_external_cluster
from harness.run.executor import Options, execute
from harness.spec.cluster import ClusterSpec, ExternalClusterSpec
from harness.spec.experiment_files import parse
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

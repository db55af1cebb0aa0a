"""A cluster that knows nothing of proxies: clients that begin at the proxies stay with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from harness.cluster.external import ExternalCluster
from harness.cluster.external_proxies import ExternalProxies
from harness.cluster.protocol.client_security import PLAIN_TEXT
from harness.model.errors import BadInput, ClusterError
from harness.model.host.ports import HOST
from harness.model.request_rules import RequestRule
from harness.spec.cluster import ClusterSpec, ExternalClusterSpec
from tests.support.proxies import addresses
from workloads.records.clients import client_logger

pytestmark = pytest.mark.mock


def spec_of(bootstrap: str, config: Path | None = None, *, proxy: bool = True) -> ClusterSpec:
    named = None if config is None else str(config)
    existing = ExternalClusterSpec(bootstrap_servers=bootstrap, client_config=named)
    return ClusterSpec(brokers=3, existing=existing, proxy=proxy)


@pytest.mark.soak
def test_all_that_clients_do_goes_through_the_proxies(mock_bootstrap: str, mock_topic: str) -> None:
    with ExternalCluster(spec_of(mock_bootstrap)) as cluster:
        assert cluster.proxied_ids == cluster.broker_ids == (1, 2, 3)
        proxies = set(addresses(cluster.bootstrap))
        assert not proxies & set(addresses(mock_bootstrap))
        producer = Producer({"bootstrap.servers": cluster.bootstrap}, logger=client_logger())
        offsets: list[int] = []
        for partition in range(4):
            producer.produce(
                mock_topic, b"v", partition=partition, on_delivery=lambda _, one: offsets.append(one.offset())
            )
        assert producer.flush(30) == 0
        assert offsets == [0] * 4
        known = producer.list_topics(timeout=30).brokers.values()
        assert {(one.host, one.port) for one in known} == proxies
        settings = {"group.id": mock_topic, "auto.offset.reset": "earliest"}
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap, **settings}, logger=client_logger())
        consumer.subscribe([mock_topic])
        read = [message for _ in range(120) if (message := consumer.poll(0.25)) is not None]
        consumer.close()
        assert len(read) == 4
        partitions = producer.list_topics(mock_topic, timeout=30).topics[mock_topic].partitions.values()
        for broker in {one.leader for one in partitions}:
            requests = cluster.proxy(broker).status()["listeners"][f"broker-{broker}"]["requests"]
            assert {"Produce", "Fetch"} <= set(requests)
        assert cluster.proxy_problems() == []


def test_a_rule_is_for_the_broker_behind_its_proxy(mock_bootstrap: str, mock_topic: str) -> None:
    with ExternalCluster(spec_of(mock_bootstrap)) as cluster:
        for one in cluster.broker_ids:
            cluster.proxy(one).add(RequestRule(id="r", action="count", api=("Metadata",), to_nodes=(2,)))
        producer = Producer({"bootstrap.servers": cluster.bootstrap}, logger=client_logger())
        for partition in range(4):
            producer.produce(mock_topic, b"v", partition=partition)
        assert producer.flush(30) == 0
        matched = [cluster.proxy(one).counters("r")["matched"] for one in cluster.broker_ids]
        assert matched[0] == matched[2] == 0


def test_without_it_there_is_none(mock_bootstrap: str) -> None:
    with ExternalCluster(spec_of(mock_bootstrap, proxy=False)) as cluster:
        assert cluster.bootstrap == mock_bootstrap
        assert cluster.proxied_ids == ()
        with pytest.raises(ClusterError, match="has no proxy"):
            cluster.proxy(1)


def test_a_proxy_that_ends_is_a_problem_of_the_run(mock_bootstrap: str) -> None:
    with ExternalCluster(spec_of(mock_bootstrap)) as cluster:
        cluster.proxy(2).stop()
        (problem,) = cluster.proxy_problems()
        assert "the proxy of broker-2 does not answer" in problem


def test_more_brokers_than_proxies_are_refused() -> None:
    with pytest.raises(BadInput, match="too many brokers"):
        ExternalProxies().start(dict.fromkeys(range(10), (HOST, 9092)), PLAIN_TEXT)

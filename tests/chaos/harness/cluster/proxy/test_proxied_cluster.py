"""A cluster with a proxy before each listener: rules act on real brokers, and all else is as without."""

from __future__ import annotations

import base64
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import Producer, TopicCollection
from confluent_kafka.admin import AdminClient

from faults import Partition
from faults.targets import Followers, Leader
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.errors import ClusterError, KafkaChaosError
from harness.model.polling import wait_until
from harness.model.request_rules import RequestRule
from harness.model.result import VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment_files import parse
from tests.chaos.support.cluster_queries import PATIENCE, await_answers, leader_of, partition_state
from tests.chaos.support.evidence import FaultTable
from tests.chaos.support.proof import proved
from tests.chaos.support.windows import not_proved
from workloads.records.clients import client_logger

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

KILLED = """
name: through-the-proxy
title: 10,000 records, while a broker is killed and started again
cluster: {proxy: true, properties: {auto.leader.rebalance.enable: false}}
topic: {partitions: 1, config: {min.insync.replicas: 2}}
workload: {rate: 500}
arms: [{name: safe, producer: {acks: all, enable.idempotence: true}}]
steps:
- write:
    name: w
    records: 10000
    faults: [{fault: {kill: {target: {leader: 0}}}, at: 2, for: 4}]
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    spec = ClusterSpec(proxy=True, properties={"auto.leader.rebalance.enable": "false"})
    with ManagedCluster(spec, log_folder=tmp_path_factory.mktemp("logs")) as started:
        yield started


@pytest.fixture
def rule(cluster: ManagedCluster) -> Iterator[Callable[..., None]]:
    """Adds the rule `r` to a node's proxy; it is removed at the end of the test."""
    added: list[int] = []

    def add(node: int, **given: Any) -> None:
        cluster.proxy(node).add(RequestRule(**{"id": "r", **given}))
        added.append(node)

    yield add
    for node in added:
        with suppress(KafkaChaosError):
            cluster.proxy(node).remove("r")


class Writer:
    """A producer with the client.id `p`; `reports` has its offset or error by value."""

    def __init__(self, cluster: ManagedCluster, topic: str, **settings: Any) -> None:
        self.reports: dict[bytes, int | str] = {}
        self._topic = topic
        usual = {"bootstrap.servers": cluster.bootstrap, "client.id": "p", "linger.ms": 0}
        self._producer = Producer({**usual, **settings}, logger=client_logger())

    def send(self, value: bytes) -> None:
        self._producer.produce(self._topic, value, partition=0, on_delivery=self._reported)
        self._producer.poll(0)

    def _reported(self, error: Any, message: Any) -> None:
        self.reports[message.value()] = error.name() if error else message.offset()

    def done(self, *values: bytes) -> dict[bytes, int | str]:
        for value in values:
            self.send(value)
        assert self._producer.flush(PATIENCE) == 0
        return self.reports


def end_of(cluster: ManagedCluster, topic: str) -> int | None:
    return partition_state(cluster, topic).log_end_offset


def test_every_node_has_one_and_it_sees_what_brokers_and_controllers_say(cluster: ManagedCluster) -> None:
    seen: dict[str, set[str]] = {}
    for node in cluster.nodes:
        for name, traffic in cluster.proxy(node.id).status()["listeners"].items():
            seen.setdefault(name, set()).update(traffic["requests"])
            assert traffic["refused"] == 0, traffic
            assert traffic["unasked"] == 0, traffic
    assert {"CLIENT", "INTERNAL", "CONTROLLER"} == set(seen)
    assert {"BrokerHeartbeat", "BrokerRegistration", "Fetch"} <= seen["CONTROLLER"]
    assert "Fetch" in seen["INTERNAL"]
    assert "Metadata" in seen["CLIENT"]


def test_brokers_find_a_controller_that_was_killed_again_through_its_proxy(cluster: ManagedCluster) -> None:
    (controller,) = cluster.controller_ids
    since_ns = time.time_ns()
    cluster.kill(controller)
    time.sleep(8)  # longer than the fetch time-out of the metadata quorum, so that brokers connect again
    cluster.start_node(controller)
    cluster.admin().create("after-it", partitions=3, replication_factor=3, config={})
    settle(cluster, "after-it", 3, 3, PATIENCE)
    for broker in cluster.broker_ids:
        log = cluster.log_since(broker, since_ns)
        assert f"Node {controller} disconnected" in log
        assert f"node {controller} (/127.0.0.1:" not in log, "its own loopback is not where a controller is"


def test_10000_records_through_it_while_a_broker_is_killed(cluster: ManagedCluster, results: Path) -> None:
    _, result = run_on(cluster, parse(KILLED, "killed"), Options(results=results))
    (arm,) = result.arms
    assert arm.meta.problems == ()
    assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
    assert arm.summary.outcomes == {"acked": 10_000}
    assert not_proved(arm.meta) == []
    assert all(window.closed_ns is not None for window in arm.meta.windows)
    for node in cluster.broker_ids:
        assert cluster.proxy(node).status()["listeners"]["CLIENT"]["connections"] > 0


def test_a_held_and_a_delayed_request(cluster: ManagedCluster, topic: str, rule: Any) -> None:
    leader = leader_of(cluster, topic)
    rule(leader, action="hold", api=("Produce",), client="p", from_nodes=(-1,), to_nodes=(leader,))
    writer = Writer(cluster, topic)
    writer.send(b"a")
    assert cluster.proxy(leader).wait("r", "held", 1, PATIENCE) == 1
    assert end_of(cluster, topic) == 0
    cluster.proxy(leader).remove("r")
    assert writer.done() == {b"a": 0}


def test_an_answer_that_is_held_leaves_the_record_written(
    cluster: ManagedCluster, topic: str, rule: Any
) -> None:
    leader = leader_of(cluster, topic)
    rule(leader, action="hold", api=("Produce",), client="p", direction="response")
    writer = Writer(cluster, topic)
    writer.send(b"a")
    assert cluster.proxy(leader).wait("r", "held", 1, PATIENCE) == 1
    assert end_of(cluster, topic) == 1
    assert writer.reports == {}
    cluster.proxy(leader).remove("r")
    assert writer.done() == {b"a": 0}


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"action": "drop"}, 1),
        ({"action": "drop", "direction": "response"}, 2),
        ({"action": "disconnect_before"}, 1),
        ({"action": "disconnect_after"}, 2),
        ({"action": "error", "error": "NOT_ENOUGH_REPLICAS"}, 1),
        ({"action": "error", "error": "REQUEST_TIMED_OUT", "direction": "response"}, 2),
        ({"action": "duplicate"}, 2),
        ({"action": "delay", "delay_ms": 500.0}, 1),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("idempotent", [False, True])
def test_how_often_a_record_is_written(
    cluster: ManagedCluster, topic: str, rule: Any, given: dict[str, Any], written: int, idempotent: bool
) -> None:
    """Once where the broker did not get the first request; with idempotence once in any case (KIP-98)."""
    leader = leader_of(cluster, topic)
    rule(leader, api=("Produce",), client="p", first=1, **given)
    settings = {"enable.idempotence": idempotent, "acks": "all", "socket.timeout.ms": 2000}
    writer = Writer(cluster, topic, **{**settings, "request.timeout.ms": 1900})
    assert isinstance(writer.done(b"a")[b"a"], int)
    assert end_of(cluster, topic) == (1 if idempotent else written)
    assert cluster.proxy(leader).counters("r")["acted"] == 1


def topic_id(cluster: ManagedCluster, topic: str) -> str:
    """As a UUID in text; newer versions of Fetch have it in place of the name (KIP-516)."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    found = admin.describe_topics(TopicCollection([topic]))[topic].result(PATIENCE).topic_id
    return str(UUID(bytes=base64.urlsafe_b64decode(f"{found}==")))


@pytest.mark.parametrize(
    "given", [{"action": "hold"}, {"action": "error", "error": "UNKNOWN_LEADER_EPOCH"}], ids=["hold", "error"]
)
@pytest.mark.parametrize("of_topic", [False, True])
def test_a_follower_whose_fetches_do_not_come_leaves_the_isr(
    cluster: ManagedCluster, topic: str, rule: Any, given: dict[str, Any], of_topic: bool
) -> None:
    """Its session of Fetch requests is older than the rule, and names no partition by itself."""
    leader = leader_of(cluster, topic)
    follower = next(node for node in cluster.broker_ids if node != leader)
    named = {"topic": topic, "topic_id": topic_id(cluster, topic), "partition": 0} if of_topic else {}
    rule(leader, api=("Fetch",), from_nodes=(follower,), **given, **named)
    Writer(cluster, topic).done(b"a")
    wait_until(
        lambda: None if follower not in (now := partition_state(cluster, topic).isr) else str(now),
        what=f"an ISR without broker {follower}",
        seconds=PATIENCE,
    )
    assert cluster.proxy(leader).counters("r")["acted"] >= 1
    cluster.proxy(leader).remove("r")
    settle(cluster, topic, 1, 3, 120)


def test_a_rule_for_another_topic_leaves_a_follower_alone(
    cluster: ManagedCluster, topic: str, rule: Any
) -> None:
    leader = leader_of(cluster, topic)
    rule(leader, action="hold", api=("Fetch",), topic="another", topic_id=str(UUID(int=1)))
    Writer(cluster, topic, acks="all").done(b"a")
    settle(cluster, topic, 1, 3, 120)
    assert cluster.proxy(leader).counters("r")["matched"] == 0


def test_a_partition_fault_beside_it(cluster: ManagedCluster, topic: str, rule: Any) -> None:
    """Proved by the partition's own means: packets between nodes are lost as they are without a proxy."""
    leader = leader_of(cluster, topic)
    rule(leader, action="count")
    spec = Partition(side=Leader(leader=0), other=Followers(followers=0))
    with proved(cluster, topic, spec, FaultTable(only=None)) as shown:
        assert leader in shown.nodes
        assert cluster.proxy(leader).status()["rules"]["r"]["matched"] >= 0
        # A rule that is left would be a trace of the fault.
        cluster.proxy(leader).remove("r")
    settle(cluster, topic, 1, 3, 120)


def test_a_node_that_restarts_has_a_new_proxy_without_rules(cluster: ManagedCluster, topic: str) -> None:
    leader = leader_of(cluster, topic)
    cluster.proxy(leader).add(RequestRule(id="before", action="count"))
    cluster.kill(leader)
    wait_until(lambda: "running" if cluster.is_running(leader) else None, what="its end", seconds=PATIENCE)
    cluster.start_node(leader)
    assert cluster.proxy(leader).status()["rules"] == {}
    await_answers(cluster, cluster.broker_ids)
    settle(cluster, topic, 1, 3, 120)
    assert Writer(cluster, topic).done(b"a") == {b"a": 0}


def test_a_proxy_that_ends_is_said(cluster: ManagedCluster) -> None:
    node = cluster.broker_ids[-1]
    name = f"{cluster.name}-{cluster.node(node).name}-proxy"
    subprocess.run(["docker", "kill", name], check=True, capture_output=True)
    with pytest.raises(ClusterError, match=f"the proxy {name} does not answer"):
        cluster.proxy(node).status()
    cluster.kill(node)
    wait_until(lambda: "running" if cluster.is_running(node) else None, what="its end", seconds=PATIENCE)
    cluster.start_node(node)
    await_answers(cluster, cluster.broker_ids)

"""Dropped responses on real brokers: requests are carried out, and nobody is told."""

from __future__ import annotations

import pytest
from confluent_kafka import Message, Producer

from faults.client_traffic import DropResponses
from faults.network.namespaces import IptablesRule, insert_script
from faults.shared.fault_spec import InjectionContext
from faults.targets import Leader
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.polling import wait_until
from tests.chaos.support.cluster_queries import PATIENCE, leader_of
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos

SPEC = DropResponses(target=Leader(leader=0))


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}")


def ends(cluster: ManagedCluster, topic: str) -> set[int | None]:
    """Log end offsets by the word of every follower that answers."""
    states = cluster.view((topic,)).states(topic, 0)
    return {state.log_end_offset for state in states.values()}


def test_what_was_sent_is_in_the_log_though_nobody_was_told(
    cluster: ManagedCluster, topic: str, prove: Prove
) -> None:
    leader = leader_of(cluster, topic)
    reports: list[bool] = []

    def told(error: object, message: Message) -> None:  # noqa: ARG001
        reports.append(error is None)

    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "message.timeout.ms": 300_000,
            "socket.timeout.ms": 2_000,
            "log_level": 0,
        }
    )
    # Its connection to the leader, and its producer id, are from before the fault.
    producer.produce(topic, b"before", on_delivery=told)
    assert producer.flush(PATIENCE) == 0
    with prove(SPEC) as shown:
        saw = shown.facts[f"broker {leader}"]
        assert saw["connections_opened"]
        assert saw["requests_arrived"]
        assert saw["answers_dropped"]
        assert not saw["answers_past"]
        producer.produce(topic, b"meanwhile", on_delivery=told)
        producer.flush(0)
        wait_until(
            lambda: None if ends(cluster, topic) == {2} else f"log ends {ends(cluster, topic)}",
            what="the followers hold the record",
            seconds=PATIENCE,
        )
        producer.poll(0)
        assert reports == [True], "the producer was not told"
    assert producer.flush(2 * PATIENCE) == 0
    assert reports == [True, True]
    (bounds,) = settle(cluster, topic, 1, 3, 60)
    assert bounds.end_offset == 2, "one record, however often it was sent"


def test_answers_that_come_are_noticed(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = context(cluster, topic)
    injection = SPEC.aim(at)
    injection.apply(at)
    injection.apply(at)
    try:
        rules = cluster.in_network(injection.nodes[0], "iptables-save -t filter").text
        assert rules.count(f"{at.tag}/") == 1
        assert injection.verify(at).seen
    finally:
        injection.heal(at)
    monkeypatch.setattr("faults.client_traffic.ResponsesDropped.proof_seconds", 0.0)
    assert not injection.verify(at).seen
    injection.heal(at)


def test_a_broker_that_cannot_be_reached_at_all_is_another_fault(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.client_traffic.ResponsesDropped.proof_seconds", 0.0)
    at = context(cluster, topic)
    injection = SPEC.aim(at)
    everything = IptablesRule("OUTPUT", f"-p tcp -d {cluster.client_address} --sport 9092", "cut-answers")
    (broker,) = injection.nodes
    cluster.in_network(broker, insert_script([everything], at.tag))
    try:
        evidence = injection.verify(at)
        assert not evidence.seen
        assert "no connection was opened" in evidence.what
    finally:
        injection.heal(at)


def test_the_rule_is_put_in_again_after_a_restart(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    injection = SPEC.aim(at)
    (broker,) = injection.nodes
    again: list[bool] = []
    forget = cluster.on_start(lambda node: again.append(injection.restarted(at, node)))
    injection.apply(at)
    try:
        cluster.kill(broker)
        cluster.start_node(broker)
        assert again == [True]
        assert not injection.restarted(at, broker)
    finally:
        forget()
        injection.undo(at)
        cluster.start_node(broker)
    settle(cluster, topic, 1, 3, 60)
    injection.healed(at)

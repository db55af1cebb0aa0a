"""Every action on requests, on real brokers: what a client and the log see of it, and a control beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from faults.packets import Loss, Reorder
from faults.proxied.link_messages import OnMessages
from faults.requests import Requests
from faults.shared.fault_spec import Evidence, FaultSpec, InjectionContext
from faults.slow_links import Bandwidth, Jitter, Latency
from faults.targets import Clients, Followers, Leader
from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.connection import BrokerConnection
from harness.cluster.traces import traces
from harness.model.host.ports import HOST
from harness.model.polling import wait_until
from harness.model.request_rules import RequestRule
from harness.model.result import ArmResult, VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment_files import parse
from tests.chaos.support.cluster_queries import leader_of
from tests.chaos.support.proof import Prove
from workloads.records.log_format.segments import parse_segment

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

HARNESS = "kafka-chaos"
"""The client.id of the harness's own connections, which rules leave alone unless they name it."""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    spec = ClusterSpec(proxy=True, properties={"auto.leader.rebalance.enable": "false"})
    with ManagedCluster(spec, log_folder=tmp_path_factory.mktemp("logs")) as started:
        yield started


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:40]}")


class Opened:
    """A fault that is open, and its evidence when it has been healed."""

    healed: Evidence


@contextmanager
def opened(
    cluster: ManagedCluster, topic: str, do: str, held: str = "release", **on: Any
) -> Iterator[Opened]:
    at = context(cluster, topic)
    injection = Requests.model_validate({"on": on, "do": do, "held": held}).aim(at)
    injection.apply(at)
    found = Opened()
    try:
        assert injection.verify(at).seen
        yield found
    finally:
        found.healed = injection.heal(at)


def seconds_to_ask(cluster: ManagedCluster, topic: str) -> float:
    """How long a broker takes to answer the harness."""
    port = cluster.node(1).host_port
    assert port is not None
    with BrokerConnection(1, HOST, port, timeout=20.0) as one:
        began = time.monotonic()
        one.metadata([topic])
        return time.monotonic() - began


def produce(cluster: ManagedCluster, topic: str, *values: str, client: str = "p1", **more: Any) -> list[Any]:
    """The error, or None, of each of these records, sent in this order without retries."""
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "client.id": client,
        "acks": "all",
        "retries": 0,
        "linger.ms": 0,
        "batch.num.messages": 1,
        "socket.timeout.ms": 4000,
        "message.timeout.ms": 8000,
        "topic.metadata.refresh.interval.ms": -1,
        **more,
    }
    producer, errors = Producer(settings), {}
    producer.list_topics(topic, timeout=10)
    for value in values:
        producer.produce(
            topic,
            value,
            partition=0,
            on_delivery=lambda error, message: errors.update({message.value().decode(): error}),
        )
        producer.poll(0)
    producer.flush(30)
    return [errors[value] for value in values]


def in_log(cluster: ManagedCluster, topic: str) -> list[str]:
    """The values in the leader's own log."""
    files = cluster.log_files(leader_of(cluster, topic), topic, 0)
    segments = (data for name, data in sorted(files.items()) if name.endswith(".log"))
    return [
        bytes(record.value or b"").decode()
        for data in segments
        for batch in parse_segment(data)
        for record in batch.records()
    ]


@pytest.mark.parametrize("direction", ["request", "response"])
def test_messages_are_late(cluster: ManagedCluster, topic: str, direction: str) -> None:
    on = {"api": "Metadata", "direction": direction, "client": HARNESS}
    with opened(cluster, topic, "delay 4 s", **on) as fault:
        assert seconds_to_ask(cluster, topic) >= 4.0
        began = time.monotonic()
        assert produce(cluster, topic, "control") == [None]
        assert time.monotonic() - began < 4.0, "another client is not delayed"
    assert fault.healed.seen
    assert fault.healed.what.startswith("delay 4 s: ")
    assert seconds_to_ask(cluster, topic) < 4.0


@pytest.mark.parametrize("held", ["release", "drop"])
def test_a_held_request_arrives_when_healed_or_never(cluster: ManagedCluster, topic: str, held: str) -> None:
    results: list[Any] = []

    def send() -> None:
        results.extend(
            produce(cluster, topic, "held", **{"socket.timeout.ms": 20000, "message.timeout.ms": 20000})
        )

    thread = threading.Thread(target=send)
    with opened(cluster, topic, "hold", held, api="Produce", client="p1", partition=0) as fault:
        thread.start()
        proxies = cluster.proxies
        assert proxies is not None
        tag = context(cluster, topic).tag
        wait_until(
            lambda: None if sum(one.held for one in proxies.counts(tag).values()) == 1 else "nothing is held",
            what="the request is held",
            seconds=20,
        )
        assert in_log(cluster, topic) == []
        assert produce(cluster, topic, "control", client="p2") == [None], "another client is not held"
    thread.join()
    assert fault.healed.seen
    if held == "release":
        assert "1 released" in fault.healed.what
        assert results == [None]
        assert in_log(cluster, topic) == ["control", "held"]
    else:
        assert "1 dropped" in fault.healed.what
        assert all(error is not None for error in results)
        assert in_log(cluster, topic) == ["control"]


@pytest.mark.parametrize(
    ("do", "direction", "arrives"),
    [
        ("drop", "request", False),
        ("drop", "response", True),
        ("disconnect before", "request", False),
        ("disconnect after", "request", True),
        ("disconnect before", "response", True),
    ],
    ids=lambda one: str(one).replace(" ", "-"),
)
def test_a_lost_request_is_in_the_log_only_if_the_response_was_lost(
    cluster: ManagedCluster, topic: str, do: str, direction: str, arrives: bool
) -> None:
    with opened(cluster, topic, do, api="Produce", direction=direction, client="p1") as fault:
        (error,) = produce(cluster, topic, "lost")
        assert error is not None
        assert produce(cluster, topic, "control", client="p2") == [None]
    assert fault.healed.seen, fault.healed
    assert ("lost" in in_log(cluster, topic)) is arrives
    assert produce(cluster, topic, "after") == [None]


@pytest.mark.parametrize(("direction", "arrives"), [("request", False), ("response", True)])
def test_an_error_instead_of_the_append_or_of_its_response(
    cluster: ManagedCluster, topic: str, direction: str, arrives: bool
) -> None:
    do = "error NOT_ENOUGH_REPLICAS"
    with opened(cluster, topic, do, api="Produce", direction=direction, client="p1", partition=0) as fault:
        (error,) = produce(cluster, topic, "refused")
        assert error.code() == KafkaError.NOT_ENOUGH_REPLICAS
        assert produce(cluster, topic, "control", client="p2") == [None]
    assert fault.healed.seen, fault.healed
    assert in_log(cluster, topic) == (["refused"] if arrives else []) + ["control"]


def test_a_request_arrives_twice(cluster: ManagedCluster, topic: str) -> None:
    with opened(cluster, topic, "duplicate", api="Produce", client="p1") as fault:
        assert produce(cluster, topic, "twice") == [None]
        assert produce(cluster, topic, "control", client="p2") == [None]
        assert produce(cluster, topic, "once", **{"enable.idempotence": True, "retries": 5}) == [None]
    assert fault.healed.seen
    assert in_log(cluster, topic) == ["twice", "twice", "control", "once"], "idempotence knows a duplicate"


def test_a_request_is_overtaken_by_the_next(cluster: ManagedCluster, topic: str) -> None:
    with opened(cluster, topic, "reorder with next", api="Produce", client="p1", nth=1) as fault:
        assert produce(cluster, topic, "first", "second", "third") == [None] * 3
        assert produce(cluster, topic, "x", "y", client="p2") == [None] * 2
    assert fault.healed.seen
    assert in_log(cluster, topic) == ["second", "first", "third", "x", "y"]


def test_only_what_is_named_is_acted_on(cluster: ManagedCluster, topic: str) -> None:
    with opened(cluster, topic, "error NOT_ENOUGH_REPLICAS", api="Produce", client="p1", nth=2) as fault:
        errors = [produce(cluster, topic, value)[0] for value in ("one", "two", "three")]
        assert [error is None for error in errors] == [True, False, True]
    assert "1 of 3 that matched" in fault.healed.what
    with opened(cluster, topic, "drop", api="Produce", client="p1", partition=1) as fault:
        assert produce(cluster, topic, "another partition") == [None]
    assert not fault.healed.seen


def test_a_rule_that_matches_nothing_says_what_passed(cluster: ManagedCluster, topic: str) -> None:
    with opened(cluster, topic, "hold", api="EndTxn", client="p1") as fault:
        assert produce(cluster, topic, "plain") == [None]
    assert not fault.healed.seen
    assert fault.healed.what.startswith("nothing matched; requests that passed instead: ")
    assert "Produce of p1: 1" in fault.healed.what


def test_requests_between_nodes(cluster: ManagedCluster, topic: str) -> None:
    """A follower whose fetches are held leaves the ISR, and comes back when they are released."""
    target = {"from": {"followers": 0}, "to": {"leader": 0}}
    leader = leader_of(cluster, topic)

    def isr(size: int) -> str | None:
        state = cluster.view((topic,)).partition(topic, 0)
        return None if state is not None and len(state.isr) == size else f"{state}"

    with opened(cluster, topic, "hold", api="Fetch", **target) as fault:
        # A follower is behind only if there is something that it lacks.
        assert produce(cluster, topic, "one", acks=1) == [None]
        wait_until(lambda: isr(1), what="the leader is alone in the ISR", seconds=40)
    assert fault.healed.seen
    assert [*fault.healed.facts] == [f"broker {leader}"]
    wait_until(lambda: isr(3), what="all are back", seconds=40)


def test_a_restarted_node_gets_its_rule_again(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    injection = Requests.model_validate({"on": {"api": "EndTxn"}, "do": "drop"}).aim(at)
    injection.apply(at)
    try:
        follower = next(one for one in cluster.broker_ids if one != leader_of(cluster, topic))
        cluster.kill(follower)
        wait_until(lambda: "runs" if cluster.is_running(follower) else None, what="it ends", seconds=20)
        cluster.start_node(follower)
        assert injection.restarted(at, follower)
        assert not injection.restarted(at, follower)
        assert injection.verify(at).seen
    finally:
        injection.heal(at)


def test_another_process_heals_it(cluster: ManagedCluster, topic: str, prove: Prove) -> None:  # noqa: ARG001
    spec = Requests.model_validate({"on": {"api": "Fetch"}, "do": "delay 50 ms"})
    with prove(spec) as shown:
        assert "the rule is in place" in shown.what
        threading.Event().wait(2.0)
    assert shown.healed.startswith("delay 50 ms: ")
    proxies = cluster.proxies
    assert proxies is not None
    assert proxies.all_rules() == ()


LINKS = (
    Latency(target=Leader(leader=0), to=Followers(followers=0), delay_ms=100, by="proxy"),
    Jitter(target=Leader(leader=0), to=Followers(followers=0), delay_ms=100, spread_ms=60, by="proxy"),
    Reorder(target=Leader(leader=0), to=Followers(followers=0), percent=25, delay_ms=60, by="proxy"),
    Bandwidth(target=Leader(leader=0), to=Followers(followers=0), rate="2mbit", by="proxy"),
    Loss(target=Leader(leader=0), to=Followers(followers=0), percent=20, by="proxy"),
    Latency(target=Leader(leader=0), to=Clients(client=True), delay_ms=100, by="proxy"),
    Bandwidth(target=Leader(leader=0), to=Clients(client=True), rate="256kbit", by="proxy"),
)


@pytest.mark.parametrize("spec", LINKS, ids=lambda one: f"{one.name()}-{one.to}".replace(": ", "-"))
def test_links_are_slow_for_messages(
    cluster: ManagedCluster, topic: str, prove: Prove, spec: FaultSpec
) -> None:
    injection = spec.aim(context(cluster, topic))
    assert isinstance(injection, OnMessages)
    assert not shown_by(injection, cluster, topic), "a link that nothing slows shows it, too"
    with prove(spec) as shown:
        assert "by the proxies" in shown.target
        assert "by the proxies" in shown.what
        assert len(shown.facts) >= 2
    assert not shown_by(injection, cluster, topic), "it is still slow"


def shown_by(injection: OnMessages, cluster: ManagedCluster, topic: str) -> list[str]:
    """The round trips that show the effect."""
    measured = injection.ask(context(cluster, topic))
    judged = [
        injection.judge(link, answers, echoes)
        for link, answers in measured.items()
        for echoes in answers.echoes.values()
    ]
    assert judged
    return [what for good, what in judged if good]


def test_a_rule_that_is_left_is_a_trace(cluster: ManagedCluster, topic: str) -> None:
    proxies = cluster.proxies
    assert proxies is not None
    proxies.add(RequestRule(id=f"kafka-chaos-{topic[:20]}", action="count"))
    found = traces(cluster)
    proxies.remove(f"kafka-chaos-{topic[:20]}", "release")
    assert len(found) == len(cluster.nodes)
    assert all("still has a rule of a proxy" in one for one in found)
    assert traces(cluster) == []


STEPS = """
name: by-request
title: A commit that comes late
topic: {partitions: 1, replication_factor: 3}
workload: {client: driven, driven: {transactional: true}}
steps:
- drive: {name: one, by: p1, do: [begin, send: {}]}
- inject: {requests: {on: {api: API, client: p1, nth: 1}, do: hold}, name: late}
# The client sends it again over another connection after request.timeout.ms.
- drive: {name: two, by: p1, do: [commit]}
WAIT
- wait: {request: {api: EndTxn, client: p1}, seen: 2}
- heal: {only: [late]}
- drive: {name: three, by: p1, do: [begin, send: {}, commit]}
arms: [{name: one, producer: {request.timeout.ms: 3000, delivery.timeout.ms: 20000}}]
"""
WAIT = "- wait: {request: {api: EndTxn, client: p1}, held: 1}"


def run(cluster: ManagedCluster, results: Path, text: str) -> ArmResult:
    _, result = run_on(cluster, parse(text, "by-request.yaml"), Options(results=results))
    (arm,) = result.arms
    return arm


def test_an_interleaving_is_stepped_through(cluster: ManagedCluster, results: Path) -> None:
    arm = run(cluster, results, STEPS.replace("API", "EndTxn").replace("WAIT", WAIT))
    (window,) = arm.meta.windows
    assert arm.meta.problems == ()
    assert window.evidence == "hold: 1 of 2 that matched, 1 released"
    assert arm.judgement.verdict is VerdictWord.VALID, arm.judgement.reasons


def test_a_rule_that_nothing_matched_makes_the_verdict_unknown(
    cluster: ManagedCluster, results: Path
) -> None:
    text = STEPS.replace("API", "OffsetCommit").replace("WAIT\n", "").replace("seen: 2", "seen: 1")
    arm = run(cluster, results, text)
    (window,) = arm.meta.windows
    assert window.evidence.startswith("nothing matched; requests that passed instead: ")
    assert "EndTxn of p1: 1" in window.evidence
    assert arm.judgement.verdict is VerdictWord.UNKNOWN

"""Targets on real brokers: active controller, coordinator, out of sync; and faults on controllers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from faults.processes import Kill, Pause
from faults.shared.fault_spec import Injection, InjectionContext
from faults.targets import (
    Controller,
    Controllers,
    Coordinator,
    Followers,
    Isr,
    Leader,
    NodeIds,
    OutOfSync,
    RandomBrokers,
)
from harness.cluster.convergence import settle, unsettled_reason
from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.errors import FaultError
from harness.model.host.ports import HOST
from harness.model.polling import wait_until
from tests.chaos.support.cluster_queries import PATIENCE, leader_of

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

ACTIVE = Controller(controller=True)


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    """Three brokers and three controllers.

    A broker goes on forwarding to a frozen controller until controller.socket.timeout.ms is over, 30 s as
    shipped; only then it asks the new one.
    """
    logs = tmp_path_factory.mktemp("logs")
    settings = {"controller.socket.timeout.ms": "3000"}
    with ManagedCluster(brokers=3, controllers=3, properties=settings, log_folder=logs) as started:
        yield started


@pytest.fixture
def writable(quorum: ManagedCluster, request: pytest.FixtureRequest) -> str:
    """A topic of one partition, settled, while every broker names the same active controller."""
    name: str = request.node.name
    config = {"min.insync.replicas": "2"}
    _create(quorum, name, config)
    settle(quorum, name, 1, 3, 60)
    wait_until(
        lambda: None if _agreed({say(quorum, number) for number in quorum.broker_ids}) else "they differ",
        what="every broker names the same active controller",
        seconds=60,
    )
    return name


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}", seed="7")


def _create(cluster: ManagedCluster, name: str, config: dict[str, str] | None = None) -> None:
    """Create a topic on all three brokers; the admin tries again while they are fenced."""
    cluster.admin().create(name, partitions=1, replication_factor=3, config=config or {})


def say(cluster: ManagedCluster, number: int) -> int | None:
    """The active controller by the word of one broker."""
    port = cluster.node(number).host_port
    assert port is not None
    with BrokerConnection(number, HOST, port, 5.0) as connection, suppress(OSError):
        return connection.quorum_leader()
    return None


def _agreed(said: set[int | None]) -> bool:
    return len(said) == 1 and None not in said


@contextmanager
def open_fault(injection: Injection, at: InjectionContext) -> Iterator[None]:
    try:
        injection.apply(at)
        yield
    finally:
        injection.heal(at)


def test_a_killed_active_controller_is_replaced(quorum: ManagedCluster, writable: str) -> None:
    at = context(quorum, writable)
    injection = Kill(target=ACTIVE).aim(at)
    (active,) = injection.nodes
    assert {say(quorum, number) for number in quorum.broker_ids} == {active}
    with open_fault(injection, at):
        evidence = injection.verify(at)
        assert evidence.seen, evidence.what
        _until_another(quorum, active)
        (now,) = ACTIVE.resolve(at.snapshot())
        assert now in {101, 102, 103} - {active}
        _create(quorum, "made-meanwhile")
    assert Controllers(controllers=True).resolve(at.snapshot()) == (101, 102, 103)


def test_a_minority_of_controllers_is_not_missed(quorum: ManagedCluster, writable: str) -> None:
    at = context(quorum, writable)
    (active,) = ACTIVE.resolve(at.snapshot())
    (first, second) = (Controllers(controllers=True) & ~ACTIVE).resolve(at.snapshot())
    assert active not in (first, second)
    injection = Kill(target=NodeIds(nodes=(first,))).aim(at)
    with open_fault(injection, at):
        assert injection.verify(at).seen
        assert ACTIVE.resolve(at.snapshot())[0] in (active, second)
        _create(quorum, "made-by-two-of-three")
        _write(quorum, writable)


def test_a_frozen_active_controller_is_replaced(quorum: ManagedCluster, writable: str) -> None:
    at = context(quorum, writable)
    injection = Pause(target=ACTIVE).aim(at)
    with open_fault(injection, at):
        assert injection.verify(at).seen
        _until_another(quorum, *injection.nodes)
        _write(quorum, writable)


def test_without_a_majority_of_controllers_there_are_no_elections(
    quorum: ManagedCluster, writable: str
) -> None:
    at = context(quorum, writable)
    injection = Kill(target=NodeIds(nodes=(101, 102))).aim(at)
    with _without_a_majority(quorum, writable, injection, at):
        leader = leader_of(quorum, writable)
        _write(quorum, writable)
        broker = Kill(target=Leader(leader=0)).aim(at)
        assert broker.nodes == (leader,)
        with open_fault(broker, at):
            # Longer than a session, so that with a majority another one would lead by now.
            deadline = time.monotonic() + at.session_seconds + 3
            while time.monotonic() < deadline:
                assert leader_of(quorum, writable) == leader
                time.sleep(0.5)
            with pytest.raises(FaultError, match="matches no node"):
                ACTIVE.resolve(at.snapshot())
            injection.undo(at)
    settle(quorum, writable, 1, 3, 60)


@contextmanager
def _without_a_majority(
    cluster: ManagedCluster, topic: str, injection: Injection, at: InjectionContext
) -> Iterator[None]:
    """The controllers are dead while every broker knows the same leader.

    On a busy machine a broker can miss its session just before they die. Then some brokers know of the new
    leader and the others never will, so that nobody can write: no state for this test, which is set up again.
    """
    for _ in range(3):
        with open_fault(injection, at):
            assert injection.verify(at).seen
            if unsettled_reason(cluster.view((topic,)), topic, 1, 3) is None:
                yield
                return
        settle(cluster, topic, 1, 3, 60)
    pytest.fail("the brokers disagree whenever the controllers die")


def _until_another(cluster: ManagedCluster, old: int) -> None:
    wait_until(
        lambda: None if cluster.controller() not in (None, old) else "the old one, or none",
        what="another active controller",
        seconds=60,
    )


def test_the_coordinator_of_a_group(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    group = f"{topic}-group"
    _until_coordinated(at, _coordinator_of(group))
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "log_level": 0,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([topic])

        def unassigned() -> str | None:
            consumer.poll(0.2)
            return None if consumer.assignment() else "no assignment"

        wait_until(unassigned, what="the consumer is in its group", seconds=PATIENCE)
        described = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})

        def another() -> str | None:
            chosen = _coordinator_of(group).choose(at.snapshot())
            try:
                found = described.describe_consumer_groups([group])[group].result().coordinator.id
            except KafkaException as error:
                return str(error)
            return None if chosen == {found} else f"the target is {set(chosen)}, the coordinator {found}"

        # They are asked one after the other, and it may move meanwhile.
        wait_until(another, what="the target is the group's coordinator", seconds=PATIENCE)
    finally:
        consumer.close()
    injection = Kill(target=_coordinator_of(group)).aim(at)
    (killed,) = injection.nodes
    with open_fault(injection, at):
        assert injection.verify(at).seen
        wait_until(
            lambda: None if _coordinator_of(group).choose(at.snapshot()) - {killed} else "still the old",
            what="another coordinator",
            seconds=PATIENCE,
        )
    settle(cluster, topic, 1, 3, 60)


def test_the_coordinator_of_a_transactional_id(cluster: ManagedCluster, topic: str) -> None:
    target = Coordinator.model_validate({"coordinator": {"transactional_id": f"{topic}-id"}})
    at = context(cluster, topic)
    _until_coordinated(at, target)
    chosen = target.resolve(at.snapshot())
    assert set(chosen) <= set(cluster.broker_ids)
    assert target.resolve(at.snapshot()) == chosen


def test_who_is_out_of_sync(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    with pytest.raises(FaultError, match="matches no node"):
        OutOfSync(out_of_sync=0).resolve(at.snapshot())
    assert Isr(isr=0).resolve(at.snapshot()) == (1, 2, 3)
    follower = (RandomBrokers(random=3) & Followers(followers=0)).resolve(at.snapshot())[0]
    injection = Pause(target=NodeIds(nodes=(follower,))).aim(at)
    with open_fault(injection, at):
        _until_resolved(lambda: OutOfSync(out_of_sync=0).resolve(at.snapshot()), (follower,))
        assert Isr(isr=0).resolve(at.snapshot()) == tuple(sorted({1, 2, 3} - {follower}))
    settle(cluster, topic, 1, 3, 60)


def _coordinator_of(group: str) -> Coordinator:
    return Coordinator.model_validate({"coordinator": {"group": group}})


def _until_coordinated(at: InjectionContext, target: Coordinator) -> None:
    """The first group and the first transactional id of a cluster wait for the topic of all of them."""
    wait_until(
        lambda: None if target.choose(at.snapshot()) else "none",
        what="a coordinator",
        seconds=2 * PATIENCE,
    )


def _until_resolved(resolve: Callable[[], tuple[int, ...]], nodes: tuple[int, ...]) -> None:
    def missing() -> str | None:
        try:
            found = resolve()
        except FaultError as error:
            return error.what
        return None if found == nodes else f"{found}"

    wait_until(missing, what=f"the target is {nodes}", seconds=PATIENCE)


def _write(cluster: ManagedCluster, topic: str) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    failed: list[object] = []
    for _ in range(10):
        producer.produce(topic, b"x", on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(2 * PATIENCE) == 0, cluster.view((topic,))
    assert not failed

"""A node's clock is shifted while it runs: Kafka's log and the records' timestamps show it, and its end."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Message, Producer

from faults.clock_skew import ClockSkew, shift_script
from faults.shared.fault_spec import InjectionContext
from faults.targets import BrokerId, Controller, Leader
from harness.cluster.containers import docker_engine, images
from harness.cluster.containers.node_volumes import create_clocks
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.cluster.traces import traces
from harness.model.errors import ClusterError, FaultError
from harness.spec.cluster import ClusterSpec
from tests.chaos.support.cluster_queries import leader_of
from tests.chaos.support.evidence import FaultTable
from tests.chaos.support.proof import proved

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

TOPIC = "clock-skew"
LEADER = Leader(leader=0)


@pytest.fixture(scope="module")
def skewable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    """A cluster whose clocks can be shifted, with a settled topic that its leaders stamp."""
    with ManagedCluster(
        ClusterSpec(skewable_clocks=True), log_folder=tmp_path_factory.mktemp("clocks")
    ) as cluster:
        stamped = {"min.insync.replicas": "2", "message.timestamp.type": "LogAppendTime"}
        cluster.admin().create(TOPIC, partitions=1, replication_factor=3, config=stamped)
        settle(cluster, TOPIC, 1, 3, 60)
        yield cluster
    volumes = docker_engine.connect().volumes.list()
    assert not [volume.name for volume in volumes if volume.name.startswith(cluster.name)]


def appended_off(cluster: ManagedCluster) -> tuple[float, float]:
    """How far the time that the leader stamps on a record is off the true time, in seconds: at least and at
    most, since that is known only as between the call and the report."""
    reports: list[Message] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "1", "log_level": 0})
    before = time.time()
    producer.produce(TOPIC, b"when?", on_delivery=lambda _, message: reports.append(message))
    assert producer.flush(60) == 0
    after = time.time()
    assert reports[0].error() is None
    stamped = float(reports[0].timestamp()[1]) / 1e3
    return stamped - after, stamped - before


@pytest.mark.parametrize("seconds", [3600.0, -90.5])
def test_the_leaders_clock_is_wrong(
    skewable: ManagedCluster, seconds: float, fault_table: FaultTable
) -> None:
    node = leader_of(skewable, TOPIC)
    with proved(skewable, TOPIC, ClockSkew(target=LEADER, seconds=seconds), fault_table) as shown:
        assert shown.facts["measured_seconds"][str(node)] == pytest.approx(seconds, abs=5)
        settle(skewable, TOPIC, 1, 3, 60)
        assert leader_of(skewable, TOPIC) == node
        least, most = appended_off(skewable)
        assert least - 5 <= seconds <= most + 5
    least, most = appended_off(skewable)
    assert least - 5 <= 0 <= most + 5


def test_clocks_behind_proxies_are_wrong() -> None:
    with ManagedCluster(ClusterSpec(brokers=1, skewable_clocks=True, proxy=True)) as cluster:
        at = InjectionContext(cluster, TOPIC, 4.0, "kafka-chaos-proxied-clocks")
        for target in (BrokerId(broker=1), Controller(controller=True)):
            injection = ClockSkew(target=target, seconds=600).aim(at)
            injection.apply(at)
            assert (shown := injection.verify(at)).seen, shown.what
            assert injection.heal(at).seen


def test_the_active_controllers_clock_is_wrong_and_stays_so_over_a_restart(skewable: ManagedCluster) -> None:
    at = InjectionContext(skewable, TOPIC, 4.0, "kafka-chaos-controller-clock")
    injection = ClockSkew(target=Controller(controller=True), seconds=40).aim(at)
    (node,) = injection.nodes
    try:
        injection.apply(at)
        injection.apply(at)
        assert injection.verify(at).seen
        skewable.kill(node)
        skewable.start_node(node)
        assert injection.verify(at).seen
    finally:
        healed = injection.heal(at)
    assert healed.seen
    assert not injection.verify(at).seen, "the clock is right again"
    assert injection.heal(at).seen


def test_a_clock_that_was_not_touched_proves_nothing(
    skewable: ManagedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.clock_skew._SECONDS", 4.0)
    at = InjectionContext(skewable, TOPIC, 4.0, "kafka-chaos-untouched")
    evidence = ClockSkew(target=LEADER, seconds=2).aim(at).verify(at)
    assert not evidence.seen
    assert "not +2 s" in evidence.what


def test_a_clock_that_is_still_wrong_is_a_trace(skewable: ManagedCluster) -> None:
    node = skewable.nodes[0]
    assert traces(skewable) == []
    skewable.in_files(node.id, shift_script(3600))
    (trace,) = traces(skewable)
    assert trace.startswith(f"{node.name} still has a clock offset: +3600.000 s; expected: the true time; ")
    skewable.in_files(node.id, shift_script(0))
    assert traces(skewable) == []


def test_the_shared_clusters_clocks_cannot_be_shifted(cluster: ManagedCluster, topic: str) -> None:
    with pytest.raises(FaultError, match=r"cluster\.skewable_clocks"):
        ClockSkew(target=LEADER, seconds=60).aim(InjectionContext(cluster, topic, 4.0, "kafka-chaos-refused"))


def test_an_image_that_does_not_take_the_library_is_refused() -> None:
    client = docker_engine.connect()
    name = "kc-no-faketime"
    try:
        # As a toolbox this image has no library to give.
        bare = images.resolve(client).reference
        with pytest.raises(ClusterError, match="cannot be shifted"):
            create_clocks(client, name, {1: "one"}, bare, bare)
    finally:
        docker_engine.sweep(client, cluster=name)
    assert not client.volumes.list(filters={"label": f"{docker_engine.CLUSTER_LABEL}={name}"})

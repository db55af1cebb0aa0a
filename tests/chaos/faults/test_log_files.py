"""Faults on log files: what a broker says of them when it loads them, and what comes back from the leader."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from faults import corrupt_segment, data_loss
from faults.corrupt_segment import CorruptSegment
from faults.data_loss import PowerLoss, WipeDisk
from faults.shared.fault_spec import FaultSpec, Injection, InjectionContext
from faults.targets import Leader
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.broker_views import PartitionState
from harness.model.node_layout import DATA_DIR
from harness.model.polling import wait_until
from tests.chaos.support.cluster_queries import PATIENCE, leader_of
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos

LEADER = Leader(leader=0)


@pytest.fixture
def lonely(cluster: ManagedCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic of one partition with one replica, settled."""
    name = f"lonely-{request.node.name[:60]}"
    admin = cluster.admin()
    admin.create(name, partitions=1, replication_factor=1, config={})
    settle(cluster, name, 1, 1, 60)
    yield name
    admin.delete(name)


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    tag = f"kafka-chaos-{topic[:30]}-{time.time_ns() % 10**9:x}"
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=tag, seed="seed")


def applied(spec: FaultSpec, at: InjectionContext) -> Injection:
    injection = spec.aim(at)
    injection.apply(at)
    return injection


def write(cluster: ManagedCluster, topic: str, acks: str | int = "all", records: int = 100) -> None:
    """Records of 100 bytes in batches of 10, every one acknowledged."""
    errors: list[KafkaError] = []

    def report(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            errors.append(error)

    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "acks": acks, "linger.ms": 100, "batch.num.messages": 10}
    )
    for _ in range(records):
        producer.produce(topic, b"x" * 100, on_delivery=report)
    assert producer.flush(2 * PATIENCE) == 0
    assert errors == []


def read(
    cluster: ManagedCluster, topic: str, *, check: bool, seconds: float = PATIENCE
) -> tuple[list[bytes], list[str]]:
    """Values and names of errors, from the start of the only partition to its end or the first error.

    Silence until the time is over is an error too: who does not look at checksums may never get past damage.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap, "group.id": "unused", "check.crcs": check,
            "enable.partition.eof": True, "enable.auto.commit": False,
        }
    )  # fmt: skip
    values: list[bytes] = []
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                return values, [] if error.code() == KafkaError._PARTITION_EOF else [error.name()]
            values.append(message.value() or b"")
        return values, [f"neither end nor error within {seconds:g} s"]
    finally:
        # No fetch may be under way when the client is closed.
        consumer.unassign()
        consumer.poll(1.0)
        consumer.close()


def log_end(cluster: ManagedCluster, topic: str, broker: int) -> int | None:
    states: dict[int, PartitionState] = {}

    def silent() -> str | None:
        states.update(cluster.view((topic,)).states(topic, 0))
        return None if broker in states else "no answer"

    wait_until(silent, what=f"broker {broker} tells of {topic}", seconds=PATIENCE)
    return states[broker].log_end_offset


def size_of(cluster: ManagedCluster, topic: str, broker: int) -> int:
    return int(cluster.in_files(broker, f"stat -c %s {DATA_DIR}/{topic}-0/{0:020d}.log").text)


def test_what_a_power_loss_took_comes_back_from_the_leader(
    cluster: ManagedCluster, topic: str, prove: Prove
) -> None:
    old = leader_of(cluster, topic)
    write(cluster, topic)
    with prove(PowerLoss(target=LEADER)) as shown:
        assert shown.nodes == [old]
        lost = shown.facts[str(old)][f"{topic}-0"]
        assert (lost["before"], lost["after"]) == (100, 0)
        assert size_of(cluster, topic, old) == 0
    assert "loaded without offsets 0 to 99" in shown.healed
    assert log_end(cluster, topic, old) == 100
    assert len(read(cluster, topic, check=True)[0]) == 100


@pytest.mark.soak
def test_power_is_lost_at_any_byte_of_all_partitions(cluster: ManagedCluster, topic: str) -> None:
    write(cluster, topic)
    at = context(cluster, topic)
    spec = PowerLoss.model_validate({"target": {"leader": 0}, "keep": {"random": True}, "topic": "all"})
    injection = applied(spec, at)
    evidence = injection.verify(at)
    assert evidence.seen, evidence
    (facts,) = evidence.facts.values()
    assert isinstance(facts, dict)
    assert facts["__cluster_metadata-0"]["bytes"] > 0
    assert facts[f"{topic}-0"]["after"] < 100
    healed = injection.heal(at)
    assert healed.seen, healed
    settle(cluster, topic, 1, 3, 90)
    assert len(read(cluster, topic, check=True)[0]) == 100


@pytest.mark.soak
def test_a_power_loss_of_the_only_replica_loses_what_was_acknowledged_and_not_flushed(
    cluster: ManagedCluster, lonely: str
) -> None:
    write(cluster, lonely, acks=1)
    leader = leader_of(cluster, lonely)
    # A clean shutdown flushes: from here on the recovery point is 100.
    cluster.terminate(leader)
    wait_until(
        lambda: "it runs" if cluster.is_running(leader) else None, what="the broker has stopped", seconds=60
    )
    cluster.start_node(leader)
    settle(cluster, lonely, 1, 1, 60)
    write(cluster, lonely, acks=1)
    for lost in (True, False):
        at = context(cluster, lonely)
        injection = applied(PowerLoss(target=LEADER), at)
        # The second time nothing has been written since: the control.
        assert injection.verify(at).seen is lost
        assert injection.heal(at).seen is lost
        settle(cluster, lonely, 1, 1, 60)
        assert log_end(cluster, lonely, leader) == 100
    assert len(read(cluster, lonely, check=True)[0]) == 100, "100 of 200 acknowledged records are gone"


def test_a_kill_that_cuts_nothing_is_no_power_loss(
    cluster: ManagedCluster, lonely: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(cluster, lonely, acks=1)
    monkeypatch.setattr(data_loss, "cut_script", lambda _: "true")
    at = context(cluster, lonely)
    injection = applied(PowerLoss(target=LEADER), at)
    assert not injection.verify(at).seen
    healed = injection.heal(at)
    assert not healed.seen
    assert "to 100, it was cut to 0" in healed.what
    settle(cluster, lonely, 1, 1, 60)
    assert log_end(cluster, lonely, injection.nodes[0]) == 100


@pytest.mark.soak
def test_a_broker_finds_a_corrupt_segment_and_fetches_it_again(
    cluster: ManagedCluster, topic: str, prove: Prove
) -> None:
    old = leader_of(cluster, topic)
    write(cluster, topic)
    whole = size_of(cluster, topic, old)
    with prove(CorruptSegment(target=LEADER)) as shown:
        first, last = shown.facts[str(old)]["offsets"]
        assert 0 <= first < last < 100
        assert shown.facts[str(old)]["stored_crc"] != shown.facts[str(old)]["computed_crc"]
    assert "found invalid messages" in shown.healed
    assert f"loaded it to {first}" in shown.healed
    assert log_end(cluster, topic, old) == 100
    assert size_of(cluster, topic, old) == whole
    assert len(read(cluster, topic, check=True)[0]) == 100


@pytest.mark.soak
def test_a_broker_without_damage_finds_none(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(cluster, topic)
    monkeypatch.setattr(corrupt_segment, "_write_script", lambda *_: "true")
    at = context(cluster, topic)
    injection = applied(CorruptSegment(target=LEADER), at)
    assert not injection.verify(at).seen
    assert not injection.heal(at).seen
    settle(cluster, topic, 1, 3, 60)


@pytest.mark.soak
def test_damage_after_a_clean_stop_is_served_in_silence_and_mended(
    cluster: ManagedCluster, lonely: str
) -> None:
    write(cluster, lonely, acks=1)
    at = context(cluster, lonely)
    injection = applied(CorruptSegment(target=LEADER, after="stop", bytes=40), at)
    evidence = injection.verify(at)
    assert evidence.seen, evidence
    settle(cluster, lonely, 1, 1, 60)
    assert log_end(cluster, lonely, injection.nodes[0]) == 100, "the broker has noticed nothing"
    values, errors = read(cluster, lonely, check=True)
    assert len(values) < 100
    assert errors == ["_BAD_MSG"]
    # What a client makes of it that does not look depends on which bytes they are: wrong values, or none.
    values, _ = read(cluster, lonely, check=False, seconds=5)
    assert values != [b"x" * 100] * 100
    healed = injection.heal(at)
    assert healed.seen, healed
    assert read(cluster, lonely, check=True) == ([b"x" * 100] * 100, [])
    injection.heal(at)
    assert not injection.verify(at).seen


def test_a_wiped_broker_comes_back_as_itself_and_fetches_everything(
    cluster: ManagedCluster, topic: str, prove: Prove
) -> None:
    old = leader_of(cluster, topic)
    write(cluster, topic)
    before = meta_properties(cluster, old)
    with prove(WipeDisk(target=LEADER)) as shown:
        assert f"{topic}-0" in shown.facts[str(old)]["folders"]
        assert cluster.in_files(old, f"ls -A {DATA_DIR}").text == ""
    assert f"loaded no log and created {topic}-0 again" in shown.healed
    after = meta_properties(cluster, old)
    assert after["node.id"] == before["node.id"] == str(old)
    assert after["cluster.id"] == before["cluster.id"]
    assert after["directory.id"] != before["directory.id"]
    assert log_end(cluster, topic, old) == 100
    assert len(read(cluster, topic, check=True)[0]) == 100


@pytest.mark.soak
def test_a_wiped_broker_may_keep_its_directory_id(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    old = leader_of(cluster, topic)
    write(cluster, topic)
    before = meta_properties(cluster, old)
    with prove(WipeDisk(target=LEADER, keep_identity=True)):
        assert cluster.in_files(old, f"ls -A {DATA_DIR}").text.split() == ["meta.properties"]
    assert meta_properties(cluster, old) == before
    assert log_end(cluster, topic, old) == 100


def test_a_broker_that_keeps_its_disk_was_not_wiped(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(cluster, topic)
    monkeypatch.setattr(data_loss, "_empty", lambda **_: "true")
    at = context(cluster, topic)
    injection = applied(WipeDisk(target=LEADER), at)
    assert not injection.verify(at).seen
    assert not injection.heal(at).seen
    settle(cluster, topic, 1, 3, 60)


def meta_properties(cluster: ManagedCluster, broker: int) -> dict[str, str]:
    lines = cluster.in_files(broker, f"cat {DATA_DIR}/meta.properties").text.splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)

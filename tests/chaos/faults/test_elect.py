"""Elections, transfers and reassignments on real brokers: new leader, new replicas, and back again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from confluent_kafka import Producer

from faults.elect import Elect, Transfer
from faults.reassign import Reassign
from faults.shared.fault_spec import InjectionContext
from faults.targets import BrokerId, NodeIds
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.broker_views import PartitionState
from harness.model.errors import FaultError
from harness.model.host.ports import HOST
from harness.model.polling import wait_until
from tests.chaos.support.cluster_queries import PATIENCE, partition_state
from tests.chaos.support.proof import Prove
from tests.chaos.support.reassignments import ongoing_reassignments

pytestmark = pytest.mark.chaos


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}", seed="7")


def test_transfer_leadership(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    before = partition_state(cluster, topic)
    with prove(Transfer()) as shown:
        after = partition_state(cluster, topic)
        assert after.leader != before.leader
        assert after.leader == after.replicas[0] == shown.nodes[0]
        assert after.leader_epoch > before.leader_epoch
    back = partition_state(cluster, topic)
    assert (back.leader, back.replicas) == (before.leader, before.replicas)


def test_a_transfer_goes_where_it_is_told(
    cluster: ManagedCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = partition_state(cluster, topic)
    wanted = before.replicas[2]
    at = context(cluster, topic)
    injection = Transfer(partition=0, to=BrokerId(broker=wanted)).aim(at)
    with monkeypatch.context() as short:
        short.setattr("faults.elect._SECONDS", 1.0)
        assert not injection.verify(at).seen, "nothing was transferred yet"
    injection.apply(at)
    injection.apply(at)
    assert injection.verify(at).seen
    assert partition_state(cluster, topic).leader == wanted
    with pytest.raises(FaultError, match="no other replica can become leader"):
        Transfer(to=BrokerId(broker=wanted)).aim(at)

    # Where the leader is not the first replica: a second transfer is taken back to just that.
    _reorder(cluster, topic, before.replicas)
    second = Transfer(to=BrokerId(broker=before.replicas[1])).aim(at)
    second.apply(at)
    assert second.verify(at).seen
    second.heal(at)
    again = partition_state(cluster, topic)
    assert (again.leader, again.replicas) == (wanted, before.replicas)
    second.heal(at)

    injection.heal(at)
    assert partition_state(cluster, topic).leader == before.leader
    with monkeypatch.context() as short:
        short.setattr("faults.elect._SECONDS", 1.0)
        assert not injection.verify(at).seen, "after the heal the new leader leads no more"


def test_preferred_election(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    with pytest.raises(FaultError, match="nothing for the preferred election to do"):
        Elect().aim(context(cluster, topic))
    first, second, third = partition_state(cluster, topic).replicas
    _reorder(cluster, topic, (second, first, third))
    epoch = partition_state(cluster, topic).leader_epoch
    unasked = Elect().aim(context(cluster, topic))
    assert unasked.nodes == (second,)
    with prove(Elect(election="preferred", partition=0)):
        assert partition_state(cluster, topic).leader == second
        assert partition_state(cluster, topic).leader_epoch > epoch


def test_what_the_controller_answers(cluster: ManagedCluster, topic: str) -> None:
    assert cluster.elect(topic, [0, 7], unclean=False) == {
        0: "ELECTION_NOT_NEEDED",
        7: "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert cluster.elect(topic, [0], unclean=True) == {0: "ELECTION_NOT_NEEDED"}
    assert cluster.reassign(topic, {0: (1, 9)}) == {0: "INVALID_REPLICA_ASSIGNMENT"}
    assert cluster.reassign(topic, {0: None}) == {0: "NO_REASSIGNMENT_IN_PROGRESS"}
    assert cluster.reassign("no-such-topic", {0: (1,)}) == {0: "UNKNOWN_TOPIC_OR_PARTITION"}
    with pytest.raises(FaultError, match="nothing for the unclean election to do"):
        Elect(election="unclean").aim(context(cluster, topic))


def test_reassign_away_from_the_leader(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    before = partition_state(cluster, topic)
    wanted = before.replicas[:0:-1]
    with prove(Reassign(to=NodeIds(nodes=wanted))):
        after = partition_state(cluster, topic)
        assert after.replicas == wanted
        assert after.leader in wanted
        assert after.leader_epoch > before.leader_epoch
    assert partition_state(cluster, topic).replicas == before.replicas


@pytest.fixture
def stuck(cluster: ManagedCluster, topic: str) -> Iterator[int]:
    """A follower that is frozen, so that a move to it cannot end; it holds no replica."""
    *kept, out = partition_state(cluster, topic).replicas
    assert cluster.reassign(topic, {0: tuple(kept)}) == {0: None}
    settle(cluster, topic, 1, 2, PATIENCE)
    cluster.pause(out)
    yield out
    if cluster.is_paused(out):
        cluster.unpause(out)
    settle(cluster, topic, 1, 2, 60)


def test_a_reassignment_under_way_is_taken_back(
    cluster: ManagedCluster, topic: str, stuck: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.reassign._SECONDS", 1.0)
    before = partition_state(cluster, topic)
    at = context(cluster, topic)
    injection = Reassign(to=NodeIds(nodes=(before.leader, stuck))).aim(at)
    assert not injection.verify(at).seen, "nothing was moved yet"
    injection.apply(at)
    assert not injection.verify(at).seen, "a frozen broker copies nothing"
    assert _ongoing(cluster, topic) == {0}
    injection.undo(at)
    wait_until(
        lambda: None if not _ongoing(cluster, topic) else "under way",
        what="no reassignment",
        seconds=PATIENCE,
    )
    assert "former replicas" in injection.healed(at).what
    assert partition_state(cluster, topic).replicas == before.replicas


def _ongoing(cluster: ManagedCluster, topic: str) -> set[int]:
    for number in cluster.broker_ids:
        port = cluster.node(number).host_port
        assert port is not None
        with suppress(OSError), BrokerConnection(number, HOST, port, 3.0) as connection:
            return set(ongoing_reassignments(connection, topic, [0]))
    raise AssertionError("no broker answers")


@pytest.fixture
def pair(cluster: ManagedCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic on two of the three brokers that takes writes with one of them alone."""
    name = f"{request.node.name}-pair"
    admin = cluster.admin()
    admin.create(name, partitions=1, replication_factor=2, config={"min.insync.replicas": "1"})
    settle(cluster, name, 1, 2, 60)
    yield name
    for number in cluster.broker_ids:
        cluster.start_node(number)
    settle(cluster, name, 1, 2, 60)
    admin.delete(name)


def test_unclean_election(cluster: ManagedCluster, pair: str) -> None:
    at = context(cluster, pair)
    leader, follower = partition_state(cluster, pair).replicas
    _write(cluster, pair, 20)
    settle(cluster, pair, 1, 2, PATIENCE)
    cluster.kill(follower)
    _until(cluster, pair, lambda state: state.isr == (leader,), "an ISR of the leader alone")
    _write(cluster, pair, 10)
    with pytest.raises(FaultError, match="nothing for the unclean election to do"):
        Elect(election="unclean").aim(at)
    cluster.kill(leader)
    _until(cluster, pair, lambda state: state.leader == -1, "no leader")
    doomed = Elect(election="unclean").aim(at)
    with pytest.raises(FaultError, match="ELIGIBLE_LEADERS_NOT_AVAILABLE"):
        doomed.apply(at)
    cluster.start_node(follower)
    wait_until(
        lambda: None if follower in registered(cluster) else "not registered",
        what="the follower is back",
        seconds=60,
    )
    injection = Elect(election="unclean").aim(at)
    assert partition_state(cluster, pair).leader == -1, "nobody is elected uncalled for"
    injection.apply(at)
    evidence = injection.verify(at)
    assert evidence.seen, evidence.what
    assert partition_state(cluster, pair).leader == follower
    cluster.start_node(leader)
    (bounds,) = settle(cluster, pair, 1, 2, 1.5 * PATIENCE)
    assert bounds.end_offset == 20, "the ten that only the old leader had are gone"
    injection.heal(at)
    assert partition_state(cluster, pair).leader == follower


def registered(cluster: ManagedCluster) -> set[int]:
    """The brokers that are not fenced, by the word of those that answer."""
    return {number for seen in cluster.view(()).answered() for number in seen.brokers}


def _reorder(cluster: ManagedCluster, topic: str, replicas: tuple[int, ...]) -> None:
    assert cluster.reassign(topic, {0: replicas}) == {0: None}
    wait_until(
        lambda: (
            None
            if all(state.replicas == replicas for state in cluster.view((topic,)).states(topic, 0).values())
            else "the old order"
        ),
        what="every broker knows the new order",
        seconds=PATIENCE,
    )


def _until(
    cluster: ManagedCluster,
    topic: str,
    true: Callable[[PartitionState], bool],
    what: str,
    seconds: float = PATIENCE,
) -> None:
    wait_until(
        lambda: None if true(partition_state(cluster, topic)) else str(partition_state(cluster, topic)),
        what=what,
        seconds=seconds,
    )


def _write(cluster: ManagedCluster, topic: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    failed: list[object] = []
    for _ in range(records):
        producer.produce(topic, b"x", on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(2 * PATIENCE) == 0
    assert not failed

"""Elections, transfers and reassignments against a cluster made of views: what is asked, what is proof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from pydantic import ValidationError

from faults.elect import Elect, Elected, Transfer
from faults.reassign import Reassign
from faults.shared.fault_spec import FaultSpec
from faults.targets import All, BrokerId, Clients, Controller, Leader, NodeIds
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import PartitionState, TopologyView
from harness.model.errors import ClusterError, FaultError
from tests.support.builders.views import quiet, seen, silent, state, view
from tests.support.fake_cluster import FakeCluster, context, unheard

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=2, replication_factor=3)
ONE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=2, replication_factor=1)


@dataclass
class Admin(FakeCluster):
    """A fake cluster whose controller gives the answers that it was told to give, and keeps what it was
    asked."""

    election: list[str | None] = field(default_factory=list)
    move: list[str | None] = field(default_factory=list)
    asked: list[object] = field(default_factory=list)

    def elect(self, topic: str, partitions: Iterable[int], *, unclean: bool) -> dict[int, str | None]:
        assert topic == "t"
        self.asked.append("unclean" if unclean else "preferred")
        answer = self.election.pop(0) if self.election else None
        return dict.fromkeys(partitions, answer)

    def reassign(self, topic: str, replicas: dict[int, tuple[int, ...] | None]) -> dict[int, str | None]:
        assert topic == "t"
        self.asked.append(replicas)
        answer = self.move.pop(0) if self.move else None
        return dict.fromkeys(replicas, answer)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("elect._SECONDS", "reassign._SECONDS"):
        monkeypatch.setattr(f"faults.{name}", 0.3)
    monkeypatch.setattr("faults.shared.partition_fault.BACK_SECONDS", 0.3)
    monkeypatch.setattr("faults.shared.waiting.ANSWER_SECONDS", 1.2)


def all_say(believed: PartitionState) -> TopologyView:
    return view(*(seen(b, believed) for b in (1, 2, 3)))


NOT_PREFERRED = all_say(state(leader=2, epoch=4))
PREFERRED = all_say(state(leader=1, epoch=5))
LEADERLESS = view(silent(1), *(seen(b, state(leader=-1, epoch=4, isr=(1,))) for b in (2, 3)))
WON = view(silent(1), *(seen(b, state(leader=3, epoch=5, isr=(3,))) for b in (2, 3)))


def test_a_preferred_election_is_proved_by_leader_and_epoch() -> None:
    cluster = Admin([NOT_PREFERRED, NOT_PREFERRED, PREFERRED])
    injection = Elect().aim(context(cluster))
    assert injection.nodes == (1,)
    assert injection.target == "preferred leader of partition 0"
    injection.apply(context(cluster))
    evidence = injection.verify(context(cluster))
    assert evidence.seen
    assert "from broker 2 (epoch 4) to broker 1 (epoch 5)" in evidence.what
    assert cluster.asked == ["preferred"]
    assert "nothing to undo" in injection.heal(context(cluster)).what


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (NOT_PREFERRED, "still in leader epoch 4"),
        (all_say(state(leader=1, epoch=4)), "still in leader epoch 4"),
        (all_say(state(leader=3, epoch=5)), "led by broker 3"),
        (all_say(state(leader=-1, epoch=5)), "led by none"),
        (view(silent(1), silent(2), silent(3)), "no broker reports"),
        # The new leader is silent: that others name it is not yet that it leads.
        (
            view(silent(1), seen(2, state(leader=2, epoch=4)), seen(3, state(leader=1, epoch=5))),
            "still in leader epoch 4, says broker 2",
        ),
    ],
)
def test_what_is_no_proof_of_an_election(after: TopologyView, words: str) -> None:
    cluster = Admin([NOT_PREFERRED, after])
    injection = Elect().aim(context(cluster))
    injection.apply(context(cluster))
    evidence = injection.verify(context(cluster))
    assert not evidence.seen
    assert words in evidence.what


def test_a_broker_that_is_cut_off_need_not_know() -> None:
    stale = view(
        seen(1, state(leader=1, epoch=5)),
        seen(2, state(leader=2, epoch=4)),
        seen(3, state(leader=1, epoch=5)),
    )
    cluster = Admin([NOT_PREFERRED, stale])
    evidence = Elect().aim(context(cluster)).verify(context(cluster))
    assert evidence.seen
    assert "but partition 0 is still in leader epoch 4, says broker 2" in evidence.what


@pytest.mark.parametrize(
    "now",
    [quiet(), all_say(state(leader=2, isr=(2, 3))), LEADERLESS],
    ids=["preferred leads", "preferred out of sync", "leaderless"],
)
def test_a_preferred_election_that_would_change_nothing_is_refused(now: TopologyView) -> None:
    cluster = Admin([now])
    with pytest.raises(FaultError, match="nothing for the preferred election to do"):
        Elect(partition=0).aim(context(cluster))
    assert cluster.asked == []


def test_only_partitions_with_something_to_elect_are_meant() -> None:
    two = all_say(state(leader=2, epoch=4))
    mixed = view(
        *(
            seen(b, state(leader=1, epoch=1), state(partition=1, leader=3, epoch=2, replicas=(2, 3, 1)))
            for b in (1, 2, 3)
        )
    )
    assert [then.partition for then in Elect().aim(context(Admin([mixed]))).before] == [1]
    assert [then.partition for then in Elect().aim(context(Admin([two]))).before] == [0]


def test_an_unclean_election_needs_a_partition_without_a_leader() -> None:
    with pytest.raises(FaultError, match="nothing for the unclean election to do"):
        Elect(election="unclean").aim(context(Admin([quiet()])))
    cluster = Admin([LEADERLESS, WON])
    injection = Elect(election="unclean").aim(context(cluster))
    assert injection.nodes == (1, 2, 3)
    injection.apply(context(cluster))
    evidence = injection.verify(context(cluster))
    assert evidence.seen
    assert "from none (epoch 4) to broker 3 (epoch 5)" in evidence.what
    assert cluster.asked == ["unclean"]


def test_what_the_controller_refuses_is_no_injection() -> None:
    cluster = Admin([LEADERLESS], election=["ELIGIBLE_LEADERS_NOT_AVAILABLE"])
    with pytest.raises(FaultError, match="ELIGIBLE_LEADERS_NOT_AVAILABLE"):
        Elect(election="unclean").aim(context(cluster)).apply(context(cluster))
    again = Admin([LEADERLESS], election=["ELECTION_NOT_NEEDED"])
    Elect(election="unclean").aim(context(again)).apply(context(again))


MOVED = all_say(state(leader=3, epoch=1, replicas=(3, 1, 2)))
AT_HOME = all_say(state(leader=1, epoch=2))


def test_a_transfer_reorders_elects_and_goes_back() -> None:
    cluster = Admin([quiet(), MOVED])
    injection = Transfer(to=BrokerId(broker=3)).aim(context(cluster))
    assert injection.target == "partition 0 from broker 1 to 3"
    injection.apply(context(cluster))
    assert injection.verify(context(cluster)).seen
    assert cluster.asked == [{0: (3, 1, 2)}, "preferred"]
    cluster.asked.clear()
    cluster.views = [AT_HOME]
    injection.heal(context(cluster))
    assert cluster.asked == [{0: (1, 2, 3)}, "preferred", {0: (1, 2, 3)}]


def test_a_leader_that_was_not_the_first_replica_is_brought_back_all_the_same() -> None:
    cluster = Admin([NOT_PREFERRED])
    injection = Transfer(to=BrokerId(broker=3)).aim(context(cluster))
    cluster.views = [all_say(state(leader=2, epoch=6))]
    injection.heal(context(cluster))
    assert cluster.asked == [{0: (2, 1, 3)}, "preferred", {0: (1, 2, 3)}]


def test_a_former_leader_that_was_down_is_elected_when_it_is_back() -> None:
    cluster = Admin([quiet(), MOVED])
    injection = Transfer(to=BrokerId(broker=3)).aim(context(cluster))
    cluster.election = ["PREFERRED_LEADER_NOT_AVAILABLE"]
    away = all_say(state(leader=3, epoch=1, isr=(2, 3)))
    cluster.views = [away]
    injection.undo(context(cluster))
    assert len(cluster.asked) == 3
    cluster.views = [away, all_say(state(leader=3, epoch=1)), AT_HOME]
    injection.healed(context(cluster))
    assert len(cluster.asked) == 6
    cluster.views = [away]
    with pytest.raises(FaultError, match="leadership did not go back"):
        injection.healed(context(cluster))


@pytest.mark.parametrize(
    ("spec", "now"),
    [
        (Transfer(), all_say(state(isr=(1,)))),
        (Transfer(), LEADERLESS),
        (Transfer(to=BrokerId(broker=1)), quiet()),
        (Transfer(to=Leader(leader=0)), quiet()),
        (Transfer(partition=7), quiet()),
        (Reassign(partition=7, to=All(all=True)), quiet()),
        (Reassign(to=All(all=True)), quiet()),
        (Reassign(to=NodeIds(nodes=(101,))), quiet()),
        (Elect(), view(silent(1), silent(2), silent(3))),
    ],
)
def test_what_cannot_be_aimed_is_refused(spec: FaultSpec, now: TopologyView) -> None:
    with pytest.raises(FaultError):
        spec.aim(context(Admin([now])))


def test_a_transfer_chooses_by_the_seed() -> None:
    chosen = {Transfer().aim(context(Admin([quiet()]))).nodes for _ in range(5)}
    assert len(chosen) == 1
    assert chosen <= {(2,), (3,)}


FEWER = all_say(state(leader=2, epoch=1, replicas=(3, 2), isr=(2, 3)))


def test_it_is_asked_again_until_a_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Admin([NOT_PREFERRED, NOT_PREFERRED, PREFERRED])
    injection = Elect().aim(context(cluster))
    unheard(cluster, "elect", monkeypatch)
    injection.apply(context(cluster))
    assert cluster.asked == ["preferred"]
    made = unheard(cluster, "elect", monkeypatch, times=99)
    with pytest.raises(ClusterError, match="no broker answered"):
        injection.apply(context(cluster))
    assert 1 < len(made) < 9


def test_a_reassignment_is_proved_by_replicas_and_isr() -> None:
    cluster = Admin([quiet(), FEWER])
    injection = Reassign(to=NodeIds(nodes=(3, 2))).aim(context(cluster))
    assert injection.target == "partition 0 from brokers [1, 2, 3] to [3, 2]"
    injection.apply(context(cluster))
    assert injection.verify(context(cluster)).seen
    assert cluster.asked == [{0: (3, 2)}]
    cluster.asked.clear()
    cluster.views = [quiet()]
    cluster.move = ["NO_REASSIGNMENT_IN_PROGRESS"]
    injection.heal(context(cluster))
    assert cluster.asked == [{0: None}, {0: (1, 2, 3)}], "cancelled before it is moved back"


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (quiet(), "has the replicas [1, 2, 3]"),
        (all_say(state(leader=2, epoch=1, replicas=(2, 3), isr=(2, 3))), "has the replicas [2, 3]"),
        (all_say(state(leader=2, epoch=1, replicas=(3, 2), isr=(2,))), "has the ISR [2]"),
        (all_say(state(leader=2, epoch=0, replicas=(3, 2), isr=(2, 3))), "still in leader epoch 0"),
        (view(silent(1), silent(2), silent(3)), "no broker reports"),
    ],
)
def test_what_is_no_proof_of_a_reassignment(after: TopologyView, words: str) -> None:
    cluster = Admin([quiet(), after])
    injection = Reassign(to=NodeIds(nodes=(3, 2))).aim(context(cluster))
    injection.apply(context(cluster))
    evidence = injection.verify(context(cluster))
    assert not evidence.seen
    assert words in evidence.what


def test_who_holds_a_replica_already_goes_first() -> None:
    wider = view(*(seen(b, state(replicas=(3, 1), isr=(1, 3))) for b in (1, 2, 3)))
    assert Reassign(to=All(all=True)).aim(context(Admin([wider]))).to == ((0, (3, 1, 2)),)


def test_replicas_that_do_not_move_back_are_told() -> None:
    cluster = Admin([quiet()])
    injection = Reassign(to=NodeIds(nodes=(3, 2))).aim(context(cluster))
    cluster.views = [FEWER]
    with pytest.raises(FaultError, match="replicas did not move back"):
        injection.healed(context(cluster))
    cluster.move = ["INVALID_REPLICA_ASSIGNMENT"]
    with pytest.raises(FaultError, match="INVALID_REPLICA_ASSIGNMENT"):
        injection.undo(context(cluster))


def test_a_topic_that_was_deleted_needs_no_healing() -> None:
    gone = view(seen(1), seen(2), seen(3))
    for spec in (Transfer(), Reassign(to=NodeIds(nodes=(3, 2)))):
        cluster = Admin([quiet()])
        injection = spec.aim(context(cluster))
        cluster.views = [gone]
        cluster.election = cluster.move = ["UNKNOWN_TOPIC_OR_PARTITION"] * 3
        assert injection.heal(context(cluster)).seen


@pytest.mark.parametrize("spec", [Transfer(), Reassign(to=BrokerId(broker=2)), Elect(partition=0)])
def test_what_is_written_down_is_read_back(spec: FaultSpec) -> None:
    assert type(spec).model_validate(spec.model_dump(mode="json", by_alias=True)) == spec
    injection = spec.aim(context(Admin([NOT_PREFERRED])))
    assert type(injection).model_validate_json(injection.model_dump_json()) == injection


@pytest.mark.parametrize(
    ("spec", "shape", "words"),
    [
        (Elect(partition=2), SHAPE, "topic has 0 to 1"),
        (Transfer(partition=2), SHAPE, "topic has 0 to 1"),
        (Elect(), ONE, "second replica"),
        (Transfer(), ONE, "second replica"),
        (Transfer(to=BrokerId(broker=9)), SHAPE, "brokers are 1 to 3"),
        (Transfer(to=Clients(client=True)), SHAPE, "only brokers lead"),
        (Transfer(to=Controller(controller=True)), SHAPE, "only brokers lead"),
        (Reassign(to=Clients(client=True)), SHAPE, "only brokers hold"),
        (Reassign(to=NodeIds(nodes=(101,))), SHAPE, "only brokers hold"),
    ],
)
def test_what_a_cluster_cannot_take_is_refused(spec: FaultSpec, shape: ClusterShape, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        spec.warnings(shape)


def test_what_is_to_be_expected() -> None:
    assert "acknowledged records too" in Elect(election="unclean").warnings(SHAPE)[0]
    assert "fewer than 3" in Reassign(to=BrokerId(broker=1)).warnings(SHAPE)[0]
    for spec in (Elect(), Transfer(), Reassign(to=All(all=True))):
        assert spec.warnings(SHAPE) == ()
        assert spec.max_brokers_down(SHAPE) == 0
    with pytest.raises(ValidationError):
        Elected.model_validate({"election": "clean", "before": []})

"""Network cuts: what counts as proof, where rules go and how they go, and what is refused beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.network.links import Link
from faults.network.namespaces import Placed, with_holders
from faults.network.partition_injection import Cuts
from faults.network.partition_proof import ProbeReport, judge, parse_report, probe_script
from faults.partition import Bridge, Partition, Ring
from faults.shared.fault_spec import FaultSpec
from faults.targets import BaseTarget, Followers, Leader, NodeIds, surely_within
from faults.targets.target_context import ClusterShape
from harness.model.errors import ClusterError, FaultError
from harness.model.node_layout import CLIENT
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, context

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=3, replication_factor=3)
LEADER, FOLLOWERS = Leader(leader=0), Followers(followers=0)


def partition(side: object, other: object, lost: str = "both") -> Partition:
    return Partition.model_validate({"from": side, "to": other, "lost": lost})


def report(listening: float = 1.0, read: float = 3.0, sent: float = 2.0, **counters: int) -> ProbeReport:
    """One node's report: counters stood at 0 before; `cut_1_2=5` means that this rule dropped five."""
    after = {name.replace("_", "-"): count for name, count in counters.items()}
    return ProbeReport(listening, read, [(sent, sent + 0.01)], {}, after)


BOTH = with_holders({Link(1, 2), Link(2, 1)})
ONE_WAY = with_holders({Link(1, 2)})


def test_both_ways_are_proved_by_drops_silence_and_failed_connections() -> None:
    proof = {1: report(cut_1_2=5, cut_2_1=4), 2: report()}
    evidence = judge(BOTH, proof, ())
    assert evidence.seen, evidence.what
    assert evidence.facts["cut"] == {
        "broker 1 to broker 2": {"dropped": 5, "arrived": 0},
        "broker 2 to broker 1": {"dropped": 4, "arrived": 0},
    }
    assert evidence.facts["open"] == {}
    assert evidence.facts["rules_on"] == [1]


@pytest.mark.parametrize(
    ("one", "two", "why"),
    [
        (report(cut_1_2=5), report(), "broker 2 to broker 1: no packet was dropped"),
        (report(cut_1_2=5, cut_2_1=4, heard_2_1=1), report(), "broker 2 to broker 1: 1 packets passed"),
        (report(cut_1_2=5, cut_2_1=4), report(heard_1_2=3), "broker 1 to broker 2: 3 packets passed"),
        (
            report(cut_1_2=5, cut_2_1=4),
            report(listening=2.5),
            "nothing was sent while the other end listened",
        ),
        (report(cut_1_2=5, cut_2_1=4), report(read=1.5), "nothing was sent while the other end listened"),
    ],
)
def test_anything_less_is_no_proof(one: ProbeReport, two: ProbeReport, why: str) -> None:
    evidence = judge(BOTH, {1: one, 2: two}, ())
    assert not evidence.seen
    assert why in evidence.what


def test_packets_dropped_before_the_proof_began_do_not_count() -> None:
    stale = report(cut_1_2=5, cut_2_1=4)
    stale.before.update(stale.after)
    assert "no packet was dropped" in judge(BOTH, {1: stale, 2: report()}, ()).what


def test_a_connection_across_is_no_cut() -> None:
    one = report(cut_1_2=5, cut_2_1=4)
    one.reached.add(2)
    assert "broker 1 to broker 2: a connection can be opened" in judge(BOTH, {1: one, 2: report()}, ()).what


def test_one_way_is_proved_only_when_the_other_way_is_heard() -> None:
    assert judge(ONE_WAY, {1: report(cut_1_2=5, heard_2_1=9), 2: report()}, ()).seen
    deaf = judge(ONE_WAY, {1: report(cut_1_2=5), 2: report()}, ())
    assert "broker 2 to broker 1: nothing arrives, though" in deaf.what


def test_a_client_is_cut_when_its_requests_are_dropped_and_nobody_answers() -> None:
    placed = with_holders({Link(CLIENT, 2), Link(2, CLIENT)})
    proof = {2: report(cut_client_2=3, cut_2_client=3)}
    assert judge(placed, proof, {1, 3}).seen
    assert "the client to broker 2: a connection can be opened" in judge(placed, proof, {1, 2, 3}).what
    one_way = with_holders({Link(2, CLIENT)})
    assert judge(one_way, {2: report(cut_2_client=3, heard_client_2=2)}, {1, 3}).seen
    assert not judge(one_way, {2: report(cut_2_client=3)}, {1, 3}).seen


def test_of_a_node_that_does_not_run_nothing_is_said() -> None:
    placed = with_holders({Link(1, 2), Link(1, 3)})
    evidence = judge(placed, {1: report(cut_1_2=5, heard_2_1=1), 2: report()}, ())
    assert evidence.seen
    assert "broker 3 does not run" in evidence.what
    assert evidence.facts["not_running"] == [3]
    assert not judge(placed, {1: report()}, ()).seen, "with nobody left to be cut there is no proof"


PRINTED = """listening 1000.25
before [3:90] -A INPUT -s 10.0.0.2/32 -m comment --comment kafka-chaos-t/cut-2-1 -j DROP
sent 1000.30 1000.31
reached 3
read 1000.90
after [7:210] -A INPUT -s 10.0.0.2/32 -m comment --comment kafka-chaos-t/cut-2-1 -j DROP
after [2:60] -A INPUT -s 10.0.0.3/32 -p udp -m udp --dport 9 -m comment --comment "kafka-chaos-t/heard-3-1"
"""


def test_a_report_is_read_from_what_the_script_prints() -> None:
    read = parse_report(PRINTED)
    assert (read.listening, read.read, read.sent) == (1000.25, 1000.9, [(1000.3, 1000.31)])
    assert read.rise("cut-2-1") == 4
    assert read.rise("heard-3-1") == 2
    assert read.reached == {3}
    assert parse_report("") == ProbeReport()


def test_the_proof_sends_across_and_counts_what_arrives() -> None:
    addresses = {CLIENT: "10.0.0.254", 1: "10.0.0.1", 2: "10.0.0.2"}
    text = probe_script(1, [Link(1, 2), Link(CLIENT, 1)], addresses, {1: 9094, 2: 9094}, "tag-1")
    assert "-A INPUT -p udp -s 10.0.0.2 --dport 9 -m comment --comment tag-1/heard-2-1\n" in text
    assert "-A INPUT -p tcp -s 10.0.0.254 --dport 9092 -m comment --comment tag-1/heard-client-1\n" in text
    assert "-A OUTPUT -p udp -d 10.0.0.254 --dport 9 -m comment --comment tag-1/heard-1-client\n" in text
    assert "heard-1-2" not in text, "that is counted in the other namespace"
    assert "try 2 10.0.0.2 9094 &" in text
    assert "try -1" not in text, "nothing listens at the client"


@dataclass
class Network(FakeCluster):
    """A fake cluster whose every namespace answers the same, whatever the order; some end when looked at."""

    answer: FakeCommandResult = field(default_factory=FakeCommandResult)
    ends: set[int] = field(default_factory=set)

    def in_network(self, number: int, script: str) -> FakeCommandResult:
        self.scripts.append((number, script))
        if number in self.ends:
            self.dead.add(number)
            raise ClusterError("no such container")
        return self.answer


def rules_of(cluster: FakeCluster) -> dict[int, set[str]]:
    """Which cuts each namespace was told to make."""
    return {
        number: {
            word.partition("/")[2] for line in text.splitlines() if "put " in line for word in line.split()
        }
        - {""}
        for number, text in cluster.scripts
    }


def test_the_rules_live_at_the_leader_only() -> None:
    cluster = FakeCluster([quiet()])
    cut = partition(LEADER, FOLLOWERS).aim(context(cluster))
    assert not cluster.scripts, "aiming changes nothing"
    assert (cut.target, cut.nodes) == ("broker 1 | broker 2, 3", (1, 2, 3))
    cut.apply(context(cluster))
    assert rules_of(cluster) == {1: {"cut-1-2", "cut-2-1", "cut-1-3", "cut-3-1"}}


@pytest.mark.parametrize(
    ("lost", "words", "rules"),
    [
        ("from_to", "broker 1 to broker 2, 3", {"cut-1-2", "cut-1-3"}),
        ("to_from", "broker 2, 3 to broker 1", {"cut-2-1", "cut-3-1"}),
    ],
)
def test_one_way_drops_that_way_only(lost: str, words: str, rules: set[str]) -> None:
    cluster = FakeCluster([quiet()])
    cut = partition(LEADER, FOLLOWERS, lost).aim(context(cluster))
    cut.apply(context(cluster))
    assert cut.target == words
    assert rules_of(cluster) == {1: rules}


def test_what_is_recorded_is_all_that_healing_needs() -> None:
    cluster = FakeCluster([quiet()])
    cut = partition("client", LEADER).aim(context(cluster))
    again = type(cut).model_validate_json(cut.model_dump_json())
    assert again == cut
    assert again.placed == (Placed(Link(CLIENT, 1), 1), Placed(Link(1, CLIENT), 1))
    again.undo(context(cluster))
    assert [number for number, _ in cluster.scripts] == [1]


def test_nodes_that_both_sides_mean_belong_to_the_first() -> None:
    cut = partition(LEADER, "all").aim(context(FakeCluster([quiet()])))
    assert cut.target == "broker 1 | broker 2, 3"


def test_a_dead_broker_holds_no_rule_and_needs_no_healing() -> None:
    cluster = FakeCluster([quiet()], dead={1})
    cut = partition(LEADER, FOLLOWERS).aim(context(cluster))
    cut.apply(context(cluster))
    assert set(rules_of(cluster)) == {2, 3}
    cluster.kill(2)
    cluster.scripts.clear()
    cut.undo(context(cluster))
    assert [number for number, _ in cluster.scripts] == [3]


def test_a_broker_that_ends_while_it_is_healed_needs_no_healing() -> None:
    cluster = Network([quiet()])
    cut = partition(LEADER, FOLLOWERS).aim(context(cluster))
    cluster.ends = {1, 2}
    cut.undo(context(cluster))


def test_rules_that_cannot_be_set_or_removed_are_errors() -> None:
    cluster = Network([quiet()], answer=FakeCommandResult(1, "iptables: not permitted"))
    cut = partition(LEADER, FOLLOWERS).aim(context(cluster))
    with pytest.raises(FaultError, match="could not be set"):
        cut.apply(context(cluster))
    with pytest.raises(FaultError, match="could not be removed"):
        cut.undo(context(cluster))


def test_a_restart_takes_rules_away_only_where_they_live() -> None:
    cluster = Network([quiet()], answer=FakeCommandResult(0, "put\nput\n"))
    cut = partition(LEADER, FOLLOWERS).aim(context(cluster))
    assert cut.restarted(context(cluster), 1)
    assert not cut.restarted(context(cluster), 2)
    assert [number for number, _ in cluster.scripts] == [1]
    cluster.answer = FakeCommandResult()
    assert not cut.restarted(context(cluster), 1), "the rules were there"


def test_what_is_never_seen_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.network.partition_injection.Cuts.proof_seconds", 0.0)
    cut = partition(LEADER, FOLLOWERS).aim(context(FakeCluster([quiet()])))
    assert not cut.verify(context(Network([quiet()]))).seen


def test_a_cut_that_stays_after_healing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.network.partition_injection._HEAL_SECONDS", 0.0)
    cut = partition(LEADER, FOLLOWERS).aim(context(FakeCluster([quiet()])))
    with pytest.raises(FaultError, match="broker 1 does not reach broker 3"):
        cut.healed(context(Network([quiet()], answer=FakeCommandResult(0, "2\n"))))
    assert cut.healed(context(Network([quiet()], answer=FakeCommandResult(0, "3\n2\n")))).seen


def test_there_must_be_two_sides() -> None:
    with pytest.raises(FaultError, match="nothing to cut"):
        partition(LEADER, LEADER).aim(context(FakeCluster([quiet()])))


def test_the_client_is_cut_from_brokers_only() -> None:
    cut = partition("client", {"any": ["all", "controllers"]}).aim(context(FakeCluster([quiet()])))
    assert {placed.holder for placed in cut.placed} == {1, 2, 3}


@pytest.mark.parametrize(
    ("spec", "words", "cuts"),
    [
        (Ring(), "ring of broker 1, 2, 3, 4", {(1, 3), (3, 1), (2, 4), (4, 2)}),
        (Bridge(), "broker 1 | broker 3, 4, over broker 2", {(1, 3), (3, 1), (1, 4), (4, 1)}),
        (
            Bridge(via=NodeIds(nodes=(1, 4))),
            "broker 2 | broker 3, over broker 1, 4",
            {(2, 3), (3, 2)},
        ),
    ],
)
def test_shapes_cut_whom_they_say(spec: Ring | Bridge, words: str, cuts: set[tuple[int, int]]) -> None:
    cluster = FakeCluster([quiet()], broker_ids=(1, 2, 3, 4))
    cut = spec.aim(context(cluster))
    assert cut.target == words
    assert {tuple(placed.cut) for placed in cut.placed} == cuts
    assert isinstance(cut, Cuts)
    assert type(cut).model_validate_json(cut.model_dump_json()) == cut


def test_shapes_need_nodes() -> None:
    with pytest.raises(FaultError, match="nothing to cut"):
        Ring().aim(context(FakeCluster([quiet()])))
    with pytest.raises(FaultError, match="a node on each side"):
        Bridge(via=NodeIds(nodes=(1, 2))).aim(context(FakeCluster([quiet()])))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (partition(LEADER, LEADER), "needs two sides"),
        (partition({"isr": 0}, LEADER), "needs two sides"),
        (partition("all", FOLLOWERS), "needs two sides"),
        (partition("all", {"random": 2}), "needs two sides"),
        (partition("minority", "minority"), "needs two sides"),
        (partition({"any": [LEADER, FOLLOWERS]}, FOLLOWERS), "needs two sides"),
        (partition({"broker": 1}, {"nodes": [1]}), "needs two sides"),
        (partition("controllers", "controller"), "needs two sides"),
        (
            partition({"any": ["client", LEADER]}, {"any": ["client", FOLLOWERS]}),
            "the client can be on one side",
        ),
        (partition("client", "controllers"), "do not connect to separate controllers"),
        (partition({"broker": 7}, "all"), "matches nothing"),
        (Ring(), "needs 4 nodes or more"),
        (Ring.model_validate({"target": "client"}), "not of the client"),
        (Bridge.model_validate({"target": "minority"}), "needs 3 nodes or more"),
        (Bridge.model_validate({"via": "client"}), "not the client"),
        (Bridge.model_validate({"via": {"nodes": [1, 2]}}), "leaves fewer than two"),
    ],
)
def test_what_the_topology_cannot_take_is_refused(spec: FaultSpec, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        spec.warnings(SHAPE)


def test_a_single_broker_has_no_two_sides() -> None:
    alone = ClusterShape(brokers=1, controllers=1, combined=False, partitions=1, replication_factor=1)
    with pytest.raises(ValueError, match="two sides"):
        partition(LEADER, "all").warnings(alone)
    assert partition(LEADER, "client").warnings(alone)
    assert partition(LEADER, "controller").warnings(alone)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (partition(LEADER, FOLLOWERS), ""),
        (partition(LEADER, "client"), "harness's own requests"),
        (partition(LEADER, "controller"), "is fenced"),
        (partition("controller", "all"), "there are no elections"),
        (partition("all", "controllers"), "there are no elections"),
        (Bridge(), ""),
    ],
)
def test_what_to_expect_is_told(spec: FaultSpec, told: str) -> None:
    assert told in " ".join(spec.warnings(SHAPE))
    assert bool(spec.warnings(SHAPE)) is bool(told)


def test_one_of_several_controllers_is_not_all_of_them() -> None:
    three = ClusterShape(brokers=3, controllers=3, combined=False, partitions=1, replication_factor=3)
    assert "is fenced" in " ".join(partition("controller", "all").warnings(three))
    combined = ClusterShape(brokers=3, controllers=3, combined=True, partitions=1, replication_factor=3)
    assert "is fenced" in " ".join(partition("controller", LEADER).warnings(combined))


def test_a_broker_that_zookeeper_does_not_hear_loses_its_session() -> None:
    shape = ClusterShape(3, 1, True, 1, replication_factor=3, zookeepers=(201,))
    for cut in (partition(LEADER, "zookeeper"), partition({"nodes": [2, 201]}, LEADER)):
        (warning,) = cut.warnings(shape)
        assert "loses its session" in warning
    assert partition(LEADER, FOLLOWERS).warnings(shape) == ()
    with pytest.raises(ValueError, match="nothing to cut"):
        partition("client", "zookeeper").warnings(shape)


def test_a_partition_from_broker_0_is_not_one_from_the_client() -> None:
    shape = ClusterShape(3, 1, False, 1, replication_factor=3, own_ids=(0, 1, 2))
    warnings = partition({"broker": 0}, {"nodes": [1, 2]}).warnings(shape)
    assert not any("harness's own requests" in one for one in warnings)
    partition({"broker": 0}, "client").warnings(shape)


def test_rings_and_bridges_of_enough_brokers_are_allowed() -> None:
    five = ClusterShape(brokers=5, controllers=1, combined=False, partitions=1, replication_factor=3)
    assert Ring().warnings(five) == ()
    assert Bridge.model_validate({"via": {"leader": 0}}).warnings(five) == ()
    assert [spec.max_brokers_down(five) for spec in (Ring(), Bridge())] == [0, 2]
    assert partition(LEADER, FOLLOWERS).max_brokers_down(five) == 1
    assert partition(LEADER, "controller").max_brokers_down(five) == 1
    assert partition("client", "all").max_brokers_down(five) == 5


def test_no_broker_is_down_where_only_controllers_lose_each_other() -> None:
    standby = {"both": ["controllers", {"not": "controller"}]}
    three = ClusterShape(brokers=3, controllers=3, combined=False, partitions=1, replication_factor=3)
    assert partition("controller", standby).max_brokers_down(three) == 0
    assert partition("controller", "all").max_brokers_down(three) == 3
    assert partition("controller", {"random": 1}).max_brokers_down(three) == 1
    # These nodes are brokers too.
    assert partition("controller", standby).max_brokers_down(replace(three, combined=True)) == 1


WRITTEN = st.sampled_from(
    [
        {"leader": 0}, {"followers": 0}, {"isr": 0}, {"broker": 2}, {"random": 2}, {"random": 3}, "minority",
        "majority", "all", "client", "controller", "controllers", {"not": "all"}, {"not": {"leader": 0}},
        {"any": ["client", {"leader": 0}]}, {"both": ["all", {"nodes": [1, 101]}]}, {"nodes": [-1, 1, 101]},
    ]
)  # fmt: skip


@given(WRITTEN, WRITTEN, st.text(max_size=4))
def test_what_is_said_beforehand_holds_on_a_live_cluster(one: object, two: object, seed: str) -> None:
    spec = partition(one, two)
    fake = FakeCluster([quiet()])
    snapshot = replace(context(fake).snapshot(), seed=seed)

    def chosen(target: BaseTarget) -> frozenset[int]:
        return target.choose(snapshot)

    for side in (spec.side, spec.other):
        assert chosen(side) <= side.possible_nodes(SHAPE)
        surely = side.fixed_nodes(SHAPE)
        assert surely is None or chosen(side) == surely
    if surely_within(spec.other, spec.side, SHAPE):
        assert chosen(spec.other) <= chosen(spec.side)


def test_the_words_of_files_are_read() -> None:
    read = Partition.model_validate({"kind": "partition", "from": {"leader": 0}, "to": "controller"})
    assert read.lost == "both"
    with pytest.raises(ValueError, match="lost"):
        partition(LEADER, FOLLOWERS, "sideways")

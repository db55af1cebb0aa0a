"""Faults on links: which links, the scripts that shape them, and what measured echoes prove."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from faults import echoes, links
from faults.bandwidth import Bandwidth, Slowed, mbit_of, told
from faults.base import KINDS, FaultSpec, Scene
from faults.echoes import Echoes, Flow, bounds, enough_for, parse_flood, parse_pings
from faults.latency import Delayed, Jitter, Jittered, Latency
from faults.link_base import Shaped
from faults.links import Link, between, class_of, minor_of, shape_script, unshape_script, ways
from faults.loss import Loss, PacketsLost
from faults.packets import (
    Corrupted,
    CorruptPackets,
    Duplicated,
    DuplicatePackets,
    Reorder,
    Reordered,
    bad_checksums,
)
from faults.sight import CLIENT, Shape
from faults.targets import All, BrokerId, Client, Controllers, Followers, Leader
from harness import kernel
from harness.model.errors import FaultError
from tests.pure.puppet import Puppet, Said, scene
from tests.pure.views import quiet

pytestmark = pytest.mark.pure

LEADER, FOLLOWERS = Leader(leader=0), Followers(followers=0)
SHAPE = Shape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
ONE_WAY = (Link(1, 2),)
OURS = {"loss", "latency", "jitter", "reorder", "duplicate_packets", "corrupt_packets", "bandwidth"}
nodes = st.sets(st.sampled_from((CLIENT, 1, 2, 3, 101)), min_size=1)


def spec(kind: str, **fields: object) -> FaultSpec:
    """A spec from what a file would hold."""
    return KINDS[kind].model_validate({"kind": kind, "target": {"leader": 0}, **fields})


@given(nodes, nodes)
def test_everybody_has_a_link_to_all_others_and_none_to_itself(
    senders: set[int], receivers: set[int]
) -> None:
    found = between(senders, receivers)
    assert set(found) == {Link(one, two) for one in senders for two in receivers if one != two}
    assert all(ways(found, link) == ways(found, link.back) for link in found)


def test_by_default_the_peers_are_all_other_nodes_and_the_client() -> None:
    injection = Latency(target=LEADER, delay_ms=50).aim(scene(Puppet([quiet()])))
    assert injection.links == (Link(1, CLIENT), Link(1, 2), Link(1, 3), Link(1, 101))
    assert injection.target == "broker 1 to broker 2, 3, controller 101, the client"
    both = Bandwidth(target=All(all=True), to=All(all=True), rate="1mbit").aim(scene(Puppet([quiet()])))
    assert len(both.links) == 6


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ("out", {Link(1, 2), Link(1, 3)}),
        ("in", {Link(2, 1), Link(3, 1)}),
        ("both", {Link(1, 2), Link(1, 3), Link(2, 1), Link(3, 1)}),
    ],
)
def test_loss_has_a_direction(direction: str, expected: set[Link]) -> None:
    fault = spec("loss", to={"followers": 0}, percent=10, direction=direction)
    injection = fault.aim(scene(Puppet([quiet()])))
    assert isinstance(injection, PacketsLost)
    assert set(injection.links) == expected


def test_packets_are_dropped_where_they_arrive_but_for_the_clients() -> None:
    cluster = Puppet([quiet()])
    fault = Loss(target=LEADER, percent=30, direction="both")
    injection = fault.aim(scene(cluster))
    injection.apply(scene(cluster))
    rules = {node: re.findall(r"^put (\S+ \S+ \S+) .*--probability (\S+) .*$", text, re.MULTILINE)
             for node, text in cluster.scripts}  # fmt: skip
    assert {node: sorted(rule for rule, _ in found) for node, found in rules.items()} == {
        1: ["INPUT -s 10.0.0.101", "INPUT -s 10.0.0.2", "INPUT -s 10.0.0.254", "INPUT -s 10.0.0.3",
            "OUTPUT -d 10.0.0.254"],
        2: ["INPUT -s 10.0.0.1"],
        3: ["INPUT -s 10.0.0.1"],
        101: ["INPUT -s 10.0.0.1"],
    }  # fmt: skip
    assert {share for found in rules.values() for _, share in found} == {"0.300000"}
    for _, text in cluster.scripts:
        assert text.count("--comment tag-1/loss-") == text.count("\nput ")


def test_loss_is_put_in_again_where_rules_died() -> None:
    cluster = Puppet([quiet()], says=[Said(text="put\n"), Said()])
    injection = Loss(target=LEADER, to=BrokerId(broker=2), percent=30).aim(scene(cluster))
    assert injection.restarted(scene(cluster), 2)
    assert not injection.restarted(scene(cluster), 2)
    assert not injection.restarted(scene(cluster), 1), "there are no rules at the sender"
    assert [node for node, _ in cluster.scripts] == [2, 2]


def test_a_class_is_made_once_and_only_its_own_is_removed() -> None:
    cluster = Puppet([quiet()], dead={3})
    injection = Bandwidth(target=FOLLOWERS, to=LEADER, rate="2mbit").aim(scene(cluster))
    injection.apply(scene(cluster))
    ((node, text),) = cluster.scripts
    mine = class_of(minor_of("tag-1"))
    assert node == 2, "the other one does not run"
    assert f"classid {mine} htb rate 2000kbit" in text
    assert f"parent {mine} pfifo limit 1000" in text
    assert f"match ip dst 10.0.0.1/32 flowid {mine}" in text
    injection.undo(scene(cluster))
    assert f'class del dev "$dev" classid {mine}' in cluster.scripts[1][1]
    cluster.dead = set()
    cluster.says = [Said(text="put\nput\n")]
    assert injection.restarted(scene(cluster), 3)
    assert not injection.restarted(scene(cluster), 1), "the receiver is not shaped"


def test_a_link_that_is_shaped_already_is_refused() -> None:
    refused = Said(3, "taken: what goes to 10.0.0.2 is shaped by another fault")
    cluster = Puppet([quiet()], says=[refused, refused])
    injection = Bandwidth(target=LEADER, rate="2mbit").aim(scene(cluster))
    with pytest.raises(FaultError, match="shaped by another fault"):
        injection.apply(scene(cluster))
    with pytest.raises(FaultError, match="could not be removed"):
        injection.undo(scene(cluster))


@given(st.lists(st.text("abc-123", min_size=1), min_size=2, max_size=2, unique=True))
def test_the_number_of_a_class_comes_from_the_tag(tags: list[str]) -> None:
    for tag in tags:
        assert minor_of(tag) == minor_of(tag)
        assert 0 < minor_of(tag) < 0xFFFF


def test_scripts_name_addresses_as_filters_show_them() -> None:
    text = shape_script(0x2F, "1mbit", "pfifo", ["172.21.0.3"])
    assert "owner ac150003" in text
    assert "4b43:2f" in text
    assert " pref 47 " in unshape_script(0x2F)


def test_perl_can_stand_between_single_quotes() -> None:
    assert "'" not in echoes._PING + echoes._FLOOD


@pytest.mark.parametrize(
    ("kind", "fields", "leaf"),
    [
        ("latency", {"delay_ms": 100}, "delay 100ms"),
        ("jitter", {"delay_ms": 50, "spread_ms": 12.5}, "delay 50ms 12.5ms"),
        ("reorder", {"percent": 25}, "delay 20ms reorder 25%"),
        ("duplicate_packets", {"percent": 0.5}, "duplicate 0.5%"),
        ("corrupt_packets", {"percent": 1}, "corrupt 1%"),
    ],
)
def test_netem_is_told_what_was_asked(kind: str, fields: dict[str, object], leaf: str) -> None:
    injection = spec(kind, **fields).aim(scene(Puppet([quiet()])))
    assert isinstance(injection, Shaped)
    assert injection.discipline() == ("10gbit", f"netem limit 20000 {leaf}")
    again = type(injection).model_validate_json(injection.model_dump_json())
    assert again == injection, "another process can undo it"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("loss", {"percent": 0}),
        ("loss", {"percent": 100}),
        ("latency", {"delay_ms": 0}),
        ("jitter", {"delay_ms": 10, "spread_ms": 11}),
        ("reorder", {"percent": 60}),
        ("duplicate_packets", {"percent": -1}),
        ("corrupt_packets", {"percent": 100}),
        ("bandwidth", {"rate": "2"}),
        ("bandwidth", {"rate": "1gbit"}),
        ("bandwidth", {"rate": "200mbit"}),
        ("bandwidth", {"rate": "8kbit"}),
    ],
)
def test_what_cannot_be_had_or_proved_is_refused(kind: str, fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        spec(kind, **fields)


def test_rates_are_read() -> None:
    assert mbit_of("2mbit") == 2
    assert mbit_of("512 kbit") == 0.512
    assert mbit_of("0.5mbit") == 0.5


def test_targets_that_no_cluster_has_are_refused() -> None:
    with pytest.raises(ValueError, match="as `to`"):
        Loss(target=Client(client=True), percent=5).expect(SHAPE)
    with pytest.raises(ValueError, match="no other node"):
        Loss(target=LEADER, to=LEADER, percent=5).expect(SHAPE)
    with pytest.raises(ValueError, match="brokers are 1 to 3"):
        Bandwidth(target=LEADER, to=BrokerId(broker=4), rate="1mbit").expect(SHAPE)
    Bandwidth(target=All(all=True), to=All(all=True), rate="1mbit").expect(SHAPE)
    Bandwidth(target=Controllers(controllers=True), to=LEADER, rate="1mbit").expect(SHAPE)
    assert Loss(target=LEADER, percent=49).expect(SHAPE) == ()
    assert "fenced" in Loss(target=LEADER, percent=50).expect(SHAPE)[0]
    with pytest.raises(FaultError, match="no link"):
        Loss(target=BrokerId(broker=1), to=LEADER, percent=5).aim(scene(Puppet([quiet()])))


def test_needs_are_names_that_the_kernel_is_asked_for() -> None:
    known = {name for name, _, _ in kernel.COMMANDS}
    assert set(KINDS) >= OURS
    for kind in OURS:
        assert set(KINDS[kind].needs) <= known
    assert "tc netem" not in Loss.needs + Bandwidth.needs
    assert "tc netem" in Latency.needs


def answered(count: int, *numbers: int, trip: int = 50) -> Echoes:
    return Echoes(count, tuple((number, trip) for number in numbers))


def test_lost_copied_and_overtaking_echoes_are_counted() -> None:
    seen = answered(6, 0, 2, 1, 1, 4, 3)
    assert (seen.lost, seen.copies, seen.overtaking) == (1, 1, 2)
    late = answered(4, 1, 2, 3, 0)
    assert late.overtaking == 3
    assert (Echoes(5).lost, Echoes(5).median_ms, Echoes(5).width_ms) == (5, 0.0, 0.0)


@given(st.permutations(range(12)))
def test_an_echo_overtakes_if_an_earlier_one_is_answered_later(order: list[int]) -> None:
    slowly = sum(any(later < number for later in order[place:]) for place, number in enumerate(order))
    assert answered(12, *order).overtaking == slowly


def test_pings_are_read_by_address() -> None:
    found = parse_pings("echo 0 0 40\necho 1 1 70\necho 1 0 90\nsent 2\n", ["10.0.0.2", "10.0.0.3"])
    assert found == {"10.0.0.2": Echoes(2, ((0, 40),)), "10.0.0.3": Echoes(2, ((1, 70), (0, 90)))}
    assert parse_pings("no raw socket: Operation not permitted\n", ["10.0.0.2"]) is None


def test_floods_are_read() -> None:
    flow = parse_flood("flood 0 125000 1.0\nflood 1 250000 2.0\nclass 262500 1.0\n")
    assert flow == Flow(pytest.approx(2.0), pytest.approx(2.1))
    assert parse_flood("flood 0 125000 1.0\n") == Flow(pytest.approx(1.0), None)
    assert parse_flood("") is None


@given(st.floats(0.005, 0.995))
def test_nothing_lost_and_everything_lost_prove_no_share(share: float) -> None:
    count = enough_for(share)
    low, high = bounds(count, share)
    assert 0 < low < count * share < high
    assert low > 1
    assert high < count or share > 0.98
    assert bounds(count, share / 2.5)[1] < bounds(count, share)[1]


def lossy(*found: int, percent: float = 30, links: tuple[Link, ...] = ONE_WAY) -> bool:
    """Whether these counts of lost echoes of 1,000, one a try, prove the loss."""
    text = "".join(f"echo 0 {number} 50\n" for number in range(1000 - found[0])) + "sent 1000\n"
    cluster = Puppet([quiet()], says=[Said(text=text)])
    return PacketsLost(links=links, percent=percent).look(scene(cluster)).seen


@pytest.mark.parametrize(
    ("count", "seen"), [(300, True), (240, True), (0, False), (200, False), (1000, False)]
)
def test_loss_is_proved_by_its_share(count: int, seen: bool) -> None:
    assert lossy(count) is seen


def test_loss_both_ways_hits_a_round_trip_twice() -> None:
    both = (Link(1, 2), Link(2, 1))
    assert lossy(510, links=both)
    assert not lossy(300, links=both)


def test_a_measurement_that_cannot_be_made_proves_nothing() -> None:
    injection = PacketsLost(links=ONE_WAY, percent=30)
    cannot = injection.look(scene(Puppet([quiet()], says=[Said(1, "no raw socket: not permitted")])))
    assert not cannot.seen
    assert "no raw socket" in cannot.what
    for dead in ({1}, {2}, {1, 2}):
        assert not injection.look(scene(Puppet([quiet()], dead=dead))).seen


def test_a_client_that_answers_no_echoes_is_left_out() -> None:
    lines = "".join(f"echo 1 {number} 50\n" for number in range(700)) + "sent 1000\n"
    injection = PacketsLost(links=(Link(1, CLIENT), Link(1, 2)), percent=30)
    seen = injection.look(scene(Puppet([quiet()], says=[Said(text=lines)])))
    assert seen.seen
    assert "not_measured" in seen.facts
    alone = PacketsLost(links=(Link(1, CLIENT),), percent=30)
    assert not alone.look(scene(Puppet([quiet()], says=[Said(text="sent 1000\n")]))).seen


def trips(*milliseconds: float) -> Echoes:
    return Echoes(len(milliseconds), tuple((i, round(ms * 1000)) for i, ms in enumerate(milliseconds)))


@pytest.mark.parametrize(
    ("directions", "before", "measured", "seen"),
    [(1, 0.1, 100.2, True), (1, 0.1, 0.1, False), (1, 100, 200, True), (2, 0, 100, False), (2, 0, 204, True)],
)
def test_latency_is_proved_against_the_baseline(
    directions: int, before: float, measured: float, seen: bool
) -> None:
    fault = Delayed(links=ONE_WAY, minor=1, delay_ms=100)
    assert fault.told(directions, before, trips(*[measured] * 400))[0] is seen
    assert not fault.told(directions, before, Echoes(400))[0]


def test_jitter_is_proved_by_how_far_round_trips_spread() -> None:
    fault = Jittered(links=ONE_WAY, minor=1, delay_ms=50, spread_ms=20)
    even = [30 + 40 * i / 399 for i in range(400)]
    assert fault.told(1, 0, trips(*even))[0]
    assert not fault.told(1, 0, trips(*[50.0] * 400))[0]
    assert not fault.told(1, 0, trips(*(trip + 30 for trip in even)))[0]


def test_the_baseline_is_measured_before() -> None:
    said = Said(text="".join(f"echo 0 {number} 80\n" for number in range(50)) + "sent 50\n")
    cluster = Puppet([quiet()], says=[said])
    fault = Jitter(target=LEADER, to=BrokerId(broker=2), delay_ms=5, spread_ms=1)
    assert fault.aim(scene(cluster)).baseline == ((1, 2, 0.08),)
    assert not any("tc " in text for _, text in cluster.scripts)


def test_a_few_packets_sent_at_once_overtake_all_that_wait() -> None:
    fault = Reordered(links=ONE_WAY, minor=1, percent=25, delay_ms=20)
    assert fault.overtaking(1, 1000) == pytest.approx(0.25)
    assert fault.overtaking(2, 1000) == pytest.approx(1 - 0.75**2)
    near = Reordered(links=ONE_WAY, minor=1, percent=50, delay_ms=1)
    assert near.overtaking(1, 1000) == pytest.approx(0.25)


@dataclass
class Link12(Puppet):
    """A link whose echoes come back in this order."""

    order: list[int] = field(default_factory=list)
    bad: list[int] = field(default_factory=list)

    def in_network(self, number: int, script: str) -> Said:
        self.scripts.append((number, script))
        if "/proc/net/snmp" in script:
            return Said(text=f"Icmp: InMsgs InCsumErrors\nIcmp: 5 {self.bad.pop(0)}\n")
        return Said(text="".join(f"echo 0 {one} 50\n" for one in self.order) + "sent 1000\n")


def test_reordering_is_proved_by_what_overtakes() -> None:
    fault = Reordered(links=ONE_WAY, minor=1, percent=20, delay_ms=20)
    # Every fifth comes ten places early.
    order = sorted(range(1000), key=lambda number: number - (10.5 if number % 5 == 0 else 0))
    assert fault.look(scene(Link12([quiet()], order=order))).seen
    assert not fault.look(scene(Link12([quiet()], order=list(range(1000))))).seen


def test_duplicates_are_proved_by_copies() -> None:
    fault = Duplicated(links=ONE_WAY, minor=1, percent=20)
    twice = sorted([*range(1000), *range(200)])
    assert fault.look(scene(Link12([quiet()], order=twice))).seen
    assert not fault.look(scene(Link12([quiet()], order=list(range(1000))))).seen


def test_corruption_is_proved_by_bad_checksums_not_by_loss_alone() -> None:
    fault = Corrupted(links=ONE_WAY, minor=1, percent=10)
    order = list(range(900))
    assert fault.look(scene(Link12([quiet()], order=order, bad=[3, 0, 3, 95]))).seen
    only_lost = fault.look(scene(Link12([quiet()], order=order, bad=[3, 0, 3, 0])))
    assert not only_lost.seen
    assert "lost, not corrupt" in only_lost.what
    assert bad_checksums("Icmp: InMsgs InErrors InCsumErrors\nIcmp: 9 8 7\nUdp: x\n") == 7
    assert bad_checksums("") == 0


@pytest.mark.parametrize(
    ("flow", "spared", "seen"),
    [
        (Flow(1.9, 2.0), 400.0, True),
        (Flow(1.9, 2.0), None, True),
        (Flow(1.9, 2.0), 0.0, True),
        (Flow(0.4, 2.0), 400.0, True),
        (Flow(300.0, None), 400.0, False),
        (Flow(1.9, None), 400.0, False),
        (Flow(1.9, 1.2), 400.0, False),
        (Flow(1.9, 3.0), 400.0, False),
        (Flow(1.9, 2.0), 2.0, False),
    ],
)
def test_a_slow_link_is_proved_by_what_passes(flow: Flow, spared: float | None, seen: bool) -> None:
    assert told(2.0, flow, spared)[0] is seen


def test_a_slow_link_is_measured_from_its_sender() -> None:
    text = "flood 0 375000 1.5\nclass 375000 1.5\nspared\nflood 0 3000000 0.05\n"
    cluster = Puppet([quiet()], says=[Said(text=text)])
    at: Scene = scene(cluster)
    seen = Slowed(links=ONE_WAY, minor=1, rate="2mbit").look(at)
    assert seen.seen, seen
    assert seen.facts["broker 1"] == {
        "asked_mbit": 2.0, "flood_mbit": 2.0, "class_mbit": 2.0, "spared_mbit": 480.0,
    }  # fmt: skip
    ((node, script),) = cluster.scripts
    assert node == 1
    assert "10.0.0.3" in script
    assert not Slowed(links=ONE_WAY, minor=1, rate="2mbit").look(scene(Puppet([quiet()], dead={1}))).seen


def test_all_of_these_faults_can_be_written_in_a_file() -> None:
    for model in (Loss, Latency, Jitter, Reorder, DuplicatePackets, CorruptPackets, Bandwidth):
        assert all(name.description for key, name in model.model_fields.items() if key != "kind")
        assert "Proof:" in (model.__doc__ or "")
    assert links.NETEM.startswith("netem")

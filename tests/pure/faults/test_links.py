"""Faults on links: what may be asked, which links that means, and the scripts that touch them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from faults.network import link_probe, links
from faults.network.link_fault import Shaped
from faults.network.links import Link, between, class_of, minor_of, shape_script, unshape_script, ways
from faults.packets import Loss, PacketsLost, Reorder
from faults.shared.fault_spec import KINDS, FaultSpec
from faults.slow_links import Bandwidth, Jitter, Latency, mbit_of
from faults.targets import All, BrokerId, Clients, Controllers, Followers, Leader
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import CLIENT
from harness.run.preflight import kernel_probes
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, context

pytestmark = pytest.mark.pure

LEADER, FOLLOWERS = Leader(leader=0), Followers(followers=0)
SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
OURS = {"loss", "latency", "jitter", "reorder", "bandwidth"}
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
    injection = Latency(target=LEADER, delay_ms=50).aim(context(FakeCluster([quiet()])))
    assert injection.links == (Link(1, CLIENT), Link(1, 2), Link(1, 3), Link(1, 101))
    assert injection.target == "broker 1 to broker 2, 3, controller 101, the client"
    both = Bandwidth(target=All(all=True), to=All(all=True), rate="1mbit").aim(
        context(FakeCluster([quiet()]))
    )
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
    injection = fault.aim(context(FakeCluster([quiet()])))
    assert isinstance(injection, PacketsLost)
    assert set(injection.links) == expected


def test_packets_are_dropped_where_they_arrive_but_for_the_clients() -> None:
    cluster = FakeCluster([quiet()])
    fault = Loss(target=LEADER, percent=30, direction="both")
    injection = fault.aim(context(cluster))
    injection.apply(context(cluster))
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
    cluster = FakeCluster([quiet()], says=[FakeCommandResult(text="put\n"), FakeCommandResult()])
    injection = Loss(target=LEADER, to=BrokerId(broker=2), percent=30).aim(context(cluster))
    assert injection.restarted(context(cluster), 2)
    assert not injection.restarted(context(cluster), 2)
    assert not injection.restarted(context(cluster), 1), "there are no rules at the sender"
    assert [node for node, _ in cluster.scripts] == [2, 2]


def test_a_class_is_made_once_and_only_its_own_is_removed() -> None:
    cluster = FakeCluster([quiet()], dead={3})
    injection = Bandwidth(target=FOLLOWERS, to=LEADER, rate="2mbit").aim(context(cluster))
    injection.apply(context(cluster))
    ((node, text),) = cluster.scripts
    mine = class_of(minor_of("tag-1"))
    assert node == 2, "the other one does not run"
    assert f"classid {mine} htb rate 2000kbit" in text
    assert f"parent {mine} tbf rate 10gbit burst 3100 limit 125000" in text
    assert f"match ip dst 10.0.0.1/32 flowid {mine}" in text
    injection.undo(context(cluster))
    assert f'class del dev "$dev" classid {mine}' in cluster.scripts[1][1]
    cluster.dead = set()
    cluster.says = [FakeCommandResult(text="put\nput\n")]
    assert injection.restarted(context(cluster), 3)
    assert not injection.restarted(context(cluster), 1), "the receiver is not shaped"


def test_a_link_that_is_shaped_already_is_refused() -> None:
    refused = FakeCommandResult(3, "taken: what goes to 10.0.0.2 is shaped by another fault")
    cluster = FakeCluster([quiet()], says=[refused, refused])
    injection = Bandwidth(target=LEADER, rate="2mbit").aim(context(cluster))
    with pytest.raises(FaultError, match="shaped by another fault"):
        injection.apply(context(cluster))
    with pytest.raises(FaultError, match="could not be removed"):
        injection.undo(context(cluster))


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
    assert "'" not in link_probe._PING + link_probe._FLOOD


@pytest.mark.parametrize(
    ("kind", "fields", "leaf"),
    [
        ("latency", {"delay_ms": 100}, "delay 100ms"),
        ("jitter", {"delay_ms": 50, "spread_ms": 12.5}, "delay 50ms 12.5ms"),
        ("reorder", {"percent": 25}, "delay 20ms reorder 25%"),
    ],
)
def test_netem_is_told_what_was_asked(kind: str, fields: dict[str, object], leaf: str) -> None:
    injection = spec(kind, **fields).aim(context(FakeCluster([quiet()])))
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
        ("bandwidth", {"rate": "2"}),
        ("bandwidth", {"rate": "1gbit"}),
        ("bandwidth", {"rate": "51mbit"}),
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
        Loss(target=Clients(client=True), percent=5).warnings(SHAPE)
    with pytest.raises(ValueError, match="no other node"):
        Loss(target=LEADER, to=LEADER, percent=5).warnings(SHAPE)
    with pytest.raises(ValueError, match="brokers are 1 to 3"):
        Bandwidth(target=LEADER, to=BrokerId(broker=4), rate="1mbit").warnings(SHAPE)
    Bandwidth(target=All(all=True), to=All(all=True), rate="1mbit").warnings(SHAPE)
    Bandwidth(target=Controllers(controllers=True), to=LEADER, rate="1mbit").warnings(SHAPE)
    (told,) = Loss(target=LEADER, percent=49).warnings(SHAPE)
    assert told == "by the kernel, or by the proxies where it lacks iptables, iptables statistic, raw sockets"
    assert "fenced" in Loss(target=LEADER, percent=50, by="kernel").warnings(SHAPE)[0]
    with pytest.raises(FaultError, match="no link"):
        Loss(target=BrokerId(broker=1), to=LEADER, percent=5).aim(context(FakeCluster([quiet()])))


def test_needs_are_names_that_the_kernel_is_asked_for() -> None:
    known = {name for name, _, _ in kernel_probes.COMMANDS}
    assert set(KINDS) >= OURS
    for kind in OURS:
        assert set(KINDS[kind].needs) <= known
    assert "tc netem" not in Loss.needs + Bandwidth.needs
    assert "tc netem" in Latency.needs


def test_all_of_these_faults_can_be_written_in_a_file() -> None:
    for model in (Loss, Latency, Jitter, Reorder, Bandwidth):
        assert all(name.description for key, name in model.model_fields.items() if key != "kind")
        assert "Proof:" in (model.__doc__ or "")
    assert links.NETEM.startswith("netem")

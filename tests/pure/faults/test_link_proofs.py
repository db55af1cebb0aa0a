"""Faults on links: what measured echoes and floods prove, and what they do not."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.network.link_probe import Echoes, Flow, bounds, enough_for, parse_flood, parse_pings
from faults.network.links import Link
from faults.packets import PacketsLost, Reordered
from faults.shared.fault_spec import InjectionContext
from faults.slow_links import Delayed, Jitter, Slowed, judge_flow
from faults.targets import BrokerId, Leader
from harness.model.node_layout import CLIENT
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeCommandResult, context

pytestmark = pytest.mark.pure

LEADER = Leader(leader=0)
ONE_WAY = (Link(1, 2),)


def answered(count: int, *numbers: int, trip: int = 50) -> Echoes:
    return Echoes(count, tuple((number, trip) for number in numbers))


def test_lost_copied_and_overtaking_echoes_are_counted() -> None:
    seen = answered(6, 0, 2, 1, 1, 4, 3)
    assert (seen.lost, seen.overtaking) == (1, 2)
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
    cluster = FakeCluster([quiet()], says=[FakeCommandResult(text=text)])
    return PacketsLost(links=links, percent=percent).measure(context(cluster)).seen


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
    cannot = injection.measure(
        context(FakeCluster([quiet()], says=[FakeCommandResult(1, "no raw socket: not permitted")]))
    )
    assert not cannot.seen
    assert "no raw socket" in cannot.what
    for dead in ({1}, {2}, {1, 2}):
        assert not injection.measure(context(FakeCluster([quiet()], dead=dead))).seen


def test_a_client_that_answers_no_echoes_is_left_out() -> None:
    lines = "".join(f"echo 1 {number} 50\n" for number in range(700)) + "sent 1000\n"
    injection = PacketsLost(links=(Link(1, CLIENT), Link(1, 2)), percent=30)
    seen = injection.measure(context(FakeCluster([quiet()], says=[FakeCommandResult(text=lines)])))
    assert seen.seen
    assert "not_measured" in seen.facts
    alone = PacketsLost(links=(Link(1, CLIENT),), percent=30)
    cluster = FakeCluster([quiet()], says=[FakeCommandResult(text="sent 1000\n")])
    assert not alone.measure(context(cluster)).seen


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
    assert fault.judge(directions, before, trips(*[measured] * 400))[0] is seen
    assert not fault.judge(directions, before, Echoes(400))[0]


def test_jitter_is_proved_by_how_far_round_trips_spread() -> None:
    fault = Delayed(links=ONE_WAY, minor=1, delay_ms=50, spread_ms=20)
    even = [30 + 40 * i / 399 for i in range(400)]
    assert fault.judge(1, 0, trips(*even))[0]
    assert not fault.judge(1, 0, trips(*[50.0] * 400))[0]
    assert not fault.judge(1, 0, trips(*(trip + 30 for trip in even)))[0]


def test_the_baseline_is_measured_before() -> None:
    said = FakeCommandResult(text="".join(f"echo 0 {number} 80\n" for number in range(50)) + "sent 50\n")
    cluster = FakeCluster([quiet()], says=[said])
    fault = Jitter(target=LEADER, to=BrokerId(broker=2), delay_ms=5, spread_ms=1)
    assert fault.aim(context(cluster)).baseline == ((1, 2, 0.08),)
    assert not any("tc " in text for _, text in cluster.scripts)


def test_a_few_packets_sent_at_once_overtake_all_that_wait() -> None:
    fault = Reordered(links=ONE_WAY, minor=1, percent=25, delay_ms=20)
    assert fault.overtaking(1, 1000) == pytest.approx(0.25)
    assert fault.overtaking(2, 1000) == pytest.approx(1 - 0.75**2)
    near = Reordered(links=ONE_WAY, minor=1, percent=50, delay_ms=1)
    assert near.overtaking(1, 1000) == pytest.approx(0.25)


@dataclass
class Link12(FakeCluster):
    """A link whose echoes come back in this order."""

    order: list[int] = field(default_factory=list)

    def in_network(self, number: int, script: str) -> FakeCommandResult:
        self.scripts.append((number, script))
        return FakeCommandResult(text="".join(f"echo 0 {one} 50\n" for one in self.order) + "sent 1000\n")


def test_reordering_is_proved_by_what_overtakes() -> None:
    fault = Reordered(links=ONE_WAY, minor=1, percent=20, delay_ms=20)
    # Every fifth comes ten places early.
    order = sorted(range(1000), key=lambda number: number - (10.5 if number % 5 == 0 else 0))
    assert fault.measure(context(Link12([quiet()], order=order))).seen
    assert not fault.measure(context(Link12([quiet()], order=list(range(1000))))).seen


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
    assert judge_flow(2.0, flow, spared)[0] is seen


def test_a_slow_link_is_measured_from_its_sender() -> None:
    text = "flood 0 375000 1.5\nclass 375000 1.5\nspared\nflood 0 3000000 0.05\n"
    cluster = FakeCluster([quiet()], says=[FakeCommandResult(text=text)])
    at: InjectionContext = context(cluster)
    seen = Slowed(links=ONE_WAY, minor=1, rate="2mbit").measure(at)
    assert seen.seen, seen
    assert seen.facts["broker 1"] == {
        "asked_mbit": 2.0, "flood_mbit": 2.0, "class_mbit": 2.0, "spared_mbit": 480.0,
    }  # fmt: skip
    ((node, script),) = cluster.scripts
    assert node == 1
    assert "10.0.0.3" in script
    dead = FakeCluster([quiet()], dead={1})
    assert not Slowed(links=ONE_WAY, minor=1, rate="2mbit").measure(context(dead)).seen

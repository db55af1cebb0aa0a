"""Kill and partition against a cluster made of views: what they call proof, and what they do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from faults import Kill, Partition, Pause, Stop
from faults.base import Scene
from faults.targets import Followers, Leader
from harness.model.errors import FaultError
from harness.model.topology import TopologyView
from tests.pure.views import quiet, seen, silent, state, view

pytestmark = pytest.mark.pure


@dataclass
class Said:
    code: int = 0
    text: str = ""


@dataclass
class Puppet:
    """A cluster that shows the views and says the lines it was given."""

    views: list[TopologyView]
    says: list[Said] = field(default_factory=list)
    dead: set[int] = field(default_factory=set)
    immortal: bool = False
    looks_until_exit: int = 0
    frozen: set[int] = field(default_factory=set)
    code: int = 137
    scripts: list[tuple[int, str]] = field(default_factory=list)
    broker_ids: tuple[int, ...] = (1, 2, 3)
    controller_ids: tuple[int, ...] = (101,)

    def address(self, number: int) -> str:
        return f"10.0.0.{number}"

    def view(self, topics: Iterable[str], timeout: float = 1.0) -> TopologyView:  # noqa: ARG002
        return self.views.pop(0) if len(self.views) > 1 else self.views[0]

    def kill(self, number: int) -> None:
        if not self.immortal:
            self.dead.add(number)

    def terminate(self, number: int) -> None:
        self.terminated = number
        self.code = 143

    def pause(self, number: int) -> None:
        if not self.immortal:
            self.frozen.add(number)

    def unpause(self, number: int) -> None:
        self.frozen.remove(number)

    def is_paused(self, number: int) -> bool:
        return number in self.frozen

    def start_node(self, number: int) -> None:
        self.dead.discard(number)

    def is_running(self, number: int) -> bool:
        if self.looks_until_exit:
            self.looks_until_exit -= 1
            if not self.looks_until_exit:
                self.dead.add(self.terminated)
        return number not in self.dead

    def exit_code(self, number: int) -> int | None:
        return self.code if number in self.dead else None

    def in_network(self, number: int, script: str) -> Said:
        self.scripts.append((number, script))
        return self.says.pop(0) if self.says else Said()


def scene(cluster: Puppet) -> Scene:
    # A negative session makes the deadline short: 30 s of margin are for real brokers.
    return Scene(cluster, "t", -29.7, "tag-1")


MOVED = view(silent(1), *(seen(b, state(leader=2, epoch=1, isr=(2, 3))) for b in (2, 3)))
OFFLINE = view(silent(1), *(seen(b, state(leader=-1, epoch=1, isr=(1,))) for b in (2, 3)))
STALE = view(silent(1), *(seen(b, state()) for b in (2, 3)))


@pytest.mark.parametrize(("after", "seen_"), [(MOVED, True), (OFFLINE, True), (STALE, False)])
def test_a_kill_is_proved_by_leadership_that_moved_or_went(after: TopologyView, seen_: bool) -> None:
    cluster = Puppet([quiet(), after])
    evidence = Kill(target=Leader(leader=0)).inject(scene(cluster)).verify()
    assert cluster.dead == {1}
    assert evidence.seen is seen_


def test_a_process_that_lives_on_was_not_killed() -> None:
    cluster = Puppet([quiet(), MOVED], immortal=True)
    evidence = Kill(target=Leader(leader=0)).inject(scene(cluster)).verify()
    assert not evidence.seen
    assert "still runs" in evidence.what


def test_a_kill_heals_when_the_broker_is_back_in_the_isr() -> None:
    back = view(*(seen(b, state(leader=2, epoch=1)) for b in (1, 2, 3)))
    cluster = Puppet([quiet(), MOVED, MOVED, back])
    injection = Kill(target=Leader(leader=0)).inject(scene(cluster))
    assert "back in the ISR" in injection.heal()
    assert cluster.dead == set()
    assert len(cluster.views) == 1


COUNTERS = "      12      720 DROP  all  --  *  *  10.0.0.2  0.0.0.0/0  /* tag-1 */\n"
ZEROS = "       0        0 DROP  all  --  *  *  10.0.0.2  0.0.0.0/0  /* tag-1 */\n"


@pytest.mark.parametrize(
    ("probe", "seen_"),
    [(COUNTERS, True), (ZEROS, False), ("", False), (f"reached 10.0.0.2\n{COUNTERS}", False)],
)
def test_a_partition_is_proved_by_dropped_packets_and_a_failed_probe(probe: str, seen_: bool) -> None:
    cluster = Puppet([quiet()], says=[Said(), Said(text=probe)])
    cut = Partition(side=Leader(leader=0), other=Followers(followers=0)).inject(scene(cluster))
    assert cut.target == "broker 1 | broker 2, 3"
    assert cut.verify().seen is seen_


def test_the_rules_live_in_the_first_side_only_and_are_tagged() -> None:
    cluster = Puppet([quiet()])
    Partition(side=Leader(leader=0), other=Followers(followers=0)).inject(scene(cluster))
    ((number, script),) = cluster.scripts
    assert number == 1
    for rule in ("INPUT -s 10.0.0.2", "OUTPUT -d 10.0.0.2", "INPUT -s 10.0.0.3", "OUTPUT -d 10.0.0.3"):
        assert rule in script
    assert script.count("--comment tag-1") == 4


def test_a_dead_namespace_needs_no_healing() -> None:
    cluster = Puppet([quiet()])
    cut = Partition(side=Leader(leader=0), other=Followers(followers=0)).inject(scene(cluster))
    cluster.kill(1)
    cut.heal()
    assert len(cluster.scripts) == 1


def test_rules_that_cannot_be_set_or_removed_are_errors() -> None:
    refused = Said(1, "iptables: not permitted")
    with pytest.raises(FaultError, match="could not be set"):
        Partition(side=Leader(leader=0), other=Followers(followers=0)).inject(
            scene(Puppet([quiet()], says=[refused]))
        )
    cut = Partition(side=Leader(leader=0), other=Followers(followers=0)).inject(
        scene(Puppet([quiet()], says=[Said(), refused]))
    )
    with pytest.raises(FaultError, match="could not be removed"):
        cut.heal()


def test_one_broker_cannot_be_cut_from_itself() -> None:
    with pytest.raises(FaultError, match="two sides"):
        Partition(side=Leader(leader=0), other=Leader(leader=0)).inject(scene(Puppet([quiet()])))


HANDED_OVER = view(*(seen(b, state(leader=2, epoch=1, isr=(2, 3))) for b in (1, 2, 3)))


def test_a_stop_is_proved_by_leadership_that_moved_while_the_process_ran() -> None:
    cluster = Puppet([quiet(), quiet(), HANDED_OVER], looks_until_exit=5)
    evidence = Stop(target=Leader(leader=0)).inject(scene(cluster)).verify()
    assert evidence.seen, evidence.what
    assert evidence.facts["leaders_before_exit"] == {0: 2}
    assert evidence.facts["exit_codes"] == {1: 143}


def test_leadership_that_moved_only_after_the_exit_is_no_controlled_shutdown() -> None:
    cluster = Puppet([quiet(), quiet(), quiet(), HANDED_OVER], looks_until_exit=3)
    evidence = Stop(target=Leader(leader=0)).inject(scene(cluster)).verify()
    assert not evidence.seen
    assert "not seen to move before" in evidence.what


def test_an_unclean_exit_is_no_controlled_shutdown() -> None:
    cluster = Puppet([quiet(), quiet(), HANDED_OVER], looks_until_exit=5)
    injection = Stop(target=Leader(leader=0)).inject(scene(cluster))
    cluster.code = 137
    assert "not a clean exit" in injection.verify().what


DEAF = view(silent(1), *(seen(b, state()) for b in (2, 3)))


@pytest.mark.parametrize(
    ("after", "immortal", "seen_"), [(DEAF, False, True), (quiet(), False, False), (DEAF, True, False)]
)
def test_a_pause_is_proved_by_the_engine_and_by_silence(
    after: TopologyView, immortal: bool, seen_: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.pause._SECONDS", 0.3)
    cluster = Puppet([quiet(), after], immortal=immortal)
    assert Pause(target=Leader(leader=0)).inject(scene(cluster)).verify().seen is seen_


def test_a_pause_is_healed_once() -> None:
    cluster = Puppet([quiet()])
    injection = Pause(target=Leader(leader=0)).inject(scene(cluster))
    injection.heal()
    assert cluster.frozen == set()
    injection.heal()

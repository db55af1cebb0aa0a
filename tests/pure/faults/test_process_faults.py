"""Kill, stop and pause against a cluster made of views: what they call proof, and what they do not."""

from __future__ import annotations

import pytest

from faults import Kill, Pause, Stop
from faults.targets import All, BrokerId, Clients, Controller, Leader
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import TopologyView
from tests.support.builders.views import quiet, seen, silent, state, view
from tests.support.fake_cluster import FakeCluster, context, inject

pytestmark = pytest.mark.pure


SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=3, replication_factor=3)

MOVED = view(silent(1), *(seen(b, state(leader=2, epoch=1, isr=(2, 3))) for b in (2, 3)))
OFFLINE = view(silent(1), *(seen(b, state(leader=-1, epoch=1, isr=(1,))) for b in (2, 3)))
STALE = view(silent(1), *(seen(b, state()) for b in (2, 3)))


@pytest.mark.parametrize(("after", "seen_"), [(MOVED, True), (OFFLINE, True), (STALE, False)])
def test_a_kill_is_proved_by_leadership_that_moved_or_went(after: TopologyView, seen_: bool) -> None:
    cluster = FakeCluster([quiet(), after])
    evidence = inject(Kill(target=Leader(leader=0)), cluster)
    assert cluster.dead == {1}
    assert evidence.seen is seen_


def test_a_process_that_lives_on_was_not_killed() -> None:
    cluster = FakeCluster([quiet(), MOVED], immortal=True)
    evidence = inject(Kill(target=Leader(leader=0)), cluster)
    assert not evidence.seen
    assert "still runs" in evidence.what


def test_a_kill_heals_when_the_broker_is_back_in_the_isr() -> None:
    back = view(*(seen(b, state(leader=2, epoch=1)) for b in (1, 2, 3)))
    cluster = FakeCluster([quiet(), MOVED, MOVED, back])
    injection = Kill(target=Leader(leader=0)).aim(context(cluster))
    injection.apply(context(cluster))
    assert "started and back" in injection.heal(context(cluster)).what
    assert cluster.dead == set()
    assert len(cluster.views) == 1


HANDED_OVER = view(*(seen(b, state(leader=2, epoch=1, isr=(2, 3))) for b in (1, 2, 3)))


def test_a_stop_is_proved_by_leadership_that_moved_while_the_process_ran() -> None:
    cluster = FakeCluster([quiet(), quiet(), HANDED_OVER], looks_until_exit=5)
    evidence = inject(Stop(target=Leader(leader=0)), cluster)
    assert evidence.seen, evidence.what
    assert evidence.facts["leaders_before_exit"] == {0: 2}
    assert evidence.facts["exit_codes"] == {1: 143}


def test_leadership_that_moved_only_after_the_exit_is_no_controlled_shutdown() -> None:
    cluster = FakeCluster([quiet(), quiet(), quiet(), HANDED_OVER], looks_until_exit=3)
    evidence = inject(Stop(target=Leader(leader=0)), cluster)
    assert not evidence.seen
    assert "not seen to move before" in evidence.what


KRAFT = "INFO The controller has asked us to exit controlled shutdown. (BrokerLifecycleManager)"
ZOOKEEPER = "INFO Controlled shutdown request returned successfully after 75ms (KafkaServer)"
FAILED = "INFO Controlled shutdown request returned after 75ms with 1 partitions remaining to move"


@pytest.mark.parametrize(
    ("logged", "after", "seen_"),
    [
        (KRAFT, MOVED, True),
        (ZOOKEEPER, MOVED, True),
        (FAILED, MOVED, False),
        (KRAFT, STALE, False),
    ],
)
def test_the_log_shows_a_move_that_was_too_short_before_the_exit_to_be_seen(
    logged: str, after: TopologyView, seen_: bool
) -> None:
    cluster = FakeCluster([quiet(), quiet(), after], looks_until_exit=3, logged=logged)
    evidence = inject(Stop(target=Leader(leader=0)), cluster)
    assert evidence.seen is seen_
    assert evidence.facts.get("leaders_before_exit") == ({0: 2} if seen_ else None)


def test_an_unclean_exit_is_no_controlled_shutdown() -> None:
    cluster = FakeCluster([quiet(), quiet(), HANDED_OVER], looks_until_exit=5)
    injection = Stop(target=Leader(leader=0)).aim(context(cluster))
    injection.apply(context(cluster))
    cluster.code = 137
    assert "not a clean exit" in injection.verify(context(cluster)).what


DEAF = view(silent(1), *(seen(b, state()) for b in (2, 3)))


@pytest.mark.parametrize(
    ("after", "immortal", "seen_"), [(DEAF, False, True), (quiet(), False, False), (DEAF, True, False)]
)
def test_a_pause_is_proved_by_the_engine_and_by_silence(
    after: TopologyView, immortal: bool, seen_: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faults.processes._FREEZE_SECONDS", 0.3)
    cluster = FakeCluster([quiet(), after], immortal=immortal)
    assert inject(Pause(target=Leader(leader=0)), cluster).seen is seen_


def test_a_process_that_uses_cpu_time_is_not_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.processes._FREEZE_SECONDS", 0.3)
    cluster = FakeCluster([quiet(), DEAF], busy=True)
    evidence = inject(Pause(target=Leader(leader=0)), cluster)
    assert not evidence.seen
    assert "CPU time" in evidence.what


def test_a_pause_is_healed_once() -> None:
    cluster = FakeCluster([quiet()])
    injection = Pause(target=Leader(leader=0)).aim(context(cluster))
    injection.apply(context(cluster))
    injection.heal(context(cluster))
    assert cluster.frozen == set()
    injection.heal(context(cluster))


def test_an_active_controller_that_was_killed_is_not_active_any_more() -> None:
    spec = Kill(target=Controller(controller=True))
    assert inject(spec, FakeCluster([quiet()], controller_ids=(101, 102, 103), active=[101, 101, 102])).seen
    assert inject(spec, FakeCluster([quiet()], active=[101, 101, None])).seen
    assert not inject(spec, FakeCluster([quiet()], active=[101])).seen


def test_a_controller_heals_when_there_is_an_active_one() -> None:
    cluster = FakeCluster([quiet()], active=[101, 101, None, None, 101])
    injection = Kill(target=Controller(controller=True)).aim(context(cluster))
    injection.apply(context(cluster))
    assert cluster.dead == {101}
    injection.heal(context(cluster))
    assert cluster.dead == set()


@pytest.mark.parametrize("fault", [Kill, Stop, Pause])
def test_the_client_has_no_process_of_ours(fault: type[Kill | Stop | Pause]) -> None:
    with pytest.raises(ValueError, match="use a `partition`"):
        fault(target=Clients(client=True)).warnings(SHAPE)
    with pytest.raises(ValueError, match="brokers are 1 to 3"):
        fault(target=BrokerId(broker=4)).warnings(SHAPE)
    assert "no broker is left" in " ".join(fault(target=All(all=True)).warnings(SHAPE))
    assert fault(target=Leader(leader=0)).warnings(SHAPE) == ()


@pytest.mark.parametrize("fault", [Kill, Stop, Pause])
def test_an_injection_survives_being_written_down(fault: type[Kill | Stop | Pause]) -> None:
    injection = fault(target=Leader(leader=0)).aim(context(FakeCluster([quiet()])))
    assert type(injection).model_validate_json(injection.model_dump_json()) == injection
    assert injection.nodes == (1,)
    assert injection.target == "broker 1"

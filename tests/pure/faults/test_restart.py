"""A rolling restart against a fake cluster: one at a time, only while all is well, and what is proof of
it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from faults.restart import Restart, Restarted
from faults.shared.fault_spec import InjectionContext
from faults.shared.process_fault import start_stopped
from faults.targets import All, BrokerId, Clients, Controllers, Leader, RandomBrokers
from faults.targets.fault_cluster import FaultCluster
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import TopologyView
from harness.model.errors import FaultError
from tests.support.builders.views import seen, silent, state, view
from tests.support.fake_cluster import FakeCluster, context

pytestmark = pytest.mark.pure

SECOND = 10**9


@dataclass
class Machine(FakeCluster):
    """A fake cluster with processes: each stop and start takes a second of its own clock."""

    views: list[TopologyView] = field(default_factory=list)
    clock: int = 1000 * SECOND
    epoch: int = 0
    leader: int = 1
    moves: bool = True
    slow: bool = False
    deeds: list[str] = field(default_factory=list)
    starts: dict[int, int] = field(default_factory=lambda: {1: 10, 2: 20, 3: 30, 101: 40})
    ends: dict[int, int] = field(default_factory=dict)
    logs: dict[int, str] = field(default_factory=dict)
    out_of_sync: tuple[int, ...] = ()
    lagging: tuple[int, ...] = ()
    after_start: Any = None

    def view(self, topics: Iterable[str], timeout: float = 1.0) -> TopologyView:  # noqa: ARG002
        if self.views:
            return self.views[0]
        isr = tuple(n for n in (1, 2, 3) if n not in self.dead and n not in self.out_of_sync)
        states = state(leader=self.leader, epoch=self.epoch, isr=isr)
        return view(*(silent(n) if n in self.dead else seen(n, states) for n in (1, 2, 3)))

    def _down(self, deed: str, number: int, code: int) -> None:
        self.deeds.append(f"{deed} {number}")
        if self.immortal:
            return
        self.clock += SECOND
        self.ends[number] = self.clock
        self.dead.add(number)
        self.code = code
        if number == self.leader and self.moves:
            self.leader, self.epoch = number % 3 + 1, self.epoch + 1

    def kill(self, number: int) -> None:
        self._down("kill", number, 137)

    def terminate(self, number: int) -> None:
        self._down("stop", number, 137 if self.slow else 143)

    def start_node(self, number: int) -> None:
        if number not in self.dead:
            return
        self.deeds.append(f"start {number}")
        self.clock += SECOND
        self.starts[number] = self.clock
        self.dead.discard(number)
        if self.after_start is not None:
            self.after_start(number)

    def started_ns(self, number: int) -> int:
        return self.starts[number]

    def ended_ns(self, number: int) -> int:
        return self.ends.get(number, 0)

    def log_since(self, number: int, since_ns: int) -> str:
        assert since_ns == self.starts[number]
        return self.logs.get(number, "")

    def lagging_voters(self) -> tuple[int, ...]:
        return self.lagging


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.restart.REJOIN_SECONDS", 0.3)
    monkeypatch.setattr("faults.restart._EXIT_SECONDS", 0.3)
    monkeypatch.setattr("faults.shared.waiting.REJOIN_SECONDS", 0.3)


def at(cluster: Machine) -> InjectionContext:
    return context(cluster)


def rolled(cluster: Machine, spec: Restart | None = None) -> Restarted:
    injection = (spec or Restart()).aim(at(cluster))
    injection.apply(at(cluster))
    return injection


@pytest.mark.parametrize(("how", "deed"), [("stop", "stop"), ("kill", "kill")])
def test_one_at_a_time_in_order(how: str, deed: str) -> None:
    cluster = Machine()
    injection = rolled(cluster, Restart.model_validate({"how": how}))
    assert cluster.deeds == [f"{word} {n}" for n in (1, 2, 3) for word in (deed, "start")]
    evidence = injection.verify(at(cluster))
    assert evidence.seen, evidence.what
    assert evidence.facts["leader_epochs"] == {"before": {0: 0}, "now": {0: 3}}
    assert "leadership moved of partition 0" in evidence.what
    assert injection.heal(at(cluster)).seen


def test_who_was_restarted_is_not_restarted_again() -> None:
    cluster = Machine()
    injection = rolled(cluster)
    cluster.deeds.clear()
    injection.apply(at(cluster))
    assert cluster.deeds == []


def test_it_goes_on_only_when_all_are_in_sync() -> None:
    cluster = Machine()

    def lag(number: int) -> None:
        cluster.out_of_sync = (number,)

    cluster.after_start = lag
    injection = Restart().aim(at(cluster))
    with pytest.raises(FaultError, match="cannot continue") as raised:
        injection.apply(at(cluster))
    assert "broker [1] is not in the ISR of t-0" in str(raised.value)
    assert cluster.deeds == ["stop 1", "start 1"]


def test_it_does_not_begin_while_a_broker_is_down() -> None:
    cluster = Machine(dead={3})
    with pytest.raises(FaultError, match="the process of broker 3 does not run"):
        rolled(cluster)
    with pytest.raises(FaultError, match="broker 3 does not answer"):
        rolled(cluster, Restart(target=BrokerId(broker=1)))
    with pytest.raises(FaultError, match="no active controller"):
        rolled(Machine(active=[None]))
    assert cluster.deeds == []


def test_a_controller_has_to_catch_up() -> None:
    injection = Restart(target=Controllers(controllers=True)).aim(at(Machine()))
    with pytest.raises(FaultError, match="the metadata log of controller 101 lags"):
        injection.apply(at(Machine(lagging=(101,))))
    Restart().aim(at(Machine())).apply(at(Machine(lagging=(101,))))


def test_an_unclean_exit_is_no_controlled_shutdown() -> None:
    cluster = Machine(slow=True)
    injection = Restart().aim(at(cluster))
    with pytest.raises(FaultError, match="did not end cleanly"):
        injection.apply(at(cluster))
    injection.heal(at(cluster))
    assert cluster.dead == set()


def test_a_process_that_does_not_end_is_told() -> None:
    with pytest.raises(FaultError, match="did not end"):
        rolled(Machine(immortal=True))


def test_nothing_restarted_is_no_proof() -> None:
    cluster = Machine()
    assert "has not been restarted" in Restart().aim(at(cluster)).verify(at(cluster)).what


def test_half_a_round_is_no_proof() -> None:
    cluster = Machine()
    injection = Restart().aim(at(cluster))
    cluster.terminate(1)
    assert "broker 1 does not run" in injection.verify(at(cluster)).what
    cluster.start_node(1)
    assert "broker 2 has not been restarted" in injection.verify(at(cluster)).what


def test_brokers_that_were_down_together_are_no_proof() -> None:
    cluster = Machine()
    injection = Restart().aim(at(cluster))
    for number in (1, 2, 3):
        cluster.terminate(number)
    for number in (1, 2, 3):
        cluster.start_node(number)
    assert "broker 2 ended before broker 1 had started again" in injection.verify(at(cluster)).what


def test_another_order_is_no_proof() -> None:
    cluster = Machine()
    injection = Restart().aim(at(cluster))
    for number in (3, 2, 1):
        cluster.terminate(number)
        cluster.start_node(number)
    assert not injection.verify(at(cluster)).seen


def test_leadership_that_stayed_is_no_proof() -> None:
    cluster = Machine(moves=False)
    assert "leadership of partition 0 did not move" in rolled(cluster).verify(at(cluster)).what


def test_taken_back_half_way_no_other_node_is_touched() -> None:
    cluster = Machine()
    injection = Restart().aim(at(cluster))
    undoing = threading.Thread(target=injection.undo, args=(at(cluster),))

    def recall(_: int) -> None:
        cluster.after_start = None
        undoing.start()
        # The thread may get its turn late, and the restart would go on meanwhile.
        assert injection._recall.event.wait(60)

    cluster.after_start = recall
    with pytest.raises(FaultError, match="undone"):
        injection.apply(at(cluster))
    undoing.join()
    assert cluster.deeds[:2] == ["stop 1", "start 1"]
    assert "stop 3" not in cluster.deeds
    assert cluster.dead == set()
    injection.heal(at(cluster))


def test_another_process_starts_what_is_down_by_the_json_alone() -> None:
    cluster = Machine()
    injection = Restart().aim(at(cluster))
    cluster.terminate(2)
    other = Restarted.model_validate_json(injection.model_dump_json())
    assert other == injection
    other.heal(at(cluster))
    assert cluster.dead == set()
    other.heal(at(cluster))
    assert cluster.deeds == ["stop 2", "start 2"]


def test_a_node_on_its_way_down_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.shared.process_fault._EXIT_SECONDS", 5.0)
    cluster = Machine(logs={2: "INFO Terminating process due to signal SIGTERM (org.apache.kafka)"})
    cluster.terminated = 2
    cluster.looks_until_exit = 4
    start_stopped(cast(FaultCluster, cluster), (1, 2, 3))
    assert cluster.deeds == ["start 2"]


SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)


def test_what_is_to_be_expected() -> None:
    assert Restart().warnings(SHAPE) == ()
    assert Restart().max_brokers_down(SHAPE) == 1
    assert Restart(target=Controllers(controllers=True)).max_brokers_down(SHAPE) == 0
    single = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=1)
    assert "no leader while its broker restarts" in Restart().warnings(single)[0]
    alone = ClusterShape(brokers=1, controllers=1, combined=False, partitions=1, replication_factor=1)
    assert "no broker is left" in Restart().warnings(alone)[0]
    for target in (Clients(client=True), RandomBrokers(random=9)):
        with pytest.raises(ValueError, match="target"):
            Restart(target=target).warnings(SHAPE)


def test_every_broker_is_meant_unless_others_are_named() -> None:
    assert Restart().target == All(all=True)
    assert Restart().aim(at(Machine())).nodes == (1, 2, 3)
    assert Restart(target=Leader(leader=0)).aim(at(Machine())).nodes == (1,)
    written = Restart(how="kill").model_dump(mode="json", by_alias=True)
    assert written == {"kind": "restart", "target": {"all": True}, "how": "kill", "version": None}
    assert Restart.model_validate(written) == Restart(how="kill")

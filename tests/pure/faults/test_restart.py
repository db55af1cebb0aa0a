"""A rolling restart against a fake cluster: one at a time, only while all is well, and what is proof of
it."""

from __future__ import annotations

import threading
from typing import cast

import pytest

from faults.restart import Restart, Restarted
from faults.shared.process_fault import start_stopped
from faults.targets import All, BrokerId, Clients, Controllers, Leader, RandomBrokers
from faults.targets.fault_cluster import FaultCluster
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from tests.support.fake_cluster import context
from tests.support.fake_processes import SHAPE, Machine

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.restart.REJOIN_SECONDS", 0.3)
    monkeypatch.setattr("faults.restart._EXIT_SECONDS", 0.3)
    monkeypatch.setattr("faults.shared.waiting.REJOIN_SECONDS", 0.3)


def rolled(cluster: Machine, spec: Restart | None = None) -> Restarted:
    injection = (spec or Restart()).aim(context(cluster))
    injection.apply(context(cluster))
    return injection


@pytest.mark.parametrize(("how", "deed"), [("stop", "stop"), ("kill", "kill")])
def test_one_at_a_time_in_order(how: str, deed: str) -> None:
    cluster = Machine()
    injection = rolled(cluster, Restart.model_validate({"how": how}))
    assert cluster.deeds == [f"{word} {n}" for n in (1, 2, 3) for word in (deed, "start")]
    evidence = injection.verify(context(cluster))
    assert evidence.seen, evidence.what
    assert evidence.facts["leader_epochs"] == {"before": {0: 0}, "now": {0: 3}}
    assert "leadership moved of partition 0" in evidence.what
    assert injection.heal(context(cluster)).seen


def test_who_was_restarted_is_not_restarted_again() -> None:
    cluster = Machine()
    injection = rolled(cluster)
    cluster.deeds.clear()
    injection.apply(context(cluster))
    assert cluster.deeds == []


def test_it_goes_on_only_when_all_are_in_sync() -> None:
    cluster = Machine()

    def lag(number: int) -> None:
        cluster.out_of_sync = (number,)

    cluster.after_start = lag
    injection = Restart().aim(context(cluster))
    with pytest.raises(FaultError, match="cannot continue") as raised:
        injection.apply(context(cluster))
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
    injection = Restart(target=Controllers(controllers=True)).aim(context(Machine()))
    with pytest.raises(FaultError, match="the metadata log of controller 101 lags"):
        injection.apply(context(Machine(lagging=(101,))))
    Restart().aim(context(Machine())).apply(context(Machine(lagging=(101,))))


def test_an_unclean_exit_is_no_controlled_shutdown() -> None:
    cluster = Machine(slow=True)
    injection = Restart().aim(context(cluster))
    with pytest.raises(FaultError, match="did not end cleanly"):
        injection.apply(context(cluster))
    injection.heal(context(cluster))
    assert cluster.dead == set()


def test_a_process_that_does_not_end_is_told() -> None:
    with pytest.raises(FaultError, match="did not end"):
        rolled(Machine(immortal=True))


def test_nothing_restarted_is_no_proof() -> None:
    cluster = Machine()
    assert "has not been restarted" in Restart().aim(context(cluster)).verify(context(cluster)).what


def test_half_a_round_is_no_proof() -> None:
    cluster = Machine()
    injection = Restart().aim(context(cluster))
    cluster.terminate(1)
    assert "broker 1 does not run" in injection.verify(context(cluster)).what
    cluster.start_node(1)
    assert "broker 2 has not been restarted" in injection.verify(context(cluster)).what


def test_brokers_that_were_down_together_are_no_proof() -> None:
    cluster = Machine()
    injection = Restart().aim(context(cluster))
    for number in (1, 2, 3):
        cluster.terminate(number)
    for number in (1, 2, 3):
        cluster.start_node(number)
    assert "broker 2 ended before broker 1 had started again" in injection.verify(context(cluster)).what


def test_another_order_is_no_proof() -> None:
    cluster = Machine()
    injection = Restart().aim(context(cluster))
    for number in (3, 2, 1):
        cluster.terminate(number)
        cluster.start_node(number)
    assert not injection.verify(context(cluster)).seen


def test_leadership_that_stayed_is_no_proof() -> None:
    cluster = Machine(moves=False)
    assert "leadership of partition 0 did not move" in rolled(cluster).verify(context(cluster)).what


def test_taken_back_half_way_no_other_node_is_touched() -> None:
    cluster = Machine()
    injection = Restart().aim(context(cluster))
    undoing = threading.Thread(target=injection.undo, args=(context(cluster),))

    def recall(_: int) -> None:
        cluster.after_start = None
        undoing.start()
        # The thread may get its turn late, and the restart would go on meanwhile.
        assert injection._recall.event.wait(60)

    cluster.after_start = recall
    with pytest.raises(FaultError, match="undone"):
        injection.apply(context(cluster))
    undoing.join()
    assert cluster.deeds[:2] == ["stop 1", "start 1"]
    assert "stop 3" not in cluster.deeds
    assert cluster.dead == set()
    injection.heal(context(cluster))


def test_another_process_starts_what_is_down_by_the_json_alone() -> None:
    cluster = Machine()
    injection = Restart().aim(context(cluster))
    cluster.terminate(2)
    other = Restarted.model_validate_json(injection.model_dump_json())
    assert other == injection
    other.heal(context(cluster))
    assert cluster.dead == set()
    other.heal(context(cluster))
    assert cluster.deeds == ["stop 2", "start 2"]


def test_a_node_on_its_way_down_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.shared.process_fault._EXIT_SECONDS", 5.0)
    cluster = Machine(logs={2: "INFO Terminating process due to signal SIGTERM (org.apache.kafka)"})
    cluster.terminated = 2
    cluster.looks_until_exit = 4
    start_stopped(cast(FaultCluster, cluster), (1, 2, 3))
    assert cluster.deeds == ["start 2"]


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
    assert Restart().aim(context(Machine())).nodes == (1, 2, 3)
    assert Restart(target=Leader(leader=0)).aim(context(Machine())).nodes == (1,)
    written = Restart(how="kill").model_dump(mode="json", by_alias=True)
    assert written == {"kind": "restart", "target": {"all": True}, "how": "kill", "version": None}
    assert Restart.model_validate(written) == Restart(how="kill")

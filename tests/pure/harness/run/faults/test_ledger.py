"""Every phase of a fault is journaled; faults are healed once, and a failure keeps no other fault open."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, cast

import pytest

from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext, TopicEffect
from faults.targets.fault_cluster import FaultCluster
from harness.cluster import state_records
from harness.model.errors import FaultError
from harness.run.faults.ledger import FaultLedger
from tests.support.journal_rows import Rows

pytestmark = pytest.mark.pure


@dataclass
class Effect:
    """What an injection is to do."""

    seen: bool = True
    returns: bool = True
    heals: int = 0
    heal_fails: int = 0
    applied: int = 0
    apply_fails: bool = False
    undone: int = 0
    reapplied: list[int] = field(default_factory=list)


EFFECTS: dict[str, Effect] = {}


class Done(Injection):
    """An injection that does as it is told."""

    at: tuple[int, ...] = (1,)

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.at

    def apply(self, context: InjectionContext) -> None:
        EFFECTS[context.tag].applied += 1
        if EFFECTS[context.tag].apply_fails:
            raise FaultError("half done")

    def verify(self, context: InjectionContext) -> Evidence:
        return Evidence(EFFECTS[context.tag].seen, "looked", {"count": 3})

    def undo(self, context: InjectionContext) -> None:
        EFFECTS[context.tag].undone += 1

    def healed(self, context: InjectionContext) -> Evidence:
        effect = EFFECTS[context.tag]
        if effect.heal_fails:
            effect.heal_fails -= 1
            raise FaultError("it does not heal")
        effect.heals += 1
        return Evidence(effect.returns, "healed")

    def restarted(self, context: InjectionContext, node: int) -> bool:
        EFFECTS[context.tag].reapplied.append(node)
        return True


class Planned(FaultSpec):
    """A fault that injects what it was given."""

    kind: str = "planned"
    fails: bool = False
    injection: ClassVar[type[Injection]] = Done

    def aim(self, context: InjectionContext) -> Injection:  # noqa: ARG002
        if self.fails:
            raise FaultError("no such target")
        return Done()


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    EFFECTS.clear()
    monkeypatch.setenv("KAFKA_CHAOS_STATE", str(tmp_path))
    return Rows()


@pytest.fixture
def ledger(rows: Rows) -> FaultLedger:
    return FaultLedger(
        lambda name: InjectionContext(cast(FaultCluster, None), "t", 1.0, name, beside=("u",)), rows, "kc-1"
    )


def test_the_life_of_a_fault_is_journaled(ledger: FaultLedger, rows: Rows) -> None:
    EFFECTS["planned-1"] = Effect()
    fault = ledger.inject(Planned())
    assert ledger.open_names() == "planned-1 (broker 1)"
    assert ledger.verify(fault)
    ledger.heal(fault)
    assert rows.phases() == [
        ("planned-1", "decided"),
        ("planned-1", "aimed"),
        ("planned-1", "injected"),
        ("planned-1", "verified"),
        ("planned-1", "undone"),
        ("planned-1", "healed"),
    ]
    (window,) = ledger.windows()
    assert window.verified
    assert window.closed_ns is not None
    assert window.closed_ns >= window.opened_ns
    assert ledger.open_names() == ""


def test_healing_twice_heals_once(ledger: FaultLedger) -> None:
    EFFECTS["planned-1"] = effect = Effect()
    fault = ledger.inject(Planned())
    ledger.heal(fault)
    ledger.heal(fault)
    assert ledger.heal_all() == []
    assert effect.heals == 1


def test_an_effect_that_was_not_seen_stays_unverified(ledger: FaultLedger, rows: Rows) -> None:
    EFFECTS["planned-1"] = Effect(seen=False)
    assert not ledger.verify(ledger.inject(Planned()))
    assert rows.phases()[-1] == ("planned-1", "not-verified")
    assert not ledger.windows()[0].verified


def test_a_failed_heal_is_reported_and_the_others_are_healed(ledger: FaultLedger, rows: Rows) -> None:
    EFFECTS["planned-1"] = good = Effect()
    EFFECTS["planned-2"] = Effect(heal_fails=2)
    ledger.inject(Planned())
    ledger.inject(Planned())
    (failure,) = ledger.heal_all()
    assert "planned-2" in failure
    assert good.heals == 1
    assert ("planned-2", "failed") in rows.phases()
    assert [window.closed_ns is None for window in ledger.windows()] == [False, True]


def test_a_failed_injection_opens_no_window(ledger: FaultLedger, rows: Rows) -> None:
    with pytest.raises(FaultError):
        ledger.inject(Planned(fails=True))
    assert rows.phases() == [("planned-1", "decided"), ("planned-1", "failed")]
    assert ledger.windows() == ()


def test_the_record_is_there_before_the_act_and_goes_with_the_healing(ledger: FaultLedger) -> None:
    EFFECTS["planned-1"] = Effect(apply_fails=True)
    with pytest.raises(FaultError):
        ledger.inject(Planned())
    (record,) = state_records.open_faults("kc-1")
    assert (record.kind, record.tag, record.injection) == ("planned", "planned-1", {"at": [1]})
    assert record.beside == ("u",)
    assert ledger.heal_all() == []
    assert EFFECTS["planned-1"].undone == 1
    assert state_records.open_faults("kc-1") == []


def test_a_fault_that_does_not_heal_keeps_its_record(ledger: FaultLedger) -> None:
    EFFECTS["planned-1"] = Effect(heal_fails=9)
    ledger.inject(Planned())
    assert len(ledger.heal_all()) == 1
    assert len(state_records.open_faults("kc-1")) == 1


def test_a_cluster_that_is_not_whole_while_others_are_open_is_looked_at_again(ledger: FaultLedger) -> None:
    EFFECTS["planned-1"], EFFECTS["planned-2"] = Effect(heal_fails=1), Effect()
    first, _ = ledger.inject(Planned()), ledger.inject(Planned())
    ledger.heal(first)
    assert first.closed_ns is None
    assert ledger.heal_all() == []
    assert first.closed_ns is not None


def test_alone_it_must_heal(ledger: FaultLedger) -> None:
    EFFECTS["planned-1"] = Effect(heal_fails=1)
    with pytest.raises(FaultError):
        ledger.heal(ledger.inject(Planned()))


def test_a_return_that_shows_no_effect_takes_the_proof_away(ledger: FaultLedger, rows: Rows) -> None:
    EFFECTS["planned-1"] = Effect(returns=False)
    fault = ledger.inject(Planned())
    assert ledger.verify(fault)
    ledger.heal(fault)
    assert ("planned-1", "not-verified") in rows.phases()
    assert not ledger.windows()[0].verified


def test_what_a_restart_took_away_is_applied_again_while_it_is_open(ledger: FaultLedger, rows: Rows) -> None:
    EFFECTS["planned-1"] = effect = Effect()
    fault = ledger.inject(Planned())
    ledger.restarted(2)
    ledger.restarted(1)
    ledger.heal(fault)
    ledger.restarted(1)
    assert effect.reapplied == [1]
    assert rows.phases().count(("planned-1", "reapplied")) == 1


def test_a_fault_is_not_undone_while_a_restart_applies_it_again(
    ledger: FaultLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    EFFECTS["planned-1"] = Effect()
    begun, go_on, order = threading.Event(), threading.Event(), []

    def restarted(*_: object) -> bool:
        begun.set()
        go_on.wait(10)
        order.append("applied again")
        return True

    monkeypatch.setattr(Done, "restarted", restarted)
    monkeypatch.setattr(Done, "undo", lambda *_: order.append("undone"))
    fault = ledger.inject(Planned())
    start = threading.Thread(target=ledger.restarted, args=(1,))
    start.start()
    assert begun.wait(10)
    heal = threading.Thread(target=ledger.heal, args=(fault,))
    heal.start()
    heal.join(0.2)
    go_on.set()
    start.join(10)
    heal.join(10)
    assert order == ["applied again", "undone"]


def test_the_start_of_a_node_by_an_undo_does_not_wait_for_that_undo(
    ledger: FaultLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    EFFECTS["planned-1"] = effect = Effect()
    monkeypatch.setattr(Done, "undo", lambda *_: ledger.restarted(1))
    fault = ledger.inject(Planned())
    heal = threading.Thread(target=ledger.heal, args=(fault,), daemon=True)
    heal.start()
    heal.join(10)
    assert not heal.is_alive()
    assert not effect.reapplied


class OnTopic(Done):
    """An injection that changes its topic on purpose."""

    whole: bool = False

    @property
    def on_topic(self) -> TopicEffect:
        return TopicEffect(
            deleted_below={} if self.whole else {0: 7, 2: 5},
            config={"retention.ms": "1"},
            every_topic=self.whole,
            partitions=None if self.whole else 4,
        )


class Purposeful(Planned):
    """A fault that changes its topic on purpose."""

    kind: str = "purposeful"
    whole: bool = False
    injection: ClassVar[type[Injection]] = OnTopic

    def aim(self, context: InjectionContext) -> Injection:  # noqa: ARG002
        return OnTopic(whole=self.whole)


def test_what_faults_changed_of_a_topic_is_known_for_the_check(ledger: FaultLedger) -> None:
    EFFECTS.update({f"{kind}-{number}": Effect() for kind in ("planned", "purposeful") for number in (1, 2)})
    ledger.inject(Planned())
    assert (ledger.deletions("t"), ledger.changed_configs("t"), ledger.partitions("t")) == ((), (), 0)
    fault = ledger.inject(Purposeful())
    ledger.verify(fault)
    ledger.inject(Purposeful(whole=True), topic="elsewhere")
    deletions = ledger.deletions("t")
    assert [(one.topic, one.partition, one.before) for one in deletions] == [("t", 0, 7), ("t", 2, 5)]
    assert {one.at_ns for one in deletions} == {fault.proved_ns}
    assert ledger.partitions("t") == 4
    ledger.heal(fault)
    assert [one.until_ns for one in ledger.changed_configs("t")] == [fault.closed_ns, None]
    assert (ledger.deletions("u"), ledger.partitions("u")) == ((), 0)
    assert len(ledger.changed_configs("u")) == 1, "what is in force for every topic"

"""Changed settings, against a cluster that keeps them: what is asked, what is proof, what is set back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import ValidationError

from faults.config_change import ConfigChange
from faults.targets import BrokerId, Clients, NodeIds
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import SettingState
from harness.model.errors import ClusterError, FaultError
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, context, unheard

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=2, replication_factor=3)
TOPIC = ConfigChange(set_={"min.insync.replicas": "1", "retention.ms": "1000"})
BROKERS = ConfigChange(set_={"num.io.threads": "4"}, target=NodeIds(nodes=(1, 2)))
DEFAULTS = {"min.insync.replicas": "1", "retention.ms": "604800000", "num.io.threads": "8"}


@dataclass
class Configured(FakeCluster):
    """A fake cluster with settings of the topic and of each broker; those who are `dead` do not answer, those
    who are `stale` report defaults."""

    of_topic: dict[str, str] = field(default_factory=lambda: {"min.insync.replicas": "2"})
    of_brokers: dict[int, dict[str, str]] = field(default_factory=lambda: {1: {}, 2: {}, 3: {}})
    stale: set[int] = field(default_factory=set)
    refusal: str | None = None
    read_only: set[str] = field(default_factory=set)
    exists: bool = True

    def settings(self, number: int, topic: str | None) -> Mapping[str, SettingState] | None:
        if number in self.dead:
            return None
        if topic is not None and not self.exists:
            return {}
        own = self.of_brokers[number] if topic is None else self.of_topic
        own = {} if number in self.stale else own
        return {
            name: SettingState(own.get(name, value), own=name in own, read_only=name in self.read_only)
            for name, value in DEFAULTS.items()
        }

    def change_settings(
        self, number: int | None, topic: str | None, values: Mapping[str, str | None]
    ) -> str | None:
        if number in self.dead:
            raise ClusterError("no broker answered")
        if topic is not None and not self.exists:
            return "UNKNOWN_TOPIC_OR_PARTITION: no such topic"
        own = self.of_topic if number is None else self.of_brokers[number]
        for name, value in values.items() if self.refusal is None else ():
            own.pop(name, None)
            own |= {} if value is None else {name: value}
        return self.refusal


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SettingsChanged.proof_seconds", "SettingsChanged.proof_pause", "_BACK_SECONDS"):
        monkeypatch.setattr(f"faults.config_change.{name}", 0.0)


def test_settings_are_changed_again_until_a_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Configured([quiet()])
    made = unheard(cluster, "change_settings", monkeypatch)
    TOPIC.aim(context(cluster)).apply(context(cluster))
    assert len(made) == 2
    assert cluster.of_topic == {"min.insync.replicas": "1", "retention.ms": "1000"}


def test_settings_of_the_topic_are_set_seen_and_set_back() -> None:
    cluster = Configured([quiet()])
    at = context(cluster)
    injection = TOPIC.aim(at)
    assert "reports min.insync.replicas=2" in injection.verify(at).what, "nothing was changed yet"
    injection.apply(at)
    assert cluster.of_topic == {"min.insync.replicas": "1", "retention.ms": "1000"}
    evidence = injection.verify(at)
    assert evidence.seen
    assert (
        "broker 1, 2, 3 reports min.insync.replicas from 2 to 1, retention.ms from the default to 1000"
        in (evidence.what)
    )
    assert injection.on_topic.config == {"min.insync.replicas": "1", "retention.ms": "1000"}
    assert not injection.on_topic.every_topic
    injection.heal(at)
    assert cluster.of_topic == {"min.insync.replicas": "2"}
    assert "former values" in injection.heal(at).what


def test_settings_of_brokers_are_those_of_the_target_alone() -> None:
    cluster = Configured([quiet()], of_brokers={1: {"num.io.threads": "6"}, 2: {}, 3: {}})
    at = context(cluster)
    injection = BROKERS.aim(at)
    injection.apply(at)
    assert cluster.of_brokers == {1: {"num.io.threads": "4"}, 2: {"num.io.threads": "4"}, 3: {}}
    assert injection.nodes == (1, 2)
    assert injection.target == "broker 1, 2: num.io.threads=4"
    assert injection.verify(at).seen
    cluster.stale = {2}
    assert "broker 2 reports num.io.threads=8" in injection.verify(at).what
    cluster.stale, cluster.dead = set(), {2}
    assert "not every broker answers" in injection.verify(at).what
    cluster.dead = set()
    injection.heal(at)
    assert cluster.of_brokers == {1: {"num.io.threads": "6"}, 2: {}, 3: {}}


def test_a_broker_that_is_down_is_set_back_when_it_is_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.config_change._BACK_SECONDS", 2.0)
    cluster = Configured([quiet()])
    at = context(cluster)
    injection = BROKERS.aim(at)
    injection.apply(at)
    cluster.dead = {2}
    injection.undo(at)
    assert cluster.of_brokers[2] == {"num.io.threads": "4"}
    with pytest.raises(FaultError, match="broker 2 does not answer"):
        injection.healed(at)
    cluster.dead = set()
    assert injection.healed(at).seen
    assert cluster.of_brokers[2] == {}


def test_a_topic_that_is_gone_needs_no_healing() -> None:
    cluster = Configured([quiet()])
    at = context(cluster)
    injection = TOPIC.aim(at)
    injection.apply(at)
    cluster.exists = False
    assert injection.heal(at).seen


def test_what_may_be_deleted_is_told_by_the_names_of_topics() -> None:
    fault = ConfigChange(set_={"log.retention.ms": 500, "num.io.threads": 4}, target=BrokerId(broker=1))
    cluster = Configured([quiet()])
    DEFAULTS["log.retention.ms"] = "1"
    effect = fault.aim(context(cluster)).on_topic
    assert (dict(effect.config), effect.every_topic) == ({"retention.ms": "500"}, True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"set": {}}, "at least 1"),
        ({"set": {"num.io.threads": 4}}, "no setting of a topic .* name its brokers as `target`"),
        (
            {"set": {"retention.ms": 4}, "target": {"broker": 1}},
            "no setting of a broker .* leave `target` out",
        ),
        ({"set": {"retention.msec": 4}}, "did you mean .*retention.ms"),
        ({"set": {"node.id": 4}, "target": {"broker": 1}}, "node.id is no setting of a broker"),
        ({"set": {"ssl.keystore.key": "x"}, "target": {"broker": 1}}, "ssl.keystore.key is no setting"),
        ({"set": {"retention.ms": " "}}, "retention.ms has no value"),
    ],
)
def test_bad_input(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        ConfigChange.model_validate(given)


def test_impossible_targets_and_what_to_expect() -> None:
    with pytest.raises(ValueError, match="only brokers have such settings"):
        ConfigChange(set_={"num.io.threads": "4"}, target=Clients(client=True)).warnings(SHAPE)
    (warning,) = ConfigChange(set_={"min.insync.replicas": 4}).warnings(SHAPE)
    assert "above the replication factor (3)" in warning
    assert TOPIC.warnings(SHAPE) == ()
    assert TOPIC.of_topic
    assert len({TOPIC, BROKERS, ConfigChange.model_validate(TOPIC.model_dump(by_alias=True))}) == 2
    assert not BROKERS.of_topic


def test_a_broker_that_was_just_started_again_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Configured([quiet()], dead={1, 2, 3})
    asked: list[int] = []

    def settings(number: int, topic: str | None) -> Mapping[str, SettingState] | None:
        asked.append(number)
        if len(asked) == 4:
            cluster.dead.clear()
        return Configured.settings(cluster, number, topic)

    monkeypatch.setattr(cluster, "settings", settings)
    assert TOPIC.aim(context(cluster)).changes[0].broker is None
    assert asked == [1, 2, 3, 1]


def test_what_this_kafka_does_not_have_or_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Configured([quiet()], read_only={"num.io.threads"})
    with pytest.raises(FaultError, match="cannot be changed while the cluster runs"):
        BROKERS.aim(context(cluster))
    with pytest.raises(FaultError, match="no such setting"):
        ConfigChange(set_={"segment.ms": 100}).aim(context(cluster))
    cluster = Configured([quiet()], refusal="INVALID_CONFIG: too many threads")
    with pytest.raises(FaultError, match="too many threads"):
        BROKERS.aim(context(cluster)).apply(context(cluster))
    monkeypatch.setattr("faults.config_change.ANSWER_SECONDS", 0.3)
    with pytest.raises(FaultError, match="present settings are not known"):
        TOPIC.aim(context(Configured([quiet()], dead={1, 2, 3})))

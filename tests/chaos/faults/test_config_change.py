"""Changed settings on real brokers: every broker reports them, producers feel them, and they are set back."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.config_change import ConfigChange
from faults.shared.fault_spec import InjectionContext
from faults.targets import All, BrokerId, Leader
from harness.cluster.managed import ManagedCluster
from harness.model.errors import FaultError
from harness.model.result import VerdictWord
from harness.run.executor import Options, run_on
from harness.spec.experiment_files import parse
from tests.chaos.support.cluster_queries import leader_of
from tests.chaos.support.proof import Prove

pytestmark = pytest.mark.chaos

RUN = """
name: small-messages
title: The topic takes smaller messages than are sent
topic: {partitions: 1, config: {min.insync.replicas: 2}}
workload: {rate: 300, record_size: 200}
steps:
- write:
    name: w
    seconds: 8
    faults: [{fault: {config_change: {set: {max.message.bytes: 100}}}, at: 2, for: 2}]
arms:
- {name: changed, producer: {acks: all}}
- {name: control, producer: {acks: all}, without_faults: true}
"""


def context(cluster: ManagedCluster, topic: str) -> InjectionContext:
    return InjectionContext(cluster, topic, session_seconds=4.0, tag=f"kafka-chaos-{topic[:30]}", seed="7")


def test_a_setting_of_the_topic(
    cluster: ManagedCluster, topic: str, prove: Prove, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = ConfigChange(set_={"min.insync.replicas": 3, "retention.ms": 900_000})
    with monkeypatch.context() as short:
        short.setattr("faults.config_change.SettingsChanged.proof_seconds", 1.0)
        unasked = change.aim(context(cluster, topic)).verify(context(cluster, topic))
    assert not unasked.seen, "nothing was changed yet"
    with prove(change) as shown:
        assert cluster.admin().config(topic)["min.insync.replicas"] == "3"
        assert "broker 1, 2, 3 reports min.insync.replicas from 2 to 3, retention.ms from the default" in (
            shown.what
        )
    back = cluster.admin().config(topic)
    assert (back["min.insync.replicas"], back["retention.ms"]) == ("2", "604800000")
    assert not cluster.settings(1, topic)["retention.ms"].own


def test_settings_of_one_broker(cluster: ManagedCluster, topic: str, prove: Prove) -> None:
    leader = leader_of(cluster, topic)
    with prove(ConfigChange(set_={"num.io.threads": 4}, target=Leader(leader=0))) as shown:
        assert shown.nodes == [leader]
        assert cluster.dynamic_settings(leader) == ("num.io.threads=4",)
        assert all(cluster.dynamic_settings(other) == () for other in {1, 2, 3} - {leader})
    assert cluster.dynamic_settings(leader) == ()


def test_what_kafka_refuses(cluster: ManagedCluster, topic: str) -> None:
    at = context(cluster, topic)
    refused = ConfigChange(set_={"num.io.threads": 1000}, target=All(all=True)).aim(at)
    with pytest.raises(FaultError, match="value should not be greater than double the current value"):
        refused.apply(at)
    with pytest.raises(FaultError, match="INVALID_CONFIG"):
        ConfigChange(set_={"retention.ms": "soon"}).aim(at).apply(at)
    with pytest.raises(FaultError, match="no such setting"):
        ConfigChange(set_={"message.format.version": "3.0"}).aim(at)
    assert [cluster.dynamic_settings(number) for number in (1, 2, 3)] == [(), (), ()]
    one = ConfigChange(set_={"log.retention.ms": 900_000}, target=BrokerId(broker=2)).aim(at)
    one.apply(at)
    assert one.verify(at).seen
    assert one.heal(at).seen


@pytest.mark.soak
def test_producers_are_refused_while_the_topic_takes_smaller_messages(
    cluster: ManagedCluster, results: Path
) -> None:
    _, result = run_on(cluster, parse(RUN, "small-messages"), Options(results=results, seed=3))
    changed, control = result.arms
    for arm in result.arms:
        assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
    (window,) = changed.meta.windows
    assert window.verified, window.evidence
    assert changed.meta.changed_configs[0].config == {"max.message.bytes": "100"}
    assert changed.summary is not None
    assert control.summary is not None
    sends, others = changed.summary.outcomes, control.summary.outcomes
    assert set(others) == {"acked"}
    assert sum(sends.values()) - sends["acked"] > 100, "about two seconds of 300 a second"
    assert sends["acked"] > 900, "before it and after it"

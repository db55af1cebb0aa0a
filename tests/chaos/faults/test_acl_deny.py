"""A principal loses a right on real brokers: they refuse it, producers report it, and the rule goes again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.acl_deny import AclDeny
from faults.shared.fault_spec import InjectionContext
from harness.cluster.convergence import settle
from harness.cluster.managed import ManagedCluster
from harness.model.errors import ClusterError
from harness.model.result import VerdictWord
from harness.run.executor import Options, execute, run_on
from harness.run.preflight.feasibility import on_external_cluster
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment_files import parse
from harness.spec.security import SecuritySpec
from tests.chaos.support.evidence import FaultTable
from tests.chaos.support.proof import proved

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

TOPIC = "denied"
RUN = """
name: denied
title: The producers lose the right to write
cluster: {security: {sasl: plain, acls: true}}
topic: {partitions: 1, config: {min.insync.replicas: 2}}
workload: {rate: 200}
readers:
- {name: group, group: denied-group, commits: auto, reset: earliest}
steps:
- write: {name: w, seconds: 8, faults: [{fault: {acl_deny: {right: write}}, at: 2, for: 2}]}
arms:
- {name: denied, producer: {acks: all}}
- {name: control, producer: {acks: all}, without_faults: true}
"""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagedCluster]:
    """A cluster with an authorizer, and a settled topic."""
    spec = ClusterSpec(security=SecuritySpec(sasl="plain", acls=True))
    with ManagedCluster(spec, log_folder=tmp_path_factory.mktemp("acls")) as cluster:
        cluster.admin().create(TOPIC, partitions=1, replication_factor=3, config={"min.insync.replicas": "2"})
        settle(cluster, TOPIC, 1, 3, 60)
        yield cluster


def context(cluster: ManagedCluster) -> InjectionContext:
    return InjectionContext(cluster, TOPIC, session_seconds=4.0, tag="kafka-chaos-acl", seed="7")


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (AclDeny(), "TOPIC_AUTHORIZATION_FAILED"),
        (AclDeny(right="read"), "TOPIC_AUTHORIZATION_FAILED"),
        (AclDeny(right="read", group="some-group"), "GROUP_AUTHORIZATION_FAILED"),
    ],
    ids=["write", "read", "group"],
)
def test_brokers_refuse_what_was_denied(
    secured: ManagedCluster,
    fault_table: FaultTable,
    fault: AclDeny,
    error: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = context(secured)
    rule = fault.aim(at).added[-1].acl
    with monkeypatch.context() as short:
        short.setattr("faults.acl_deny.Denied.proof_seconds", 1.0)
        assert "has no such rule" in fault.aim(at).verify(at).what
    before = {number: secured.refusal(number, rule) for number in secured.broker_ids}
    assert not any("AUTHORIZATION" in (answer or "") for answer in before.values()), before
    with proved(secured, TOPIC, fault, fault_table) as shown:
        assert error in shown.what
        assert len(secured.rule_words(2)) == 2
        # The harness goes on seeing the topic: the other rights stay.
        assert secured.view((TOPIC,)).partition(TOPIC, 0) is not None
    assert [secured.rule_words(number) for number in secured.broker_ids] == [(), (), ()]


def test_somebody_else_is_denied_and_we_are_not(secured: ManagedCluster) -> None:
    at = context(secured)
    injection = AclDeny(principal="User:alice").aim(at)
    injection.apply(at)
    evidence = injection.verify(at)
    assert evidence.seen
    assert "deny User:alice write on topic denied" in evidence.what
    assert injection.heal(at).seen


def test_denied_sends_are_refused_and_nothing_is_lost(secured: ManagedCluster, results: Path) -> None:
    _, result = run_on(secured, parse(RUN, "denied"), Options(results=results, seed=3))
    denied, control = result.arms
    for arm in result.arms:
        assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
    (window,) = denied.meta.windows
    assert window.verified, window.evidence
    assert denied.summary is not None
    assert control.summary is not None
    sends = denied.summary.outcomes
    assert set(control.summary.outcomes) == {"acked"}
    assert sum(sends.values()) - sends["acked"] > 50, sends
    assert sends["acked"] > 400, "before it and after it"


def test_it_is_so_on_a_cluster_that_we_did_not_start(
    secured: ManagedCluster, results: Path, tmp_path: Path
) -> None:
    config = tmp_path / "client.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in secured.access.properties.items()))
    there = on_external_cluster([parse(RUN, "denied")], secured.bootstrap, str(config), None)
    ((_, result),) = execute(there, Options(results=results, seed=4, arms=("denied",)))
    (arm,) = result.arms
    (window,) = arm.meta.windows
    assert window.verified, window.evidence
    assert arm.judgement.verdict == VerdictWord.VALID, arm.judgement
    assert arm.summary is not None
    assert arm.summary.outcomes["rejected"] > 50, arm.summary.outcomes
    assert [secured.rule_words(number) for number in secured.broker_ids] == [(), (), ()]


def test_a_cluster_without_an_authorizer_says_so(cluster: ManagedCluster) -> None:
    with pytest.raises(ClusterError, match="the cluster has no authorizer"):
        AclDeny(principal="User:a").aim(InjectionContext(cluster, TOPIC, 4.0, "kafka-chaos-acl"))
    assert cluster.rule_words(1) == ()

"""Rules that deny, against a cluster that keeps them: what is asked, what is proof, what is removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import ValidationError

from faults.acl_deny import AclDeny
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import AccessRule
from harness.model.errors import FaultError
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, context, unheard

pytestmark = pytest.mark.pure

OURS = "User:kafka-chaos"
ALLOW = AccessRule("allow", OURS, "all", "topic", "t")
DENY = AccessRule("deny", OURS, "write", "topic", "t")


@dataclass
class Guarded(FakeCluster):
    """A fake cluster with an authorizer; those who are `dead` do not answer, `lax` brokers refuse nobody."""

    kept: list[AccessRule] = field(default_factory=list)
    lax: set[int] = field(default_factory=set)
    failure: str | None = None
    client_principal: str | None = OURS

    def access_rules(self, number: int) -> tuple[AccessRule, ...] | None:
        return None if number in self.dead else tuple(self.kept)

    def change_access_rules(self, rules: tuple[AccessRule, ...], *, add: bool) -> str | None:
        if self.failure is None:
            self.kept = [one for one in self.kept if one not in rules] + (list(rules) if add else [])
        return self.failure

    def refusal(self, number: int, rule: AccessRule) -> str | None:
        return "INVALID_RECORD" if number in self.lax else f"{rule.resource.upper()}_AUTHORIZATION_FAILED"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Denied.proof_seconds", "Denied.proof_pause", "_BACK_SECONDS"):
        monkeypatch.setattr(f"faults.acl_deny.{name}", 0.0)


def test_a_right_is_denied_tried_and_given_back() -> None:
    other = AccessRule("allow", "User:bob", "read", "topic", "t")
    cluster = Guarded([quiet()], kept=[other])
    at = context(cluster)
    injection = AclDeny().aim(at)
    assert "the authorizer of broker 1 has no such rule" in injection.verify(at).what
    injection.apply(at)
    assert cluster.kept == [other, ALLOW, DENY]
    assert injection.target == "User:kafka-chaos write on topic t"
    evidence = injection.verify(at)
    assert evidence.seen
    assert "broker 1, 2, 3 has the rule" in evidence.what
    assert "refuses with TOPIC_AUTHORIZATION_FAILED" in evidence.what
    cluster.lax = {2}
    assert "broker 2 answers User:kafka-chaos write on topic t with INVALID_RECORD" in (
        injection.verify(at).what
    )
    assert injection.heal(at).seen
    assert cluster.kept == [other]


def test_a_right_is_denied_again_until_a_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Guarded([quiet()])
    made = unheard(cluster, "change_access_rules", monkeypatch)
    AclDeny().aim(context(cluster)).apply(context(cluster))
    assert len(made) == 2
    assert cluster.kept == [ALLOW, DENY]


def test_a_rule_that_was_there_stays() -> None:
    cluster = Guarded([quiet()], kept=[ALLOW])
    at = context(cluster)
    injection = AclDeny().aim(at)
    injection.apply(at)
    injection.heal(at)
    assert cluster.kept == [ALLOW]


def test_of_others_the_brokers_rules_are_the_proof() -> None:
    cluster = Guarded([quiet()], lax={1, 2, 3})
    at = context(cluster)
    injection = AclDeny(right="read", group="g", principal="User:alice").aim(at)
    injection.apply(at)
    assert injection.verify(at).seen
    assert injection.target == "User:alice read on group g"
    cluster.dead = {1, 2, 3}
    assert "no broker answers" in injection.verify(at).what
    with pytest.raises(FaultError, match="no broker answers"):
        injection.healed(at)


def test_what_cannot_be_denied_or_given_back() -> None:
    for cluster in (Guarded([quiet()], kept=[DENY]), Guarded([quiet()], dead={1, 2, 3})):
        with pytest.raises(FaultError, match="there is nothing to deny"):
            AclDeny().aim(context(cluster))
    with pytest.raises(FaultError, match="principal of the clients is not known"):
        AclDeny().aim(context(Guarded([quiet()], client_principal=None)))
    cluster = Guarded([quiet()], failure="CLUSTER_AUTHORIZATION_FAILED: no")
    with pytest.raises(FaultError, match="CLUSTER_AUTHORIZATION_FAILED"):
        AclDeny().aim(context(cluster)).apply(context(cluster))
    cluster = Guarded([quiet()])
    injection = AclDeny().aim(context(cluster))
    injection.apply(context(cluster))
    cluster.failure = "NOT_CONTROLLER: later"
    with pytest.raises(FaultError, match="NOT_CONTROLLER"):
        injection.undo(context(cluster))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"right": "alter"}, "'write' or 'read'"),
        ({"group": "g"}, "a group is only read"),
        ({"principal": "alice"}, "String should match pattern"),
    ],
)
def test_bad_input(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        AclDeny.model_validate(given)


def test_a_cluster_without_an_authorizer_is_refused() -> None:
    shape = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)
    with pytest.raises(ValueError, match="the cluster has no authorizer: set"):
        AclDeny().warnings(shape)
    secured = ClusterShape(
        brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3, acls=True
    )
    assert AclDeny().warnings(secured) == ()

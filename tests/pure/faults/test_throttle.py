"""Quotas of clients, against a cluster that keeps them: what is asked, what is proof, what is set back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import ValidationError

from faults.targets.target_context import ClusterShape
from faults.throttle import Throttle
from harness.model.errors import ClusterError, FaultError
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, context, unheard

pytestmark = pytest.mark.pure

SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=2, replication_factor=3)
EXISTING = ClusterShape(
    brokers=3, controllers=1, combined=False, partitions=2, replication_factor=3, own_ids=(1, 2, 3)
)
BOTH = Throttle(produce=1000, consume=500)


@dataclass
class Metered(FakeCluster):
    """A fake cluster with quotas by what they are for; `free` brokers throttle nobody, `dead` ones do not
    answer. `tried` has broker, client.id, way and size of each probe."""

    quotas: dict[str, dict[str, float]] = field(default_factory=dict)
    free: set[int] = field(default_factory=set)
    tried: list[tuple[int, str, str, int]] = field(default_factory=list)
    refusal: str | None = None

    def client_quotas(self, number: int) -> Mapping[str, Mapping[str, float]] | None:
        return None if number in self.dead else self.quotas

    def set_client_quota(self, client: str | None, values: Mapping[str, float | None]) -> str | None:
        own = self.quotas.setdefault(f"client-id {client or '<default>'}", {})
        for name, value in values.items() if self.refusal is None else ():
            own.pop(name, None)
            own |= {} if value is None else {name: value}
        return self.refusal

    def throttle_ms(self, number: int, client: str, way: str, size: int) -> int | None:
        self.tried.append((number, client, way, size))
        return 0 if number in self.free else 300 + number


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Throttled.proof_seconds", "Throttled.proof_pause", "_BACK_SECONDS"):
        monkeypatch.setattr(f"faults.throttle.{name}", 0.0)


def test_quotas_are_set_tried_and_set_back() -> None:
    before = {"client-id <default>": {"producer_byte_rate": 7000.0, "request_percentage": 50.0}}
    cluster = Metered([quiet()], quotas={name: dict(values) for name, values in before.items()})
    at = context(cluster)
    injection = BOTH.aim(at)
    assert "broker 1 reports the quotas {'producer_byte_rate': 7000.0}" in injection.verify(at).what
    injection.apply(at)
    assert cluster.quotas["client-id <default>"] == {
        "producer_byte_rate": 1000.0, "consumer_byte_rate": 500.0, "request_percentage": 50.0,
    }  # fmt: skip
    evidence = injection.verify(at)
    assert evidence.seen
    assert "throttled for 301 ms or more (producer_byte_rate)" in evidence.what
    assert cluster.tried[0] == (1, "tag-1", "produce", 13_000)
    assert cluster.tried[-1] == (3, "tag-1", "fetch", 7000)
    assert injection.heal(at).seen
    assert cluster.quotas == before


def test_quotas_are_asked_for_again_until_a_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Metered([quiet()])
    made = unheard(cluster, "set_client_quota", monkeypatch)
    BOTH.aim(context(cluster)).apply(context(cluster))
    assert len(made) == 2
    assert cluster.quotas


def test_a_broker_that_throttles_nobody_is_no_proof() -> None:
    cluster = Metered([quiet()])
    injection = Throttle(produce=1000).aim(context(cluster))
    injection.apply(context(cluster))
    cluster.free = {2}
    assert "broker 2 does not throttle a client after 13,000 bytes" in injection.verify(context(cluster)).what
    cluster.dead = {1, 2, 3}
    assert "no broker answers" in injection.verify(context(cluster)).what


def test_a_client_is_tried_by_its_own_name_and_a_high_rate_not_at_all() -> None:
    cluster = Metered([quiet()])
    injection = Throttle(produce=2_000_000, consume=10, client="app").aim(context(cluster))
    injection.apply(context(cluster))
    assert cluster.quotas == {"client-id app": {"producer_byte_rate": 2e6, "consumer_byte_rate": 10.0}}
    evidence = injection.verify(context(cluster))
    assert evidence.seen
    assert "producer_byte_rate was not tried" in evidence.what
    assert {(client, way) for _, client, way, _ in cluster.tried} == {("app", "fetch")}


def test_quotas_that_do_not_go_are_said() -> None:
    cluster = Metered([quiet()])
    injection = BOTH.aim(context(cluster))
    injection.apply(context(cluster))
    with pytest.raises(FaultError, match="the former quotas are not back"):
        injection.healed(context(cluster))
    cluster.refusal = "INVALID_REQUEST: no"
    with pytest.raises(FaultError, match="INVALID_REQUEST"):
        injection.apply(context(cluster))
    with pytest.raises(FaultError, match="INVALID_REQUEST"):
        injection.undo(context(cluster))


def test_without_an_answer_nothing_is_set() -> None:
    with pytest.raises(ClusterError, match="present quotas are not known"):
        BOTH.aim(context(Metered([quiet()], dead={1, 2, 3})))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "it throttles nothing"),
        ({"produce": 0}, "greater than or equal to 1"),
        ({"rate": 1}, "Extra inputs"),
    ],
)
def test_bad_input(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Throttle.model_validate(given)


def test_the_clients_of_others_are_spared() -> None:
    with pytest.raises(ValueError, match=r"name a client\.id"):
        BOTH.warnings(EXISTING)
    assert Throttle(produce=1, client="app").warnings(EXISTING) == ()
    assert BOTH.warnings(SHAPE) == ()

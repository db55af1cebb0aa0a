"""A rolling restart with another version, and levels that are finalised, against a fake cluster: the order,
what stays, what is proof, and what Kafka's refusal looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from pydantic import ValidationError

from faults.finalize import Finalize, Finalized
from faults.restart import Restart, Restarted
from faults.targets import BrokerId
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import FeatureLevels
from harness.model.errors import FaultError
from harness.model.kafka_releases import METADATA, release_of
from harness.run.replay import with_named_nodes
from tests.support.fake_cluster import context
from tests.support.fake_processes import SHAPE, Machine

pytestmark = pytest.mark.pure


@dataclass
class Versioned(Machine):
    """A machine whose nodes say what version they run, and know the features of their releases."""

    versions: dict[int, str] = field(default_factory=lambda: dict.fromkeys((1, 2, 3, 101), "3.9.2"))
    levels: dict[str, int] = field(default_factory=lambda: {METADATA: 21})
    refusals: list[dict[str, str]] = field(default_factory=list)
    asked: list[dict[str, int]] = field(default_factory=list)
    deaf: bool = False
    stubborn: tuple[int, ...] = ()

    def replace_node(self, number: int, version: str) -> None:
        assert number in self.dead, "only a stopped node is replaced"
        self.deeds.append(f"{version} for {number}")
        if number not in self.stubborn:
            self.versions[number] = version

    def log_since(self, number: int, since_ns: int) -> str:
        said = super().log_since(number, since_ns)
        version = self.versions.get(number)
        return f"{said}\n[x] INFO Kafka version: {version} (AppInfoParser)" if version else said

    def features(self, number: int) -> FeatureLevels | None:
        if self.deaf:
            return None
        return FeatureLevels({METADATA: release_of(self.versions[number]).metadata}, dict(self.levels))

    def set_features(self, levels: Mapping[str, int]) -> dict[str, str]:
        self.asked.append(dict(levels))
        refused = self.refusals.pop(0) if self.refusals else {}
        self.levels |= {name: level for name, level in levels.items() if name not in refused}
        return refused


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.restart.REJOIN_SECONDS", 0.3)
    monkeypatch.setattr("faults.shared.waiting.REJOIN_SECONDS", 0.3)
    monkeypatch.setattr("faults.shared.node_versions._PROOF_SECONDS", 0.0)
    monkeypatch.setattr("faults.finalize._SECONDS", 0.0)


def moved(cluster: Versioned, version: str) -> Restarted:
    injection = Restart(version=version).aim(context(cluster))
    injection.apply(context(cluster))
    return injection


def test_controllers_come_first_on_the_way_up_and_last_on_the_way_down() -> None:
    cluster = Versioned()
    up = moved(cluster, "4.1.1")
    assert cluster.deeds == [
        f"{deed} {node}" for node in (101, 1, 2, 3) for deed in ("stop", "4.1.1 for", "start")
    ]
    evidence = up.verify(context(cluster))
    assert evidence.seen, evidence.what
    assert "from Kafka 3.9.2 to 4.1.1 in the order controller 101, broker 1, broker 2" in evidence.what
    assert evidence.facts["versions_before"] == dict.fromkeys((1, 2, 3, 101), "3.9.2")
    assert up.heal(context(cluster)).what.endswith("with Kafka 4.1.1")
    cluster.deeds.clear()
    moved(cluster, "3.9.2")
    assert [deed for deed in cluster.deeds if deed.startswith("stop")] == [
        f"stop {n}" for n in (1, 2, 3, 101)
    ]


def test_a_target_limits_it_to_some_nodes() -> None:
    cluster = Versioned()
    injection = Restart(version="4.1.1", target=BrokerId(broker=2)).aim(context(cluster))
    injection.apply(context(cluster))
    assert injection.verify(context(cluster)).seen
    assert cluster.versions == {1: "3.9.2", 2: "4.1.1", 3: "3.9.2", 101: "3.9.2"}


def test_a_node_that_kept_its_version_is_no_proof() -> None:
    cluster = Versioned(stubborn=(2,))
    injection = moved(cluster, "4.1.1")
    assert injection.verify(context(cluster)).what == "broker 2 runs Kafka 3.9.2, not 4.1.1"
    assert not injection.heal(context(cluster)).seen


def test_a_broker_that_supports_other_features_is_no_proof() -> None:
    cluster = Versioned()
    injection = moved(cluster, "4.1.1")
    cluster.features = lambda _: FeatureLevels({METADATA: 21}, {})  # type: ignore[method-assign]
    assert injection.verify(context(cluster)).what == (
        "broker 1 supports metadata.version up to 3.9-IV0, not 4.1-IV1"
    )


def test_why_a_node_did_not_come_back() -> None:
    cluster = Versioned()
    injection = Restart(version="4.1.1").aim(context(cluster))
    cluster.logs[101] = "[x] INFO begins\n[x] ERROR no such metadata.version (kafka.Kafka$)"
    cluster.after_start = cluster.dead.add
    with pytest.raises(FaultError, match=r"controller 101 printed: .* ERROR no such metadata.version"):
        injection.apply(context(cluster))
    assert cluster.deeds == ["stop 101", "4.1.1 for 101", "start 101"]


def test_a_node_without_a_version_is_told() -> None:
    with pytest.raises(FaultError, match="does not tell its version"):
        Restart(version="4.1.1").aim(context(Versioned(versions={})))


def test_another_process_heals_it_by_the_json_alone() -> None:
    cluster = Versioned()
    injection = Restart(version="4.1.1").aim(context(cluster))
    cluster.terminate(101)
    other = Restarted.model_validate_json(injection.model_dump_json())
    assert not other.heal(context(cluster)).seen, "no node has the new version"
    assert cluster.dead == set()


@pytest.mark.parametrize("version", ["4.1", "4.9.0", "next", "4.1.1-rc1"])
def test_versions_that_are_not_known(version: str) -> None:
    with pytest.raises(ValidationError, match=r"not the full number|whose features are known"):
        Restart(version=version)


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        (ClusterShape(3, 1, True, 1, 3, zookeepers=(201,)), "a ZooKeeper cluster cannot get another"),
        (ClusterShape(3, 1, False, 1, 3, own_ids=(1, 2, 3)), "did not start cannot get another version"),
    ],
)
def test_clusters_whose_nodes_keep_their_version(shape: ClusterShape, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Restart(version="4.1.1").warnings(shape)
    assert Restart().warnings(shape) == ()
    assert Restart(version="4.1.1").warnings(SHAPE) == ()


FROM_4_1 = {METADATA: 27, "transaction.version": 2, "group.version": 1, "eligible.leader.replicas.version": 1}


def finalized(cluster: Versioned, spec: Finalize) -> Finalized:
    injection = spec.aim(context(cluster))
    injection.apply(context(cluster))
    return injection


def test_levels_are_finalised_metadata_first() -> None:
    cluster = Versioned()
    injection = finalized(cluster, Finalize.model_validate({"release": 4.1}))
    assert cluster.asked == [FROM_4_1]
    assert next(iter(cluster.asked[0])) == METADATA
    evidence = injection.verify(context(cluster))
    assert evidence.seen
    assert "metadata.version 3.9-IV0 -> 4.1-IV1, " in evidence.what
    injection.undo(context(cluster))
    assert injection.healed(context(cluster)).seen
    assert cluster.levels == FROM_4_1


def test_metadata_alone() -> None:
    cluster = Versioned()
    finalized(cluster, Finalize(release="4.1", only_metadata=True))
    assert cluster.asked == [{METADATA: 27}]


def test_levels_are_lowered_metadata_last() -> None:
    cluster = Versioned(levels=FROM_4_1 | {"share.version": 1})
    finalized(cluster, Finalize(release="4.0"))
    assert list(cluster.asked[0].items()) == [
        ("share.version", 0),
        ("eligible.leader.replicas.version", 0),
        (METADATA, 25),
    ]


def test_a_controller_that_has_not_registered_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faults.finalize._SECONDS", 5.0)
    cluster = Versioned(refusals=[{METADATA: "controller 101 has not registered"}])
    injection = finalized(cluster, Finalize(release="4.1"))
    assert len(cluster.asked) == 2
    assert injection.verify(context(cluster)).seen


def test_a_refusal_is_told_in_kafkas_words() -> None:
    cluster = Versioned(refusals=[{METADATA: "INVALID_UPDATE_VERSION: Broker 2 only supports versions 1-21"}])
    with pytest.raises(FaultError, match=r"metadata.version: INVALID_UPDATE_VERSION: Broker 2 only") as told:
        finalized(cluster, Finalize(release="4.1"))
    assert "metadata.version 4.1-IV1" in str(told.value)


def test_a_broker_that_does_not_know_the_level_is_no_proof() -> None:
    cluster = Versioned()
    injection = finalized(cluster, Finalize(release="4.1"))
    cluster.levels[METADATA] = 21
    assert injection.verify(context(cluster)).what == "broker 1 knows metadata.version 3.9-IV0, not 4.1-IV1"
    cluster.deaf = True
    assert injection.verify(context(cluster)).what == "broker 1 does not answer"


def test_nothing_to_finalise() -> None:
    with pytest.raises(FaultError, match=r"metadata.version is 3.9-IV0 already"):
        Finalize(release="3.9").aim(context(Versioned()))
    with pytest.raises(FaultError, match="no broker tells"):
        Finalize(release="4.1").aim(context(Versioned(deaf=True)))


def test_what_cannot_be_finalised() -> None:
    with pytest.raises(ValidationError, match=r"3.3 to 4.4 are"):
        Finalize(release="5.0")
    with pytest.raises(ValueError, match=r"ZooKeeper cluster has no metadata.version"):
        Finalize(release="4.1").warnings(ClusterShape(3, 1, True, 1, 3, zookeepers=(201,)))


def test_a_replay_of_every_node_still_means_every_node() -> None:
    """A replay names the brokers that a target matched; here it would leave the controllers out."""
    spec, where = Restart(version="4.1.1"), context(Versioned())
    spec.aim(where)
    chosen = [
        {"target": target.model_dump(mode="json", by_alias=True), "nodes": nodes}
        for target, nodes in where.chosen.items()
    ]
    written = spec.model_dump(mode="json", by_alias=True)
    assert with_named_nodes(written, chosen) == written

"""What needs a request that a cluster does not offer is refused before anything is written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cluster import external
from harness.cluster.external import ExternalCluster
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.errors import BadInput, ClusterError
from harness.model.kafka_protocol import API_KEYS
from harness.run.experiment_run import ExperimentRun
from harness.run.preflight.offered_requests import check_offered
from harness.spec.cluster import ClusterSpec, ExternalClusterSpec
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import parse

pytestmark = pytest.mark.pure

EVERYTHING = dict.fromkeys(API_KEYS.values(), (0, 20))


def without(*names: str) -> dict[int, dict[int, tuple[int, int]]]:
    """Two brokers, the second of which lacks these requests."""
    missing = {API_KEYS[name] for name in names}
    return {1: EVERYTHING, 2: {key: versions for key, versions in EVERYTHING.items() if key not in missing}}


def experiment(more: str = "", fault: str = "", workload: str = "{rate: 10}") -> Experiment:
    faults = f", faults: [{{fault: {fault}, at: 1, for: 1}}]" if fault else ""
    return parse(
        f"""
name: mine
title: Mine
cluster: {{brokers: 2, existing: {{bootstrap_servers: 'a:1'}}}}
topic: {{partitions: 1, replication_factor: 2}}
workload: {workload}
steps: [{{write: {{name: w, seconds: 3{faults}}}}}]
arms: [{{name: one, producer: {{acks: all}}}}]
{more}
""",
        "mine.yaml",
    )


NEEDS = [
    (experiment(fault="{elect: {partition: 0}}"), "ElectLeaders"),
    (experiment(fault="{delete_records: {partition: 0, share: 0.5}}"), "DeleteRecords"),
    (experiment(fault="{add_partitions: {count: 1}}"), "CreatePartitions"),
    (experiment(fault="{config_change: {set: {retention.ms: 5}}}"), "IncrementalAlterConfigs"),
    (experiment(fault="{throttle: {client: me, produce: 5}}"), "AlterClientQuotas"),
    (experiment("readers: [{name: g, group: g}]"), "JoinGroup"),
    (experiment("readers: [{name: g, group: g, by_hand: true}]"), "OffsetCommit"),
    (experiment("readers: [{name: g, group: g, protocol: consumer}]"), "ConsumerGroupHeartbeat"),
    (experiment("share: [{name: s}]"), "ShareFetch"),
    (experiment(workload="{transactions: {records: 5}}"), "AddPartitionsToTxn"),
]


@pytest.mark.parametrize(("needing", "api"), NEEDS, ids=[api for _, api in NEEDS])
def test_what_is_not_offered_is_refused_by_name(needing: Experiment, api: str) -> None:
    assert check_offered(needing, {1: EVERYTHING}) == ()
    with pytest.raises(BadInput) as refused:
        check_offered(needing, without(api))
    assert f"does not offer {api}" in str(refused.value)
    assert f"broker 2 offers no version of {api}" in str(refused.value)


def test_what_is_not_needed_may_be_missing() -> None:
    plain = experiment("readers: [{name: all}]")
    assert check_offered(plain, without("JoinGroup", "ElectLeaders", "EndTxn", "ShareFetch")) == ()
    by_hand = experiment("readers: [{name: g, group: g, by_hand: true}]")
    assert check_offered(by_hand, without("JoinGroup", "ConsumerGroupHeartbeat")) == ()


def test_transactions_that_nobody_can_end_are_told_of() -> None:
    (told,) = check_offered(experiment(workload="{transactions: {records: 5}}"), without("EndTxn"))
    assert "broker 2 offers no version of EndTxn" in told


def test_every_run_is_checked(tmp_path: Path) -> None:
    cluster = ExternalCluster(ClusterSpec(brokers=2, existing=ExternalClusterSpec(bootstrap_servers="a:1")))
    cluster.set_brokers({1: ("h", 1), 2: ("h", 2)})
    cluster.offered = without("JoinGroup")  # type: ignore[assignment]
    needing = experiment("readers: [{name: g, group: g}]")
    with pytest.raises(BadInput, match="does not offer JoinGroup"):
        ExperimentRun(cluster, needing, {tmp_path / "run": needing.arms[0]}, seed=1)


@pytest.mark.parametrize(
    ("listed", "told"),
    [({2: (6, 9), 1: (4, 16)}, "versions 6 to 9"), ({1: (4, 16)}, "no version of it"), (None, "silent")],
)
def test_a_cluster_that_cannot_be_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, listed: dict[int, tuple[int, int]] | None, told: str
) -> None:
    def api_versions(_: BrokerConnection) -> Any:
        if listed is None:
            raise OSError("no answer")
        return {3: (0, 12), **listed}

    monkeypatch.setattr(external, "advertised_addresses", lambda *_: {1: ("h", 1)})
    monkeypatch.setattr(BrokerConnection, "api_versions", api_versions)
    monkeypatch.setattr(external, "state_records", SimpleNamespace(remember=lambda _: None))
    spec = ClusterSpec(brokers=1, existing=ExternalClusterSpec(bootstrap_servers="h:1"))
    with pytest.raises(ClusterError) as refused:
        ExternalCluster(spec).start()
    assert told in str(refused.value)
    assert ("ListOffsets in version 5" in str(refused.value)) == (listed is not None)

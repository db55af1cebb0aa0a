"""Faults on an application under test: which can be aimed at it, at which nodes, and what they say."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from faults.network.links import Link
from faults.network.partition_injection import _tried
from faults.processes import Kill, describe_leaderless
from faults.shared.fault_spec import KINDS, FaultSpec
from faults.shared.words import node_names
from faults.targets import Application, Target
from faults.targets.target_context import ClusterShape, TargetContext
from harness.model.broker_views import TopologyView
from harness.model.node_layout import FIRST_APPLICATION_ID as FIRST
from tests.support.fake_cluster import FakeCluster, context

pytestmark = pytest.mark.pure

HOST = ClusterShape(3, 1, False, partitions=1, replication_factor=3, applications=2)
CONTAINERS = ClusterShape(
    3,
    1,
    False,
    partitions=1,
    replication_factor=3,
    disk_mib=64,
    applications=2,
    application_in_container=True,
)
NONE = ClusterShape(3, 1, False, partitions=1, replication_factor=3)
TARGET: TypeAdapter[Any] = TypeAdapter(Target)


def _snapshot() -> TargetContext:
    nothing = TopologyView(at_ns=0, views=())
    return context(FakeCluster([nothing], application_ids=(FIRST, FIRST + 1))).snapshot()


def _fault(kind: str, target: Any) -> FaultSpec:
    fields: dict[str, Any] = {"kind": kind, "target": target}
    fields |= {"cpu_limit": {"cpus": 0.5}, "memory_limit": {"mib": 256}}.get(kind, {})
    if kind == "partition":
        fields = {"kind": kind, "from": target, "to": {"leader": 0}}
    return KINDS[kind].model_validate(fields)


def test_the_instances_are_nodes() -> None:
    assert TARGET.validate_python({"application": "all"}).resolve(_snapshot()) == (FIRST, FIRST + 1)
    assert TARGET.validate_python({"application": 1}).resolve(_snapshot()) == (FIRST + 1,)
    both = TARGET.validate_python({"any": [{"application": 0}, {"broker": 2}]})
    assert both.resolve(_snapshot()) == (FIRST, 2)
    assert TARGET.validate_python({"nodes": [FIRST]}).resolve(_snapshot()) == (FIRST,)
    assert TARGET.validate_python({"application": 1}).possible_nodes(HOST) == {FIRST + 1}
    assert node_names((1, FIRST, FIRST + 1)) == "broker 1, application 0, 1"


@pytest.mark.parametrize("value", [{"application": "some"}, {"application": -1}, {"application": None}])
def test_what_is_no_instance(value: Any) -> None:
    with pytest.raises(ValidationError):
        TARGET.validate_python(value)


@pytest.mark.parametrize("kind", ["kill", "stop", "pause", "restart"])
def test_faults_on_a_process_are_possible_wherever_it_runs(kind: str) -> None:
    fault = _fault(kind, {"application": "all"})
    assert fault.warnings(HOST) == ()
    assert fault.max_brokers_down(HOST) == 0
    with pytest.raises(ValueError, match="an arm has no `application`"):
        fault.warnings(NONE)
    with pytest.raises(ValueError, match="the instances are 0 to 1"):
        _fault(kind, {"application": 2}).warnings(HOST)


@pytest.mark.parametrize("kind", ["cpu_limit", "memory_limit", "partition"])
def test_limits_and_partitions_need_a_container(kind: str) -> None:
    fault = _fault(kind, {"application": 0})
    fault.warnings(CONTAINERS)
    assert fault.max_brokers_down(CONTAINERS) == 0
    with pytest.raises(ValueError, match="run it as a `container`"):
        fault.warnings(HOST)


def test_other_faults_name_those_that_are_possible() -> None:
    fault = _fault("disk_full", {"application": 0})
    expected = "possible are cpu_limit, dns, kill, memory_limit, partition, pause, restart, stop"
    with pytest.raises(ValueError, match=expected):
        fault.warnings(CONTAINERS)
    # A union with a broker is refused as well.
    with pytest.raises(ValueError, match=expected):
        _fault("disk_full", {"any": [{"application": 0}, {"broker": 1}]}).warnings(CONTAINERS)


def test_a_kill_of_brokers_alone_is_unchanged() -> None:
    kill = Kill.model_validate({"target": {"leader": 0}})
    assert kill.warnings(HOST) == ()
    assert kill.max_brokers_down(HOST) == 1
    assert isinstance(TARGET.validate_python({"application": 0}), Application)
    assert describe_leaderless((1, FIRST)) == "it led no partition of the topic"
    assert describe_leaderless((FIRST,)) == "it is no broker"


def test_a_connection_is_tried_towards_the_node_that_listens() -> None:
    assert _tried(Link(FIRST, 1))
    assert not _tried(Link(1, FIRST))
    assert not _tried(Link(FIRST, FIRST + 1))
    assert _tried(Link(1, 2))
    assert not _tried(Link(2, 1))

"""From a spec to nodes, and to Compose files that do not drift."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.cluster.compose_files import VARIANTS, drifted, render
from harness.cluster.node_plan import plan, variable
from harness.cluster.zookeeper import controller_of
from harness.model.host.ports import HIGHEST, LOWEST, free_ports, is_free
from harness.spec.cluster import ClusterSpec, Profile

pytestmark = pytest.mark.pure


@given(st.integers(1, 5), st.integers(1, 3))
def test_separate_controllers_and_brokers(brokers: int, controllers: int) -> None:
    nodes = plan(ClusterSpec(brokers=brokers, controllers=controllers), list(range(brokers)), "id")
    assert [node.id for node in nodes if node.broker] == list(range(1, brokers + 1))
    assert len([node for node in nodes if node.controller]) == controllers
    assert len({node.id for node in nodes}) == len(nodes)
    assert not any(node.broker and node.controller for node in nodes)
    voters = {node.environment["KAFKA_CONTROLLER_QUORUM_VOTERS"] for node in nodes}
    assert len(voters) == 1
    assert all(f"{node.id}@{node.name}:9093" in next(iter(voters)) for node in nodes if node.controller)


def test_combined_nodes_are_both() -> None:
    nodes = plan(ClusterSpec(brokers=3, controllers=3, combined=True), [1, 2, 3], "id")
    assert all(node.broker and node.controller for node in nodes)
    assert len(nodes) == 3
    with pytest.raises(ValidationError, match="controllers must be 3"):
        ClusterSpec(brokers=3, combined=True)


def test_properties_win_over_the_profile_and_the_network_over_both() -> None:
    spec = ClusterSpec(
        profile=Profile.FAST,
        properties={"replica.lag.time.max.ms": "1234", "log.dirs": "/elsewhere"},
    )
    broker = plan(spec, [1, 2, 3], "id")[-1].environment
    assert broker["KAFKA_REPLICA_LAG_TIME_MAX_MS"] == "1234"
    assert broker["KAFKA_BROKER_SESSION_TIMEOUT_MS"] == "4000"
    assert broker["KAFKA_LOG_DIRS"] == "/var/lib/kafka/data"
    assert (
        "KAFKA_BROKER_SESSION_TIMEOUT_MS"
        not in plan(ClusterSpec(profile=Profile.KAFKA), [1, 2, 3], "id")[-1].environment
    )


@pytest.mark.parametrize("kept", [{}, {"metadata": "zookeeper", "version": "3.9.2"}])
def test_properties_of_one_broker_are_its_own(kept: dict[str, Any]) -> None:
    own = {2: {"replica.lag.time.max.ms": 9000, "broker.id": 7}}
    spec = ClusterSpec(properties={"replica.lag.time.max.ms": 8000}, broker_properties=own, **kept)
    lags, ids = [], []
    for node in (node for node in plan(spec, [1, 2, 3], "id") if node.broker):
        whole = node.environment.get("KAFKA_CHAOS_SETTINGS")
        lines = dict(line.split("=", 1) for line in whole.splitlines()) if whole else node.environment
        lags.append(lines.get("replica.lag.time.max.ms") or lines["KAFKA_REPLICA_LAG_TIME_MAX_MS"])
        ids.append(lines["broker.id"] if kept else lines["KAFKA_NODE_ID"])
    assert lags == ["8000", "9000", "8000"]
    assert ids == ["1", "2", "3"]


def test_properties_of_a_broker_that_is_not_there_are_refused() -> None:
    with pytest.raises(ValidationError, match="names broker 4; the cluster has brokers 1 to 3"):
        ClusterSpec(broker_properties={4: {"a": "b"}})


def test_racks_are_one_a_broker_and_followers_may_be_fetched_from() -> None:
    nodes = plan(ClusterSpec(racks=True), [1, 2, 3], "id")
    racks = [node.environment.get("KAFKA_BROKER_RACK") for node in nodes]
    assert racks == [None, *ClusterSpec(racks=True).rack_names]
    assert nodes[1].environment["KAFKA_REPLICA_SELECTOR_CLASS"].endswith(".RackAwareReplicaSelector")
    without = plan(ClusterSpec(), [1, 2, 3], "id")
    assert not any("RACK" in name or "SELECTOR" in name for node in without for name in node.environment)


def test_variables_follow_the_official_image() -> None:
    assert variable("log.dirs") == "KAFKA_LOG_DIRS"
    assert variable("a_b.c-d") == "KAFKA_A__B_C___D"


def test_compose_files_do_not_drift() -> None:
    assert drifted() == ()


@pytest.mark.parametrize("name", VARIANTS)
def test_compose_files_hold_the_same_nodes(name: str) -> None:
    services = yaml.safe_load(render(name))["services"]
    spec = VARIANTS[name]
    ports = [19092 + number for number in range(spec.brokers)]
    nodes = plan(spec, ports, "a2Fma2EtY2hhb3MtaGFuZA")
    assert {node.name: node.environment for node in nodes} == {
        key: service["environment"] for key, service in services.items()
    }
    assert all(
        mapping.startswith("127.0.0.1:")
        for service in services.values()
        for mapping in service.get("ports", [])
    )


def test_ports_are_free_distinct_and_below_the_ephemeral_range() -> None:
    ports = free_ports(3)
    assert len(set(ports)) == 3
    assert all(LOWEST <= port < HIGHEST and is_free(port) for port in ports)
    assert not set(free_ports(2, frozenset(ports))) & set(ports)


def test_with_zookeeper() -> None:
    spec = ClusterSpec(metadata="zookeeper", version="3.9.2", properties={"min.insync.replicas": "2"})
    keeper, *brokers = plan(spec, [7001, 7002, 7003], "id")
    assert (keeper.id, keeper.zookeeper, keeper.broker, keeper.host_port) == (201, True, False, None)
    assert "tickTime=1000" in keeper.environment["KAFKA_CHAOS_SETTINGS"].splitlines()
    assert [node.id for node in brokers] == [1, 2, 3]
    assert all(node.broker and node.controller and not node.zookeeper for node in brokers)
    lines = brokers[1].environment["KAFKA_CHAOS_SETTINGS"].splitlines()
    assert {
        "broker.id=2",
        "zookeeper.connect=zookeeper-201:2181",
        "zookeeper.session.timeout.ms=4000",
        "min.insync.replicas=2",
        "advertised.listeners=CLIENT://127.0.0.1:7002,INTERNAL://broker-2:9094",
        "log.dirs=/var/lib/kafka/data",
    } <= set(lines)
    assert not any("controller" in line or "roles" in line for line in lines)
    commands = {node.command for node in (keeper, *brokers)}
    assert len(commands) == 2
    assert None not in commands


SESSIONS = """SessionTracker dump:
Session Sets (2)/(2):
1 expire at Sat Nov 21 20:00:00 UTC 2026:
\t0x10000a1b2c30000
ephemeral nodes dump:
Sessions with Ephemerals (2):
0x10000a1b2c30000:
\t/brokers/ids/1
0x10000a1b2c30001:
{controller}\t/brokers/ids/12
Connections dump:
"""


def test_the_controller_is_the_broker_whose_session_owns_it() -> None:
    assert controller_of(SESSIONS.format(controller="\t/controller\n")) == 12
    assert controller_of(SESSIONS.format(controller="\t/controller_epoch\n")) is None
    assert controller_of("") is None


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"metadata": "zookeeper"}, "has no ZooKeeper mode"),
        ({"version": "2.8.2"}, "set `metadata: zookeeper`"),
        ({"metadata": "zookeeper", "version": "3.9.2", "controllers": 3}, "leave `controllers`"),
        ({"metadata": "zookeeper", "version": "3.9.2", "combined": True, "controllers": 3}, "leave `contr"),
    ],
)
def test_settings_that_a_version_does_not_have_are_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        ClusterSpec(**fields)


def test_with_a_proxy_only_the_ports_behind_it_change() -> None:
    for spec in (
        ClusterSpec(),
        ClusterSpec(brokers=1, combined=True),
        ClusterSpec(security={"sasl": "plain"}),
        ClusterSpec(security={"tls": True}),
    ):
        ports = list(range(20000, 20000 + spec.brokers))
        plain = plan(spec, ports, "id")
        behind = plan(spec.model_copy(update={"proxy": True}), ports, "id")
        for one, other in zip(plain, behind, strict=True):
            changed = {name for name, value in one.environment.items() if other.environment[name] != value}
            assert changed == {"KAFKA_LISTENERS"} | (
                {"KAFKA_ADVERTISED_LISTENERS"} if spec.combined else set()
            )
            if one.controller:
                # Else it tells brokers to connect to their own 127.0.0.1 when it comes back.
                name = "KAFKA_ADVERTISED_LISTENERS" if one.broker else "KAFKA_advertised_LISTENERS"
                told = other.environment[name].split(",")[-1]
                assert told == f"CONTROLLER://{one.name}:9093"
            entries = other.environment["KAFKA_LISTENERS"].split(",")
            assert entries == [f"{name}://127.0.0.1:{port + 10000}" for name, port in other.proxied]
            assert one.environment["KAFKA_LISTENERS"] == ",".join(f"{n}://:{p}" for n, p in other.proxied)
            assert one.proxied == ()


def test_before_39_a_controller_behind_a_proxy_advertises_nothing() -> None:
    controller = plan(ClusterSpec(version="3.8.1", proxy=True), [20000, 20001, 20002], "id")[0]
    assert "KAFKA_ADVERTISED_LISTENERS" not in controller.environment


def test_with_zookeeper_the_proxies_are_before_brokers_alone() -> None:
    nodes = plan(ClusterSpec(metadata="zookeeper", version="3.9.2", proxy=True), [20000, 20001, 20002], "id")
    assert [len(node.proxied) for node in nodes] == [0, 2, 2, 2]

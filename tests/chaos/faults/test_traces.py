"""What is left by hand in a running node is named, kind by kind; when it is removed, nothing is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from harness.cluster import running_cluster, state_records
from harness.cluster.containers import docker_engine, images
from harness.cluster.managed import ManagedCluster
from harness.cluster.traces import traces
from harness.model.node_layout import DATA_DIR
from harness.model.polling import wait_until
from tests.chaos.support.cluster_queries import leader_of

pytestmark = pytest.mark.chaos

TAG = "kafka-chaos-left-by-hand"
THROTTLE = "follower.replication.throttled.rate"


def inside(cluster: ManagedCluster, node: int, script: str) -> str:
    output = cluster.in_node(node, script)
    assert output.code == 0, output.text
    return output.text.strip()


def network(cluster: ManagedCluster, node: int, script: str) -> None:
    output = cluster.in_network(node, f"set -e\n{script}")
    assert output.code == 0, output.text


@contextmanager
def stopped_process(cluster: ManagedCluster, node: int) -> Iterator[str]:
    # In a session of its own: the kernel lets stopped processes go on whose group loses its shell.
    begin = "setsid sleep 600 >/dev/null 2>&1 & until grep -q sleep /proc/$!/comm; do :; done"
    pid = inside(cluster, node, f"{begin}; kill -STOP $!; echo $!")
    yield f"a stopped process: {pid} (sleep)"
    inside(cluster, node, f"kill -KILL {pid}")


@contextmanager
def file(cluster: ManagedCluster, node: int) -> Iterator[str]:
    path = f"{DATA_DIR}/.{TAG}.ballast"
    inside(cluster, node, f"echo x >{path}")
    yield f"a file: {path}"
    inside(cluster, node, f"rm {path}")


@contextmanager
def limit(cluster: ManagedCluster, node: int) -> Iterator[str]:
    cluster.limit(node, cpu_period=100_000, cpu_quota=150_000)
    yield "a limit: cpu."
    cluster.limit(node, cpu_period=100_000, cpu_quota=-1)


@contextmanager
def blackhole(cluster: ManagedCluster, node: int) -> Iterator[str]:
    network(cluster, node, "ip route add blackhole 10.99.9.0/24")
    yield "a route: 10.99.9.0/24 blackhole"
    network(cluster, node, "ip route del blackhole 10.99.9.0/24")


@contextmanager
def routing_rule(cluster: ManagedCluster, node: int) -> Iterator[str]:
    network(cluster, node, "ip rule add pref 77 to 10.99.9.0/24 unreachable")
    yield "a routing rule: 77:"
    network(cluster, node, "ip rule del pref 77")


@contextmanager
def interface(cluster: ManagedCluster, node: int) -> Iterator[str]:
    network(cluster, node, "ip link set lo mtu 60000")
    yield "an interface: lo up mtu 60000"
    network(cluster, node, "ip link set lo mtu 65536")


@contextmanager
def firewall_rule(cluster: ManagedCluster, node: int) -> Iterator[str]:
    rule = f"INPUT -s 10.99.9.9 -m comment --comment {TAG}/cut -j DROP"
    network(cluster, node, f"iptables -w -I {rule}")
    yield "a rule: -A INPUT -s 10.99.9.9"
    network(cluster, node, f"iptables -w -D {rule}")


@contextmanager
def qdisc(cluster: ManagedCluster, node: int) -> Iterator[str]:
    network(cluster, node, "tc qdisc add dev eth0 root handle 4b43: htb")
    yield "a qdisc: qdisc htb 4b43:"
    network(cluster, node, "tc qdisc del dev eth0 root")


@contextmanager
def throttle(cluster: ManagedCluster, node: int) -> Iterator[str]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})

    def alter(what: AlterConfigOpType, expected: tuple[str, ...]) -> None:
        entry = ConfigEntry(THROTTLE, "1", incremental_operation=what)
        resource = ConfigResource(ResourceType.BROKER, str(node), incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(30)
        # A broker learns of it a moment after the controller.
        wait_until(
            lambda: None if cluster.dynamic_settings(node) == expected else "not yet",
            what="a setting",
            seconds=30,
        )

    alter(AlterConfigOpType.SET, (f"{THROTTLE}=1",))
    yield f"a dynamic setting: {THROTTLE}=1"
    alter(AlterConfigOpType.DELETE, ())


@contextmanager
def reassignment(cluster: ManagedCluster, node: int) -> Iterator[str]:
    """A partition that moves to the node, which is throttled, for ever."""
    name, admin = "left-by-hand", cluster.admin()
    other = next(one for one in cluster.broker_ids if one != node)
    slow = {"follower.replication.throttled.replicas": "*"}
    admin.create(name, partitions=1, replication_factor=1, config=slow, assignment=[[other]])
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    for _ in range(80):
        producer.produce(name, b"x" * 100_000)
    assert producer.flush(120) == 0
    assert cluster.reassign(name, {0: (other, node)}) == {0: None}
    yield f"a reassignment under way: {name}-0, adding [{node}], removing []"
    assert cluster.reassign(name, {0: None}) == {0: None}
    admin.delete(name)


@contextmanager
def container(cluster: ManagedCluster, node: int) -> Iterator[str]:  # noqa: ARG001
    labels = docker_engine.labels(cluster.name)
    left = cluster.client.containers.run(
        images.toolbox(cluster.client), ["sleep", "300"], detach=True, network_mode="none", labels=labels
    )
    yield f"a running container: {left.name}: sleep 300"
    left.remove(force=True)


KINDS = (
    stopped_process, file, limit, blackhole, routing_rule, interface, firewall_rule, qdisc,
    throttle, reassignment, container,
)  # fmt: skip
"""The throttle is set before the partition that it holds back, and taken away after it."""


def counted(found: list[str]) -> list[str]:
    """In order, and without the number of packets that have passed since."""
    return sorted(re.sub(r"direct_packets_stat \d+", "", trace) for trace in found)


def test_what_is_left_by_hand_is_named_until_it_is_removed(cluster: ManagedCluster, topic: str) -> None:
    node = leader_of(cluster, topic)
    assert traces(cluster) == []
    with ExitStack() as stack:
        left = [stack.enter_context(kind(cluster, node)) for kind in KINDS]
        found = traces(cluster)
        named = [[trace for trace in found if f" still has {what}" in trace] for what in left]
        assert [len(one) for one in named] == [1] * len(KINDS), found
        assert len(found) == len(KINDS), found
        assert all("; expected: " in trace and "; next: " in trace for trace in found)
        whose = [trace.partition(" still ")[0] for trace in found]
        assert set(whose) == {cluster.node(node).name, cluster.name}
        (record,) = (one for one in state_records.recorded_clusters() if one.name == cluster.name)
        other = running_cluster.attach(cluster.client, record)
        assert other is not None
        try:
            assert counted(traces(other)) == counted(found), "another process compares with the same baseline"
        finally:
            other.end_shells()
    assert traces(cluster) == []


def test_limits_and_routes_of_a_restarted_node_are_those_of_its_first_start(
    cluster: ManagedCluster, topic: str
) -> None:
    node = leader_of(cluster, topic)
    cluster.kill(node)
    wait_until(
        lambda: "runs" if cluster.is_running(node) else None, what="the end of its process", seconds=30
    )
    assert traces(cluster, [node]) == [f"{cluster.node(node).name} does not run"]
    cluster.start_node(node)
    wait_until(
        lambda: None if node in {seen.broker for seen in cluster.view(()).answered()} else "silent",
        what="the broker's answer",
        seconds=60,
    )
    assert traces(cluster) == []

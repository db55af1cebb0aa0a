"""A real cluster: what it says of itself, and what is left when it is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.cluster.containers import docker_engine
from harness.cluster.managed import ManagedCluster
from harness.model.errors import BadInput, ClusterError
from harness.model.host.ports import free_ports
from harness.model.polling import wait_until
from harness.spec.cluster import ClusterSpec
from tests.chaos.support.cluster_queries import PATIENCE, await_answers
from tests.chaos.support.processes import kafka_chaos

pytestmark = pytest.mark.chaos


def test_every_broker_knows_all_and_the_quorum_has_a_leader(cluster: ManagedCluster, topic: str) -> None:
    await_answers(cluster, (1, 2, 3))
    view = cluster.view((topic,), timeout=PATIENCE)
    assert all(seen.answered and seen.brokers == (1, 2, 3) for seen in view.views)
    state = view.partition(topic, 0)
    assert state is not None
    assert sorted(state.isr) == [1, 2, 3]
    assert (state.log_start_offset, state.log_end_offset, state.high_watermark) == (0, 0, 0)
    wait_until(
        lambda: None if (active := cluster.controller()) == 101 else f"{active}",
        what="controller 101 is active",
        seconds=PATIENCE,
    )


def test_metadata_tells_image_profile_and_memory(cluster: ManagedCluster) -> None:
    info = cluster.info()
    assert info.image.kafka_version == cluster.spec.version
    assert info.image.digest.startswith("sha256:")
    assert cluster.memory_mib() > 100
    assert info.profile == "fast"


def test_a_topic_that_the_cluster_cannot_hold_is_refused(cluster: ManagedCluster) -> None:
    with pytest.raises(BadInput, match="INVALID_REPLICATION_FACTOR"):
        cluster.admin().create("too-wide", partitions=1, replication_factor=4, config={})
    with pytest.raises(BadInput, match="INVALID_CONFIG"):
        cluster.admin().create("odd", partitions=1, replication_factor=3, config={"no.such.key": "1"})


def test_a_second_cluster_runs_beside_it_and_leaves_nothing(cluster: ManagedCluster, tmp_path: Path) -> None:
    with ManagedCluster(ClusterSpec(brokers=1, combined=True), log_folder=tmp_path) as other:
        assert other.broker_ids == other.controller_ids == (1,)
        await_answers(other, other.broker_ids)
        await_answers(cluster, cluster.broker_ids)
        name = other.name
    assert (tmp_path / "broker-1.log").stat().st_size > 0
    assert things_of(name) == []


def test_a_taken_port_is_refused_and_leaves_nothing(cluster: ManagedCluster) -> None:
    taken = cluster.node(1).host_port
    assert taken is not None
    other = ManagedCluster(ClusterSpec(brokers=1, combined=True), ports=[taken])
    with pytest.raises(ClusterError, match=f"127.0.0.1:{taken}"):
        other.start()
    assert things_of(other.name) == []


def test_a_cluster_that_dies_at_start_shows_its_last_words() -> None:
    broken = ManagedCluster(ClusterSpec(brokers=1, combined=True, properties={"log.segment.bytes": "many"}))
    with pytest.raises(ClusterError, match=r"log\.segment\.bytes") as caught:
        broken.start()
    assert "last log lines" in str(caught.value)
    assert things_of(broken.name) == []


START = """
import sys, time
from harness.cluster.managed import ManagedCluster
from harness.spec.cluster import ClusterSpec
cluster = ManagedCluster(ClusterSpec(brokers=1, combined=True), ports=[int(sys.argv[1])])
cluster.start()
print(cluster.name, flush=True)
time.sleep(600)
"""


@pytest.mark.usefixtures("only_sweeper")
def test_what_a_killed_harness_leaves_is_swept_and_nothing_else(cluster: ManagedCluster) -> None:
    port = free_ports(1)[0]
    child = subprocess.Popen(
        [sys.executable, "-c", START, str(port)],
        stdout=subprocess.PIPE,
        text=True,
        # Ryuk would do the sweeping for us: here our own is on trial.
        env={**os.environ, "TESTCONTAINERS_RYUK_DISABLED": "true"},
        start_new_session=True,
    )
    try:
        assert child.stdout is not None
        name = child.stdout.readline().strip()
        docker_engine.sweep(cluster.client)
        assert things_of(name), "the sweep must not touch what a living harness uses"
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert things_of(name), "a killed harness cannot clean up"
    deadline = time.monotonic() + 120
    while things_of(name) and time.monotonic() < deadline:
        docker_engine.sweep(cluster.client)
    assert things_of(name) == []
    await_answers(cluster, cluster.broker_ids)


@pytest.mark.usefixtures("only_sweeper")
def test_clean_takes_nothing_of_a_cluster_in_use(cluster: ManagedCluster) -> None:
    """What an ended child process of the harness has started beside a node belongs to the cluster, too."""
    code = "import os; from harness.model.host.processes import owner_label; print(owner_label(os.getpid()))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sidecar = cluster.client.containers.run(
        cluster.toolbox,
        ["sleep", "600"],
        name=f"{cluster.name}-beside",
        detach=True,
        labels={**docker_engine.labels(cluster.name), docker_engine.OWNER_LABEL: ended.stdout.strip()},
        network_mode=f"container:{cluster.name}-broker-1",
    )
    try:
        before = set(things_of(cluster.name))
        assert sidecar.name in before
        for _ in range(5):
            assert kafka_chaos(None, "clean").returncode == 0
            assert before <= set(things_of(cluster.name))
    finally:
        sidecar.remove(force=True)
    await_answers(cluster, cluster.broker_ids)


def things_of(name: str) -> list[str]:
    """Containers and networks of one cluster."""
    client = docker_engine.connect()
    # Sidecars of other clusters come and go meanwhile: one that is gone before it is inspected is no error.
    listed = client.containers.list(all=True, ignore_removed=True)
    containers = [one.name for one in listed if one.name.startswith(name)]
    networks = [one.name for one in client.networks.list() if one.name.startswith(name)]
    return containers + networks

"""The Kafka image, however it came, has the interface of the official one; the toolbox has its tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from docker import DockerClient
from docker.models.containers import Container
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from harness.cluster.containers import docker_engine, images
from harness.model.host import ports
from harness.model.polling import poll_within
from harness.run.preflight import doctor, kernel_probes

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

CLUSTER = "image-test"


@pytest.fixture(scope="module")
def client() -> Iterator[DockerClient]:
    client = docker_engine.connect()
    yield client
    docker_engine.sweep(client, cluster=CLUSTER)
    client.close()


@pytest.fixture(scope="module")
def image(client: DockerClient) -> str:
    return images.resolve(client).reference


def environment(port: int) -> dict[str, str]:
    return {
        "CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk",
        "KAFKA_NODE_ID": "7",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_ADVERTISED_LISTENERS": f"CLIENT://127.0.0.1:{port}",
        "KAFKA_LISTENERS": f"CLIENT://:{port},CONTROLLER://:9093",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "CLIENT",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "7@localhost:9093",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,CLIENT:PLAINTEXT",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_LOG_DIRS": "/var/lib/kafka/data",
        "KAFKA_HEAP_OPTS": "-Xmx300m -Xms300m",
        "KAFKA_LOG4J_LOGGERS": "kafka.server.KafkaConfig=WARN",
    }


@pytest.fixture
def node(client: DockerClient, image: str) -> Iterator[tuple[Container, AdminClient, int]]:
    (port,) = ports.free_ports(1)
    container = client.containers.run(
        image,
        detach=True,
        labels=docker_engine.labels(CLUSTER),
        environment=environment(port),
        ports={f"{port}/tcp": ("127.0.0.1", port)},
    )
    yield container, AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}), port
    container.remove(v=True, force=True)


@retry(
    stop=stop_after_delay(180), wait=wait_fixed(0.2), retry=retry_if_exception_type(Exception), reraise=True
)
def brokers(admin: AdminClient) -> set[int]:
    return set(admin.list_topics(timeout=1).brokers)


def send(port: int, value: bytes) -> int:
    reports: list[Any] = []
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "acks": "all", "log_level": 0})
    producer.produce("t", value, on_delivery=lambda error, message: reports.append((error, message.offset())))
    assert producer.flush(120) == 0
    error, offset = reports[0]
    assert error is None
    return int(offset)


def run(container: Container, *command: str) -> str:
    code, output = container.exec_run(list(command))
    text = str(output.decode())
    assert code == 0, text
    return text


def test_static_interface(client: DockerClient, image: str) -> None:
    config = client.images.get(image).attrs["Config"]
    assert config["Cmd"] == ["/etc/kafka/docker/run"]
    assert config["User"] == "appuser"
    assert set(config["ExposedPorts"]) == {"9092/tcp"}
    assert set(config["Volumes"]) == {"/etc/kafka/secrets", "/var/lib/kafka/data", "/mnt/shared/config"}


def test_what_makes_a_start_quick_is_there(image: str, node: tuple[Container, AdminClient, int]) -> None:
    """The build of our own image goes on without it."""
    if not image.startswith(images.OWN):
        pytest.skip(f"{image} was not built here, and has what its makers gave it")
    container, _, _ = node
    kept = run(container, "find", "/opt/kafka", "-name", "*.jsa", "-o", "-path", "*/formatted/*.checkpoint")
    names = [Path(line).name for line in kept.split()]
    assert {"setup.jsa", "broker.jsa"} < set(names)
    assert sum(name.endswith(".checkpoint") for name in names) == 1


def test_a_node_starts_from_variables_restarts_and_stops_cleanly(
    node: tuple[Container, AdminClient, int],
) -> None:
    container, admin, port = node
    assert brokers(admin) == {7}
    assert send(port, b"first") == 0

    assert run(container, "id", "-u").strip() == "1000"
    assert "java" in run(container, "cat", "/proc/1/cmdline")
    properties = run(container, "cat", "/opt/kafka/config/server.properties").splitlines()
    assert "node.id=7" in properties
    assert "offsets.topic.replication.factor=1" in properties
    # Exactly what the variables say: nothing of our own scripts gets in.
    named = {line.partition("=")[0] for line in properties if "=" in line}
    assert named == {
        name.removeprefix("KAFKA_").lower().replace("_", ".")
        for name in environment(port)
        if name not in ("CLUSTER_ID", "KAFKA_HEAP_OPTS", "KAFKA_LOG4J_LOGGERS")
    }
    assert "MkU3OEVBNTcwNTJENDM2Qk" in run(container, "cat", "/var/lib/kafka/data/meta.properties")

    # SIGTERM reaches the JVM: a clean stop, which Docker does not have to end, and the storage is used again.
    container.stop(timeout=120)
    container.reload()
    assert container.attrs["State"]["ExitCode"] == 143
    container.start()
    assert brokers(admin) == {7}
    assert send(port, b"second") == 1


def test_tools_of_the_image_work(node: tuple[Container, AdminClient, int]) -> None:
    container, admin, port = node
    brokers(admin)
    here = f"localhost:{port}"
    tools = "/opt/kafka/bin"
    run(container, f"{tools}/kafka-topics.sh", "--bootstrap-server", here, "--create", "--topic", "t")
    send(port, b"value")
    dumped = run(
        container,
        f"{tools}/kafka-dump-log.sh",
        "--print-data-log",
        "--files",
        "/var/lib/kafka/data/t-0/00000000000000000000.log",
    )
    assert "payload: value" in dumped


def test_defaults_alone_make_a_node(client: DockerClient, image: str) -> None:
    container = client.containers.run(image, detach=True, labels=docker_engine.labels(CLUSTER))
    try:
        for line in container.logs(stream=True, follow=True):
            if b"Kafka Server started" in line:
                break
        else:
            pytest.fail(docker_engine.tail(container, 10))
    finally:
        container.remove(v=True, force=True)


def test_a_pure_controller_refuses_advertised_listeners(client: DockerClient, image: str) -> None:
    container = client.containers.run(
        image,
        detach=True,
        labels=docker_engine.labels(CLUSTER),
        environment={**environment(9092), "KAFKA_PROCESS_ROLES": "controller"},
    )
    try:
        assert container.wait(timeout=120)["StatusCode"] == 1
        assert "KAFKA_ADVERTISED_LISTENERS" in docker_engine.tail(container, 5)
    finally:
        container.remove(v=True, force=True)


def test_toolbox_has_its_tools_and_no_volumes(client: DockerClient) -> None:
    toolbox = images.toolbox(client)
    assert not client.images.get(toolbox).attrs["Config"]["Volumes"]
    output = client.containers.run(
        toolbox,
        ["sh", "-c", "iptables -V && tc -V && ps --version"],
        labels=docker_engine.labels(CLUSTER),
        remove=True,
    )
    assert b"iptables v" in output


def test_probe_and_doctor_on_the_real_engine(client: DockerClient) -> None:
    rows = {row.name: row for row in kernel_probes.probe(client, images.toolbox(client))}
    assert rows["iptables"].works
    assert all(row.works is not None for row in rows.values())
    assert doctor.exit_code(doctor.with_engine(client)) == 0
    filters = {"label": f"{docker_engine.CLUSTER_LABEL}=doctor"}
    # Tests beside this one probe too: theirs are soon gone, and one that was left behind would stay.
    there = {one.id for one in client.containers.list(all=True, filters=filters, ignore_removed=True)}

    def left() -> str | None:
        now = client.containers.list(all=True, filters=filters, ignore_removed=True)
        kept = there & {one.id for one in now}
        return f"left behind: {kept}" if kept else None

    assert poll_within(60, left, every=1) is None


@pytest.mark.usefixtures("only_sweeper")
def test_sweep_takes_containers_networks_and_volumes_of_one_cluster(client: DockerClient) -> None:
    name = "sweep-test"
    labels = docker_engine.labels(name)
    client.networks.create("kafka-chaos-sweep-test", labels=labels)
    client.volumes.create("kafka-chaos-sweep-test", labels=labels)
    container = client.containers.run(
        images.toolbox(client),
        detach=True,
        labels=labels,
        network="kafka-chaos-sweep-test",
        command=["sleep", "60"],
    )
    # Its owner, this process, has not ended.
    docker_engine.sweep(client)
    container.reload()
    assert docker_engine.sweep(client, cluster=name) == docker_engine.SweepResult(
        containers=1, networks=1, volumes=1
    )
    assert docker_engine.sweep(client, cluster=name) == docker_engine.SweepResult()

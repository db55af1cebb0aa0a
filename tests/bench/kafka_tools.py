"""Kafka's own command-line tools in a container of the cluster's image."""

from __future__ import annotations

import ipaddress
from typing import Any

from docker import DockerClient
from docker.errors import DockerException
from docker.types import EndpointConfig, LogConfig

from harness.cluster.containers import capabilities, docker_engine
from harness.cluster.managed import ManagedCluster
from harness.model.errors import ClusterError
from harness.model.node_layout import INTERNAL_PORT

VERIFIABLE_PRODUCER = "/opt/kafka/bin/kafka-verifiable-producer.sh"
CONFIG_FILE = "/tmp/client.properties"
_HEAP = "-Xms64m -Xmx256m"
_FIRST_ADDRESS = 150
"""Added to the gateway's address. The nodes' addresses are lower, and must stay free while a node is down."""
_ADDRESSES = 90


def tools_bootstrap(cluster: ManagedCluster) -> str:
    """The bootstrap servers for tools on the cluster's network."""
    return ",".join(f"{node.name}:{INTERNAL_PORT}" for node in cluster.nodes if node.broker)


def tool_container(
    client: DockerClient,
    cluster: ManagedCluster,
    name: str,
    number: int,
    script: str,
    environment: dict[str, str],
) -> Any:
    """A container of the cluster's image on its network, not started; its output is not kept.

    Raises:
        ClusterError: the engine refuses.
    """
    gateway = ipaddress.ip_address(cluster.client_address)
    address = str(gateway + _FIRST_ADDRESS + number % _ADDRESSES)
    try:
        return client.containers.create(
            cluster.image.reference,
            ["bash", "-c", script],
            name=f"{cluster.name}-{name}",
            labels=docker_engine.labels(cluster.name),
            **capabilities.NONE,
            environment={"KAFKA_HEAP_OPTS": _HEAP, **environment},
            network=cluster.name,
            networking_config={
                cluster.name: EndpointConfig(client.api._version, aliases=[name], ipv4_address=address)
            },
            log_config=LogConfig(type=LogConfig.types.NONE),
        )
    except (DockerException, OSError) as error:
        raise ClusterError(
            "a client's container could not be created",
            where=name,
            found=str(error),
            next_step="`kafka-chaos doctor` shows what this engine can do",
        ) from error


def properties_text(properties: dict[str, str]) -> str:
    """A Java properties file (java.util.Properties.load)."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in properties.items())


def _escaped(value: str) -> str:
    plain = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"\\{plain}" if plain.startswith(" ") else plain

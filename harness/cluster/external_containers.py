"""Finds the brokers' containers of an existing cluster, for faults on them. They are never removed."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from harness.cluster.containers import docker_engine, images
from harness.cluster.live import LiveCluster
from harness.model.errors import ClusterError

_ID_VARIABLES = ("KAFKA_NODE_ID", "KAFKA_BROKER_ID", "KAFKA_CFG_NODE_ID", "KAFKA_CFG_BROKER_ID")
"""Environment variables with the broker id in the images of Apache, Confluent and Bitnami."""


def attach(cluster: LiveCluster, label: str) -> None:
    """Find the container of every broker among those with the label, and its network.

    Raises:
        PrerequisiteMissing: there is no container engine.
        ClusterError: for some broker there is not exactly one container.
    """
    client = docker_engine.connect()
    # Those that run; our sidecars do not have the label.
    labelled = client.containers.list(filters={"label": label}, ignore_removed=True)
    endpoints = {number: cluster.endpoint(number) for number in cluster.broker_ids}
    containers = containers_by_broker([dict(container.attrs) for container in labelled], endpoints)
    missing = [number for number in cluster.broker_ids if number not in containers]
    if missing:
        raise ClusterError(
            f"the container of broker {missing[0]} was not found",
            where=f"label {label}",
            expected=f"one per broker that publishes its port or sets one of {', '.join(_ID_VARIABLES)}",
            found=f"{len(containers)} of {len(cluster.broker_ids)} brokers",
            next_step="`docker ps --filter label=...` lists them; correct the label",
        )
    networks = {number: _network(attributes) for number, attributes in containers.items()}
    cluster.use_containers(
        client,
        {number: client.containers.get(attributes["Id"]) for number, attributes in containers.items()},
        {number: address for number, (address, _) in networks.items()},
        next(gateway for _, gateway in networks.values()),
        images.toolbox(client),
    )


def containers_by_broker(
    containers: list[dict[str, Any]], endpoints: Mapping[int, tuple[str, int]]
) -> dict[int, dict[str, Any]]:
    """Broker id -> its container: the one container that publishes the broker's port, else the one container
    that is configured with this id."""
    by_broker: dict[int, dict[str, Any]] = {}
    for number, (_, port) in endpoints.items():
        configured = [
            container
            for container in containers
            if _configured_id(container) == number and _is_broker(container)
        ]
        publishing = [container for container in containers if port in _published(container)]
        fitting = publishing if len(publishing) == 1 else configured
        if len(fitting) == 1:
            by_broker[number] = fitting[0]
    return by_broker


def _variables(container: Mapping[str, Any]) -> dict[str, str]:
    pairs = (variable.partition("=") for variable in container["Config"].get("Env") or ())
    return {name: value for name, _, value in pairs}


def _configured_id(container: Mapping[str, Any]) -> int | None:
    given = _variables(container)
    value = next((given[name] for name in _ID_VARIABLES if name in given), "")
    return int(value) if value.isdigit() else None


def _is_broker(container: Mapping[str, Any]) -> bool:
    roles = _variables(container)
    return "broker" in roles.get("KAFKA_PROCESS_ROLES", roles.get("KAFKA_CFG_PROCESS_ROLES", "broker"))


def _published(container: Mapping[str, Any]) -> set[int]:
    bound = (container.get("NetworkSettings") or {}).get("Ports") or {}
    return {int(port["HostPort"]) for many in bound.values() for port in many or () if port.get("HostPort")}


def _network(container: Mapping[str, Any]) -> tuple[str, str]:
    """A container's address, and its network's gateway. With `network_mode: host` it has neither."""
    for network in ((container.get("NetworkSettings") or {}).get("Networks") or {}).values():
        if network.get("IPAddress") and network.get("Gateway"):
            return str(ipaddress.ip_address(network["IPAddress"])), str(network["Gateway"])
    raise ClusterError(
        "a broker's container has no address of its own",
        where=str(container.get("Name", "")).lstrip("/"),
        expected="a container on a bridge network",
        found="none",
        next_step="use `command` faults",
    )

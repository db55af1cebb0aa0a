"""Containers that the user runs: which broker is in which, for faults on them. They are never removed."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any, Protocol

from docker import DockerClient

from harness.containers import engine, images
from harness.model.errors import BadInput, ClusterError

_ID_VARIABLES = ("KAFKA_NODE_ID", "KAFKA_BROKER_ID", "KAFKA_CFG_NODE_ID", "KAFKA_CFG_BROKER_ID")
"""Of Apache's image, Confluent's and Bitnami's."""


class ContainerHandle(Protocol):
    """A cluster whose containers can be taken."""

    name: str
    client: DockerClient

    @property
    def broker_ids(self) -> tuple[int, ...]: ...

    def endpoint(self, number: int) -> tuple[str, int]: ...

    def take(
        self,
        client: DockerClient,
        handles: dict[int, Any],
        addresses: dict[int, str],
        client_address: str,
        toolbox: str,
    ) -> None:
        """Use these containers, with their addresses, for faults."""
        ...


def attach(cluster: ContainerHandle, label: str) -> None:
    """Find the container of every broker among those with the label, and where its network is.

    Raises:
        PrerequisiteMissing: no engine.
        ClusterError: a broker's container is not among them, or not exactly one is.
    """
    client = engine.connect()
    found = matched(inspected(client, label), {one: cluster.endpoint(one) for one in cluster.broker_ids})
    missing = [number for number in cluster.broker_ids if number not in found]
    if missing:
        raise ClusterError(
            f"the container of broker {missing[0]} was not found",
            where=f"label {label}",
            expected=f"one a broker that publishes its port or sets one of {', '.join(_ID_VARIABLES)}",
            found=f"{len(found)} of {len(cluster.broker_ids)} brokers",
            next_step="`docker ps --filter label=...` lists them; correct the label",
        )
    if 0 in found:
        raise BadInput(
            "a broker of id 0 cannot be hit by faults on containers",
            where=f"label {label}",
            expected="broker ids from 1 on: 0 stands for the clients in our cuts",
            found="broker 0",
            next_step="use `command` faults",
        )
    networks = {number: _network(attributes) for number, attributes in found.items()}
    cluster.take(
        client,
        {number: client.containers.get(attributes["Id"]) for number, attributes in found.items()},
        {number: address for number, (address, _) in networks.items()},
        next(gateway for _, gateway in networks.values()),
        images.toolbox(client),
    )


def release(cluster: ContainerHandle) -> None:
    """Remove what is ours beside them: sidecars that are left, by our own label."""
    engine.sweep(cluster.client, cluster=cluster.name)


def inspected(client: DockerClient, label: str) -> list[dict[str, Any]]:
    """What the engine tells of the running containers with a label, without our sidecars."""
    listed = client.containers.list(filters={"label": label}, ignore_removed=True)
    return [dict(one.attrs) for one in listed]


def matched(
    containers: list[dict[str, Any]], endpoints: Mapping[int, tuple[str, int]]
) -> dict[int, dict[str, Any]]:
    """The container of each broker, by id: the one that says that id, or, if none does, publishes its
    port."""
    found: dict[int, dict[str, Any]] = {}
    for number, (_, port) in endpoints.items():
        saying = [one for one in containers if _said_id(one) == number and _is_broker(one)]
        publishing = [one for one in containers if port in _published(one)]
        fitting = publishing if len(publishing) == 1 else saying
        if len(fitting) == 1:
            found[number] = fitting[0]
    return found


def _variables(container: Mapping[str, Any]) -> dict[str, str]:
    pairs = (one.partition("=") for one in container["Config"].get("Env") or ())
    return {name: value for name, _, value in pairs}


def _said_id(container: Mapping[str, Any]) -> int | None:
    given = _variables(container)
    said = next((given[name] for name in _ID_VARIABLES if name in given), "")
    return int(said) if said.isdigit() else None


def _is_broker(container: Mapping[str, Any]) -> bool:
    roles = _variables(container)
    return "broker" in roles.get("KAFKA_PROCESS_ROLES", roles.get("KAFKA_CFG_PROCESS_ROLES", "broker"))


def _published(container: Mapping[str, Any]) -> set[int]:
    bound = (container.get("NetworkSettings") or {}).get("Ports") or {}
    return {int(one["HostPort"]) for many in bound.values() for one in many or () if one.get("HostPort")}


def _network(container: Mapping[str, Any]) -> tuple[str, str]:
    """A container's address, and its network's gateway.

    Raises:
        ClusterError: it is on no network of its own (`network_mode: host`).
    """
    for one in ((container.get("NetworkSettings") or {}).get("Networks") or {}).values():
        if one.get("IPAddress") and one.get("Gateway"):
            return str(ipaddress.ip_address(one["IPAddress"])), str(one["Gateway"])
    raise ClusterError(
        "a broker's container has no address of its own",
        where=str(container.get("Name", "")).lstrip("/"),
        expected="a container on a bridge network",
        found="none",
        next_step="use `command` faults",
    )

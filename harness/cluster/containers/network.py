"""A cluster's own network, with addresses that a restart does not change.

On a network whose subnet Docker chose, containers may swap addresses when they restart, and Docker refuses
fixed addresses. So Docker chooses a free subnet first, and the network is created again with that subnet.
"""

from __future__ import annotations

import ipaddress

from docker import DockerClient
from docker.errors import APIError
from docker.types import IPAMConfig, IPAMPool
from testcontainers.core.network import Network

from harness.model.errors import ClusterError

_TRIES = 5


def create_network(client: DockerClient, name: str, labels: dict[str, str]) -> tuple[str, list[str]]:
    """Create the network; returns its gateway's address, and 64 free addresses, lowest first.

    Raises:
        ClusterError: the engine has no free subnet, or refuses.
    """
    last: APIError | None = None
    for _ in range(_TRIES):
        try:
            scout = client.networks.create(f"{name}-scout", labels=labels)
            scout.reload()
            subnet = scout.attrs["IPAM"]["Config"][0]["Subnet"]
            scout.remove()
            addressing = IPAMConfig(pool_configs=[IPAMPool(subnet=subnet)])
            network = Network(docker_network_kw={"labels": labels, "ipam": addressing})
            network.name = name
            network.create()
        except APIError as error:
            # Another harness may have taken the subnet between the two calls.
            last = error
        else:
            hosts = ipaddress.ip_network(subnet).hosts()
            return str(next(hosts)), [str(next(hosts)) for _ in range(64)]
    raise ClusterError(
        "the Docker engine could not create a network",
        where=name,
        found=str(last.explanation if last else ""),
        next_step="remove networks that are left over: `kafka-chaos clean --all`, then `docker network ls`",
    ) from last

"""The brokers of an existing cluster: how clients log in to them, and the addresses that they advertise."""

from __future__ import annotations

from pathlib import Path

from harness.cluster.protocol.auth import BrokerAuth
from harness.cluster.protocol.client_security import PLAIN_TEXT, ClientSecurity, read_client_security
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.errors import ClusterError
from harness.spec.cluster import ExternalClusterSpec

_SECONDS = 5.0


def client_security_of(existing: ExternalClusterSpec) -> ClientSecurity:
    """The security settings for clients of this cluster.

    Raises:
        BadInput: the client configuration cannot be used.
    """
    given = existing.client_config
    return PLAIN_TEXT if given is None else read_client_security(Path(given))


def advertised_addresses(
    existing: ExternalClusterSpec, login: BrokerAuth | None
) -> dict[int, tuple[str, int]]:
    """Id -> host and port of every broker, as the first server that answers reports them.

    Raises:
        ClusterError: no server answers; says why for each.
    """
    failures: list[str] = []
    for host, port in existing.servers:
        with BrokerConnection(-1, host, port, _SECONDS, login) as connection:
            try:
                answer = connection.metadata(())
            except OSError as error:
                failures.append(f"{host}:{port}: {error.__cause__ or error}")
                continue
        return {int(broker.node_id): (broker.host, int(broker.port)) for broker in answer.brokers}
    raise ClusterError(
        "the cluster does not answer",
        where=existing.bootstrap_servers,
        expected="a broker that accepts the client",
        found="; ".join(failures),
        next_step="correct --bootstrap-servers or --client-config",
    )

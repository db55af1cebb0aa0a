"""A cluster's own authority and certificates, user and password, and the broker settings that use them.

The settings contain them as PEM values (KIP-651), so that nothing has to be copied into containers.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from trustme import CA

from harness.cluster.protocol.client_security import JAVA_MODULES, ClientSecurity
from harness.model.host.ports import HOST
from harness.spec.security import SecuritySpec

USER = "kafka-chaos"
LISTEN_SECONDS = 80
LIFETIME = timedelta(days=30)
"""Longer than any run."""
_PASSWORD_BYTES = 18
_OWNER = "kafka-chaos"


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate and its private key (PKCS#8), both PEM."""

    certificate: str
    key: str = field(repr=False)


class Authority:
    """Signs the certificates of a cluster called `name`. Its key never leaves this process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._ca = CA(path_length=0, organization_name=_OWNER, organization_unit_name=name)

    @property
    def certificate(self) -> str:
        """What clients trust, as PEM."""
        return self._ca.cert_pem.bytes().decode()

    def identity(self, name: str, hosts: Iterable[str]) -> Identity:
        """A certificate for `name`, valid for these host names and addresses."""
        issued = self._ca.issue_cert(
            *hosts,
            common_name=name,
            organization_name=_OWNER,
            organization_unit_name=self._name,
            not_after=datetime.now(UTC) + LIFETIME,
        )
        # trustme writes keys in the traditional format; Kafka reads PKCS#8 only.
        key = load_pem_private_key(issued.private_key_pem.bytes(), password=None)
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return Identity(issued.cert_chain_pems[0].bytes().decode(), secret.decode())


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of one cluster's listeners for clients. `trusted` is the authority's certificate, PEM;
    `identities` are by node name."""

    security: SecuritySpec
    trusted: str = ""
    identities: Mapping[str, Identity] = field(default_factory=dict, repr=False)
    password: str = field(default="", repr=False)

    @property
    def access(self) -> ClientSecurity:
        """The security settings of clients."""
        given = {"security.protocol": self.security.protocol}
        if self.security.tls:
            given["ssl.ca.pem"] = self.trusted
        if self.security.mechanism is not None:
            given |= {
                "sasl.mechanism": self.security.mechanism,
                "sasl.username": USER,
                "sasl.password": self.password,
            }
        return ClientSecurity(given)

    def settings(self, name: str, listeners: Iterable[str]) -> dict[str, str]:
        """Broker properties of the node called `name`, for each of these listeners."""
        own: dict[str, str] = {}
        mechanism = self.security.mechanism
        if self.security.tls:
            identity = self.identities[name]
            own |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": one_line(identity.certificate),
                "ssl.keystore.key": one_line(identity.key),
            }
        if mechanism is not None:
            given = f' user_{USER}="{self.password}"' if mechanism == "PLAIN" else ""
            own |= {
                "sasl.enabled.mechanisms": mechanism,
                f"{mechanism.lower()}.sasl.jaas.config": f"{JAVA_MODULES[mechanism]} required{given};",
            }
        return {
            f"listener.name.{listener.lower()}.{key}": value
            for listener in listeners
            for key, value in own.items()
        }

    def add_user(self, host: str, port: int) -> str | None:
        """The script that creates the SCRAM user, to be run in a broker's container; None if none is needed.
        It first waits until the broker listens, because Kafka's tool is a JVM and would slow its start."""
        if self.security.sasl != "scram":
            return None
        listens = f"until (: </dev/tcp/{host}/{port}) 2>/dev/null; do sleep 0.1; done"
        return (
            f"timeout {LISTEN_SECONDS} bash -c '{listens}' && "
            f"/opt/kafka/bin/kafka-configs.sh --bootstrap-server {host}:{port} --alter "
            f"--entity-type users --entity-name {USER} "
            f"--add-config '{self.security.mechanism}=[iterations=4096,password={self.password}]'"
        )


def make(security: SecuritySpec, cluster: str, nodes: Iterable[str]) -> Credentials:
    """New certificates and a new password for the cluster called `cluster`, whose brokers are `nodes`."""
    # Letters, digits, - and _: nothing that a shell, JAAS or a properties file would take for more.
    password = secrets.token_urlsafe(_PASSWORD_BYTES) if security.sasl is not None else ""
    if not security.tls:
        return Credentials(security, password=password)
    signer = Authority(cluster)
    identities = {name: signer.identity(name, (name, "localhost", HOST)) for name in nodes}
    return Credentials(security, signer.certificate, identities, password)


def one_line(pem: str) -> str:
    """PEM as the value of a property: Kafka accepts spaces as line ends (`DefaultSslEngineFactory`)."""
    return " ".join(pem.split("\n")).strip()

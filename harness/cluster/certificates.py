"""Certificates made for one cluster: its own authority, and one identity per node, all as PEM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from trustme import CA

LIFETIME = timedelta(days=30)
"""Longer than any run."""
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

"""Security settings of clients: plain text, TLS, SASL with a password; the same for every client.

They are kept under librdkafka's names and converted for the Java client and for our own protocol client.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.model.secrets import without_secrets
from harness.protocol.auth import BrokerAuth, Tls

JAVA_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
"""Login modules of Java clients and of brokers, by SASL mechanism."""
MECHANISMS = tuple(JAVA_MODULES)


@dataclass(frozen=True)
class ClientSecurity:
    """Security settings by librdkafka's names (none: plain text, without authentication).

    Known: security.protocol, ssl.ca.pem, ssl.ca.location, ssl.certificate.location, ssl.key.location,
    ssl.key.password, ssl.endpoint.identification.algorithm, enable.ssl.certificate.verification,
    sasl.mechanism, sasl.username, sasl.password.
    """

    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def protocol(self) -> str:
        return self.properties.get("security.protocol", "PLAINTEXT").upper()

    @property
    def tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    @cached_property
    def login(self) -> BrokerAuth | None:
        """The settings for `harness.protocol.connection`; None: plain text.

        Raises:
            OSError: a file with a certificate or key cannot be read, or is not one (`ssl.SSLError`).
        """
        if self.protocol == "PLAINTEXT":
            return None
        settings = self.properties
        tls = None
        if self.tls:
            tls = Tls(
                trusted=settings.get("ssl.ca.pem"),
                trusted_file=settings.get("ssl.ca.location"),
                certificate_file=settings.get("ssl.certificate.location"),
                key_file=settings.get("ssl.key.location"),
                key_password=settings.get("ssl.key.password"),
                check_name=settings.get("ssl.endpoint.identification.algorithm", "https") == "https",
                check_certificate=settings.get("enable.ssl.certificate.verification", "true") == "true",
            )
        if not self.sasl:
            return BrokerAuth(tls)
        return BrokerAuth(
            tls, settings["sasl.mechanism"], settings["sasl.username"], settings["sasl.password"]
        )

    def java(self) -> dict[str, str]:
        """The settings by the Java client's names, for a client without access to our files (PEM as values).

        Raises:
            OSError: a file cannot be read.
        """
        settings = self.properties
        found = {"security.protocol": self.protocol} if self.protocol != "PLAINTEXT" else {}
        if self.tls and "ssl.ca.pem" in settings:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": settings["ssl.ca.pem"]}
        elif self.tls and "ssl.ca.location" in settings:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": settings["ssl.ca.location"]}
        if "ssl.endpoint.identification.algorithm" in settings:
            wanted = settings["ssl.endpoint.identification.algorithm"]
            found["ssl.endpoint.identification.algorithm"] = "" if wanted == "none" else wanted
        if self.sasl:
            mechanism = settings["sasl.mechanism"]
            user, password = (_quote(settings[name]) for name in ("sasl.username", "sasl.password"))
            who = f"username={user} password={password}"
            found |= {
                "sasl.mechanism": mechanism,
                "sasl.jaas.config": f"{JAVA_MODULES[mechanism]} required {who};",
            }
        return found

    def redact(self, text: str) -> str:
        """A message with the secrets of these settings masked."""
        return without_secrets(text, self.properties)


PLAIN_TEXT = ClientSecurity()


def _quote(text: str) -> str:
    """Quote a value for a JAAS configuration."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

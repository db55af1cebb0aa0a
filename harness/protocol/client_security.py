"""How a client gets into a cluster: plain, over TLS, with a password; the same for every client there is.

It is kept by librdkafka's names; the Java client's and what our own protocol client needs are made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.model.secrets import without_secrets
from harness.protocol.auth import BrokerAuth, Tls

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
JAVA_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
"""Login modules of Java's clients and of brokers, by SASL mechanism."""


@dataclass(frozen=True)
class ClientSecurity:
    """Settings of librdkafka that say how to get in (none: in plain text, without a name).

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
        """For `harness.protocol.connection`; None: nothing is asked for.

        Raises:
            OSError: a file with a certificate or key cannot be read, or is none (`ssl.SSLError`).
        """
        if self.protocol == "PLAINTEXT":
            return None
        given = self.properties
        tls = None
        if self.tls:
            tls = Tls(
                trusted=given.get("ssl.ca.pem"),
                trusted_file=given.get("ssl.ca.location"),
                certificate_file=given.get("ssl.certificate.location"),
                key_file=given.get("ssl.key.location"),
                key_password=given.get("ssl.key.password"),
                check_name=given.get("ssl.endpoint.identification.algorithm", "https") == "https",
                check_certificate=given.get("enable.ssl.certificate.verification", "true") == "true",
            )
        if not self.sasl:
            return BrokerAuth(tls)
        return BrokerAuth(tls, given["sasl.mechanism"], given["sasl.username"], given["sasl.password"])

    def java(self) -> dict[str, str]:
        """The same by the Java client's names, for a client that has no files of ours (PEM as values).

        Raises:
            OSError: a file cannot be read.
        """
        given = self.properties
        found = {"security.protocol": self.protocol} if self.protocol != "PLAINTEXT" else {}
        if self.tls and "ssl.ca.pem" in given:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": given["ssl.ca.pem"]}
        elif self.tls and "ssl.ca.location" in given:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": given["ssl.ca.location"]}
        if "ssl.endpoint.identification.algorithm" in given:
            wanted = given["ssl.endpoint.identification.algorithm"]
            found["ssl.endpoint.identification.algorithm"] = "" if wanted == "none" else wanted
        if self.sasl:
            mechanism = given["sasl.mechanism"]
            user, password = (_quote(given[name]) for name in ("sasl.username", "sasl.password"))
            who = f"username={user} password={password}"
            found |= {
                "sasl.mechanism": mechanism,
                "sasl.jaas.config": f"{JAVA_MODULES[mechanism]} required {who};",
            }
        return found

    def redact(self, text: str) -> str:
        """A message without the secrets of this access."""
        return without_secrets(text, self.properties)


PLAIN_TEXT = ClientSecurity()


def _quote(text: str) -> str:
    """A value in a JAAS configuration."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

"""How clients of a cluster must authenticate, as data: TLS, SASL with a password, or both."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from harness.model.frozen import Frozen

_MECHANISMS = {"plain": "PLAIN", "scram": "SCRAM-SHA-512"}


class SecuritySpec(Frozen):
    """What the listeners for clients require. Certificates, a user and a password are generated for each
    cluster and removed with it; every client of the harness uses them. The listeners between brokers and
    controllers do not change: they are on the cluster's own network, in plain text.

    With `acls` every node has Kafka's authorizer. Nodes are super users, and whatever no rule of access is
    about everybody may do, so that nothing is denied before a fault `acl_deny`.
    """

    tls: bool = Field(False, description="TLS, with certificates of an authority generated for the cluster")
    sasl: Literal["plain", "scram"] | None = Field(
        None, description="a user with a password: SASL PLAIN, or SCRAM-SHA-512"
    )
    acls: bool = Field(False, description="an authorizer, whose rules faults can change (KIP-801)")

    @model_validator(mode="after")
    def _check_not_empty(self) -> SecuritySpec:
        if not self.tls and self.sasl is None:
            raise ValueError("it requires nothing: set `tls: true`, `sasl`, or both, or leave `security` out")
        if self.acls and self.sasl is None:
            raise ValueError("`acls` needs users whom rules can name: set `sasl`")
        return self

    @property
    def protocol(self) -> str:
        """Kafka's name of the listeners' protocol (security.protocol)."""
        if self.sasl is None:
            return "SSL"
        return "SASL_SSL" if self.tls else "SASL_PLAINTEXT"

    @property
    def authorizer(self) -> dict[str, str]:
        """The settings of every node for `acls`. Brokers and controllers come without authentication."""
        if not self.acls:
            return {}
        return {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "allow.everyone.if.no.acl.found": "true",
        }

    @property
    def mechanism(self) -> str | None:
        """Kafka's name of the SASL mechanism."""
        return None if self.sasl is None else _MECHANISMS[self.sasl]

    def refusal(self, version: tuple[int, ...], *, kraft: bool) -> str | None:
        """Why Kafka of this version (major, minor) does not support it; None: it does. With ZooKeeper any
        version stores SCRAM credentials."""
        if self.tls and version < (2, 7):
            return "`tls` needs Kafka 2.7, the first version that accepts certificates as PEM (KIP-651)"
        if self.acls and not kraft:
            return "`acls` needs KRaft, whose authorizer is the only one that is set up (KIP-801)"
        if self.sasl == "scram" and kraft and version < (3, 5):
            return "`sasl: scram` needs Kafka 3.5, the first KRaft that stores SCRAM credentials (KIP-900)"
        return None

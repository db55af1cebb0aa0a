"""Security settings of clients: plain text, TLS, SASL with a password; the same for every client.

They are kept under librdkafka's names and converted for the Java client and for our own protocol client.
`read_client_security` reads them from a client's own configuration file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.cluster.protocol.auth import BrokerAuth
from harness.model.config.properties import read_properties
from harness.model.errors import BadInput
from harness.model.secrets import remember_secrets, without_secrets
from harness.model.tls import Tls

JAVA_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
"""Login modules of Java clients and of brokers, by SASL mechanism."""
MECHANISMS = tuple(JAVA_MODULES)
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_SAME = frozenset(
    {
        "security.protocol",
        "ssl.ca.pem",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.key.password",
        "enable.ssl.certificate.verification",
        "sasl.username",
        "sasl.password",
    }
)
_JAAS = re.compile(r"^\s*[\w.]+\s+required\b(.*);\s*$", re.DOTALL)
_OPTION = re.compile(r"""(\w+)\s*=\s*("(?:\\.|[^"\\])*"|[^\s;]+)""")
_RELEVANT = ("security.", "ssl.", "sasl.", "enable.ssl.")
_ADDRESSES = ("bootstrap.servers", "metadata.broker.list")


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
        """The settings for `harness.cluster.protocol.connection`; None: plain text.

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
        for_java = {"security.protocol": self.protocol} if self.protocol != "PLAINTEXT" else {}
        if self.tls and "ssl.ca.pem" in settings:
            for_java |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": settings["ssl.ca.pem"]}
        elif self.tls and "ssl.ca.location" in settings:
            for_java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": settings["ssl.ca.location"]}
        if "ssl.endpoint.identification.algorithm" in settings:
            wanted = settings["ssl.endpoint.identification.algorithm"]
            for_java["ssl.endpoint.identification.algorithm"] = "" if wanted == "none" else wanted
        if self.sasl:
            mechanism = settings["sasl.mechanism"]
            user, password = (_quote(settings[name]) for name in ("sasl.username", "sasl.password"))
            who = f"username={user} password={password}"
            for_java |= {
                "sasl.mechanism": mechanism,
                "sasl.jaas.config": f"{JAVA_MODULES[mechanism]} required {who};",
            }
        return for_java

    def redact(self, text: str) -> str:
        """A message with the secrets of these settings masked."""
        return without_secrets(text, self.properties)


PLAIN_TEXT = ClientSecurity()


def _quote(text: str) -> str:
    """Quote a value for a JAAS configuration."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def read_client_security(path: Path) -> ClientSecurity:
    """Read the file's security.*, ssl.* and sasl.* settings; other settings are ignored.

    Raises:
        BadInput: it cannot be read, says nothing of the connection, or has a setting that our clients do not
            support; names the setting.
    """
    settings = {entry.name: entry.value for entry in read_properties(path)}
    remember_secrets(settings)
    if not any(name.startswith(_RELEVANT) or name in _ADDRESSES for name in settings):
        # A file in another format would otherwise mean plain text without a word.
        raise BadInput(
            "this file says nothing of the connection",
            where=str(path),
            expected="lines like security.protocol=SASL_SSL, in a properties file",
            next_step="name a client's properties file, or leave it out if the cluster takes plain text",
        )
    return client_security_of(settings, str(path))


def client_security_of(settings: Mapping[str, str], where: str) -> ClientSecurity:
    """As `read_client_security`, also in what it raises, from settings by name; `where` names their file in
    messages."""
    kept: dict[str, str] = {}
    for name, value in settings.items():
        if not name.startswith(_RELEVANT) or value == "":
            continue
        if name in _SAME:
            kept[name] = value
        elif name in _OTHERS:
            kept |= _OTHERS[name](value, settings, where)
        else:
            raise _refused(name, where, "a setting that all our clients support", "an unsupported one")
    access = ClientSecurity(kept)
    if access.protocol not in _PROTOCOLS:
        raise _refused("security.protocol", where, f"one of {', '.join(_PROTOCOLS)}", access.protocol)
    if access.sasl:
        for name in ("sasl.mechanism", "sasl.username", "sasl.password"):
            if name not in kept:
                raise _refused(name, where, "a value, since security.protocol requires SASL", "nothing")
    try:
        _ = access.login and access.login.tls and access.login.tls.context
    except OSError as error:
        raise _refused("ssl.*", where, "files with certificates and keys as PEM", str(error)) from error
    return access


SettingTranslator = Callable[[str, Mapping[str, str], str], dict[str, str]]


def _one_of(name: str, *allowed: str) -> SettingTranslator:
    def translate(value: str, _: Mapping[str, str], where: str) -> dict[str, str]:
        if value not in allowed:
            raise _refused(name, where, f"{', '.join(allowed[:-1])} or {allowed[-1]}", value)
        return {name: value}

    return translate


def _jaas(value: str, _: Mapping[str, str], where: str) -> dict[str, str]:
    module = _JAAS.match(value)
    options = dict(_OPTION.findall(module[1])) if module else {}
    login = {
        f"sasl.{name}": re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text
        for name, text in options.items()
        if name in ("username", "password")
    }
    if len(login) != 2:
        raise _refused("sasl.jaas.config", where, "a login module with username and password", "another")
    # The password is now in another setting: remember it by that name, too.
    remember_secrets(login)
    return login


def _pem_store(kind: str, *names: str) -> SettingTranslator:
    """A truststore or keystore, which must be PEM: only Java reads other formats."""

    def translate(value: str, settings: Mapping[str, str], where: str) -> dict[str, str]:
        stored = settings.get(f"ssl.{kind}.type", "JKS").upper()
        if stored != "PEM":
            raise BadInput(
                f"ssl.{kind}.location is a {stored} file, which only Java reads",
                where=where,
                expected=f"ssl.{kind}.type=PEM, or librdkafka's names with PEM files",
                found=stored,
                next_step="`openssl pkcs12 -in STORE -out all.pem -nodes` makes PEM of a PKCS12 file "
                "(`keytool -importkeystore -deststoretype PKCS12` that of a JKS one)",
            )
        return dict.fromkeys(names, value)

    return translate


_OTHERS: dict[str, SettingTranslator] = {
    "sasl.mechanism": _one_of("sasl.mechanism", *MECHANISMS),
    "sasl.mechanisms": _one_of("sasl.mechanism", *MECHANISMS),
    "sasl.jaas.config": _jaas,
    "ssl.truststore.location": _pem_store("truststore", "ssl.ca.location"),
    "ssl.truststore.certificates": lambda value, *_: {"ssl.ca.pem": value},
    "ssl.truststore.type": lambda *_: {},
    "ssl.keystore.location": _pem_store("keystore", "ssl.certificate.location", "ssl.key.location"),
    "ssl.keystore.type": lambda *_: {},
    "ssl.endpoint.identification.algorithm": _one_of(
        "ssl.endpoint.identification.algorithm", "https", "none"
    ),
}


def _refused(name: str, where: str, expected: str, found: str) -> BadInput:
    return BadInput(
        f"{name} cannot be used",
        where=where,
        expected=expected,
        found=found,
        next_step="docs/how-to/own-cluster.md lists the supported settings",
    )

"""Reads the security settings of a client's own configuration file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from harness.config.properties import read_properties
from harness.model.errors import BadInput
from harness.model.secrets import remember_secrets
from harness.protocol.client_security import MECHANISMS, ClientSecurity

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


def read_client_security(path: Path) -> ClientSecurity:
    """Read the file's security.*, ssl.* and sasl.* settings; other settings are ignored.

    Raises:
        BadInput: it cannot be read, or has a setting that our clients do not support; names the setting.
    """
    settings = {entry.name: entry.value for entry in read_properties(path)}
    remember_secrets(settings)
    return client_security_of(settings, str(path))


def client_security_of(settings: Mapping[str, str], where: str) -> ClientSecurity:
    """As `read_client_security`, from settings by name; `where` names their file in messages.

    Raises:
        BadInput: as `read_client_security`.
    """
    found: dict[str, str] = {}
    for name, value in settings.items():
        if not name.startswith(_RELEVANT) or value == "":
            continue
        if name in _SAME:
            found[name] = value
        elif name in _OTHERS:
            found |= _OTHERS[name](value, settings, where)
        else:
            raise _refused(name, where, "a setting that all our clients support", "an unsupported one")
    access = ClientSecurity(found)
    if access.protocol not in _PROTOCOLS:
        raise _refused("security.protocol", where, f"one of {', '.join(_PROTOCOLS)}", access.protocol)
    if access.sasl:
        for name in ("sasl.mechanism", "sasl.username", "sasl.password"):
            if name not in found:
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
    found = {
        f"sasl.{name}": re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text
        for name, text in options.items()
        if name in ("username", "password")
    }
    if len(found) != 2:
        raise _refused("sasl.jaas.config", where, "a login module with username and password", "another")
    # The password is now in another setting: remember it by that name, too.
    remember_secrets(found)
    return found


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

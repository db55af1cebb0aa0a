"""TLS and SASL for `harness.protocol.connection`: how a connection of ours proves who it is before it asks
anything.

SASL goes in Kafka's own messages (SaslHandshake 1, SaslAuthenticate 1: KIP-43, KIP-152, KIP-368), with the
mechanisms PLAIN (RFC 4616) and SCRAM-SHA-256 / SCRAM-SHA-512 (RFC 5802, RFC 7677).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
import ssl
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v1 import request as authenticate_request
from kio.schema.sasl_authenticate.v1 import response as authenticate_response
from kio.schema.sasl_handshake.v1 import request as handshake_request
from kio.schema.sasl_handshake.v1 import response as handshake_response

_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_LEAST_ITERATIONS = 4096
"""Kafka's brokers allow no fewer (`ScramMechanism`)."""
_MOST_ITERATIONS = 1_000_000
"""A server that asks for more would only have the client work."""
_NONCE_BYTES = 18

SendRequest = Callable[[Any, type[Any]], Any]
SaslExchange = Generator[bytes, bytes, None]
"""Gives what is to be said, and is sent the answer."""


class LoginRefused(OSError):
    """The broker does not let this client in, or is not who it should be."""


@dataclass(frozen=True)
class Tls:
    """Whom to trust, and who we are. Without `trusted` (PEM) and `trusted_file`: whom the system trusts."""

    trusted: str | None = None
    trusted_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    check_name: bool = True
    check_certificate: bool = True

    @cached_property
    def context(self) -> ssl.SSLContext:
        """Raises OSError where a file cannot be read or is no certificate (ssl.SSLError)."""
        if self.trusted is not None and not self.trusted.isascii():
            raise ssl.SSLError("the trusted certificates are no PEM: they hold a character beyond ASCII")
        made = ssl.create_default_context(cafile=self.trusted_file, cadata=self.trusted)
        made.check_hostname = self.check_name and self.check_certificate
        if not self.check_certificate:
            made.verify_mode = ssl.CERT_NONE
        if self.certificate_file is not None:
            made.load_cert_chain(self.certificate_file, self.key_file, self.key_password or "")
        return made

    def wrap(self, plain: socket.socket, host: str) -> socket.socket:
        """The same connection over TLS, after the handshake."""
        try:
            return self.context.wrap_socket(plain, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            raise LoginRefused(f"its certificate is not trusted: {error.verify_message}") from error


@dataclass(frozen=True)
class BrokerAuth:
    """What every new connection does first. Raises OSError (`LoginRefused` where the broker says no)."""

    tls: Tls | None = None
    mechanism: str | None = None
    user: str = ""
    password: str = field(default="", repr=False)

    def opened(self, plain: socket.socket, host: str) -> socket.socket:
        """The connection to go on with."""
        return plain if self.tls is None else self.tls.wrap(plain, host)

    def introduce(self, ask: SendRequest) -> None:
        """Log in over an open connection; `ask` sends a message of kio and gives its answer."""
        if self.mechanism is None:
            return
        shaken = ask(
            handshake_request.SaslHandshakeRequest(mechanism=self.mechanism),
            handshake_response.SaslHandshakeResponse,
        )
        if shaken.error_code != ErrorCode.none:
            offered = ", ".join(shaken.mechanisms)
            raise LoginRefused(f"it does not offer SASL {self.mechanism}, but {offered or 'none'}")
        talk = plain(self.user, self.password)
        if self.mechanism != "PLAIN":
            talk = scram(_HASHES[self.mechanism], self.user, self.password)
        said = next(talk)
        while True:
            answer = ask(
                authenticate_request.SaslAuthenticateRequest(auth_bytes=said),
                authenticate_response.SaslAuthenticateResponse,
            )
            if answer.error_code != ErrorCode.none:
                raise LoginRefused(answer.error_message or answer.error_code.name)
            try:
                said = talk.send(answer.auth_bytes)
            except StopIteration:
                return


def plain(user: str, password: str) -> SaslExchange:
    """SASL PLAIN: RFC 4616."""
    yield f"\0{user}\0{password}".encode()


def scram(algorithm: str, user: str, password: str, nonce: str | None = None) -> SaslExchange:
    """SASL SCRAM without channel binding: RFC 5802, section 3. The server proves itself too.

    Raises:
        LoginRefused: the server says no, does not know the password either, or makes no sense.
    """
    nonce = nonce or secrets.token_urlsafe(_NONCE_BYTES)
    name = user.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}"
    told = yield f"n,,{first}".encode()
    given = _attributes(told)
    try:
        salt, iterations, both = base64.b64decode(given["s"]), int(given["i"]), given["r"]
    except (KeyError, ValueError) as error:
        raise LoginRefused("its first SCRAM message makes no sense") from error
    if not both.startswith(nonce) or not _LEAST_ITERATIONS <= iterations <= _MOST_ITERATIONS:
        raise LoginRefused("its first SCRAM message does not answer ours")
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, iterations)
    last = f"c=biws,r={both}"
    signed = ",".join((first, told.decode(), last)).encode()
    key = _mac(algorithm, salted, b"Client Key")
    signature = _mac(algorithm, hashlib.new(algorithm, key).digest(), signed)
    proof = bytes(one ^ other for one, other in zip(key, signature, strict=True))
    told = yield f"{last},p={base64.b64encode(proof).decode()}".encode()
    given = _attributes(told)
    expected = _mac(algorithm, _mac(algorithm, salted, b"Server Key"), signed)
    if "e" in given:
        raise LoginRefused(f"SCRAM: {given['e']}")
    if not hmac.compare_digest(given.get("v", ""), base64.b64encode(expected).decode()):
        raise LoginRefused("the server does not know the password: it is not the one that it says it is")


def _mac(algorithm: str, key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, algorithm).digest()


def _attributes(message: bytes) -> dict[str, str]:
    parts = message.decode(errors="replace").split(",")
    return {part[0]: part[2:] for part in parts if part[1:2] == "="}

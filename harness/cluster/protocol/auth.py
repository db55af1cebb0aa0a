"""TLS and SASL authentication of our own connections (`harness.cluster.protocol.connection`).

SASL uses Kafka's own messages (SaslHandshake 1, SaslAuthenticate 1: KIP-43, KIP-152, KIP-368), with the
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
from typing import Any

from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate import v1 as authenticate_v1
from kio.schema.sasl_handshake import v1 as handshake_v1

from harness.model.tls import Tls

_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_LEAST_ITERATIONS = 4096
"""Minimum of Kafka's brokers (`ScramMechanism`)."""
_MOST_ITERATIONS = 1_000_000
"""A server that asks for more would only waste the client's time."""
_NONCE_BYTES = 18

SendRequest = Callable[[Any, type[Any]], Any]
SaslExchange = Generator[bytes, bytes, None]
"""Yields the client's messages and is sent the server's answers."""


class LoginRefused(OSError):
    """The broker rejects this client, or is not the expected broker."""


@dataclass(frozen=True)
class BrokerAuth:
    """How every new connection authenticates. Raises OSError (`LoginRefused` if the broker rejects it)."""

    tls: Tls | None = None
    mechanism: str | None = None
    user: str = ""
    password: str = field(default="", repr=False)

    def secure(self, plain: socket.socket, host: str) -> socket.socket:
        """The connection, over TLS if that is configured."""
        if self.tls is None:
            return plain
        try:
            return self.tls.context.wrap_socket(plain, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            raise LoginRefused(f"its certificate is not trusted: {error.verify_message}") from error

    def log_in(self, ask: SendRequest) -> None:
        """Log in over an open connection; `ask` sends a kio message and returns its answer."""
        if self.mechanism is None:
            return
        handshake = ask(
            handshake_v1.SaslHandshakeRequest(mechanism=self.mechanism), handshake_v1.SaslHandshakeResponse
        )
        if handshake.error_code != ErrorCode.none:
            offered = ", ".join(handshake.mechanisms)
            raise LoginRefused(f"it does not offer SASL {self.mechanism}, but {offered or 'none'}")
        exchange = plain(self.user, self.password)
        if self.mechanism != "PLAIN":
            exchange = scram(_HASHES[self.mechanism], self.user, self.password)
        message = next(exchange)
        while True:
            answer = ask(
                authenticate_v1.SaslAuthenticateRequest(auth_bytes=message),
                authenticate_v1.SaslAuthenticateResponse,
            )
            if answer.error_code != ErrorCode.none:
                raise LoginRefused(answer.error_message or answer.error_code.name)
            try:
                message = exchange.send(answer.auth_bytes)
            except StopIteration:
                return


def plain(user: str, password: str) -> SaslExchange:
    """SASL PLAIN (RFC 4616)."""
    yield f"\0{user}\0{password}".encode()


def scram(algorithm: str, user: str, password: str, nonce: str | None = None) -> SaslExchange:
    """SASL SCRAM without channel binding (RFC 5802, section 3); the server proves that it knows the password,
    too.

    Raises:
        LoginRefused: the server rejects the client, does not know the password, or sends an invalid message.
    """
    nonce = nonce or secrets.token_urlsafe(_NONCE_BYTES)
    name = user.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}"
    challenge = yield f"n,,{first}".encode()
    attributes = _attributes(challenge)
    try:
        salt, iterations, both = base64.b64decode(attributes["s"]), int(attributes["i"]), attributes["r"]
    except (KeyError, ValueError) as error:
        raise LoginRefused("its first SCRAM message is invalid") from error
    if not both.startswith(nonce) or not _LEAST_ITERATIONS <= iterations <= _MOST_ITERATIONS:
        raise LoginRefused("its first SCRAM message does not answer ours")
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, iterations)
    last = f"c=biws,r={both}"
    signed = ",".join((first, challenge.decode(), last)).encode()
    key = _mac(algorithm, salted, b"Client Key")
    signature = _mac(algorithm, hashlib.new(algorithm, key).digest(), signed)
    proof = bytes(byte ^ other for byte, other in zip(key, signature, strict=True))
    final = yield f"{last},p={base64.b64encode(proof).decode()}".encode()
    attributes = _attributes(final)
    expected = _mac(algorithm, _mac(algorithm, salted, b"Server Key"), signed)
    if "e" in attributes:
        raise LoginRefused(f"SCRAM: {attributes['e']}")
    if not hmac.compare_digest(attributes.get("v", ""), base64.b64encode(expected).decode()):
        raise LoginRefused("the server does not know the password: it is not the expected one")


def _mac(algorithm: str, key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, algorithm).digest()


def _attributes(message: bytes) -> dict[str, str]:
    parts = message.decode(errors="replace").split(",")
    return {part[0]: part[2:] for part in parts if part[1:2] == "="}

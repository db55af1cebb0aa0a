"""TLS and passwords: specs, certificates, settings of brokers and clients, and the SCRAM exchange."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from pydantic import ValidationError

from harness.cluster.credentials import USER, Authority, make
from harness.cluster.node_plan import plan
from harness.cluster.protocol.auth import BrokerAuth, LoginRefused, scram
from harness.cluster.protocol.client_security import PLAIN_TEXT, ClientSecurity
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.tls import Tls
from harness.spec.cluster import ClusterSpec
from harness.spec.security import SecuritySpec

pytestmark = pytest.mark.pure

SCRAM = SecuritySpec(tls=True, sasl="scram")


def _environment(security: SecuritySpec | None, **more: Any) -> dict[str, str]:
    spec = ClusterSpec(security=security, **more)
    made = None if security is None else make(security, "kc-test", ["broker-1", "broker-2", "broker-3"])
    return plan(spec, [7001, 7002, 7003], "id", secured=made)[-1].environment


@pytest.mark.parametrize(
    ("given", "version", "refused"),
    [
        ({}, "4.3.1", "requires nothing"),
        ({"tls": False}, "4.3.1", "requires nothing"),
        ({"sasl": "gssapi"}, "4.3.1", "plain"),
        ({"sasl": "scram"}, "3.4.1", "KIP-900"),
        ({"sasl": "scram"}, "3.5.0", None),
        ({"tls": True}, "3.4.1", None),
    ],
)
def test_what_a_version_does_not_support_is_refused_before_a_cluster_starts(
    given: dict[str, Any], version: str, refused: str | None
) -> None:
    document = {"version": version, "security": given}
    if refused is None:
        assert ClusterSpec.model_validate(document).security == SecuritySpec(**given)
        return
    with pytest.raises(ValidationError, match=refused):
        ClusterSpec.model_validate(document)


def test_pem_needs_kafka_2_7() -> None:
    document = {"version": "2.6.3", "metadata": "zookeeper", "security": {"tls": True}}
    with pytest.raises(ValidationError, match="KIP-651"):
        ClusterSpec.model_validate(document)
    ClusterSpec.model_validate({**document, "version": "2.8.2"})


def test_only_the_listeners_for_clients_are_protected() -> None:
    told = _environment(SCRAM)
    protocols = dict(one.split(":") for one in told["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(","))
    assert protocols == {
        "CLIENT": "SASL_SSL",
        "TOOLS": "SASL_SSL",
        "INTERNAL": "PLAINTEXT",
        "CONTROLLER": "PLAINTEXT",
    }
    assert told["KAFKA_LISTENER_NAME_CLIENT_SASL_ENABLED_MECHANISMS"] == "SCRAM-SHA-512"
    key = told["KAFKA_LISTENER_NAME_TOOLS_SSL_KEYSTORE_KEY"]
    assert key.startswith("-----BEGIN PRIVATE KEY----- ")
    assert "\n" not in key


def test_without_security_nothing_changes() -> None:
    told = _environment(None)
    assert not [name for name in told if "SSL" in name or "SASL" in name or "TOOLS" in name]
    assert "9095" not in told["KAFKA_LISTENERS"]


def test_plain_needs_no_tool_and_scram_does() -> None:
    plain = make(SecuritySpec(sasl="plain"), "kc-test", ["broker-1"])
    settings = plain.settings("broker-1", ["CLIENT"])
    assert f'user_{USER}="{plain.password}"' in settings["listener.name.client.plain.sasl.jaas.config"]
    assert plain.add_user("broker-1", 9094) is None
    asked = make(SCRAM, "kc-test", ["broker-1"]).add_user("broker-1", 9094)
    assert asked is not None
    assert "SCRAM-SHA-512=[" in asked


def test_two_clusters_share_no_secret_and_none_is_in_a_repr() -> None:
    one, other = (make(SCRAM, "kc-test", ["broker-1"]) for _ in range(2))
    assert one.password != other.password
    assert one.identities["broker-1"].key != other.identities["broker-1"].key
    for value in (one, one.access, one.access.login, one.identities["broker-1"]):
        assert one.password not in repr(value)
        assert "PRIVATE KEY" not in repr(value)


def test_java_clients_get_the_same_settings() -> None:
    given = ClientSecurity(
        {
            "security.protocol": "SASL_SSL",
            "ssl.ca.pem": "PEM",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "me",
            "sasl.password": 'a"b\\c',
        }
    ).java()
    assert given["ssl.truststore.certificates"] == "PEM"
    assert given["sasl.jaas.config"].endswith(
        'ScramLoginModule required username="me" password="a\\"b\\\\c";'
    )
    assert PLAIN_TEXT.java() == {}
    assert PLAIN_TEXT.login is None


def _server(algorithm: str, password: str, first: bytes, iterations: int = 4096) -> tuple[bytes, Any]:
    """A server's side of SCRAM (RFC 5802): its first message, and what answers the client's last one."""
    salt, nonce = b"0123456789", first.decode().split("r=")[1]
    told = f"r={nonce}SERVER,s={base64.b64encode(salt).decode()},i={iterations}".encode()
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, iterations)

    def mac(key: bytes, text: bytes) -> bytes:
        return hmac.new(key, text, algorithm).digest()

    def answer(last: bytes) -> bytes:
        without, _, proof = last.decode().rpartition(",p=")
        signed = b",".join((first.removeprefix(b"n,,"), told, without.encode()))
        stored = hashlib.new(algorithm, mac(salted, b"Client Key")).digest()
        signature = mac(stored, signed)
        key = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True))
        if hashlib.new(algorithm, key).digest() != stored:
            return b"e=invalid-proof"
        return b"v=" + base64.b64encode(mac(mac(salted, b"Server Key"), signed))

    return told, answer


def _talk(client: str, server: str, iterations: int = 4096) -> None:
    talk = scram("sha256", "me,=", client)
    first = next(talk)
    assert first.startswith(b"n,,n=me=2C=3D,r=")
    told, answer = _server("sha256", server, first, iterations)
    with pytest.raises(StopIteration):
        talk.send(answer(talk.send(told)))


def test_scram_proves_both_sides() -> None:
    _talk("right", "right")
    with pytest.raises(LoginRefused, match="invalid-proof"):
        _talk("wrong", "right")


def test_the_example_of_rfc_7677() -> None:
    talk = scram("sha256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    assert next(talk) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    both = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    last = talk.send(f"r={both},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    assert last == f"c=biws,r={both},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    with pytest.raises(StopIteration):
        talk.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@pytest.mark.parametrize(
    "told",
    [b"", b"nonsense", b"r=other,s=AAAA,i=4096", b"r=NONCEx,s=AAAA,i=1", b"r=NONCEx,s=AAAA,i=99999999999"],
)
def test_a_server_that_makes_no_sense_is_refused(told: bytes) -> None:
    talk = scram("sha512", "me", "pw", "NONCE")
    next(talk)
    with pytest.raises(LoginRefused):
        talk.send(told)


def test_a_server_that_does_not_know_the_password_is_refused() -> None:
    talk = scram("sha512", "me", "pw", "NONCE")
    next(talk)
    talk.send(b"r=NONCEx,s=AAAA,i=4096")
    with pytest.raises(LoginRefused, match="not the expected one"):
        talk.send(b"v=AAAA")


def test_a_mechanism_that_is_not_offered_is_named() -> None:
    class Shaken:
        error_code = ErrorCode.unsupported_sasl_mechanism
        mechanisms = ("GSSAPI",)

    with pytest.raises(LoginRefused, match="GSSAPI"):
        BrokerAuth(None, "PLAIN", "a", "b").log_in(lambda _request, _answer: Shaken())


def _tls_server(tmp_path: Path, hosts: tuple[str, ...]) -> tuple[str, int, threading.Thread]:
    """A server that shakes hands once; the authority's certificate, its port."""
    signer = Authority("test")
    identity = signer.identity("broker", hosts)
    (tmp_path / "both.pem").write_text(identity.certificate + identity.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listening:
            raw, _ = listening.accept()
            try:
                with context.wrap_socket(raw, server_side=True) as one:
                    one.recv(1)
            except OSError:
                raw.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return signer.certificate, listening.getsockname()[1], thread


@pytest.mark.parametrize(
    ("hosts", "trusted", "refused"),
    [
        (("127.0.0.1",), True, None),
        (("127.0.0.1",), False, "not trusted"),
        (("elsewhere",), True, "not trusted"),
    ],
)
def test_which_certificates_a_connection_accepts(
    tmp_path: Path, hosts: tuple[str, ...], trusted: bool, refused: str | None
) -> None:
    certificate, port, thread = _tls_server(tmp_path, hosts)
    login = BrokerAuth(Tls(trusted=certificate if trusted else Authority("another").certificate))
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        if refused is None:
            login.secure(raw, "127.0.0.1").close()
        else:
            with pytest.raises(LoginRefused, match=refused):
                login.secure(raw, "127.0.0.1")
    thread.join(10)


def test_a_server_without_tls_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            raw, _ = listening.accept()
            with raw:
                raw.recv(10)
                raw.sendall(b"\x00" * 64)

        threading.Thread(target=serve, daemon=True).start()
        port = listening.getsockname()[1]
        with (
            BrokerConnection(1, "127.0.0.1", port, 5.0, BrokerAuth(Tls())) as connection,
            pytest.raises(OSError, match="did not answer"),
        ):
            connection.metadata(())

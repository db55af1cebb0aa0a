"""Records that are offered to a file or an HTTP endpoint, and what their reports say."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException

from harness.model.errors import BadInput
from harness.model.host.ports import free_ports
from workloads.applications.source_clients import FileClient, HttpClient, SourceClient

pytestmark = pytest.mark.pure

Report = tuple[str | None, bytes, int, int]
"""Name of the error, value, offset and partition."""


def _offered(client: SourceClient, *values: bytes) -> list[Report | str]:
    """The report of each, or the error that refused it."""
    told: list[Report | str] = []

    def report(error: Any, message: Any) -> None:
        assert message.latency() is None
        name = error.name() if error else None
        told.append((name, message.value(), message.offset(), message.partition()))

    for value in values:
        try:
            client.produce("t", value, None, 0, report, headers=[("h", b"")])
        except KafkaException as refused:
            cause = refused.args[0]
            told.append("fatal" if cause.fatal() or cause.code() else cause.name())
    return told


@pytest.mark.parametrize("payload", [True, False])
def test_each_record_is_a_line(tmp_path: Path, payload: bool) -> None:
    path = tmp_path / "new" / "in.log"
    client = FileClient(path, "/input/in.log", payload=payload)
    assert path.read_bytes() == b""
    values = [b"one", b"two"] if payload else [b"\x00\n\xff", b"two"]
    assert _offered(client, *values) == [(None, value, number, 0) for number, value in enumerate(values)]
    lines = path.read_bytes().split(b"\n")
    assert lines == [*(values if payload else map(base64.b64encode, values)), b""]
    assert (client.taken, client.last_error, client.seen) == (2, "", "/input/in.log")
    assert (client.poll(0), client.flush(1), client.purge(in_queue=True)) == (0, 0, 0)
    client.close()


def test_a_value_with_a_line_break_does_not_fit_a_line(tmp_path: Path) -> None:
    client = FileClient(tmp_path / "in.log", "in.log", payload=True)
    with pytest.raises(BadInput, match="does not fit a line") as refused:
        _offered(client, b"one\ntwo")
    assert "input: {http: ...}" in str(refused.value)


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "in.log").mkdir()
    with pytest.raises(BadInput, match="the application's input cannot be written") as refused:
        FileClient(tmp_path / "in.log", "in.log", payload=True)
    assert "--results" in str(refused.value)


class Endpoint(BaseHTTPRequestHandler):
    """Answers with the number that the body is; 0: with the end of the connection."""

    protocol_version = "HTTP/1.1"
    got: list[tuple[str, str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.path, self.headers["Content-Type"], body))
        number = int(body) if body.isdigit() else 200
        if number:
            self.send_response(number)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")
        # Also after an answer, so that the next request finds the connection closed.
        self.close_connection = number in (0, 201)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def endpoint() -> Iterator[HTTPServer]:
    Endpoint.got = []
    server = HTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def _client(server: HTTPServer, payload: bool = True) -> HttpClient:
    url = f"http://127.0.0.1:{server.server_port}/in?x=1"
    return HttpClient(url, "application/json", payload=payload, patience=9)


def test_an_answer_says_whether_a_record_was_taken(endpoint: HTTPServer) -> None:
    client = _client(endpoint)
    told = _offered(client, b"200", b"201", b"404", b"503", b"408", b"0", b"202", b"302")
    client.close()
    assert told == [
        (None, b"200", 0, 0),
        (None, b"201", 1, 0),
        "HTTP_404",
        ("HTTP_503", b"503", 3, 0),
        ("HTTP_408", b"408", 4, 0),
        ("RemoteDisconnected", b"0", 5, 0),
        (None, b"202", 6, 0),
        ("HTTP_302", b"302", 7, 0),
    ]
    assert (client.taken, client.last_error) == (7, "HTTP_302")
    assert Endpoint.got[0] == ("/in?x=1", "application/json", b"200")
    assert len(Endpoint.got) == 8


def test_bytes_of_ours_are_posted_as_base64(endpoint: HTTPServer) -> None:
    client = _client(endpoint, payload=False)
    _offered(client, b"\x00\xff")
    client.close()
    assert Endpoint.got[0][2] == base64.b64encode(b"\x00\xff")


def test_while_nobody_listens_a_record_waits_and_is_refused_in_the_end() -> None:
    (port,) = free_ports(1)
    client = HttpClient(f"http://127.0.0.1:{port}", "text/plain", payload=True, patience=9)
    with pytest.raises(BufferError):
        _offered(client, b"one")
    assert (client.taken, client.last_error) == (0, "")
    client._patience = 0
    assert _offered(client, b"one", b"two") == ["ConnectionRefusedError"] * 2
    assert (client.taken, client.last_error) == (0, "ConnectionRefusedError")

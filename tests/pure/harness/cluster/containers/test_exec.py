"""What a command prints is read whole, however soon it comes."""

from __future__ import annotations

import json
import socketserver
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import pytest
from docker.models.containers import Container

from harness.cluster.containers.exec import DockerExecClient, joined

pytestmark = pytest.mark.pure


def piece(text: bytes, stream: int = 1) -> bytes:
    return struct.pack(">BxxxL", stream, len(text)) + text


class Prompt(BaseHTTPRequestHandler):
    """An engine that sends the output of a command in one write with the head of its answer."""

    wbufsize = 1 << 16

    def address_string(self) -> str:
        return "here"

    def log_message(self, *_: object) -> None: ...

    def answer(self, body: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        self.close_connection = True

    def do_GET(self) -> None:
        self.answer(json.dumps({"ExitCode": 3}).encode())

    def do_POST(self) -> None:
        # A connection that is closed with a part of the request unread is reset, and the answer lost.
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.endswith("/start"):
            whole = piece(b"to stdout\n") + piece(b"to stderr\n", 2)
            self.answer(whole, "application/vnd.docker.raw-stream")
        else:
            self.answer(json.dumps({"Id": "e"}).encode())


@pytest.fixture
def engine(socket_folder: Path) -> Iterator[str]:
    path = socket_folder / "engine.sock"
    with socketserver.ThreadingUnixStreamServer(str(path), Prompt) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"unix://{path}"
        server.shutdown()


def test_output_that_comes_with_the_head_of_the_answer_is_not_lost(engine: str) -> None:
    client = DockerExecClient(base_url=engine, version="1.41")
    code, output = Container({"Id": "c"}, client).exec_run(["sh", "-c", "true"])
    assert (code, output) == (3, b"to stdout\nto stderr\n")


def test_other_ways_to_run_a_command_are_those_of_docker_py(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []
    monkeypatch.setattr(
        "docker.api.client.APIClient.exec_start", lambda _self, _id, **options: asked.append(options)
    )
    client = SimpleNamespace(api=DockerExecClient(base_url="unix:///nowhere", version="1.41").api)
    client.api.exec_start("e", detach=True, stream=False)
    assert asked == [{"detach": True, "stream": False}]


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (b"", b""),
        (piece(b"a") + piece(b"b", 2), b"ab"),
        (piece(b"abc")[:-1], b"ab"),
        (piece(b"a") + b"\1\0", b"a"),
    ],
)
def test_pieces_are_joined(pieces: bytes, whole: bytes) -> None:
    """The last may be cut short, when the engine goes away."""
    assert joined(pieces) == whole

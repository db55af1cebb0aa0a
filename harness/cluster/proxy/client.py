"""A client of a proxy's control socket. A proxy that does not answer, or has ended, is an error, never a wait
without end."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, Self

from harness.model.errors import BadInput, ClusterError
from harness.model.request_rules import RequestRule

ANSWER_SECONDS = 10.0
_MORE_SECONDS = 1.0
"""How long one command `wait` waits at the proxy, which is asked again and again."""


class Line(Protocol):
    """A connection to a control socket."""

    def send(self, data: bytes) -> None: ...
    def receive(self) -> bytes:
        """The next bytes; empty: it was closed."""

    def close(self) -> None: ...


class SocketLine:
    """A connection to "host:port", or to a Unix socket if `where` is a path. Raises OSError."""

    def __init__(self, where: str, seconds: float = ANSWER_SECONDS) -> None:
        if where.startswith("/"):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(seconds)
            self._socket.connect(where)
        else:
            host, _, port = where.rpartition(":")
            self._socket = socket.create_connection((host, int(port)), timeout=seconds)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> bytes:
        return self._socket.recv(1 << 16)

    def close(self) -> None:
        self._socket.close()


class ProxyClient:
    """Commands to one proxy, from any thread.

    Args:
        connect: opens a connection to its control socket; raises OSError.
        name: what errors call it, such as "the proxy of broker-1".

    Every method raises ClusterError if the proxy does not answer within 10 seconds or has ended, and BadInput
    if it refuses what it is told.
    """

    def __init__(self, connect: Callable[[], Line], name: str = "the proxy") -> None:
        self._connect, self.name = connect, name
        self._busy = threading.Lock()
        self._line: Line | None = None
        self._received = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the proxy goes on."""
        if self._line is not None:
            with suppress(OSError):
                self._line.close()
            self._line, self._received = None, b""

    def add(self, rule: RequestRule) -> None:
        """Add a rule; it acts on what begins after this returns."""
        self._ask({"do": "add", "rule": rule.to_json()})

    def remove(self, identity: str, *, drop: bool = False) -> dict[str, int]:
        """Remove a rule, and release (or `drop`) what it holds; returns its last counters
        (`harness.model.request_rules.RuleCounts`)."""
        counters: dict[str, int] = self._ask({"do": "remove", "id": identity, "drop": drop})["counters"]
        return counters

    def status(self) -> dict[str, Any]:
        """`listeners`: name -> counters of `harness.cluster.proxy.listeners.Traffic`, with the `node` behind;
        `rules`: id -> counters; `kept_bytes`: what is held or delayed now, in bytes."""
        return self._ask({"do": "status"})

    def counters(self, identity: str) -> dict[str, int]:
        """The counters of one rule."""
        rules: dict[str, dict[str, int]] = self.status()["rules"]
        if identity not in rules:
            raise BadInput(f"{self.name} has no such rule", where=f"rule {identity}")
        return rules[identity]

    def wait(self, identity: str, counter: str, at_least: int, seconds: float) -> int:
        """The value of a rule's counter, once it is `at_least`, or when these `seconds` have passed."""
        left = seconds
        while True:
            asked = {"do": "wait", "id": identity, "counter": counter, "at_least": at_least}
            value = int(self._ask({**asked, "seconds": min(left, _MORE_SECONDS)})["value"])
            left -= _MORE_SECONDS
            if value >= at_least or left <= 0:
                return value

    def stop(self) -> None:
        """End the proxy."""
        self._ask({"do": "stop"})
        self.close()

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        with self._busy:
            try:
                answer = self._exchange(command)
            except (OSError, ValueError) as error:
                self.close()
                raise ClusterError(
                    f"{self.name} does not answer",
                    expected=f"an answer to `{command['do']}` within {ANSWER_SECONDS:g} s",
                    found=str(error) or type(error).__name__,
                    next_step="its container or process may have ended: look at its log, and run again",
                ) from error
        if "error" in answer:
            raise BadInput(**answer["error"])
        return answer

    def _exchange(self, command: dict[str, Any]) -> dict[str, Any]:
        if self._line is None:
            self._line = self._connect()
        self._line.send(json.dumps(command).encode() + b"\n")
        while b"\n" not in self._received:
            more = self._line.receive()
            if not more:
                raise OSError("it closed the connection")
            self._received += more
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

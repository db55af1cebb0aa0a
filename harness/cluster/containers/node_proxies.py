"""Proxies beside nodes: containers that share a node's network namespace, each with the program of
`harness.cluster.proxy` in it."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections import defaultdict
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import DockerException, NotFound

import harness
from harness.cluster.containers import capabilities, docker_engine
from harness.cluster.containers.exec import PIECE_HEADER
from harness.cluster.proxy.client import ANSWER_SECONDS, ProxyClient
from harness.cluster.proxy.server import ProxySpec
from harness.model.errors import ClusterError
from harness.model.polling import wait_until

_START_SECONDS = 60.0
_FOLDER = "/opt/kafka-chaos"
_ROOM = Path(harness.__file__).parent
_PROGRAM = (
    "__init__",
    "cluster/__init__",
    "model/__init__",
    "model/errors",
    "model/kafka_protocol",
    "model/node_layout",
    "model/patterns",
    "model/tls",
)
_SPEC = "spec.json"
_WITHOUT = ("client.py", "process.py")
"""Modules of the proxy that only the harness needs."""
_RELAY = """exec 3<>/dev/tcp/{} 4<&0 || exit
{{ cat <&4 >&3; kill $$; }} & cat <&3; kill $!"""
"""Connects an exec's input and output to the control socket, which is on the namespace's loopback: no fault
that cuts links reaches it. It ends when either end does."""


class NodeProxies:
    """At most one proxy beside each node. A container has a new network namespace after each start, so its
    proxy is started anew with it, without rules."""

    def __init__(self) -> None:
        self._clients: dict[str, ProxyClient] = {}
        self._locks: dict[str, threading.RLock] = defaultdict(threading.RLock)

    def restarting(self, beside: Any) -> AbstractContextManager[object]:
        """While a container and its proxy are being started again: `client` waits for the end of it."""
        return self._locks[beside.name]

    def start(
        self, client: DockerClient, image: str, beside: Any, labels: dict[str, str], spec: ProxySpec
    ) -> None:
        """Start the proxy of a running container, in place of an earlier one, and wait until it listens.

        Raises:
            DockerException, OSError: the engine refuses.
            ClusterError: it has ended, for example because a port is taken.
        """
        name = _name(beside)
        self.forget(beside)
        archive = _as_file(spec)
        with suppress(NotFound):
            earlier = client.containers.get(name)
            with suppress(NotFound):
                # A process that has not started the cluster does not have the key of its certificates.
                archive = b"".join(earlier.get_archive(f"{_FOLDER}/{_SPEC}")[0])
            earlier.remove(v=True, force=True)
        container = client.containers.create(
            image,
            ["python3", "-m", "harness.cluster.proxy", f"{_FOLDER}/{_SPEC}"],
            name=name,
            init=True,
            labels={**labels, docker_engine.LASTING_LABEL: "1"},
            network_mode=f"container:{beside.id}",
            **capabilities.NONE,
        )
        container.put_archive(_FOLDER, _program())
        container.put_archive(_FOLDER, archive)
        container.start()

        def missing() -> str | None:
            container.reload()
            log = container.logs().decode(errors="replace").strip()
            if container.status not in ("created", "running"):
                raise ClusterError("the proxy of a node has ended", where=name, found=log or container.status)
            return None if log.startswith("ready") else log or "it has not printed that it is ready"

        wait_until(missing, what=f"a proxy that listens ({name})", seconds=_START_SECONDS)

    def client(self, beside: Any, spec: ProxySpec) -> ProxyClient:
        """Commands to the proxy of a container; used by any number of threads. Waits while it is being
        started again (`restarting`)."""
        with self._locks[beside.name]:
            client = self._clients.get(beside.name)
            if client is None:
                name = _name(beside)
                client = ProxyClient(
                    lambda: _ExecLine(beside.client, name, spec.control), f"the proxy {name}"
                )
                self._clients[beside.name] = client
            return client

    def forget(self, beside: Any) -> None:
        """Close the connection to the proxy of a container; the next command opens another."""
        known = self._clients.get(beside.name)
        if known is not None:
            known.close()

    def close(self) -> None:
        """Close all connections; the proxies go on."""
        while self._clients:
            self._clients.popitem()[1].close()


def _name(beside: Any) -> str:
    return f"{beside.name}-proxy"


def _program() -> bytes:
    """An archive of the program: it is the harness's own, whatever version the image was built with."""
    paths = [_ROOM / f"{name}.py" for name in (*_PROGRAM, "model/request_rules")]
    paths += [path for path in sorted((_ROOM / "cluster/proxy").glob("*.py")) if path.name not in _WITHOUT]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in paths:
            archive.add(path, f"harness/{path.relative_to(_ROOM).as_posix()}")
    return buffer.getvalue()


def _as_file(spec: ProxySpec) -> bytes:
    """An archive of the file that tells the program what to do, which only root can read."""
    data = json.dumps(spec.to_json()).encode()
    entry = tarfile.TarInfo(_SPEC)
    entry.size, entry.mode = len(data), 0o600
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


class _ExecLine:
    """A connection to a control socket in a container's network namespace, through `docker exec`. Raises
    OSError."""

    def __init__(self, client: DockerClient, container: str, where: str) -> None:
        host, _, port = where.rpartition(":")
        try:
            command = client.api.exec_create(
                container, ["bash", "-c", _RELAY.format(f"{host}/{port}")], stdin=True, stderr=False
            )
            self._stream = client.api.exec_start(command["Id"], socket=True)
        except DockerException as error:
            raise OSError(str(error)) from error
        # docker-py gives a file over the socket, or with TLS the socket itself.
        self._socket = getattr(self._stream, "_sock", self._stream)
        self._socket.settimeout(ANSWER_SECONDS)
        self._received = b""

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self) -> bytes:
        head = self._exactly(PIECE_HEADER.size)
        return head and self._exactly(PIECE_HEADER.unpack(head)[1])

    def close(self) -> None:
        self._socket.close()
        self._stream.close()

    def _exactly(self, size: int) -> bytes:
        while len(self._received) < size:
            more = self._socket.recv(1 << 16)
            if not more:
                return b""
            self._received += more
        taken, self._received = self._received[:size], self._received[size:]
        return taken

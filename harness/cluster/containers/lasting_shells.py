"""Shells that stay in containers, and run one script after the other: in nodes, and in containers beside them
that share their network namespaces, since some proofs of faults run dozens of scripts there.

The engine takes a tenth of a second to start a command in a container, and on a busy machine a third: runc
prepares namespaces, control groups and the filter of system calls each time. A shell that stays takes it
once.
"""

from __future__ import annotations

import secrets
import shlex
import threading
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from docker import DockerClient
from docker.errors import APIError, DockerException

from harness.cluster.containers import capabilities, docker_engine
from harness.cluster.containers.exec import PIECE_HEADER, ContainerOutput, run_in

SCRIPT_SECONDS = 60.0
"""How long a script may take, as with docker-py's other requests."""
_KILLED = 137
"""The exit code of what was killed, in shells and the engine: 128 + SIGKILL."""
LASTING_SECONDS = 600
"""A sidecar ends by itself after this time, in case nobody is left who removes it; the next script then gets
a new one."""
_GONE = (404, 409)
"""The engine's answers for a container that was removed, or that has ended."""


class ShellGone(Exception):
    """The shell has ended, and the script was not begun."""


class LastingShell:
    """A running shell, which reads commands from its standard input.

    Args:
        stream: docker-py's end of the connection to it.
        program: the shell that each script is given to, "sh" or "bash", in a process of its own.
    """

    def __init__(self, stream: Any, program: str, seconds: float = SCRIPT_SECONDS) -> None:
        self._stream, self._program = stream, program
        # docker-py gives a file over the socket, or with TLS the socket itself.
        self._socket = getattr(stream, "_sock", stream)
        self._socket.settimeout(seconds)
        self._busy = threading.Lock()
        self._received = b""
        self.ended = False

    def run(self, script: str) -> ContainerOutput | None:
        """What a script prints, errors included, and its exit code; None: the shell runs another script.

        Raises:
            ShellGone: the shell has ended, and the script was not begun.
            OSError: the script takes longer than a minute; the shell is given up.
        """
        if not self._busy.acquire(blocking=False):
            return None
        try:
            if self.ended:
                raise ShellGone
            return self._run(script)
        except (OSError, ShellGone):
            self.close()
            raise
        finally:
            self._busy.release()

    def close(self) -> None:
        """End the shell; a script that runs is not ended."""
        self.ended = True
        with suppress(OSError):
            self._socket.close()
            self._stream.close()

    def _run(self, script: str) -> ContainerOutput:
        mark = secrets.token_hex(12)
        begin, end = f"begin {mark}\n".encode(), f"\nend {mark} ".encode()
        # The outer shell prints a message about a killed script, which is not part of the script's output.
        command = (
            f"exec 2>/dev/null; echo 'begin {mark}'; {self._program} -c {shlex.quote(script)} </dev/null 2>&1"
            f"; printf '\\nend {mark} %d\\n' $?\n"
        )
        with suppress(ConnectionError):  # then nothing will be received, either
            self._socket.sendall(command.encode())
        printed = b""
        while end not in printed or not printed.endswith(b"\n"):
            piece = self._piece()
            if piece is None:
                self.close()
                if begin not in printed:
                    raise ShellGone
                return ContainerOutput(_KILLED, printed.partition(begin)[2].decode(errors="replace"))
            printed += piece
        text, _, code = printed.partition(begin)[2].rpartition(end)
        return ContainerOutput(int(code), text.decode(errors="replace"))

    def _piece(self) -> bytes | None:
        """The next piece of output; None: there is no more."""
        head = self._exactly(PIECE_HEADER.size)
        return None if head is None else self._exactly(PIECE_HEADER.unpack(head)[1])

    def _exactly(self, size: int) -> bytes | None:
        while len(self._received) < size:
            try:
                more = self._socket.recv(65536)
            except ConnectionError:
                return None
            if not more:
                return None
            self._received += more
        taken, self._received = self._received[:size], self._received[size:]
        return taken


class NodeShells:
    """At most one shell per container, opened when the first script is to run in it."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._shells: dict[str, LastingShell] = {}

    def run_in(self, container: Any, script: str) -> ContainerOutput:
        """Run a sh script inside a running container, as root.

        Raises:
            DockerException, OSError: it is not running or is paused, or the script took too long.
        """
        container.reload()
        state = container.attrs["State"]
        # In a paused container, a shell would run the script later; the engine refuses it.
        if state["Running"] and not state["Paused"]:
            # The shell of a container that was restarted meanwhile has ended.
            for _ in range(2):
                try:
                    output = self._shell(container).run(script)
                except ShellGone:
                    continue
                except (DockerException, AttributeError):  # no such connection to this engine
                    break
                if output is None:
                    break
                return output
        return run_in(container, script)

    def close(self) -> None:
        """End all shells."""
        while self._shells:
            self._shells.popitem()[1].close()

    def _shell(self, container: Any) -> LastingShell:
        with self._locks[container.id]:
            known = self._shells.get(container.id)
            if known is None or known.ended:
                api = container.client.api
                command = api.exec_create(container.id, ["sh"], stdin=True, user="root")
                known = LastingShell(api.exec_start(command["Id"], socket=True), "sh")
                self._shells[container.id] = known
            return known


@dataclass(frozen=True)
class _Sidecar:
    """A sidecar, its shell, and when the container beside it was started."""

    started: str
    container: Any
    shell: LastingShell


class NetworkSidecars:
    """At most one sidecar per network namespace. A container has a new namespace after each start."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._by_container: dict[str, _Sidecar] = {}

    def run(
        self, client: DockerClient, toolbox: str, beside: Any, labels: dict[str, str], script: str
    ) -> ContainerOutput:
        """Run a bash script, with the tools of the image `toolbox`, in the network namespace of `beside`.

        Raises:
            DockerException, OSError: `beside` is not running, or the script took too long.
        """
        try:
            return _run_in(self._sidecar(client, toolbox, beside, labels), script)
        except APIError as error:
            if error.status_code not in _GONE:
                raise
        except ShellGone:
            pass
        self._forget(beside.id)
        return _run_in(self._sidecar(client, toolbox, beside, labels), script)

    def close(self) -> None:
        """End the shells of all sidecars; each then ends by itself."""
        while self._by_container:
            self._by_container.popitem()[1].shell.close()

    def remove(self) -> None:
        """Remove all sidecars that still exist."""
        for container in list(self._by_container):
            self._forget(container)

    def _sidecar(self, client: DockerClient, toolbox: str, beside: Any, labels: dict[str, str]) -> _Sidecar:
        beside.reload()
        started = str(beside.attrs["State"]["StartedAt"])
        with self._locks[beside.id]:
            known = self._by_container.get(beside.id)
            if known is not None and known.started == started and not known.shell.ended:
                return known
            self._forget(beside.id)
            container = client.containers.create(
                toolbox,
                ["timeout", str(LASTING_SECONDS), "bash"],
                init=True,
                auto_remove=True,
                # Its end of the input closes with the harness.
                stdin_open=True,
                labels={**labels, docker_engine.LASTING_LABEL: "1"},
                network_mode=f"container:{beside.id}",
                **capabilities.NETWORK,
            )
            try:
                stream = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
                sidecar = _Sidecar(started, container, LastingShell(stream, "bash"))
                container.start()
            except BaseException:
                with suppress(DockerException):
                    container.remove(v=True, force=True)
                raise
            self._by_container[beside.id] = sidecar
            return sidecar

    def _forget(self, container: str) -> None:
        sidecar = self._by_container.pop(container, None)
        if sidecar is not None:
            sidecar.shell.close()
            # It may have ended by itself, or with its cluster.
            with suppress(DockerException):
                sidecar.container.remove(v=True, force=True)


def _run_in(sidecar: _Sidecar, script: str) -> ContainerOutput:
    done = sidecar.shell.run(script)
    if done is not None:
        return done
    # Its shell runs another script, which need not be waited for.
    code, output = sidecar.container.exec_run(["bash", "-c", script])
    return ContainerOutput(int(code), output.decode(errors="replace"))

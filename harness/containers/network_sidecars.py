"""Lasting containers in the network namespaces of others, which scripts run in: each is a shell that reads
scripts (`harness.containers.lasting_shell`), since some proofs of faults run dozens of them."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from docker import DockerClient
from docker.errors import APIError, DockerException

from harness.containers import capabilities, engine
from harness.containers.exec import ContainerOutput
from harness.containers.lasting_shell import LastingShell, ShellGone

LASTING_SECONDS = 600
"""A sidecar ends by itself after this time, in case nobody is left who removes it; the next script then gets
a new one."""
_GONE = (404, 409)
"""The engine's answers for a container that was removed, or that has ended."""


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
                labels={**labels, engine.LASTING_LABEL: "1"},
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

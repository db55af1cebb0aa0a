"""Lasting containers in the network namespaces of others, which scripts run in.

Starting a container for each script would take three times as long as a command in a running one, and some
proofs of faults run dozens of scripts.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import suppress
from typing import Any

from docker import DockerClient
from docker.errors import APIError, DockerException

from harness.containers import capabilities, engine
from harness.containers.exec import ContainerOutput

LASTING_SECONDS = 600
"""A sidecar ends by itself after this time, in case nobody is left who removes it; the next script then gets
a new one."""
_GONE = (404, 409)
"""The engine's answers for a container that was removed, or that has ended."""


class NetworkSidecars:
    """At most one sidecar per network namespace. A container has a new namespace after each start."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._by_container: dict[str, tuple[str, Any]] = {}

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
        self._forget(beside.id)
        return _run_in(self._sidecar(client, toolbox, beside, labels), script)

    def remove(self) -> None:
        """Remove all sidecars, as far as they are still there."""
        for container in list(self._by_container):
            self._forget(container)

    def _sidecar(self, client: DockerClient, toolbox: str, beside: Any, labels: dict[str, str]) -> Any:
        beside.reload()
        started = str(beside.attrs["State"]["StartedAt"])
        with self._locks[beside.id]:
            known = self._by_container.get(beside.id)
            if known is not None and known[0] == started:
                return known[1]
            self._forget(beside.id)
            sidecar = client.containers.create(
                toolbox,
                ["sleep", str(LASTING_SECONDS)],
                init=True,
                auto_remove=True,
                labels={**labels, engine.LASTING_LABEL: "1"},
                network_mode=f"container:{beside.id}",
                **capabilities.NETWORK,
            )
            self._by_container[beside.id] = started, sidecar
            sidecar.start()
            return sidecar

    def _forget(self, container: str) -> None:
        _, sidecar = self._by_container.pop(container, ("", None))
        if sidecar is not None:
            # It may have ended by itself, or with its cluster.
            with suppress(DockerException):
                sidecar.remove(v=True, force=True)


def _run_in(sidecar: Any, script: str) -> ContainerOutput:
    code, output = sidecar.exec_run(["bash", "-c", script])
    return ContainerOutput(int(code), output.decode(errors="replace"))

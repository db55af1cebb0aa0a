"""A proxy as a process on this machine."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self

from harness.cluster.proxy.client import ProxyClient, SocketLine
from harness.cluster.proxy.server import ProxySpec
from harness.model.errors import ClusterError, KafkaChaosError

_END_SECONDS = 5.0


class LocalProxy:
    """A proxy that ends with this process; `client` commands it. Use it as a context manager.

    Raises (from `start`):
        ClusterError: it has ended at once, for example because a port is taken.
    """

    def __init__(self, spec: ProxySpec, name: str = "the proxy") -> None:
        self._spec = dataclasses.replace(spec, ends_with_input=True)
        self.client = ProxyClient(lambda: SocketLine(spec.control), name)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Self:
        """Start it, and wait until its ports are open."""
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        # In a file of this user alone, not on the command line, since it may contain a private key.
        with tempfile.NamedTemporaryFile("w", prefix="kafka-chaos-proxy-", suffix=".json") as file:
            json.dump(self._spec.to_json(), file)
            file.flush()
            self._run(file.name)
        return self

    def _run(self, spec: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness.cluster.proxy", spec],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=Path(__file__).parents[3],
            start_new_session=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "ready":
            self._process.wait(_END_SECONDS)
            self._errors.seek(0)
            errors = self._errors.read()
            self.stop()
            raise ClusterError(
                "the proxy could not be started",
                where=", ".join(f"{listener.host}:{listener.port}" for listener in self._spec.listeners),
                found=(errors.strip().splitlines() or ["it ended without a word"])[-1],
                next_step="end the program that uses the port, or choose other ports",
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def stop(self) -> None:
        """End it. Safe to call again."""
        if self._process.poll() is None:
            with suppress(KafkaChaosError):
                self.client.stop()
        self.client.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe is not None:
                pipe.close()

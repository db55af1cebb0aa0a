"""Workers of a campaign as threads of the test's own process, so that they share one fake backend."""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any, Self

from harness.many.docker_backend import DockerBackend
from harness.many.workers import WorkerPool, WorkerProcess, serve_requests
from harness.model.errors import ClusterError


class ThreadWorker(WorkerProcess):
    """A worker whose process is a thread. An interrupted backend interrupts the test, as Ctrl-C does."""

    def __init__(self, backend: DockerBackend) -> None:
        self.pipe, self._theirs = Pipe()
        self.spec = None
        self.busy = self.replace = self._stopped = False
        self._thread = threading.Thread(target=self._work, args=(self._theirs, backend), daemon=True)
        self._thread.start()

    def _work(self, pipe: Connection, backend: DockerBackend) -> None:
        try:
            serve_requests(pipe, backend)
        except KeyboardInterrupt:
            os.kill(os.getpid(), signal.SIGINT)

    @property
    def alive(self) -> bool:
        return not self._stopped and self._thread.is_alive()

    def stop(self, *, at_once: bool) -> None:  # noqa: ARG002
        self._stopped = True
        self.pipe.send(None)

    def join(self) -> None:
        self._thread.join(60)
        if self._thread.is_alive():
            raise ClusterError("the thread did not end")


class ThreadPool(WorkerPool):
    def __init__(self, size: int, backend: DockerBackend, _lock: IO[Any] | None = None) -> None:
        super().__init__(size, backend)

    def __enter__(self) -> Self:
        self.workers = [ThreadWorker(self._backend) for _ in range(self._size)]
        return self

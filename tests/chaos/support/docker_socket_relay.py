"""A Docker engine that can go away: a relay of its socket, for a process that is given the relay's."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ENGINE = "/var/run/docker.sock"
_CHUNK = 65536


class Relay:
    """Passes on whatever is said between the clients of `path` and the engine, until `cut`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._ends: list[socket.socket] = []
        self._lock = threading.Lock()
        self.address = f"unix://{path}"
        threading.Thread(target=self._serve, daemon=True).start()

    def cut(self) -> None:
        """As when the engine's process ends: connections end, and none can be made."""
        with self._lock:
            self._path.unlink(missing_ok=True)
            for end in (self._listener, *self._ends):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(ENGINE)
            with self._lock:
                self._ends += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def relay(folder: Path) -> Iterator[Relay]:
    """A relay whose socket is in `folder`, which must have a short name: a socket's path has 107 bytes."""
    one = Relay(folder / "engine.sock")
    try:
        yield one
    finally:
        one.cut()
        shutil.rmtree(folder, ignore_errors=True)

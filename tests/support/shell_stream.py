"""A shell of this machine at the other end of a socket, as the engine connects one in a container."""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
from contextlib import suppress


class ShellStream:
    """Takes what `harness.cluster.containers.lasting_shells` asks of docker-py's connection to a shell."""

    def __init__(self) -> None:
        self._sock, self._engine = socket.socketpair()
        self.shell = subprocess.Popen(
            ["bash"], stdin=self._engine.fileno(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        threading.Thread(target=self._pass_on, daemon=True).start()

    def _pass_on(self) -> None:
        """Send the output in pieces, each with the engine's head, and close when there is no more."""
        assert self.shell.stdout is not None
        with self.shell.stdout as output, self._engine as engine, suppress(OSError):
            while piece := output.read1(4096):
                engine.sendall(struct.pack(">BxxxL", 1, len(piece)))
                engine.sendall(piece)
            engine.shutdown(socket.SHUT_RDWR)
        self.shell.wait()

    def end(self) -> None:
        """Kill the shell, as the end of its container does."""
        self.shell.kill()
        self.shell.wait()

    def close(self) -> None:
        self._sock.close()

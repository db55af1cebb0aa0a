"""docker-py's client, with the output of commands read whole."""

from __future__ import annotations

import struct
from typing import Any

from docker import DockerClient
from docker.api.client import APIClient

PIECE_HEADER = struct.Struct(">BxxxL")
"""Before each piece of output: the stream it comes from, and its length (Docker Engine API, attach)."""


class EngineClient(DockerClient):  # type: ignore[misc]
    """A client whose `exec_run` returns all that a command has printed.

    docker-py reads the output of a command from the socket below the reader that has parsed the answer's
    head. What that reader has taken with the head is lost: on a busy machine about one short output of 200.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.api = _Api(*args, **options)


class _Api(APIClient):  # type: ignore[misc]
    def exec_start(self, exec_id: str, *args: Any, **options: Any) -> Any:
        if any(args) or any(options.values()):
            return super().exec_start(exec_id, *args, **options)
        # Without a request to upgrade the connection, the output is the body of the answer.
        answer = self._post_json(
            self._url("/exec/{0}/start", exec_id), data={"Tty": False, "Detach": False}, stream=True
        )
        with answer:
            self._raise_for_status(answer)
            return joined(answer.content)


def joined(pieces: bytes) -> bytes:
    """The output of a command, from the pieces in which the engine sends it."""
    found, at = [], 0
    while at + PIECE_HEADER.size <= len(pieces):
        _, length = PIECE_HEADER.unpack_from(pieces, at)
        at += PIECE_HEADER.size
        found.append(pieces[at : at + length])
        at += length
    return b"".join(found)

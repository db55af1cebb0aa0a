"""Metadata of the programs of the user's that a run started, a part of `run.json`."""

from __future__ import annotations

from typing import Literal

from harness.model.frozen import Frozen


class ProgramMeta(Frozen):
    """A program with producers of the user's own, which the run started.

    `name` is "program", or that with the number of its producer. `output` is the file with what it printed,
    below the run folder, and `last_lines` its end. `ended_ns` is null as long as it runs, and if it could not
    be started. `code` is its exit code as a shell gives it (137: SIGKILL). `stopped`: the run ended it; else
    it ended by itself, or was killed by others.
    """

    name: str
    output: str
    started_ns: int
    ended_ns: int | None = None
    code: int | None = None
    stopped: bool = False
    last_lines: str = ""


class WireSettings(Frozen):
    """What the first Produce request of a client to the topic asks for: its `acks`, and whether its records
    have a producer id (`idempotent`). `client` is the client.id, `version` that of the request."""

    client: str
    version: int
    acks: Literal["0", "1", "all"]
    idempotent: bool

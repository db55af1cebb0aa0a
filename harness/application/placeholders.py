"""The values that replace placeholders in an application's arguments: brokers, topics, state folder,
group."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.spec.application import PLACEHOLDERS


@dataclass(frozen=True, slots=True)
class Placeholders:
    """The values for one instance. `bootstrap` is `host:port` of the brokers as the instance sees them,
    `output_bootstrap` that of the output's brokers, which are the same unless there is a second cluster.

    `input` is the topic that it reads, `output` the topic (or the folder of the table) that it writes,
    `state` a folder of its own that survives restarts.
    """

    bootstrap: str
    input: str
    output: str
    state: Path
    group: str
    instance: int
    output_bootstrap: str

    def filled(self, text: str) -> str:
        """The text with the values of its placeholders; other braces stay."""
        for name in PLACEHOLDERS:
            text = text.replace(f"{{{name}}}", str(getattr(self, name)))
        return text


@dataclass(frozen=True, slots=True)
class Command:
    """What starts one instance: arguments, and variables that are added to the environment."""

    arguments: tuple[str, ...]
    environment: dict[str, str]

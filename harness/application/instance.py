"""What starts an instance of an application, and what every instance can do, as a protocol: a process of this
machine or a container."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from harness.cluster.node_control import RunningNodes
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


class Instance(Protocol):
    """One instance. Its methods mean what those of the same name mean for a node of a cluster
    (`faults.shared.fault_cluster.FaultCluster`)."""

    @property
    def name(self) -> str: ...

    @property
    def pid(self) -> int | None:
        """Process id of its first process on this machine; None: not started, or in a container."""
        ...

    @property
    def containers(self) -> RunningNodes:
        """The containers that it is one of, for faults that act on these.

        Raises:
            FaultError: it is a process of this machine.
        """
        ...

    def start(self) -> None: ...

    def stop(self, seconds: float = ...) -> None:
        """Ask it to end, and kill it if it still runs after `seconds`."""
        ...

    def remove(self) -> None:
        """End it at once, and remove what it leaves on this machine beside its files in the run folder."""
        ...

    def last_lines(self, count: int = ...) -> str:
        """The last lines that it has printed since it was last started."""
        ...

    def is_running(self) -> bool: ...

    def kill(self) -> None: ...

    def terminate(self) -> None: ...

    def pause(self) -> None: ...

    def unpause(self) -> None: ...

    def is_paused(self) -> bool: ...

    def exit_code(self) -> int | None: ...

    def started_ns(self) -> int: ...

    def log_since(self, since_ns: int) -> str: ...

    def inspect(self) -> dict[str, Any]: ...

    def stats(self) -> dict[str, Any]: ...

    def table_size(self, folder: str) -> object:
        """Any value that changes when the files below a folder of the instance do."""
        ...

    def table_bytes(self, folder: str) -> int:
        """The size of all files below a folder of the instance; 0 if it cannot be asked."""
        ...

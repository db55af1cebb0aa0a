"""What a fault is, and what it needs of a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from harness.model.topology import TopologyView


class CommandOutput(Protocol):
    """Exit code and text of a command."""

    @property
    def code(self) -> int: ...

    @property
    def text(self) -> str: ...


class Cluster(Protocol):
    """The part of a cluster that faults may use. Nodes are named by their Kafka node id."""

    @property
    def broker_ids(self) -> tuple[int, ...]: ...

    @property
    def controller_ids(self) -> tuple[int, ...]: ...

    def address(self, number: int) -> str: ...

    def view(self, topics: Iterable[str], timeout: float = ...) -> TopologyView: ...

    def kill(self, number: int) -> None: ...

    def terminate(self, number: int) -> None: ...

    def pause(self, number: int) -> None: ...

    def unpause(self, number: int) -> None: ...

    def is_paused(self, number: int) -> bool: ...

    def start_node(self, number: int) -> None: ...

    def is_running(self, number: int) -> bool: ...

    def exit_code(self, number: int) -> int | None: ...

    def in_network(self, number: int, script: str) -> CommandOutput: ...


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a fault happens: the cluster, the topic under test, and how long to wait for an effect.

    `session_seconds` is broker.session.timeout.ms in seconds: until then a dead leader stays leader.
    `tag` names this injection; rules that it leaves in a kernel carry it.
    """

    cluster: Cluster
    topic: str
    session_seconds: float
    tag: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whether a fault was seen to have taken effect, in one sentence, with the facts behind it."""

    seen: bool
    what: str
    facts: dict[str, object] = field(default_factory=dict)


class Injection(Protocol):
    """One injected fault. `target` says in words which nodes it hit."""

    @property
    def target(self) -> str: ...

    def verify(self) -> Evidence:
        """Wait, within a deadline of the fault's own, until the effect is seen."""
        ...

    def heal(self) -> str:
        """Undo the fault and wait until the undoing is seen; says what was done. Healing again is harmless.

        Raises:
            FaultError: the cluster does not come back.
        """
        ...


class FaultSpec(BaseModel, ABC):
    """Base of all faults: a frozen value that resolves its target and injects itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def inject(self, scene: Scene) -> Injection:
        """Resolve the target against the live cluster and break it.

        Raises:
            FaultError: the target matches nothing, or the injection failed.
        """

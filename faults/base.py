"""What a fault is, and what it needs of a cluster.

A fault is a frozen spec (`FaultSpec`). `aim` resolves its targets against the live cluster and gives an
`Injection`: data that says what is to be done to which nodes, with nothing done yet. It is written down
before `apply` does it, so that any later process can heal what a killed one began.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from faults.fault_cluster import FaultCluster
from faults.target_context import ClusterShape, TargetContext
from harness.model.frozen import Frozen
from harness.model.node_layout import CLIENT, FIRST_CONTROLLER_ID, FIRST_ZOOKEEPER_ID


@dataclass(frozen=True, slots=True)
class InjectionContext:
    """Where a fault happens: the cluster, the topic under test, and how long to wait for an effect.

    `session_seconds` is broker.session.timeout.ms in seconds: until then a dead leader stays leader.
    `tag` names this injection; rules that it leaves in a kernel carry it. `seed` decides random choices:
    the same seed on the same cluster chooses the same nodes. `chosen` gets what each target was resolved to.
    `beside` are the topics of all arms that go together, this one's or not, and those that their processors
    write to: a heal waits for them too.
    """

    cluster: FaultCluster
    topic: str
    session_seconds: float
    tag: str
    seed: str = ""
    chosen: dict[Any, tuple[int, ...]] = field(default_factory=dict, compare=False)
    beside: tuple[str, ...] = ()

    @property
    def topics(self) -> tuple[str, ...]:
        """The topic under test and those beside it."""
        return (self.topic, *(one for one in self.beside if one != self.topic))

    def running(self, nodes: Iterable[int]) -> tuple[int, ...]:
        """Those of the nodes whose process runs, ascending; the client is never one of them."""
        return tuple(node for node in sorted(set(nodes) - {CLIENT}) if self.cluster.is_running(node))

    def answering(self) -> set[int]:
        """The brokers that answer a client now."""
        return {view.broker for view in self.cluster.view((self.topic,)).answered()}

    def snapshot(self) -> TargetContext:
        """What targets may look at, now."""
        return TargetContext(
            view=self.cluster.view((self.topic,)),
            topic=self.topic,
            brokers=self.cluster.broker_ids,
            controllers=self.cluster.controller_ids,
            controller=self.cluster.controller,
            coordinator=self.cluster.coordinator,
            seed=self.seed,
            zookeepers=self.cluster.zookeeper_ids,
            resolved=self.chosen,
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whether something was seen, in one sentence, with the facts behind it (JSON values)."""

    seen: bool
    what: str
    facts: Mapping[str, object] = field(default_factory=dict)


class Injection(Frozen, ABC):
    """One injected fault, as data. Whoever holds it can prove it and heal it, in any process.

    `stops_process`: the processes of its nodes do not run meanwhile, so a schedule opens no other such fault
    on them.
    """

    stops_process: ClassVar[bool] = False

    @property
    @abstractmethod
    def nodes(self) -> tuple[int, ...]:
        """The nodes that it was aimed at."""

    @property
    def target(self) -> str:
        """The nodes in words."""
        return node_names(self.nodes)

    @abstractmethod
    def apply(self, context: InjectionContext) -> None:
        """Break it. Applying again what is applied already changes nothing.

        Raises:
            FaultError, ClusterError: it could not be done.
        """

    @abstractmethod
    def verify(self, context: InjectionContext) -> Evidence:
        """Wait, within a deadline of the fault's own, until the effect is seen."""

    @abstractmethod
    def undo(self, context: InjectionContext) -> None:
        """Take it back, also when half-applied; returns at once. Undoing again is harmless.

        Raises:
            FaultError, ClusterError: it could not be done.
        """

    @abstractmethod
    def healed(self, context: InjectionContext) -> Evidence:
        """Wait until the undoing is seen. `seen` is False when the return shows that the effect had not been
        there after all: then the fault proves nothing.

        Raises:
            FaultError: the cluster does not come back.
        """

    def heal(self, context: InjectionContext) -> Evidence:
        """Undo it and wait until that is seen; healing again is harmless."""
        self.undo(context)
        return self.healed(context)

    def restarted(self, context: InjectionContext, node: int) -> bool:  # noqa: ARG002
        """A node has started again while this fault is open: apply again what its restart took away.

        Returns whether anything had to be applied. Faults that a restart does not touch leave this as it is.
        """
        return False


class FaultSpec(Frozen, ABC):
    """Base of all faults: a frozen value, as an experiment file holds it, that aims itself at a cluster.

    `needs` names what kernel and engine must be able to do (`harness.preflight.kernel_probes`), `injection`
    is the class of what `aim` returns.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    injection: ClassVar[type[Injection]]

    @classmethod
    def __pydantic_init_subclass__(cls, **settings: Any) -> None:
        super().__pydantic_init_subclass__(**settings)
        if "kind" in cls.model_fields:
            KINDS[cls.name()] = cls

    @classmethod
    def name(cls) -> str:
        """The name by which files know this fault."""
        return str(cls.model_fields["kind"].default)

    @abstractmethod
    def aim(self, context: InjectionContext) -> Injection:
        """Resolve the targets against the live cluster; changes nothing.

        Raises:
            FaultError: a target matches nothing.
        """

    def parameters(self) -> dict[str, Any]:
        """The fields that the injection has under the same name."""
        shared = type(self).model_fields.keys() & self.injection.model_fields.keys() - {"kind"}
        return {name: getattr(self, name) for name in shared}

    def required(self) -> tuple[str, ...]:
        """What this very spec needs of kernel and engine; more than `needs` where a parameter asks for it."""
        return self.needs

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        """What a user should know before the cluster starts: one sentence each.

        Raises:
            ValueError: a cluster of this shape cannot have this fault.
        """
        for target in self.targets():
            target.check(shape)
        return ()

    def max_brokers_down(self, shape: ClusterShape) -> int:  # noqa: ARG002
        """How many brokers at most do not serve while this is open; schedules limit the sum."""
        return 0

    def targets(self) -> tuple[Any, ...]:
        """Every target among the fields."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return tuple(value for value in values if hasattr(value, "choose"))


KINDS: dict[str, type[FaultSpec]] = {}
"""Every fault whose module has been imported, by the name that files know it by."""


def node_name(node: int) -> str:
    """A node in words: "broker 1"."""
    return node_names((node,))


def node_names(nodes: Iterable[int]) -> str:
    """Nodes in words: "broker 1, 2, controller 101"."""
    numbers = sorted(nodes)
    brokers = [str(node) for node in numbers if CLIENT < node < FIRST_CONTROLLER_ID]
    controllers = [str(node) for node in numbers if FIRST_CONTROLLER_ID <= node < FIRST_ZOOKEEPER_ID]
    keepers = [str(node) for node in numbers if node >= FIRST_ZOOKEEPER_ID]
    parts = ["broker " + ", ".join(brokers)] if brokers else []
    parts += ["controller " + ", ".join(controllers)] if controllers else []
    parts += ["ZooKeeper " + ", ".join(keepers)] if keepers else []
    parts += ["the client"] if CLIENT in numbers else []
    return ", ".join(parts)

"""What a fault is.

A fault is a frozen spec (`FaultSpec`). `aim` resolves its targets against the live cluster and returns an
`Injection`: data that says what will be done to which nodes; nothing has been done yet. It is written down
before `apply` changes anything, so that any later process can heal what a killed process began.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from faults.shared.words import node_names
from faults.targets.fault_cluster import FaultCluster
from faults.targets.target_context import ClusterShape, TargetContext
from harness.model.frozen import Frozen
from harness.model.node_layout import CLIENT

_ANSWER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class InjectionContext:
    """Where a fault is injected: the cluster, the topic under test, and how long to wait for an effect.

    `session_seconds` is broker.session.timeout.ms in seconds: until then a dead leader remains leader. `tag`
    names this injection; rules that it leaves in a kernel carry it. `seed` decides random choices: the same
    seed on the same cluster chooses the same nodes. `chosen` records the nodes of each resolved target.
    `beside` holds the topics of all arms that run together and those that their processors write to: a heal
    waits for them too. `groups` are the names of share groups in this run, by those in the experiment.
    """

    cluster: FaultCluster
    topic: str
    session_seconds: float
    tag: str
    seed: str = ""
    chosen: dict[Any, tuple[int, ...]] = field(default_factory=dict, compare=False)
    beside: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topic under test and those beside it."""
        return (self.topic, *(topic for topic in self.beside if topic != self.topic))

    def running(self, nodes: Iterable[int]) -> tuple[int, ...]:
        """Those of the nodes whose process runs, ascending; the client is never one of them."""
        return tuple(node for node in sorted(set(nodes) - {CLIENT}) if self.cluster.is_running(node))

    def answering(self) -> set[int]:
        """The brokers that answer a client now."""
        return {view.broker for view in self.cluster.view((self.topic,)).answered()}

    def snapshot(self) -> TargetContext:
        """The live cluster as it is now, for resolving targets."""
        view = self.cluster.view((self.topic,))
        if not view.answered():
            # On a busy machine an answer may take longer than a second. A dead broker refuses at once.
            view = self.cluster.view((self.topic,), _ANSWER_SECONDS)
        return TargetContext(self.cluster, view, self.topic, self.seed, self.groups, self.chosen)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whether an effect was seen, in one sentence, with the measured facts (JSON values)."""

    seen: bool
    what: str
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicEffect:
    """What an injection changes of its topic on purpose, so that the check does not take it for Kafka's
    doing: `deleted_below` has offsets by partition, below which it deletes the records; `config` has settings
    that are in force while it is open, `every_topic`: for every topic of the cluster; `partitions` is the
    number of partitions from then on (None: as before)."""

    deleted_below: Mapping[int, int] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    every_topic: bool = False
    partitions: int | None = None


class Injection(Frozen, ABC):
    """One injected fault, as data. Any process that has it can prove it and heal it.

    `stops_process`: the processes of its nodes do not run meanwhile, so a schedule opens no other such fault
    on them. `proved_when_healed`: only then it is known what it did, and that is its evidence.
    """

    stops_process: ClassVar[bool] = False
    proved_when_healed: ClassVar[bool] = False

    @property
    @abstractmethod
    def nodes(self) -> tuple[int, ...]:
        """The nodes that it affects."""

    @property
    def target(self) -> str:
        """The nodes in words."""
        return node_names(self.nodes)

    @property
    def on_topic(self) -> TopicEffect:
        """What it changes of its topic on purpose."""
        return TopicEffect()

    @abstractmethod
    def apply(self, context: InjectionContext) -> None:
        """Cause the fault. Applying it again changes nothing.

        Raises:
            FaultError, ClusterError: it could not be done.
        """

    @abstractmethod
    def verify(self, context: InjectionContext) -> Evidence:
        """Wait until the effect is seen, for at most the fault's own time limit."""

    @abstractmethod
    def undo(self, context: InjectionContext) -> None:
        """Undo it, even if it was applied only in part; returns at once. Undoing it again is harmless.

        Raises:
            FaultError, ClusterError: it could not be done.
        """

    @abstractmethod
    def healed(self, context: InjectionContext) -> Evidence:
        """Wait until the cluster has recovered. `seen` is False if the recovery shows that the effect had not
        been there: then the fault proves nothing.

        Raises:
            FaultError: the cluster does not recover.
        """

    def heal(self, context: InjectionContext) -> Evidence:
        """Undo it and wait until the cluster has recovered; healing again is harmless."""
        self.undo(context)
        return self.healed(context)

    def restarted(self, context: InjectionContext, node: int) -> bool:  # noqa: ARG002
        """Called when a node has started again while this fault is open: applies again what the restart
        removed.

        Returns whether anything had to be applied. Faults that survive a restart do not override this.
        """
        return False


class FaultSpec(Frozen, ABC):
    """Base of all faults: a frozen value, as written in an experiment file, that can be aimed at a cluster.

    `needs` names the required features of kernel and engine (`harness.run.preflight.kernel_probes`),
    `injection` is the class that `aim` returns. `external` says what the fault needs of a cluster that
    kafka-chaos did not start: requests to brokers alone, the brokers' containers from outside, or more than
    such a cluster offers. `leaves` declares what stays when the fault is healed: in words -> patterns, as of
    a shell, of what the check after it (`harness.cluster.traces`) would report, such as a file's path; none
    where it does not look. `restores`: what healing sets back to how it was when the fault was aimed; of two
    faults that restore the same thing one has to end before the other begins. `applications`: at which
    applications under test it can be aimed. `as_messages`: what the proxies do in the kernel's place (None:
    they cannot).
    """

    needs: ClassVar[tuple[str, ...]] = ()
    leaves: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    external: ClassVar[Literal["requests", "containers", "impossible"]] = "impossible"
    restores: ClassVar[str | None] = None
    applications: ClassVar[Literal["all", "containers", "none"]] = "none"
    as_messages: ClassVar[str | None] = None
    injection: ClassVar[type[Injection]]

    @classmethod
    def __pydantic_init_subclass__(cls, **settings: Any) -> None:
        super().__pydantic_init_subclass__(**settings)
        if "kind" in cls.model_fields:
            KINDS[cls.name()] = cls

    @classmethod
    def name(cls) -> str:
        """The name of this fault in files."""
        return str(cls.model_fields["kind"].default)

    @abstractmethod
    def aim(self, context: InjectionContext) -> Injection:
        """Resolve the targets against the live cluster; changes nothing.

        Raises:
            FaultError: a target matches nothing.
        """

    @classmethod
    def injection_from(cls, record: dict[str, Any]) -> Injection:
        """An injection of this fault from its JSON.

        Raises:
            ValidationError: it is not one.
        """
        return cls.injection.model_validate(record)

    def parameters(self) -> dict[str, Any]:
        """The fields that the injection has under the same name."""
        shared = type(self).model_fields.keys() & self.injection.model_fields.keys()
        return {name: getattr(self, name) for name in shared}

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        """What a user should know before the cluster starts, one sentence each.

        Raises:
            ValueError: a cluster of this shape cannot have this fault.
        """
        for target in self.targets():
            target.refuse_impossible(shape)
            if not target.may_include_application():
                continue
            if self.applications == "none":
                able = sorted(name for name, kind in KINDS.items() if kind.applications != "none")
                raise ValueError(
                    f"target `{target}`: {self.name()} cannot be aimed at an application; possible are "
                    f"{', '.join(able)}"
                )
            if self.applications == "containers" and not shape.application_in_container:
                raise ValueError(
                    f"target `{target}`: {self.name()} needs an application with a network and control "
                    "groups of its own: run it as a `container`"
                )
        return ()

    @property
    def uses_proxy(self) -> bool:
        """Whether it acts on messages of Kafka's protocol, in the proxies in front of the nodes."""
        return False

    @property
    def api(self) -> str | None:
        """The API of Kafka's protocol that it is about; None: it is about none, or about all."""
        return None

    def required(self) -> tuple[str, ...]:
        """Those of `needs` that this fault needs with its parameters."""
        return self.needs

    def by_proxy(self) -> FaultSpec | None:
        """The same in the proxies, for a kernel that lacks what it needs; None: that is not the same, or not
        wanted."""
        return None

    def max_brokers_down(self, shape: ClusterShape) -> int:  # noqa: ARG002
        """The greatest number of brokers that do not serve while this is open; schedules limit the sum."""
        return 0

    def taken_down(self, shape: ClusterShape) -> Any:  # noqa: ARG002
        """The target whose brokers do not serve while this is open; None: none, or it is not sure which."""
        return None

    def may_move_leaders(self, shape: ClusterShape, *, at_once: bool) -> bool:  # noqa: ARG002
        """Whether leaders may change while this is open; `at_once`: in the moment in which it begins."""
        return True

    def seconds_to_effect(self, shape: ClusterShape) -> float:  # noqa: ARG002
        """About how many seconds it takes until it has taken effect, where that is more than a moment."""
        return 0.0

    @property
    def of_topic(self) -> bool:
        """Whether it acts on one topic: where arms run together, each arm needs an injection of its own."""
        return False

    def targets(self) -> tuple[Any, ...]:
        """Every target among the fields."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return tuple(value for value in values if hasattr(value, "choose"))


KINDS: dict[str, type[FaultSpec]] = {}
"""Every fault whose module has been imported, by its name in files."""

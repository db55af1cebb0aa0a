"""What the faults on leadership and replicas share: partitions before the fault, and as brokers see them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pydantic import ConfigDict, Field

from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.shared.waiting import await_or_fail, partition_numbers, until_answered
from faults.shared.words import shortened
from faults.targets.target_context import ClusterShape, TargetContext
from harness.model.broker_views import PartitionState, TopologyView
from harness.model.errors import FaultError
from harness.model.frozen import Frozen
from harness.model.polling import poll_within

BACK_SECONDS = 90.0
GONE = "UNKNOWN_TOPIC_OR_PARTITION"
"""The error where the topic was deleted meanwhile: then nothing has to be taken back."""


REPLICAS = "the replicas of the topic's partitions"
"""What `FaultSpec.restores` says of faults that assign the former replicas again."""


class PartitionBefore(Frozen):
    """A partition when the fault was aimed, made from its state then. `leader` is -1 if it had none."""

    model_config = ConfigDict(from_attributes=True)

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]


class PartitionInjection(Injection):
    """An injection on partitions of the topic under test, which `before` holds as they were."""

    before: tuple[PartitionBefore, ...]

    def elect(self, context: InjectionContext, what: str, *allowed: str, unclean: bool = False) -> None:
        """Request an election of each partition; raises FaultError for any error that is not `allowed`."""
        partitions = [then.partition for then in self.before]
        errors = until_answered(lambda: context.cluster.elect(context.topic, partitions, unclean=unclean))
        _check_errors(what, errors, allowed)

    def reassign(
        self,
        context: InjectionContext,
        what: str,
        replicas: Mapping[int, tuple[int, ...] | None],
        *allowed: str,
    ) -> None:
        """Assign replicas by partition (None: cancel a move); raises FaultError as `elect`."""
        errors = until_answered(lambda: context.cluster.reassign(context.topic, {**replicas}))
        _check_errors(what, errors, allowed)

    def restore(self, context: InjectionContext, what: str) -> None:
        """Assign the former replicas again."""
        self.reassign(context, what, {then.partition: then.replicas for then in self.before}, GONE)

    def await_undone(
        self,
        context: InjectionContext,
        problem: str,
        missing: Callable[[TopologyView, PartitionBefore], str | None],
    ) -> None:
        """Wait until nothing is `missing` of any partition. A partition whose topic was deleted needs no
        healing.

        Raises:
            FaultError: `problem`, after 90 s.
        """

        def first_missing() -> str | None:
            view = context.cluster.view((context.topic,))
            complete = all(seen.answered for seen in view.views)
            left = [
                then
                for then in self.before
                if not complete or view.partition(context.topic, then.partition) is not None
            ]
            return next((words for then in left if (words := missing(view, then))), None)

        next_step = "are all replicas up? `kafka-chaos heal` tries again"
        await_or_fail(
            BACK_SECONDS, first_missing, problem, where=self.target, expected="as before", next_step=next_step
        )


class PartitionFault(FaultSpec):
    """Base of faults on partitions of the topic under test, through the controller."""

    external = "requests"
    partition: int | None = Field(
        default=None, ge=0, description="partition number; default: all partitions of the topic"
    )

    @property
    def of_topic(self) -> bool:
        return True

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if self.partition is not None and self.partition >= shape.partitions:
            raise ValueError(
                f"there is no partition {self.partition}: the topic has 0 to {shape.partitions - 1}"
            )
        return ()

    def chosen(self, snapshot: TargetContext) -> list[PartitionState]:
        """The partitions that the fault affects, as they are now.

        Raises:
            FaultError: no broker that answers knows one.
        """
        numbers = partition_numbers(snapshot.view) if self.partition is None else [self.partition]
        states = [state for number in numbers if (state := snapshot.view.partition(snapshot.topic, number))]
        if not states:
            raise FaultError(
                "there is no such partition",
                where=snapshot.topic if self.partition is None else f"{snapshot.topic}-{self.partition}",
                found="no broker that answers knows it",
                next_step="correct the partition number, or inject the fault when a broker answers",
            )
        return states


def _check_errors(what: str, errors: dict[int, str | None], allowed: Collection[str]) -> None:
    bad = {number: error for number, error in errors.items() if error is not None and error not in allowed}
    if bad:
        raise FaultError(
            f"the controller refused {what}",
            where=", ".join(f"partition {number}" for number in sorted(bad)),
            found=", ".join(sorted(set(bad.values()))),
            next_step="are the replicas up, and in the ISR? see the samples of the run",
        )


def why_not_led_anew(view: TopologyView, topic: str, then: PartitionBefore, leader: int | None) -> str | None:
    """Why this view does not show a new leader epoch with this leader (None: any leader), according to every
    broker that answers; None: it does."""
    states = view.states(topic, then.partition)
    where = f"partition {then.partition}"
    if not states:
        return f"no broker reports {where}"
    for broker, state in sorted(states.items()):
        if state.leader_epoch <= then.leader_epoch:
            return f"{where} is still in leader epoch {state.leader_epoch}, says broker {broker}"
        if state.leader < 0 or leader not in (None, state.leader):
            return f"{where} is led by {_leader(state.leader)}, says broker {broker}"
    if len({(state.leader, state.leader_epoch) for state in states.values()}) > 1:
        return f"{where}: brokers disagree on the leader"
    return None


def why_not_placed(view: TopologyView, topic: str, number: int, replicas: tuple[int, ...]) -> str | None:
    """Why this view does not show these replicas, all in sync, according to every broker that answers; None:
    it does."""
    states = view.states(topic, number)
    if not states:
        return f"no broker reports partition {number}"
    for broker, state in sorted(states.items()):
        if state.replicas != replicas:
            return f"partition {number} has the replicas {list(state.replicas)}, says broker {broker}"
        if set(state.isr) != set(replicas):
            return f"partition {number} has the ISR {sorted(state.isr)}, says broker {broker}"
    return None


def await_new_leaders(
    context: InjectionContext,
    before: tuple[PartitionBefore, ...],
    wanted: Mapping[int, int | None],
    seconds: float,
) -> Evidence:
    """Wait until each partition has the leader that is `wanted` (None: any) in a higher leader epoch,
    according to every broker that answers. A broker that is cut off from the controllers does not learn of
    it: when the time is over it is enough that the new leaders report it of themselves."""

    def missing() -> str | None:
        view = context.cluster.view((context.topic,))
        words = (why_not_led_anew(view, context.topic, then, wanted[then.partition]) for then in before)
        return next((word for word in words if word is not None), None)

    left = poll_within(seconds, missing)
    if left is None:
        return leadership_evidence(context, before, None)
    view = context.cluster.view((context.topic,))
    if not all(_reports_itself(view, context.topic, then, wanted[then.partition]) for then in before):
        return leadership_evidence(context, before, left)
    evidence = leadership_evidence(context, before, None)
    return Evidence(True, f"{evidence.what}; but {left}", evidence.facts)


def leadership_evidence(
    context: InjectionContext, before: tuple[PartitionBefore, ...], left: str | None
) -> Evidence:
    """Evidence of a move of leadership, with leaders and epochs before and now; `left` is what is missing."""
    view = context.cluster.view((context.topic,))
    now = {then.partition: view.partition(context.topic, then.partition) for then in before}
    facts: dict[str, object] = {
        "before": {then.partition: then.model_dump(mode="json", exclude={"partition"}) for then in before},
        "now": {
            number: {
                "leader": state.leader,
                "leader_epoch": state.leader_epoch,
                "replicas": list(state.replicas),
                "isr": sorted(state.isr),
            }
            for number, state in now.items()
            if state is not None
        },
    }
    words = [
        f"partition {then.partition} from {_leader(then.leader)} (epoch {then.leader_epoch}) "
        f"to {_leader(state.leader)} (epoch {state.leader_epoch})"
        for then in before
        if (state := now[then.partition]) is not None
    ]
    return Evidence(left is None, left or "leadership moved: " + ", ".join(shortened(words)), facts)


def _reports_itself(view: TopologyView, topic: str, then: PartitionBefore, leader: int | None) -> bool:
    """Whether the leader of the highest epoch reports its own leadership, which is new."""
    state = view.partition(topic, then.partition)
    if state is None or state.leader_epoch <= then.leader_epoch or leader not in (None, state.leader):
        return False
    own = view.states(topic, then.partition).get(state.leader)
    return own is not None and (own.leader, own.leader_epoch) == (state.leader, state.leader_epoch)


def _leader(number: int) -> str:
    return f"broker {number}" if number >= 0 else "none"

"""Reassign: a partition's replicas move to other brokers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.partition_fault import (
    GONE,
    REPLICAS,
    PartitionBefore,
    PartitionFault,
    PartitionInjection,
    leadership_evidence,
    why_not_led_anew,
    why_not_placed,
)
from faults.targets import NodeIds, Target
from faults.targets.target_context import ClusterShape, TargetContext
from harness.model.broker_views import PartitionState, TopologyView
from harness.model.errors import FaultError
from harness.model.polling import poll_within

_SECONDS = 60.0


class Reassigned(PartitionInjection):
    """These partitions were given other replicas: `to` holds (partition, replicas)."""

    to: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({node for _, replicas in self.to for node in replicas}))

    @property
    def target(self) -> str:
        return ", ".join(
            f"partition {then.partition} from brokers {list(then.replicas)} to {list(replicas)}"
            for then, (_, replicas) in zip(self.before, self.to, strict=True)
        )

    def apply(self, context: InjectionContext) -> None:
        self.reassign(context, "the reassignment", dict(self.to))

    def verify(self, context: InjectionContext) -> Evidence:
        def missing() -> str | None:
            view = context.cluster.view((context.topic,))
            for then, (number, replicas) in zip(self.before, self.to, strict=True):
                left = why_not_placed(view, context.topic, number, replicas)
                if left is None and then.leader not in replicas:
                    left = why_not_led_anew(view, context.topic, then, None)
                if left is not None:
                    return left
            return None

        left = poll_within(_SECONDS, missing)
        evidence = leadership_evidence(context, self.before, left)
        if not evidence.seen:
            return evidence
        return Evidence(True, f"replicas moved, all in sync: {self.target}", evidence.facts)

    def undo(self, context: InjectionContext) -> None:
        # Cancelled first, so that no running move is overridden by another one.
        cancelled = {then.partition: None for then in self.before}
        self.reassign(context, "to cancel the move", cancelled, GONE, "NO_REASSIGNMENT_IN_PROGRESS")
        self.restore(context, "the move back")

    def healed(self, context: InjectionContext) -> Evidence:
        def missing(view: TopologyView, then: PartitionBefore) -> str | None:
            return why_not_placed(view, context.topic, then.partition, then.replicas)

        self.await_undone(context, "replicas did not move back", missing)
        return Evidence(True, "back on the former replicas, all in sync")


class Reassign(PartitionFault):
    """A partition moves to other brokers, as `kafka-reassign-partitions.sh` does; healed by moving it back.

    What Kafka does (KIP-455): the new replicas are added and copy the log; when all of them are in the ISR,
    the old ones are removed and their files deleted. If the leader is removed, a new replica becomes leader,
    in a higher leader epoch. Meanwhile the partition has more replicas than before, and acks=all waits for
    those in the ISR. A move to brokers that are down does not end until they come back. Nothing that was
    acknowledged under acks=all is lost; where the leader is removed, a record that acks=1 has acknowledged is
    lost if the new leader has not fetched it yet (KAFKA-20554; `kafka-chaos run planned-move`). The heal
    moves the replicas back, which copies the log again, and waits for the full ISR; leadership is not moved
    back.

    `to` may have fewer or more brokers than the partition has replicas: then its replication factor changes.
    With `{nodes: [...]}` the order counts: the first is the preferred leader. Any other target keeps the
    order of the brokers that hold a replica already, followed by the others in ascending order.

    Proof: every broker that answers names the requested replicas, all of them in the ISR, and, where the
    leader was removed, another leader in a higher leader epoch.
    """

    kind: Literal["reassign"] = "reassign"
    injection = Reassigned
    restores = REPLICAS
    leaves = {"another leader, where the move has removed the former one": ()}

    to: Target = Field(description="the brokers that will hold the partition")

    def aim(self, context: InjectionContext) -> Reassigned:
        snapshot = context.snapshot()
        states = self.chosen(snapshot)
        wanted = {state.partition: self._order(snapshot, state) for state in states}
        before = [state for state in states if wanted[state.partition] != state.replicas]
        if not before or not all(wanted.values()):
            raise FaultError(
                "there is nothing to reassign",
                where=context.topic if self.partition is None else f"{context.topic}-{self.partition}",
                expected=f"brokers of `{self.to}` other than the present replicas",
                found=", ".join(f"replicas {list(state.replicas)}" for state in states[:3]),
                next_step="name other brokers, or another order of them",
            )
        to = tuple((then.partition, wanted[then.partition]) for then in before)
        return Reassigned(before=tuple(before), to=to)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if self.to.may_include_client() or not self.to.max_brokers(shape):
            raise ValueError(f"target `{self.to}`: only brokers hold partitions")
        if self.to.max_brokers(shape) >= shape.replication_factor:
            return ()
        return (
            f"the partition has fewer than {shape.replication_factor} replicas meanwhile: if they are fewer "
            "than min.insync.replicas, every send with acks=all is refused before Kafka 3.7, and since then "
            "acknowledged by those there are (KAFKA-21110)",
        )

    def _order(self, snapshot: TargetContext, state: PartitionState) -> tuple[int, ...]:
        nodes = self.to.nodes if isinstance(self.to, NodeIds) else self.to.resolve(snapshot)
        brokers = [node for node in dict.fromkeys(nodes) if node in snapshot.cluster.broker_ids]
        if isinstance(self.to, NodeIds):
            return tuple(brokers)
        kept = [node for node in state.replicas if node in brokers]
        return (*kept, *(node for node in brokers if node not in kept))

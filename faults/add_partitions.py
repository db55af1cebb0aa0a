"""Add partitions: the topic gets more partitions while clients run."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext, TopicEffect
from faults.shared.waiting import MeasuredInjection, partition_numbers
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError

_MOST = 10_000
"""As many as `topic.partitions` of an experiment may be."""


class PartitionsAdded(MeasuredInjection, Injection):
    """The topic was given partitions, from `before` to `after` of them."""

    proof_seconds = 60.0
    proof_pause = 0.25

    before: int
    after: int

    @property
    def nodes(self) -> tuple[int, ...]:
        return ()

    @property
    def target(self) -> str:
        return f"the topic: from {self.before} to {self.after} partitions"

    @property
    def on_topic(self) -> TopicEffect:
        return TopicEffect(partitions=self.after)

    def apply(self, context: InjectionContext) -> None:
        if len(partition_numbers(context.cluster.view((context.topic,)))) >= self.after:
            return
        refused = context.cluster.create_partitions(context.topic, self.after)
        if refused is not None:
            raise FaultError(
                "Kafka refused to add partitions",
                where=context.topic,
                expected=f"{self.after} partitions instead of {self.before}",
                found=refused,
                next_step="are enough brokers up, and does a policy limit partitions?",
            )

    def measure(self, context: InjectionContext) -> Evidence:
        view = context.cluster.view((context.topic,))
        leaders: dict[int, int] = {}
        facts: dict[str, object] = {"leaders": leaders}
        if not view.answered():
            return Evidence(False, "no broker answers", facts)
        for number in range(self.before, self.after):
            states = view.states(context.topic, number)
            unaware = [seen.broker for seen in view.answered() if seen.broker not in states]
            if unaware:
                return Evidence(False, f"broker {unaware} does not know partition {number}", facts)
            for broker, state in sorted(states.items()):
                if state.leader < 0 or set(state.isr) != set(state.replicas):
                    found = f"leader {state.leader}, ISR {sorted(state.isr)} of {list(state.replicas)}"
                    return Evidence(False, f"partition {number} has {found}, says broker {broker}", facts)
                leaders[number] = state.leader
        what = f"every broker that answers knows {self.after} partitions, with a leader and a full ISR each"
        return Evidence(True, what, facts)

    def undo(self, context: InjectionContext) -> None:
        """Kafka cannot take partitions away."""

    def healed(self, context: InjectionContext) -> Evidence:  # noqa: ARG002
        return Evidence(True, "nothing to undo: the partitions stay")


class AddPartitions(FaultSpec):
    """The topic gets `count` more partitions while clients run, as with `kafka-topics.sh --alter
    --partitions` (KIP-195). Kafka cannot take them away again.

    What Kafka does: the controller places the new, empty partitions; no record moves. Clients learn of them
    when they next ask for metadata: after `topic.metadata.refresh.interval.ms` (librdkafka) or
    `metadata.max.age.ms` (Java), 5 minutes by default, which `extra` of a producer or reader can shorten.
    From then on a partitioner that hashes the key sends many keys to another partition than before, so the
    order of a key's records is lost to its readers: those of the old partition may come after those of the
    new one. A group is rebalanced. With `auto.offset.reset=latest` a group that learns of a partition after
    a producer begins at its end, and no member ever gets what was written to it before (KAFKA-20539); with
    `earliest` it gets all of it, and with `by_duration` (Java, from 4.0 on) what is younger than that.

    What the check says: order is judged within a partition, as Kafka promises it, so a key that moves makes
    no record `reordered`, nor an output `reordered_output`. Compaction keeps the newest record of a key in
    each of its partitions. The final read reads the new partitions, too; a record that is sent to one is
    `lost` or `misplaced` as any other. With `spread: even` the workload itself chooses among the
    partitions of the experiment, so nothing is written to new ones: use `spread: client`. A live reader
    without a group reads those that there were at first. What a group with `latest` passed over of a new
    partition is `skipped`, from its first offset on.

    Proof: every broker that answers knows the new partitions, each with a leader and its full ISR.
    """

    kind: Literal["add_partitions"] = "add_partitions"
    external = "requests"
    injection = PartitionsAdded
    leaves = {"the new partitions": ()}

    count: int = Field(default=1, ge=1, le=_MOST, description="number of partitions to add")

    @property
    def of_topic(self) -> bool:
        return True

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if shape.partitions + self.count > _MOST:
            raise ValueError(f"{shape.partitions} and {self.count} partitions are more than {_MOST:,}")
        return ()

    def aim(self, context: InjectionContext) -> PartitionsAdded:
        before = len(partition_numbers(context.snapshot().view))
        if not before:
            raise FaultError(
                "the number of partitions is not known",
                where=context.topic,
                expected="a broker that answers and knows the topic",
                next_step="inject the fault when one answers",
            )
        return PartitionsAdded(before=before, after=before + self.count)

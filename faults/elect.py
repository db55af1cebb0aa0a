"""Elect: have the controller elect leaders, preferred or unclean."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faults.shared.fault_spec import Evidence, InjectionContext
from faults.shared.partition_fault import (
    PartitionFault,
    PartitionInjection,
    await_new_leaders,
    check_errors,
    partition_before,
)
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError

_SECONDS = 15.0


class Elected(PartitionInjection):
    """An election was requested for these partitions."""

    kind: Literal["elect"] = "elect"
    election: Literal["preferred", "unclean"]

    @property
    def nodes(self) -> tuple[int, ...]:
        """Preferred: the brokers that will lead. Unclean: every replica, since any that is alive may win."""
        unclean = self.election == "unclean"
        wanted = (then.replicas if unclean else then.replicas[:1] for then in self.before)
        return tuple(sorted({node for nodes in wanted for node in nodes}))

    @property
    def target(self) -> str:
        return f"{self.election} leader of partition {', '.join(str(then.partition) for then in self.before)}"

    def apply(self, context: InjectionContext) -> None:
        partitions = [then.partition for then in self.before]
        errors = context.cluster.elect(context.topic, partitions, unclean=self.election == "unclean")
        # An earlier call or the controller itself may have done it: the leader epoch proves it.
        check_errors(f"the {self.election} election", errors, {"ELECTION_NOT_NEEDED"})

    def verify(self, context: InjectionContext) -> Evidence:
        preferred = self.election == "preferred"
        wanted = {then.partition: then.replicas[0] if preferred else None for then in self.before}
        return await_new_leaders(context, self.before, wanted, _SECONDS)

    def undo(self, context: InjectionContext) -> None:
        """An election cannot be undone."""

    def healed(self, context: InjectionContext) -> Evidence:  # noqa: ARG002
        return Evidence(True, "nothing to undo: the elected leader stays")


class Elect(PartitionFault):
    """An election that an operator requests, as `kafka-leader-elections.sh` does (KIP-460).

    `preferred`: leadership goes back to the first of a partition's replicas. The controller does so only if
    that replica is in the ISR (else PREFERRED_LEADER_NOT_AVAILABLE). What Kafka does: nothing is lost, since
    both replicas are in sync; producers get NOT_LEADER_OR_FOLLOWER and ask for the new leader. Partitions
    that the first replica leads already are left out, and the fault is refused if none is left.

    `unclean`: a partition without a leader, because no replica of its ISR is alive, gets another live replica
    as its leader, whatever `unclean.leader.election.enable` says. What Kafka does: records that this replica
    had not fetched are lost, acknowledged or not; the others truncate to its log when they come back
    (KIP-101, KIP-966). The fault is refused while a partition has a leader: kill the leader first, and wait
    until there is none.

    An election is not undone: the elected leader stays.

    Proof: every broker that answers names the new leader (the preferred one, or any) in a higher leader
    epoch; if a broker is cut off from the controllers, it is enough that the new leader reports it.
    """

    kind: Literal["elect"] = "elect"
    injection = Elected
    leaves = {"the elected leader": ()}

    election: Literal["preferred", "unclean"] = Field(
        default="preferred",
        description="`preferred`: the first replica; `unclean`: any live one, if none in sync lives",
    )

    def aim(self, context: InjectionContext) -> Elected:
        snapshot = context.snapshot()
        states = self.chosen(snapshot)
        if self.election == "unclean":
            before = tuple(partition_before(state) for state in states if state.leader < 0)
            expected = "no leader, because no replica of the ISR is alive"
        else:
            before = tuple(
                partition_before(state)
                for state in states
                if state.leader not in (-1, state.replicas[0]) and state.replicas[0] in state.isr
            )
            expected = "a leader other than the first replica, and the first replica in the ISR"
        if not before:
            raise FaultError(
                f"there is nothing for the {self.election} election to do",
                where=", ".join(f"{context.topic}-{state.partition}" for state in states[:3]),
                expected=expected,
                found=", ".join(
                    f"leader {state.leader}, replicas {list(state.replicas)}, ISR {sorted(state.isr)}"
                    for state in states[:3]
                ),
                next_step="inject it when that is so; `transfer` moves leadership to any replica in sync",
            )
        return Elected(election=self.election, before=before)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if shape.replication_factor == 1:
            raise ValueError("an election needs a second replica: topic.replication_factor is 1")
        if self.election == "preferred":
            return ()
        return ("an unclean election loses what its winner had not fetched: acknowledged records too",)

"""Elect: have the controller elect leaders, preferred or unclean."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from faults.base import Evidence, Injection, InjectionContext
from faults.partition_fault import (
    PartitionBefore,
    PartitionFault,
    await_new_leaders,
    check_errors,
    partition_before,
)
from faults.target_context import ClusterShape
from harness.model.errors import FaultError

_SECONDS = 15.0


class Elected(Injection):
    """An election was asked for these partitions."""

    kind: Literal["elect"] = "elect"
    election: Literal["preferred", "unclean"]
    before: tuple[PartitionBefore, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """Preferred: who is to lead. Unclean: every replica, since any that lives may win."""
        unclean = self.election == "unclean"
        wanted = (then.replicas if unclean else then.replicas[:1] for then in self.before)
        return tuple(sorted({node for nodes in wanted for node in nodes}))

    @property
    def target(self) -> str:
        return f"{self.election} leader of partition {', '.join(str(then.partition) for then in self.before)}"

    def apply(self, context: InjectionContext) -> None:
        partitions = [then.partition for then in self.before]
        errors = context.cluster.elect(context.topic, partitions, unclean=self.election == "unclean")
        # Done before, by an earlier call or by the controller itself: the proof is in the leader epoch.
        check_errors(f"the {self.election} election", errors, {"ELECTION_NOT_NEEDED"})

    def verify(self, context: InjectionContext) -> Evidence:
        preferred = self.election == "preferred"
        wanted = {then.partition: then.replicas[0] if preferred else None for then in self.before}
        return await_new_leaders(context, self.before, wanted, _SECONDS)

    def undo(self, context: InjectionContext) -> None:
        """An election cannot be taken back."""

    def healed(self, context: InjectionContext) -> Evidence:  # noqa: ARG002
        return Evidence(True, "nothing to take back: the leader that was elected stays")


class Elect(PartitionFault):
    """An election that an operator calls for, as `kafka-leader-elections.sh` does (KIP-460).

    `preferred`: leadership goes back to the first of a partition's replicas. The controller does so only
    if that one is in the ISR (else PREFERRED_LEADER_NOT_AVAILABLE). Nothing is lost: both are in sync.
    Producers get NOT_LEADER_OR_FOLLOWER and ask anew who leads. Where the first replica leads already
    there is nothing to elect: such partitions are left out, and it is refused if no other is left.

    `unclean`: a partition without a leader, since nobody in its ISR lives, gets a living replica as its
    leader, whatever `unclean.leader.election.enable` says. Records that this one had not fetched are gone
    for good, acknowledged or not; the others truncate to its log when they come back (KIP-101, KIP-966).
    It is refused while a partition has a leader: kill that one first, and wait until nobody leads.

    An election is not taken back: the leader that was elected stays.

    Proof: every broker that answers names the new leader (the preferred one, or any) in a higher leader
    epoch; of one that is cut off from the controllers it is enough that the new leader says so itself.
    """

    kind: Literal["elect"] = "elect"
    injection: ClassVar[type[Injection]] = Elected

    election: Literal["preferred", "unclean"] = Field(
        default="preferred",
        description="`preferred`: the first replica; `unclean`: any living one, where nobody in sync lives",
    )

    def aim(self, context: InjectionContext) -> Elected:
        snapshot = context.snapshot()
        states = self.chosen(snapshot)
        if self.election == "unclean":
            before = tuple(partition_before(state) for state in states if state.leader < 0)
            expected = "no leader, since nobody in the ISR lives"
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

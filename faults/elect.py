"""Elect and transfer: the controller makes other replicas leaders, as an operator requests."""

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
    await_new_leaders,
)
from faults.targets import Target
from faults.targets.target_context import ClusterShape, TargetContext
from harness.model.broker_views import PartitionState, TopologyView
from harness.model.errors import FaultError

_SECONDS = 15.0
_NOT_NEEDED = "ELECTION_NOT_NEEDED"
_NOT_AVAILABLE = "PREFERRED_LEADER_NOT_AVAILABLE"


class Elected(PartitionInjection):
    """An election was requested for these partitions."""

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
        # An earlier call or the controller itself may have done it: the leader epoch proves it.
        unclean = self.election == "unclean"
        self.elect(context, f"the {self.election} election", _NOT_NEEDED, unclean=unclean)

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
    that replica is in the ISR (else PREFERRED_LEADER_NOT_AVAILABLE). What Kafka does: producers get
    NOT_LEADER_OR_FOLLOWER and ask for the new leader. Nothing that was acknowledged under acks=all is lost.
    A replica in the ISR may lack what was written since its last fetch, though: of that, what acks=1 has
    acknowledged is lost (KAFKA-20554; `kafka-chaos run planned-move`). Partitions that the first replica
    leads already are left out, and the fault is refused if none is left.

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
            before = [state for state in states if state.leader < 0]
            expected = "no leader, because no replica of the ISR is alive"
        else:
            before = [
                state
                for state in states
                if state.leader not in (-1, state.replicas[0]) and state.replicas[0] in state.isr
            ]
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
        return Elected(election=self.election, before=tuple(before))

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if shape.replication_factor == 1:
            raise ValueError("an election needs a second replica: topic.replication_factor is 1")
        if self.election == "preferred":
            return ()
        return ("an unclean election loses what its winner had not fetched: acknowledged records too",)


class Transferred(PartitionInjection):
    """Leadership of these partitions was moved to the brokers in `to`: (partition, broker)."""

    to: tuple[tuple[int, int], ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({node for _, node in self.to}))

    @property
    def target(self) -> str:
        return ", ".join(
            f"partition {then.partition} from broker {then.leader} to {node}"
            for then, (_, node) in zip(self.before, self.to, strict=True)
        )

    def apply(self, context: InjectionContext) -> None:
        new = dict(self.to)
        order = {then.partition: _first(then.replicas, new[then.partition]) for then in self.before}
        self.reassign(context, "another order of replicas", order)
        self.elect(context, "the election", _NOT_NEEDED)

    def verify(self, context: InjectionContext) -> Evidence:
        return await_new_leaders(context, self.before, dict(self.to), _SECONDS)

    def undo(self, context: InjectionContext) -> None:
        # The former leader may not have been the first replica: it is put first for the election only.
        led = {then.partition: _first(then.replicas, then.leader) for then in self.before}
        self.reassign(context, "the former order of replicas", led, GONE)
        self.elect(context, "the election", GONE, _NOT_NEEDED, _NOT_AVAILABLE)
        self.restore(context, "the former order of replicas")

    def healed(self, context: InjectionContext) -> Evidence:
        def missing(view: TopologyView, then: PartitionBefore) -> str | None:
            state = view.partition(context.topic, then.partition)
            if state is None or state.replicas != then.replicas:
                found = "not known" if state is None else str(list(state.replicas))
                return f"the replicas of partition {then.partition} are {found}"
            if state.leader != then.leader:
                # It was down when the transfer was undone, and may be in the ISR by now.
                if then.leader in state.isr:
                    self.undo(context)
                return f"partition {then.partition} is led by {state.leader}, ISR {sorted(state.isr)}"
            return None

        self.await_undone(context, "leadership did not go back", missing)
        return Evidence(True, "replicas in their former order, with their former leaders")


class Transfer(PartitionFault):
    """Leadership moves to another replica of the ISR while all brokers keep running; healed by moving it
    back.

    Kafka has no request for this. The order of the partition's replicas is changed so that the new leader
    is the first (AlterPartitionReassignments, KIP-455; no data moves), then a preferred election is requested
    (KIP-460). Healing restores order and leader.

    What Kafka does: clients get NOT_LEADER_OR_FOLLOWER and ask for the new leader; an idempotent producer
    continues without duplicates. Nothing that was acknowledged under acks=all is lost. A replica in the ISR
    may lack what was written since its last fetch, though: of that, what acks=1 has acknowledged is lost
    (KAFKA-20554). With a move every 3 s for 30 s, and two producers as fast as they can, 105,557 of 604,000
    acknowledged records were lost with acks=1, and none of 388,000 with acks=all (Kafka 4.4.0); the exact
    form is `kafka-chaos run planned-move`.

    The new leader is a replica of the ISR, chosen by the run's seed, if given among the nodes of `to`.

    Proof: every broker that answers names the new leader in a higher leader epoch; if a broker is cut off
    from the controllers, it is enough that the new leader reports it.
    """

    kind: Literal["transfer"] = "transfer"
    injection = Transferred
    restores = REPLICAS

    to: Target | None = Field(
        default=None, description="nodes that may become leader; default: any replica in sync"
    )

    def aim(self, context: InjectionContext) -> Transferred:
        snapshot = context.snapshot()
        states = [state for state in self.chosen(snapshot) if state.leader >= 0]
        allowed = set(self.to.resolve(snapshot) if self.to is not None else snapshot.cluster.broker_ids)
        chosen = {state.partition: _choice(snapshot, state, allowed) for state in states}
        before = [state for state in states if chosen[state.partition] is not None]
        if not before:
            raise FaultError(
                "no other replica can become leader",
                where=context.topic if self.partition is None else f"{context.topic}-{self.partition}",
                expected="a leader, and another replica in the ISR"
                + (f", of `{self.to}`" if self.to else ""),
                found=", ".join(f"leader {state.leader}, ISR {sorted(state.isr)}" for state in states[:3])
                or "no leader",
                next_step="inject the fault when another replica is in sync, or name more nodes in `to`",
            )
        to = tuple((then.partition, chosen[then.partition] or 0) for then in before)
        return Transferred(before=tuple(before), to=to)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        if shape.replication_factor == 1:
            raise ValueError("a transfer needs a second replica: topic.replication_factor is 1")
        if self.to is not None and (self.to.may_include_client() or not self.to.max_brokers(shape)):
            raise ValueError(f"target `{self.to}`: only brokers lead partitions")
        return ()


def _choice(snapshot: TargetContext, state: PartitionState, allowed: set[int]) -> int | None:
    others = sorted((set(state.isr) - {state.leader}) & allowed)
    # Each partition starts from the seed, so that its choice does not depend on the other partitions.
    return snapshot.rng().choice(others) if others else None


def _first(replicas: tuple[int, ...], node: int) -> tuple[int, ...]:
    return (node, *(other for other in replicas if other != node))

"""What the brokers say of themselves, as immutable views. Sources: Metadata, ListOffsets and DescribeQuorum
responses of each broker (Kafka protocol guide)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition as one broker believes it to be.

    `log_start_offset` and `log_end_offset` are of the asked broker's own replica (None: it holds none, or
    did not say); `high_watermark` is given only where the asked broker is the leader.
    """

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    high_watermark: int | None = None


@dataclass(frozen=True, slots=True)
class BrokerView:
    """One broker's belief about the cluster, or that it did not answer (`answered` False)."""

    broker: int
    answered: bool
    controller: int | None = None
    brokers: tuple[int, ...] = ()
    partitions: tuple[PartitionState, ...] = ()


@dataclass(frozen=True)
class TopologyView:
    """All brokers asked at about one moment (`at_ns`, nanoseconds since the epoch)."""

    at_ns: int
    views: tuple[BrokerView, ...]

    def answered(self) -> tuple[BrokerView, ...]:
        return tuple(view for view in self.views if view.answered)

    def states(self, topic: str, partition: int) -> dict[int, PartitionState]:
        """What each answering broker says of one partition, by broker id."""
        return dict(self._by_partition.get((topic, partition), {}))

    @cached_property
    def _by_partition(self) -> dict[tuple[str, int], dict[int, PartitionState]]:
        # Made once: whoever looks at each of thousands of partitions must not go through all for each.
        found: dict[tuple[str, int], dict[int, PartitionState]] = {}
        for view in self.answered():
            for state in view.partitions:
                found.setdefault((state.topic, state.partition), {})[view.broker] = state
        return found

    def partition(self, topic: str, partition: int) -> PartitionState | None:
        """The belief with the highest leader epoch: a stale broker never wins. None: nobody knows it.

        At one epoch the leader's own word goes first: its ISR is the one that counts.
        """
        states = self.states(topic, partition)
        if not states:
            return None
        return max(states.items(), key=lambda item: (item[1].leader_epoch, item[0] == item[1].leader))[1]

    def controller(self) -> int | None:
        """The active controller's node id, as most answering brokers say."""
        votes = [view.controller for view in self.answered() if view.controller is not None]
        return max(votes, key=votes.count) if votes else None

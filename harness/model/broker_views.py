"""Immutable views of the cluster as the brokers report it, from each broker's Metadata, ListOffsets and
DescribeQuorum responses (Kafka protocol guide)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.generic]


def newness(broker: int, leader: int, leader_epoch: int) -> tuple[int, bool]:
    """A sort key of brokers' beliefs about a partition: the newest belief has the greatest key. `broker`
    believes that `leader` leads in `leader_epoch`.

    Brokers learn of a new leader at different moments: the highest leader epoch is the newest. Within an
    epoch the leader's own belief is preferred: its ISR is the one that counts.
    """
    return leader_epoch, broker == leader


def newest_rows(at_ns: Column, partition: Column, leader_epoch: Column, own: Column) -> npt.NDArray[np.intp]:
    """The rows of the newest belief about each partition at each moment, by partition and time: `newness` on
    columns of samples, of which there may be millions. `own`: it is the leader's."""
    order = np.lexsort((own, leader_epoch, at_ns, partition))
    at_ns, partition = at_ns[order], partition[order]
    newest = np.ones(len(order), dtype=np.bool_)
    newest[:-1] = (at_ns[:-1] != at_ns[1:]) | (partition[:-1] != partition[1:])
    return order[newest]


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition as one broker reports it.

    `log_start_offset` and `log_end_offset` are those of this broker's own replica (None: it has none, or did
    not answer); `high_watermark` is known only if this broker is the leader.
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
class FeatureLevels:
    """The features of one broker (ApiVersions, KIP-584): the highest level that its version supports, and the
    level that is finalised for the cluster, as far as this broker knows; a feature that is off has none."""

    supported: Mapping[str, int]
    finalized: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SettingState:
    """One setting as one broker reports it. `own`: it was set for this very topic or, while it ran, for this
    very broker, and is not inherited. `read_only`: it cannot be changed while the broker runs."""

    value: str | None
    own: bool
    read_only: bool


@dataclass(frozen=True, slots=True)
class AccessRule:
    """One rule of access (ACL): whether (`allow`, `deny`) a principal may do an operation on a resource, such
    as a `topic` or a `group`. A name that ends in `*` is a prefix, or all."""

    permission: str
    principal: str
    operation: str
    resource: str
    name: str
    host: str = "*"

    def __str__(self) -> str:
        return f"{self.permission} {self.principal} {self.operation} on {self.resource} {self.name}"


@dataclass(frozen=True, slots=True)
class BrokerView:
    """The cluster as one broker reports it; `answered` is False if it did not answer."""

    broker: int
    answered: bool
    controller: int | None = None
    brokers: tuple[int, ...] = ()
    partitions: tuple[PartitionState, ...] = ()


@dataclass(frozen=True)
class TopologyView:
    """The reports of all brokers at about the same time (`at_ns`, nanoseconds since the epoch)."""

    at_ns: int
    views: tuple[BrokerView, ...]

    def answered(self) -> tuple[BrokerView, ...]:
        return tuple(view for view in self.views if view.answered)

    def states(self, topic: str, partition: int) -> dict[int, PartitionState]:
        """One partition as each answering broker reports it, by broker id."""
        return dict(self._by_partition.get((topic, partition), {}))

    @cached_property
    def _by_partition(self) -> dict[tuple[str, int], dict[int, PartitionState]]:
        # Indexed once: callers look up each of thousands of partitions.
        states: dict[tuple[str, int], dict[int, PartitionState]] = {}
        for view in self.answered():
            for state in view.partitions:
                states.setdefault((state.topic, state.partition), {})[view.broker] = state
        return states

    def partition(self, topic: str, partition: int) -> PartitionState | None:
        """The newest of the brokers' reports, so that a stale broker never wins; None: no broker knows it."""
        states = self.states(topic, partition)
        newest = max(
            states,
            key=lambda state: newness(state, states[state].leader, states[state].leader_epoch),
            default=None,
        )
        return None if newest is None else states[newest]

    def controller(self) -> int | None:
        """The active controller's node id according to most of the answering brokers."""
        votes = [view.controller for view in self.answered() if view.controller is not None]
        return max(votes, key=votes.count) if votes else None

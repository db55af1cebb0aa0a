"""Targets: which nodes a fault hits, as data, resolved at the moment of injection.

In an experiment file a target is one key with one value: `{leader: 0}`, `{followers: 0}`, `{broker: 2}`.
Partitions are those of the experiment's topic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from harness.model.errors import FaultError
from harness.model.topology import PartitionState, TopologyView


class _Target(BaseModel, ABC):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def resolve(self, view: TopologyView, topic: str) -> tuple[int, ...]:
        """Broker ids this target means right now, ascending.

        Raises:
            FaultError: it matches nothing.
        """


class Leader(_Target):
    """The leader of a partition."""

    leader: int = Field(ge=0, description="partition whose leader is meant")

    def resolve(self, view: TopologyView, topic: str) -> tuple[int, ...]:
        return (_led(view, topic, self.leader).leader,)


class Followers(_Target):
    """Every replica of a partition but its leader, in the ISR or not."""

    followers: int = Field(ge=0, description="partition whose followers are meant")

    def resolve(self, view: TopologyView, topic: str) -> tuple[int, ...]:
        state = _led(view, topic, self.followers)
        followers = tuple(sorted(set(state.replicas) - {state.leader}))
        if not followers:
            raise FaultError(
                "the target matches no broker",
                where=f"followers of {topic}-{self.followers}",
                expected="at least one follower",
                found="a replication factor of 1",
                next_step="raise topic.replication_factor",
            )
        return followers


class BrokerId(_Target):
    """One broker by its id."""

    broker: int = Field(ge=1, description="broker id")

    def resolve(self, view: TopologyView, topic: str) -> tuple[int, ...]:  # noqa: ARG002
        known = tuple(seen.broker for seen in view.views)
        if self.broker not in known:
            raise FaultError(
                "the target matches no broker",
                where=f"broker {self.broker}",
                expected=f"one of {', '.join(map(str, known))}",
                next_step="name a broker that the cluster has",
            )
        return (self.broker,)


def _kind(value: Any) -> str | None:
    """A target is known by its only key."""
    if isinstance(value, _Target):
        return next(iter(type(value).model_fields))
    if isinstance(value, dict) and len(value) == 1:
        return str(next(iter(value)))
    return None


Target = Annotated[
    Annotated[Leader, Tag("leader")]
    | Annotated[Followers, Tag("followers")]
    | Annotated[BrokerId, Tag("broker")],
    Discriminator(_kind),
]


def _led(view: TopologyView, topic: str, partition: int) -> PartitionState:
    state = view.partition(topic, partition)
    if state is None or state.leader < 0:
        raise FaultError(
            "the target matches no broker",
            where=f"leader of {topic}-{partition}",
            expected="a partition with a leader",
            found="no such partition" if state is None else "no leader now",
            next_step="inject this fault when the partition has a leader, or correct the partition's number",
        )
    return state

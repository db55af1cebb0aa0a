"""States of the cluster that a wait step can wait for, read from the brokers themselves.

Each condition is data of an experiment file. It reads the cluster through a `ConditionView`, so that it can
be tested without one. `missing` says in words what was observed instead; None: the condition holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from pydantic import Field, model_validator

from faults.targets import Target
from harness.model.broker_views import PartitionState, TopologyView
from harness.model.frozen import Frozen


class ConditionView(Protocol):
    """What conditions can read, for the topic under test."""

    def view(self) -> TopologyView: ...

    def nodes(self, target: Any) -> tuple[int, ...]:
        """The nodes that a target matches now; may be empty."""
        ...

    def high_watermark(self, broker: int, partition: int) -> int | None:
        """A broker's own high watermark, as leader or follower; None: it does not answer."""
        ...

    def checkpoint(self, broker: int, file: str, partition: int) -> int | None:
        """A partition's value in a checkpoint file (in leader-epoch-checkpoint: the last epoch)."""
        ...

    def log(self, broker: int) -> str:
        """The output of a broker since the run began."""
        ...


class Number(Frozen):
    """A number to wait for: exactly one of the two."""

    at_least: int | None = Field(None, ge=0)
    exactly: int | None = Field(None, ge=0)

    @model_validator(mode="after")
    def _one(self) -> Number:
        if (self.at_least is None) == (self.exactly is None):
            raise ValueError("takes either `at_least: N` or `exactly: N`")
        return self

    def holds(self, value: int | None) -> bool:
        if value is None:
            return False
        return value == self.exactly if self.at_least is None else value >= self.at_least

    def bound(self) -> str:
        return f"exactly {self.exactly}" if self.at_least is None else f"at least {self.at_least}"


class OnReplicas(Number):
    """A number that each of these brokers has for one partition."""

    of: Target = Field(description="which brokers")
    partition: int = Field(0, ge=0)

    def missing_of(self, look: ConditionView, what: str, value_of: Callable[[int], int | None]) -> str | None:
        """As `missing`, of the number that `value_of` finds for a broker; `what` says what it is."""
        numbers = look.nodes(self.of)
        if not numbers:
            return f"{self.of} matches no broker"
        values = {number: value_of(number) for number in numbers}
        if all(self.holds(value) for value in values.values()):
            return None
        return f"{what} of partition {self.partition} by broker: {_format_by_broker(values)}"


class LogEnd(OnReplicas):
    """The log end offset of each broker's own replica."""

    def missing(self, look: ConditionView) -> str | None:
        ends = {broker: state.log_end_offset for broker, state in _states(look, self.partition).items()}
        return self.missing_of(look, "log end offset", ends.get)

    def __str__(self) -> str:
        return f"a log end offset of {self.bound()} in partition {self.partition} on {self.of}"


class HighWatermark(OnReplicas):
    """The high watermark that each of these brokers knows; a follower learns it one fetch later."""

    def missing(self, look: ConditionView) -> str | None:
        return self.missing_of(look, "high watermark", lambda node: look.high_watermark(node, self.partition))

    def __str__(self) -> str:
        return f"a high watermark of {self.bound()} in partition {self.partition} on {self.of}"


class Checkpoint(OnReplicas):
    """The value in a checkpoint file on each broker's disk; for leader-epoch-checkpoint, its last epoch."""

    file: Literal[
        "replication-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "leader-epoch-checkpoint",
    ]

    def missing(self, look: ConditionView) -> str | None:
        return self.missing_of(look, self.file, lambda node: look.checkpoint(node, self.file, self.partition))

    def __str__(self) -> str:
        return f"{self.bound()} in the {self.file} of partition {self.partition} on {self.of}"


class Members(Frozen):
    """The in-sync replicas of one partition are exactly these brokers, according to its leader."""

    is_: Target = Field(alias="is", description="which brokers")
    partition: int = Field(0, ge=0)

    def missing(self, look: ConditionView) -> str | None:
        wanted = look.nodes(self.is_)
        states = _states(look, self.partition)
        led = [state for broker, state in states.items() if state.leader == broker]
        # A former leader that does not know of the new one has a lower epoch.
        state = max(led, key=lambda state: state.leader_epoch, default=None)
        if state is None:
            return f"partition {self.partition} has no leader that answers"
        if sorted(state.isr) == sorted(wanted):
            return None
        return f"ISR {sorted(state.isr)} of partition {self.partition}, by its leader {state.leader}"

    def __str__(self) -> str:
        return f"an ISR of just {self.is_} in partition {self.partition}"


class Leads(Frozen):
    """One of these brokers leads a partition, according to itself."""

    is_: Target = Field(alias="is", description="which brokers")
    partition: int = Field(0, ge=0)

    def missing(self, look: ConditionView) -> str | None:
        wanted = look.nodes(self.is_)
        believed = {broker: state.leader for broker, state in _states(look, self.partition).items()}
        if any(believed.get(number) == number for number in wanted):
            return None
        return f"leader of partition {self.partition} by broker: {_format_by_broker(believed)}"

    def __str__(self) -> str:
        return f"{self.is_} leads partition {self.partition}"


class Logged(Frozen):
    """Each of these brokers has printed a text at least `times` times since the run began."""

    of: Target = Field(description="which brokers")
    text: str = Field(min_length=1)
    times: int = Field(1, ge=1)

    def missing(self, look: ConditionView) -> str | None:
        numbers = look.nodes(self.of)
        silent = [number for number in numbers if look.log(number).count(self.text) < self.times]
        if numbers and not silent:
            return None
        often = "" if self.times == 1 else f"{self.times} times "
        return f"not {often}in the log of broker {', '.join(map(str, silent)) or f'(no broker is {self.of})'}"

    def __str__(self) -> str:
        often = "" if self.times == 1 else f", {self.times} times"
        return f"{self.text!r} in the log of {self.of}{often}"


ClusterCondition = LogEnd | HighWatermark | Checkpoint | Members | Leads | Logged


def _format_by_broker(values: Mapping[int, int | None]) -> str:
    return ", ".join(
        f"{broker}: {'-' if value is None else value}" for broker, value in sorted(values.items())
    )


def _states(look: ConditionView, partition: int) -> dict[int, PartitionState]:
    """A partition as each answering broker reports it, by broker id."""
    return {
        view.broker: state
        for view in look.view().answered()
        for state in view.partitions
        if state.partition == partition
    }


class OutputAtLeast(Frozen):
    """The output topic has at least this number of offsets, those of markers included."""

    output: int = Field(ge=1)


ApplicationState = Literal["drained"] | OutputAtLeast
"""What a wait step may wait for: nothing left to do, as `drained` says, or a number of outputs."""

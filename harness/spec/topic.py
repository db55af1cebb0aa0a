"""The topic of an experiment."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from harness.model.config_value import Setting
from harness.model.frozen import Frozen
from harness.spec.assignment import with_counts_of_assignment


class TopicSpec(Frozen):
    """The topic that is created for every run of the experiment.

    `assignment` lists each partition's brokers, the preferred leader first; it implies the numbers of
    partitions and replicas.
    """

    partitions: int = Field(default=3, ge=1, le=10000)
    replication_factor: int = Field(default=3, ge=1)
    assignment: tuple[tuple[int, ...], ...] | None = Field(default=None, min_length=1)
    config: dict[str, Setting] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _counts_of_assignment(cls, value: Any) -> Any:
        return with_counts_of_assignment(value)

    @model_validator(mode="after")
    def _consistent(self) -> TopicSpec:
        if self.assignment is None:
            return self
        for number, brokers in enumerate(self.assignment):
            if len(set(brokers)) != self.replication_factor or len(brokers) != self.replication_factor:
                expected = f"expected {self.replication_factor} different brokers"
                raise ValueError(f"assignment[{number}] is {list(brokers)}: {expected}")
        if len(self.assignment) != self.partitions:
            raise ValueError(
                f"assignment has {len(self.assignment)} partition(s), `partitions` says {self.partitions}"
            )
        return self

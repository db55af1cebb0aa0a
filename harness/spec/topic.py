"""The topic of an experiment, and steps that change it, as an administrator would."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from harness.model.frozen import Frozen, Setting


class TopicSettings(Frozen):
    """What a topic of an experiment can have."""

    partitions: int | None = Field(None, ge=1, le=10000)
    replication_factor: int | None = Field(None, ge=1)
    assignment: tuple[tuple[int, ...], ...] | None = Field(
        None, min_length=1, description="each partition's brokers, the preferred leader first"
    )
    config: dict[str, Setting] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _counts_of_assignment(cls, value: Any) -> Any:
        """An `assignment` implies the numbers of partitions and replicas, which other fields may still
        contradict."""
        assigned = value.get("assignment") if isinstance(value, dict) else None
        if isinstance(assigned, (list, tuple)) and assigned and isinstance(assigned[0], (list, tuple)):
            return {"partitions": len(assigned), "replication_factor": len(assigned[0]), **value}
        return value


class TopicSpec(TopicSettings):
    """The topic that is created for every run of the experiment.

    `assignment` lists each partition's brokers, the preferred leader first; it implies the numbers of
    partitions and replicas.
    """

    partitions: int = Field(3, ge=1, le=10000)
    replication_factor: int = Field(3, ge=1)

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


class DeleteRecords(Frozen):
    """Delete the records below offset `before` of every partition, as `kafka-delete-records.sh` does
    (KIP-107): retention overtakes whoever reads slowly, at a known offset. They count as `expired`."""

    before: int = Field(ge=1, description="the new log start offset, or the end of a shorter partition")

    def __str__(self) -> str:
        return f"delete the records below offset {self.before} of every partition"


class RecreateTopic(Frozen):
    """Delete the topic, and create it again with the same settings. What was acknowledged before counts as
    `expired`. Kafka deletes the offsets that groups have committed with it; what clients do that read it
    differs, and none is told (docs/how-to/write-an-experiment.md)."""

    def __str__(self) -> str:
        return "delete the topic and create it again"

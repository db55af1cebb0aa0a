"""Which brokers hold the replicas of each partition of a topic, as an experiment may say it."""

from __future__ import annotations

from typing import Any


def with_counts_of_assignment(value: Any) -> Any:
    """The fields of a topic before they are validated: an `assignment` implies the numbers of partitions and
    replicas, which other fields may still contradict."""
    assigned = value.get("assignment") if isinstance(value, dict) else None
    if isinstance(assigned, (list, tuple)) and assigned and isinstance(assigned[0], (list, tuple)):
        return {"partitions": len(assigned), "replication_factor": len(assigned[0]), **value}
    return value

"""The clusters of an application's input and output, and what their internal topics can have."""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Clusters:
    """`host:port` of the brokers of the input and of the output, which may be the same, and the number of
    replicas that internal topics have in each."""

    source: str
    target: str
    source_replicas: int = 1
    target_replicas: int = 1

    @classmethod
    def of(cls, source: str, target: str | None) -> Clusters:
        """The clusters with these brokers (None: there is only one), which are asked how many they are."""
        target = target or source
        return cls(source, target, replicas_for(source), replicas_for(target))


def replicas_for(bootstrap: str) -> int:
    """How many replicas an internal topic can have: three, or the number of brokers if there are fewer."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return min(3, len(admin.list_topics(timeout=_SECONDS).brokers))

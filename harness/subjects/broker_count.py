"""How many replicas the internal topics of an application can have."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient

_SECONDS = 30.0


def replicas_for(bootstrap: str) -> int:
    """Three, or the number of brokers if there are fewer."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return min(3, len(admin.list_topics(timeout=_SECONDS).brokers))

"""What clients really ask for: acks, and whether there is a producer id, in Produce requests that pass."""

from __future__ import annotations

from typing import Any

from harness.cluster.proxy import bodies
from harness.cluster.proxy.frames import RequestHead

_PRODUCE = 0
_MOST = 10_000
"""Clients that are told apart."""
_PRODUCER_ID, _SIZE, _MAGIC = slice(43, 51), 51, 16
"""Where a batch of records has its producer's id (-1: none), in message format 2 (KIP-98)."""


class Produced:
    """The first Produce request of each client."""

    def __init__(self) -> None:
        self._clients: set[str | None] = set()
        self._rows: list[dict[str, Any]] = []

    def lacks(self, head: RequestHead) -> bool:
        """Whether this is the first Produce request of a client; only then is its body read, which costs
        more than all else that is done with a request."""
        return head.key == _PRODUCE and head.client not in self._clients and len(self._clients) < _MOST

    def note(self, head: RequestHead, frame: bytes) -> None:
        """A first request passes."""
        self._clients.add(head.client)
        try:
            body = bodies.read_request(head.key, head.version, frame)
        except bodies.Unreadable:
            return
        for topic in body.topic_data:
            name = getattr(topic, "name", None) or getattr(topic, "topic_id", "")
            records = next((part.records for part in topic.partition_data if part.records), b"")
            self._rows.append(
                {
                    "client": head.client or "",
                    "topic": str(name),
                    "version": head.version,
                    "acks": {0: "0", 1: "1"}.get(int(body.acks), "all"),
                    "idempotent": has_producer_id(bytes(records[:_SIZE])),
                }
            )

    def status(self) -> list[dict[str, Any]]:
        """What was seen, a row for each client and topic (its name, or from version 13 on its id)."""
        return self._rows


def has_producer_id(batch: bytes) -> bool:
    """Whether a batch of records was made by a producer with an id, as idempotence needs it."""
    if len(batch) < _SIZE or batch[_MAGIC] != 2:
        return False
    return int.from_bytes(batch[_PRODUCER_ID], "big", signed=True) >= 0

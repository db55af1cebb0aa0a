"""Addresses of brokers in answers, replaced by those of the proxy, so that clients of a cluster that knows
nothing of the proxy still go through it."""

from __future__ import annotations

import dataclasses
from typing import Any

from harness.cluster.proxy import bodies
from harness.cluster.proxy.frames import RequestHead
from harness.model.kafka_protocol import API_KEYS

_API_VERSIONS = API_KEYS["ApiVersions"]
_WITH_ADDRESSES = (
    "Metadata",
    "FindCoordinator",
    "DescribeCluster",
    "Fetch",
    "Produce",
    "ShareFetch",
    "ShareAcknowledge",
)


class Addresses:
    """Where clients find each broker, by its id: host and port of the proxy."""

    def __init__(self, brokers: dict[int, tuple[str, int]]) -> None:
        self._brokers = brokers
        self.keys = frozenset(API_KEYS[name] for name in _WITH_ADDRESSES) | {_API_VERSIONS}
        """The APIs whose answers hold addresses, and the one that tells which versions a broker speaks."""

    def rewritten(self, head: RequestHead, frame: bytes) -> bytes:
        """An answer with the proxy's addresses; as it is if it has none, or cannot be read.

        An answer about versions offers no version of these APIs that the proxy could not read: its client
        would get the brokers' own addresses.
        """
        if head.key not in self.keys:
            return frame
        try:
            answer = bodies.read_answer(head.key, head.version, frame)
        except bodies.Unreadable:
            # A broker answers an ApiVersions that is newer than it knows as version 0 (KIP-511).
            return frame
        changed = self._capped(answer) if head.key == _API_VERSIONS else self._replaced(answer)
        return frame if changed == answer else bodies.answer_frame(changed, head.correlation)

    def _replaced(self, entity: Any) -> Any:
        """The message with the address of each broker that it names: `node_id` or `broker_id` beside `host`
        and `port`, whatever the API calls the array."""
        changes: dict[str, Any] = {}
        for field in dataclasses.fields(entity):
            value = getattr(entity, field.name)
            if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
                changes[field.name] = tuple(self._replaced(inner) for inner in value)
        if hasattr(entity, "host") and hasattr(entity, "port"):
            node = getattr(entity, "node_id", getattr(entity, "broker_id", -1))
            if int(node) in self._brokers:
                changes["host"], changes["port"] = self._brokers[int(node)]
        return dataclasses.replace(entity, **changes) if changes else entity

    def _capped(self, answer: Any) -> Any:
        kept = tuple(
            dataclasses.replace(key, max_version=min(key.max_version, bodies.newest_version(key.api_key)))
            if key.api_key in self.keys
            else key
            for key in answer.api_keys
        )
        return dataclasses.replace(answer, api_keys=kept)

"""Reads a reader's state from librdkafka's statistics."""

from __future__ import annotations

import json


def followers_fetched_from(text: str, topic: str) -> set[int]:
    """The brokers other than the leaders from which partitions of the topic are fetched (KIP-392), by the
    statistics (JSON): a partition's `broker` is the one that is fetched from."""
    partitions = json.loads(text).get("topics", {}).get(topic, {}).get("partitions", {})
    return {
        state["broker"]
        for number, state in partitions.items()
        if int(number) >= 0 and 0 <= state["broker"] != state["leader"] and state["rxmsgs"]
    }

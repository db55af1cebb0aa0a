"""What proxies saw of own producers' clients: those of the topic, and what they ask for less than said."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.program_meta import WireSettings
from workloads.own.on_the_wire import weaker_on_the_wire, wire_settings

pytestmark = pytest.mark.pure


def row(client: str, topic: str, acks: str = "all", *, idempotent: bool = True) -> dict[str, Any]:
    return {"client": client, "topic": topic, "version": 13, "acks": acks, "idempotent": idempotent}


def test_what_was_sent_to_the_topic_counts_once() -> None:
    rows = [row("b", "id-1"), row("a", "orders"), row("a", "orders"), row("c", "other")]
    seen = wire_settings(rows, {"orders", "id-1"})
    assert [one.client for one in seen] == ["a", "b"]
    assert wire_settings(rows, {"orders", None}) == seen[:1]


@pytest.mark.parametrize(
    ("said", "asks", "words"),
    [
        (("all", True), ("all", True), []),
        (("1", False), ("all", True), []),
        (("all", False), ("1", False), ["asks for acks=1, though acks=all was said"]),
        (("1", False), ("0", False), ["asks for acks=0, though acks=1 was said"]),
        (("all", True), ("all", False), ["asks for no producer id, though it is said to be idempotent"]),
        (("all", True), ("1", False), ["acks=1, though acks=all was said, and for no producer id, though"]),
    ],
)
def test_less_than_was_said_is_told(said: Any, asks: Any, words: list[str]) -> None:
    seen = WireSettings(client="shop", version=13, acks=asks[0], idempotent=asks[1])
    told = list(weaker_on_the_wire([seen], said[0], idempotent=said[1]))
    assert len(told) == len(words)
    for sentence, expected in zip(told, words, strict=True):
        assert expected in sentence

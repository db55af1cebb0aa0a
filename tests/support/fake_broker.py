"""A broker without a connection."""

from __future__ import annotations

from typing import Any


class FakeBroker:
    """Broker 2, which gives one answer."""

    broker = 2

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def ask(self, request: Any, _: Any) -> Any:
        self.asked.append(request)
        return self.answer

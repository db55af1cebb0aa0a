"""What waits in one direction of a connection: frames that are delayed or held, and what follows them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from harness.cluster.proxy.rule_book import ActiveRule, Fitting


class Budget:
    """The bytes that all connections together keep back. What does not fit waits in the sender's socket."""

    def __init__(self, most: int) -> None:
        self._most, self.used = most, 0
        self._waiting: list[Callable[[], None]] = []

    def has_room(self, size: int) -> bool:
        """Whether `size` more bytes fit; a frame that is larger than all fits if nothing else is there."""
        return not self.used or self.used + size <= self._most

    def take(self, size: int) -> None:
        self.used += size

    def give_back(self, size: int) -> None:
        self.used -= size
        waiting, self._waiting = self._waiting, []
        for again in waiting:
            again()

    def when_free(self, again: Callable[[], None]) -> None:
        """Call this once when bytes were given back."""
        self._waiting.append(again)


@dataclass(slots=True, eq=False)
class Waiting:
    """A frame in a lane: it goes at `ready` (the loop's time), or later while a rule holds it. `sent` is
    called when it goes; `overtaken` lets the next frame go first that fits the same rule (`fitting`)."""

    data: bytes
    ready: float = 0.0
    held_by: ActiveRule | None = None
    sent: Callable[[], None] | None = None
    dropped: Callable[[], None] | None = None
    overtaken: bool = False
    fitting: Fitting = ()


class Lane:
    """Frames go in their order; the first one that waits keeps all behind it."""

    def __init__(self, budget: Budget, write: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._budget, self._write = budget, write
        self._items: deque[Waiting] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._free_at: dict[str, float] = {}
        self.on_sent: Callable[[], None] = lambda: None
        """Called when something went, so that there is room."""
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._items)

    def paced(self, rule: str, size: int, rate: int) -> float:
        """When a frame of this size has passed, if `rule` lets `rate` bytes per second pass."""
        begin = max(self._free_at.get(rule, 0.0), self._loop.time())
        self._free_at[rule] = begin + size / rate
        return self._free_at[rule]

    def add(self, item: Waiting) -> None:
        """Add a frame behind the others, and send what need not wait."""
        if item.held_by is not None:
            item.held_by.counters.held += 1
        for index, other in enumerate(self._items):
            if other.overtaken and other.held_by in item.fitting:
                self._release(other)
                self._items.insert(index, item)
                break
        else:
            self._items.append(item)
        self.bytes += len(item.data)
        self._budget.take(len(item.data))
        self.pump()

    def pump(self) -> None:
        """Send what need not wait any longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        gone = False
        while self._items and self._items[0].held_by is None:
            first = self._items[0]
            if first.ready > self._loop.time():
                self._timer = self._loop.call_at(first.ready, self.pump)
                break
            gone = True
            self._items.popleft()
            self._forget(first)
            if first.data:
                self._write(first.data)
            if first.sent is not None:
                first.sent()
        if gone:
            self.on_sent()

    def let_go(self, rule: ActiveRule, *, drop: bool) -> None:
        """Release (or drop) what a rule holds."""
        for item in [waiting for waiting in self._items if waiting.held_by is rule]:
            if drop:
                self._items.remove(item)
                self._drop(item)
            else:
                self._release(item)
        self.pump()

    def clear(self) -> None:
        """Drop all that waits: the connection has ended."""
        if self._timer is not None:
            self._timer.cancel()
        while self._items:
            self._drop(self._items.popleft())

    @property
    def holds(self) -> bool:
        """Whether a rule holds something here."""
        return any(item.held_by is not None for item in self._items)

    def _release(self, item: Waiting) -> None:
        item.overtaken = False
        if item.held_by is not None:
            item.held_by.counters.held -= 1
            item.held_by.counters.released += 1
            item.held_by = None

    def _drop(self, item: Waiting) -> None:
        if item.held_by is not None:
            item.held_by.counters.held -= 1
            item.held_by.counters.dropped += 1
        self._forget(item)
        if item.dropped is not None:
            item.dropped()

    def _forget(self, item: Waiting) -> None:
        self.bytes -= len(item.data)
        self._budget.give_back(len(item.data))

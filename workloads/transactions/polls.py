"""Transactions that poll: each takes what a reader of its producer has received since the one before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Receiver(Protocol):
    """Counts the records that it has received and journaled."""

    @property
    def records(self) -> int: ...


@dataclass
class Polls:
    """The records of a reader that no transaction has taken yet; a transaction takes `most` of them.

    The reader receives them in a thread of its own, as in an application that hands over what its consumer
    returns. What is taken was received before, so a transaction ends after its polls.
    """

    reader: Receiver
    most: int
    _taken: int = 0

    def take(self) -> tuple[int, int]:
        """Take the next records: (`position` of the first one in the reader's journal, their number)."""
        first = self._taken
        count = min(self.most, self.reader.records - first)
        self._taken += count
        return first, count

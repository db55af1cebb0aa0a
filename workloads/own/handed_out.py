"""Which of the records that a consumer handed out its program has processed, told from what it asks next."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, SupportsIndex, overload

from workloads.own.consumer_journal import ConsumerJournal


class HandedOut:
    """The records that a program has in hand. One is journaled as processed as soon as the program takes the
    next one out of a batch, or asks the consumer for more or to commit.

    An error that is on its way then, and was not when the record was handed out, says that the record was not
    processed. With `explicit` only what the program says itself counts.
    """

    def __init__(self, journal: ConsumerJournal, *, explicit: bool) -> None:
        self._journal, self._explicit = journal, explicit
        self._error_before: BaseException | None = None
        self._in_hand: dict[int, Any] = {}
        self._batches: list[HandedOutBatch] = []

    def one(self, record: Any) -> Any:
        """A record is handed out by itself."""
        self._error_before = sys.exc_info()[1]
        self.take(record)
        return record

    def batch(self, records: Sequence[Any]) -> HandedOutBatch:
        """Records are handed out together."""
        self._error_before = sys.exc_info()[1]
        batch = HandedOutBatch(records, self)
        self._batches.append(batch)
        return batch

    def asked_for_more(self) -> None:
        """The program asks for the next records, or closes the consumer: it has done with what it took. A
        batch of which it took nothing was handled as a whole."""
        if not self._broken():
            for batch in self._batches:
                if not batch.opened:
                    self.processed(list.__iter__(batch))
        self.asked_to_commit()
        self._batches.clear()

    def asked_to_commit(self) -> None:
        """The program commits: it has done with what it took."""
        taken = list(self._in_hand.values())
        if self._broken():
            self._in_hand.clear()
        else:
            self.processed(taken)

    def take(self, record: Any) -> None:
        """The program has this record in hand."""
        if not self._explicit:
            self._in_hand[id(record)] = record

    def done(self, record: Any) -> None:
        """The program went on from this record."""
        if id(record) in self._in_hand:
            self.processed([record])

    def processed(self, records: Iterable[Any], *, told: bool = False) -> None:
        """Journal records as processed; `told`: by the program itself."""
        done = list(records)
        for record in done:
            self._in_hand.pop(id(record), None)
        if done and (told or not self._explicit):
            self._journal.processed(done)

    def _broken(self) -> bool:
        error = sys.exc_info()[1]
        # A generator around the loop that is closed says nothing of the record: its user may have handled it.
        return error is not None and error is not self._error_before and not isinstance(error, GeneratorExit)


class HandedOutBatch(list[Any]):
    """Records that were handed out together: a list that notes which of them the program takes."""

    def __init__(self, records: Iterable[Any], hand: HandedOut) -> None:
        super().__init__(records)
        self.opened = False
        self._hand = hand
        self._left = {id(record) for record in list.__iter__(self)}

    def __iter__(self) -> Iterator[Any]:
        self.opened = True
        for record in list.__iter__(self):
            self._take(record)
            yield record
            self._hand.done(record)

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Any]: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> Any:
        self.opened = True
        found = super().__getitem__(index)
        for record in found if isinstance(index, slice) else [found]:
            self._take(record)
        return found

    def _take(self, record: Any) -> None:
        # Taken once: a program that goes through a batch twice has processed it once.
        if id(record) in self._left:
            self._left.discard(id(record))
            self._hand.take(record)

"""What every consumer that journals has: its journal, and the records that its program has in hand."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workloads.own.consumer_journal import ConsumerJournal
from workloads.own.handed_out import HandedOut


class JournaledConsumer:
    """A consumer of some client library whose records, commits and partitions are journaled; made by
    `delivered`.

    What is not listed here goes to the consumer as it is. `journal` is the `ConsumerJournal`.
    """

    def __init__(self, consumer: Any, journal: ConsumerJournal, *, explicit: bool) -> None:
        self.journal = journal
        self._consumer = consumer
        self._hand = HandedOut(journal, explicit=explicit)
        self._owned: set[tuple[str, int]] = set()

    def processed(self, *records: Any) -> None:
        """Say that records, which this consumer handed out, are processed: for a program that hands them to
        threads or tasks, which the consumer cannot see."""
        self._hand.processed(records, told=True)

    def _gained(self, partitions: Iterable[Any]) -> None:
        gained = list(partitions)
        self._owned |= {(one.topic, one.partition) for one in gained}
        if gained:
            self.journal.assigned(gained)

    def _gave_up(self, partitions: Iterable[Any], *, lost: bool = False) -> None:
        given_up = list(partitions)
        self._owned -= {(one.topic, one.partition) for one in given_up}
        if given_up:
            (self.journal.lost if lost else self.journal.revoked)(given_up)

    def _owns_now(self, partitions: Iterable[Any]) -> None:
        """The program chose its partitions itself: these, and no others."""
        chosen = {(one.topic, one.partition): one for one in partitions}
        gone = [
            number for topic, number in sorted(self._owned - chosen.keys()) if topic == self.journal.topic
        ]
        gained = [one for place, one in chosen.items() if place not in self._owned]
        self._owned &= chosen.keys()
        if gone:
            self.journal.revoked(gone)
        self._gained(gained)

    def _closed(self) -> None:
        """The consumer has left its group, and told nobody of the partitions that it still had."""
        self._owns_now(())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)


class ListeningConsumer(JournaledConsumer):
    """A consumer of kafka-python or aiokafka, which tell of partitions to a listener of the subscription."""

    def subscribe(self, topics: Sequence[str] = (), pattern: str | None = None, listener: Any = None) -> None:
        """As the consumer's."""
        self._consumer.subscribe(topics=topics, pattern=pattern, listener=self._owners(listener))

    def assign(self, partitions: Iterable[Any]) -> None:
        """As the consumer's."""
        chosen = list(partitions)
        self._consumer.assign(chosen)
        self._owns_now(chosen)

    def unsubscribe(self) -> None:
        """As the consumer's."""
        self._hand.asked_to_commit()
        self._consumer.unsubscribe()
        self._closed()

    def _batches(self, by_partition: Mapping[Any, list[Any]]) -> dict[Any, list[Any]]:
        """What a poll has returned."""
        return {partition: self._hand.batch(records) for partition, records in by_partition.items()}

    def _owners(self, theirs: Any) -> Any:
        """A listener of the client's own class that journals owners, and calls the program's."""
        raise NotImplementedError


class Owners:
    """A listener of the kind that kafka-python and aiokafka have: it journals owners, and calls the program's
    listener, whose methods may be coroutines, in the client's own event loop."""

    def __init__(self, consumer: JournaledConsumer, theirs: Any) -> None:
        self._consumer, self._theirs = consumer, theirs

    async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Called by the client."""
        self._consumer._gained(assigned)
        await self._pass_on("on_partitions_assigned", assigned)

    async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        """Called by the client. Its program may still commit in it, so that the partitions are given up
        after it."""
        try:
            await self._pass_on("on_partitions_revoked", revoked)
        finally:
            self._consumer._gave_up(revoked)

    async def on_partitions_lost(self, lost: Iterable[Any]) -> None:
        """Called by the client."""
        self._consumer._gave_up(lost, lost=True)
        await self._pass_on("on_partitions_lost", lost)

    async def _pass_on(self, method: str, partitions: Iterable[Any]) -> None:
        answer = None if self._theirs is None else getattr(self._theirs, method)(partitions)
        if inspect.isawaitable(answer):
            await answer

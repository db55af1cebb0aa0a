"""A consumer of aiokafka that journals what it hands out, what it commits and what it owns."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from workloads.own.consumer_journal import ConsumerJournal
from workloads.own.journaled_consumer import ListeningConsumer, Owners
from workloads.own.offset_commits import journal_commits


def membership_of(consumer: Any) -> tuple[str | None, int | None]:
    """The group.id of an `aiokafka.AIOKafkaConsumer`, and its session.timeout.ms."""
    return consumer._group_id, consumer._session_timeout_ms


class JournaledAIOKafkaConsumer(ListeningConsumer):
    """An `aiokafka.AIOKafkaConsumer` that is journaled; made by `delivered`."""

    def __init__(self, consumer: Any, journal: ConsumerJournal, *, explicit: bool) -> None:
        super().__init__(consumer, journal, explicit=explicit)
        if consumer.assignment():
            self._gained(consumer.assignment())
        topics = consumer.subscription()
        if topics and consumer._subscription.partitions_auto_assigned():
            # Topics of the constructor, which takes no listener; the subscription itself stays as it is.
            state = consumer._subscription
            state._listener = self._owners(state.listener)
        self._watch_commits()

    async def start(self) -> None:
        """As `AIOKafkaConsumer.start`."""
        await self._consumer.start()
        self._watch_commits()

    async def getone(self, *partitions: Any) -> Any:
        """As `AIOKafkaConsumer.getone`."""
        self._hand.asked_for_more()
        return self._hand.one(await self._consumer.getone(*partitions))

    async def getmany(self, *partitions: Any, **options: Any) -> dict[Any, list[Any]]:
        """As `AIOKafkaConsumer.getmany`."""
        self._hand.asked_for_more()
        return self._batches(await self._consumer.getmany(*partitions, **options))

    def __aiter__(self) -> JournaledAIOKafkaConsumer:
        self._consumer.__aiter__()
        return self

    async def __anext__(self) -> Any:
        self._hand.asked_for_more()
        return self._hand.one(await self._consumer.__anext__())

    async def commit(self, *arguments: Any, **options: Any) -> None:
        """As `AIOKafkaConsumer.commit`."""
        self._hand.asked_to_commit()
        await self._consumer.commit(*arguments, **options)

    async def stop(self) -> None:
        """As `AIOKafkaConsumer.stop`."""
        self._hand.asked_for_more()
        try:
            await self._consumer.stop()
        finally:
            self._closed()

    async def __aenter__(self) -> JournaledAIOKafkaConsumer:
        await self.start()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.stop()

    def _watch_commits(self) -> None:
        """The client has its coordinator from `start` on, and has committed nothing before."""
        coordinator = self._consumer._coordinator
        if coordinator is not None and hasattr(coordinator, "commit_offsets"):
            journal_commits(coordinator, "_do_commit_offsets", self.journal)

    def _owners(self, theirs: Any) -> Any:
        base = import_module("aiokafka").ConsumerRebalanceListener
        return type("Listener", (Owners, base), {})(self, theirs)

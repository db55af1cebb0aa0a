"""A consumer of kafka-python that journals what it hands out, what it commits and what it owns."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from workloads.own.consumer_journal import ConsumerJournal
from workloads.own.journaled_consumer import ListeningConsumer, Owners
from workloads.own.offset_commits import journal_commits


def membership_of(consumer: Any) -> tuple[str | None, int | None]:
    """The group.id of a `kafka.KafkaConsumer`, and its session.timeout.ms."""
    return consumer.config["group_id"], consumer.config["session_timeout_ms"]


class JournaledKafkaConsumer(ListeningConsumer):
    """A `kafka.KafkaConsumer` that is journaled; made by `delivered`."""

    def __init__(self, consumer: Any, journal: ConsumerJournal, *, explicit: bool) -> None:
        super().__init__(consumer, journal, explicit=explicit)
        journal_commits(consumer._coordinator, "_send_offset_commit_request", journal)
        if consumer.assignment():
            self._gained(consumer.assignment())
        if consumer.subscription():
            # Topics of the constructor, which takes no listener; the subscription itself stays as it is.
            state = consumer._subscription
            state.rebalance_listener = self._owners(state.rebalance_listener)

    def poll(self, *arguments: Any, **options: Any) -> dict[Any, list[Any]]:
        """As `KafkaConsumer.poll`."""
        self._hand.asked_for_more()
        return self._batches(self._consumer.poll(*arguments, **options))

    def __iter__(self) -> JournaledKafkaConsumer:
        return self

    def __next__(self) -> Any:
        self._hand.asked_for_more()
        return self._hand.one(next(self._consumer))

    def commit(self, *arguments: Any, **options: Any) -> Any:
        """As `KafkaConsumer.commit`."""
        self._hand.asked_to_commit()
        return self._consumer.commit(*arguments, **options)

    def commit_async(self, *arguments: Any, **options: Any) -> Any:
        """As `KafkaConsumer.commit_async`."""
        self._hand.asked_to_commit()
        return self._consumer.commit_async(*arguments, **options)

    def close(self, *arguments: Any, **options: Any) -> None:
        """As `KafkaConsumer.close`."""
        self._hand.asked_for_more()
        try:
            self._consumer.close(*arguments, **options)
        finally:
            self._closed()

    def __enter__(self) -> JournaledKafkaConsumer:
        return self

    def __exit__(self, *error: Any) -> None:
        self._hand.asked_for_more()
        try:
            self._consumer.__exit__(*error)
        finally:
            self._closed()

    def _owners(self, theirs: Any) -> Any:
        base = import_module("kafka.consumer.subscription_state").AsyncConsumerRebalanceListener
        return type("Listener", (Owners, base), {})(self, theirs)

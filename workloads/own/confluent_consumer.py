"""A consumer of confluent-kafka that journals what it hands out, what it commits and what it owns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.own.journaled_consumer import JournaledConsumer

Callback = Callable[[Any, list[Any]], object]


class JournaledConfluentConsumer(JournaledConsumer):
    """A `confluent_kafka.Consumer` that is journaled; made by `delivered`.

    Commits that the client makes by itself, and answers to asynchronous ones, are journaled only if its
    configuration has `on_commit` of the journal: `ConsumerJournal.on_commit`.
    """

    def poll(self, timeout: float = -1) -> Any:
        """As `Consumer.poll`."""
        self._hand.asked_for_more()
        message = self._consumer.poll(timeout)
        return None if message is None else self._hand.one(message)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Any]:
        """As `Consumer.consume`."""
        self._hand.asked_for_more()
        return self._hand.batch(self._consumer.consume(num_messages, timeout))

    def commit(self, message: Any = None, offsets: list[Any] | None = None, asynchronous: bool = True) -> Any:
        """As `Consumer.commit`."""
        self._hand.asked_to_commit()
        if not asynchronous:
            return self.journal.commit(self._consumer, offsets, message=message)
        wanted = {"message": message, "offsets": offsets}
        given = {name: value for name, value in wanted.items() if value is not None}
        return self._consumer.commit(asynchronous=True, **given)

    def subscribe(
        self,
        topics: list[str],
        on_assign: Callback | None = None,
        on_revoke: Callback | None = None,
        on_lost: Callback | None = None,
    ) -> None:
        """As `Consumer.subscribe`."""

        def assigned(consumer: Any, partitions: list[Any]) -> None:
            self._gained(partitions)
            if on_assign is not None:
                on_assign(consumer, partitions)

        def revoked(consumer: Any, partitions: list[Any]) -> None:
            try:
                if on_revoke is not None:
                    on_revoke(consumer, partitions)
            finally:
                self._gave_up(partitions)

        def lost(consumer: Any, partitions: list[Any]) -> None:
            self._gave_up(partitions, lost=True)
            # Without on_lost the client calls on_revoke.
            called = on_lost or on_revoke
            if called is not None:
                called(consumer, partitions)

        self._consumer.subscribe(topics, on_assign=assigned, on_revoke=revoked, on_lost=lost)

    def assign(self, partitions: list[Any]) -> None:
        """As `Consumer.assign`."""
        self._consumer.assign(partitions)
        self._owns_now(partitions)

    def unassign(self) -> None:
        """As `Consumer.unassign`."""
        self._consumer.unassign()
        self._closed()

    def close(self) -> None:
        """As `Consumer.close`."""
        self._hand.asked_for_more()
        try:
            self._consumer.close()
        finally:
            self._closed()

    def __enter__(self) -> JournaledConfluentConsumer:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

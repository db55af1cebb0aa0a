"""Batches that are written once each: their numbers are committed together with their records.

The number of the newest batch is the committed offset of a group of its own, which the transaction of the
batch commits (KIP-98). After a crash the transaction is either whole or aborted, so the number shows whether
the batch must be written.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

_SECONDS = 60.0


class TransactionalBatches:
    """The sink of one application; `name` makes the transactional.id and the group."""

    def __init__(self, bootstrap: str, topic: str, name: str) -> None:
        self._topic = topic
        identity = f"{topic}-{name}-batches"
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": identity, "linger.ms": 5}
        )
        self._group = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": identity, "enable.auto.commit": False}
        )
        # Fences a producer of this name that is still alive, and ends its transaction.
        self._producer.init_transactions(_SECONDS)

    def newest(self) -> int:
        """The number of the newest batch that is in the output; -1: none."""
        next_batch = self._group.committed([TopicPartition(self._topic, 0)], _SECONDS)[0]
        if next_batch.error is not None:
            raise RuntimeError(f"the number of the newest batch cannot be read: {next_batch.error}")
        return max(next_batch.offset, 0) - 1

    def write(self, batch: Any, number: int) -> None:
        """Write the batch unless it was written: a function for `foreachBatch`."""
        if number <= self.newest():
            return
        self._producer.begin_transaction()
        try:
            for row in batch.collect():
                headers = [(one.key, one.value) for one in row.headers or ()]
                self._produce(row.key, row.value, headers)
            next_batch = TopicPartition(self._topic, 0, number + 1)
            self._producer.send_offsets_to_transaction(
                [next_batch], self._group.consumer_group_metadata(), _SECONDS
            )
            self._producer.commit_transaction(_SECONDS)
        except BaseException:
            self._producer.abort_transaction(_SECONDS)
            raise

    def _produce(self, key: Any, value: Any, headers: list[tuple[str, Any]]) -> None:
        key, value = (None if one is None else bytes(one) for one in (key, value))
        while True:
            try:
                self._producer.produce(self._topic, value, key, headers=headers)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

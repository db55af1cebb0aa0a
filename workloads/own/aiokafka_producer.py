"""A producer of aiokafka that journals what it sends and what is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, ClassVar, Self

from harness.model.journal import SendOutcome, TxnOutcome
from workloads.own.client_settings import ClientSettings, acks_of, named
from workloads.own.journaled_client import without_identity
from workloads.own.journaled_coroutines import JournaledCoroutines
from workloads.own.own_journal import ANY_PARTITION, OwnJournal
from workloads.own.producer_folder import ProducerFolder

_SERIALIZERS = ("_key_serializer", "_value_serializer")


def settings_of(producer: Any) -> ClientSettings:
    """How an `aiokafka.AIOKafkaProducer` is configured, which only its private attributes say."""
    transactions = producer._txn_manager
    return ClientSettings(
        client=named("aiokafka"),
        acks=acks_of(producer._sender._acks),
        idempotent=transactions is not None,
        # One batch of a partition at a time (aiokafka.producer.sender).
        max_in_flight=1,
        delivery_timeout_ms=producer._request_timeout_ms,
        transaction_timeout_ms=None if transactions is None else transactions.transaction_timeout_ms,
    )


class JournaledAIOKafkaProducer(JournaledCoroutines):
    """An `aiokafka.AIOKafkaProducer` whose sends and reports are journaled; made by `journaled`.

    What is not listed here goes to the producer as it is. `number` is the producer's number in the journals.
    """

    _raised: ClassVar[SendOutcome] = SendOutcome.REJECTED
    # It raises before a record is queued only (AIOKafkaProducer.send).

    def __init__(self, producer: Any, folder: ProducerFolder, journal: OwnJournal) -> None:
        super().__init__(producer, folder, journal)
        # The identity has a checksum of the value as it is sent, so values are serialised here, and once.
        self._serializers = {name: getattr(producer, name) for name in _SERIALIZERS}
        for name in _SERIALIZERS:
            setattr(producer, name, None)

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes]] | None = None,
    ) -> asyncio.Future[Any]:
        """As `AIOKafkaProducer.send`; a header with the record's identity is added. A future that is
        cancelled is journaled all the same when the record is reported.

        Raises:
            Exception: as the producer does. A record that it refuses is journaled as `rejected`.
            JournalError: the journal cannot be written.
        """
        nothing = key is None and value is None
        raw_key = None if nothing else self._serialised("_key_serializer", key)
        raw_value = None if nothing else self._serialised("_value_serializer", value)
        if topic != self._journal.target.topic or nothing:
            other: asyncio.Future[Any] = await self._producer.send(
                topic, raw_value, raw_key, partition, timestamp_ms, headers
            )
            return other
        with self._journal.lock:
            self._journal.raise_if_failed()
            seq = self._journal.next_seq
            carried, added = self._carried(raw_value, seq)
            placed = ANY_PARTITION if partition is None else partition
            self._sent(placed, raw_key, raw_value, timestamp_ms, headers)
        passed_on = [*without_identity(None if headers is None else list(headers)), *added]
        sending = self._producer.send(topic, carried.value, raw_key, partition, timestamp_ms, passed_on)
        return await self._handed_over(seq, sending)

    async def send_and_wait(self, *arguments: Any, **named: Any) -> Any:
        """As `AIOKafkaProducer.send_and_wait`; arguments, exceptions and journal are those of `send`."""
        return await (await self.send(*arguments, **named))

    async def send_batch(self, *_: Any, **__: Any) -> None:
        """Not journaled.

        Raises:
            NotImplementedError: always; call `send` for each record.
        """
        raise NotImplementedError(
            "send_batch is not journaled, since its records are built without the identity that each one "
            "needs: call send for each record"
        )

    async def begin_transaction(self) -> None:
        """As `AIOKafkaProducer.begin_transaction`; what is sent until it ends belongs to the transaction."""
        await self._producer.begin_transaction()
        self._transactions.begun()

    async def commit_transaction(self) -> None:
        """As `AIOKafkaProducer.commit_transaction`. After an error that allows it, abort."""
        await self._ended_by(self._producer.commit_transaction(), TxnOutcome.COMMITTED)

    async def abort_transaction(self) -> None:
        """As `AIOKafkaProducer.abort_transaction`."""
        await self._ended_by(self._producer.abort_transaction(), TxnOutcome.ABORTED)

    def transaction(self) -> Any:
        """As `AIOKafkaProducer.transaction`: an asynchronous context manager."""
        return type(self._producer.transaction())(self)

    async def stop(self) -> None:
        """As `AIOKafkaProducer.stop`, which waits for reports; then the journal is closed."""
        await self._closed_by(self._producer.stop())

    async def close(self) -> None:
        """The same as `stop`."""
        await self.stop()

    async def __aenter__(self) -> Self:
        await self._producer.start()
        return self

    def _placed(self, told: Any) -> tuple[int, int] | None:
        # With acks=0 there is no answer that could tell a partition.
        return None if told is None else (told.partition, told.offset)

    def _serialised(self, name: str, data: Any) -> Any:
        serializer = self._serializers[name]
        return data if serializer is None else serializer(data)
